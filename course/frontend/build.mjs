// Bundles the chart into one module, and collects the licences of what is in it: node build.mjs FILE
import { build } from "esbuild";
import { readdir, readFile, writeFile } from "node:fs/promises";

const [file] = process.argv.slice(2);
const { metafile } = await build({
  entryPoints: ["src/chart.js"],
  outfile: file,
  bundle: true,
  format: "esm",
  minify: true,
  target: "es2022",
  legalComments: "none",
  metafile: true,
});

const packages = new Set(Object.keys(metafile.inputs).flatMap((path) => path.match(/^node_modules\/(?:@[^/]+\/)?[^/]+/) ?? []));
const texts = [];
for (const folder of [...packages].sort()) {
  const { name, version, license } = JSON.parse(await readFile(`${folder}/package.json`, "utf8"));
  const held = (await readdir(folder)).filter((one) => /^licen[cs]e/i.test(one));
  const text = await Promise.all(held.map((one) => readFile(`${folder}/${one}`, "utf8")));
  texts.push(`${name} ${version} (${license})\n\n${text.join("\n")}`);
}
await writeFile(file.replace(/\.js$/, ".licences.txt"), texts.join(`\n${"-".repeat(80)}\n`));
