// What each chart sends to the page: it loads the bundle once a page, from the server that JupyterLab came from or,
// where that has none (another front end, another version), from the kernel.
const NAME = "__NAME__";
const bundles = (globalThis.__rlinfraCharts ??= {}); // by name, each a promise of the module

async function fromServer() {
  const config = JSON.parse(document.getElementById("jupyter-config-data")?.textContent ?? "{}");
  if (!config.fullLabextensionsUrl) throw new Error("this page is no JupyterLab");
  const folder = config.fullLabextensionsUrl.replace(/\/*$/, "/");
  return import(new URL(`${folder}rlinfra/${NAME}`, document.baseURI).href);
}

function fromKernel(model) {
  return new Promise((resolve, reject) => {
    model.on("msg:custom", function take(message, buffers) {
      if (message.bundle !== NAME) return;
      model.off("msg:custom", take);
      const address = URL.createObjectURL(new Blob(buffers, { type: "text/javascript" }));
      import(address).then(resolve, reject).finally(() => URL.revokeObjectURL(address));
    });
    model.send({ wanted: NAME });
  });
}

export default {
  async render({ model, el }) {
    el.textContent = `${model.get("title")}. ${model.get("details")}`; // until the picture is there
    bundles[NAME] ??= fromServer().catch(() => fromKernel(model));
    try {
      return (await bundles[NAME]).render({ model, el });
    } catch (error) {
      delete bundles[NAME];
      throw error;
    }
  },
};
