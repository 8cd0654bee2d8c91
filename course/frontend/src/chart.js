// Draws the charts of rlinfra.chart as SVG: a Vega-Lite spec with named data sets, both sent as JSON text. New data
// moves the view that is there; only another spec or another theme draws anew. The title above the picture is also what
// a screen reader says.
import * as vega from "vega";
import embed from "vega-embed";
import { expressionInterpreter } from "vega-interpreter";
import * as vegaLite from "vega-lite";
import { nameSliders } from "./names.js";

const STYLE = `
.rlinfra-chart { margin: 0; }
.rlinfra-chart figcaption { font-weight: 600; line-height: 1.4; margin: 0 0 0.4em; }
.rlinfra-chart-picture { position: relative; }
.rlinfra-chart-picture, .rlinfra-chart-picture > div { width: 100%; }
.rlinfra-chart-picture > .rlinfra-chart-next { position: absolute; visibility: hidden; }
.rlinfra-chart-picture svg { display: block; }
.rlinfra-chart-files { display: flex; gap: 0.5em; justify-content: flex-end; }
.rlinfra-chart-files button {
  font: inherit; font-size: 0.85em; color: inherit; background: none; cursor: pointer;
  border: 1px solid currentColor; border-radius: 3px; padding: 0.1em 0.6em; opacity: 0.85;
}
.rlinfra-chart-files button:hover, .rlinfra-chart-files button:focus-visible { opacity: 1; }
.rlinfra-chart [role="alert"]:not(:empty) { border-left: 5px solid #d55e00; padding: 0.4em 0.8em; }
.rlinfra-explorer .widget-readout { min-width: 9.5em; max-width: none; }
`;

function isDark() {
  const said = document.body.dataset.jpThemeLight;
  return said === undefined ? matchMedia("(prefers-color-scheme: dark)").matches : said === "false";
}

/** Returns Vega's config for the page's theme: JupyterLab's colours where there are any. */
function themeOf(element) {
  const style = getComputedStyle(element);
  const colour = (name, light, dark) => style.getPropertyValue(name).trim() || (isDark() ? dark : light);
  const ink = colour("--jp-ui-font-color1", "#212121", "#e0e0e0");
  const line = colour("--jp-border-color2", "#e0e0e0", "#424242");
  return {
    background: colour("--jp-layout-color0", "#ffffff", "#111111"),
    font: colour("--jp-ui-font-family", "sans-serif", "sans-serif"),
    axis: {
      labelColor: ink, titleColor: ink, gridColor: line, domainColor: line, tickColor: line,
      labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal",
    },
    legend: { labelColor: ink, titleColor: ink, labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal" },
    style: { "guide-title": { fontWeight: "normal" } },
    text: { color: ink, fontSize: 12 },
    title: { color: ink, anchor: "start", fontSize: 13 },
    view: { stroke: null },
  };
}

function options(theme) {
  return {
    vega, vegaLite, mode: "vega-lite", renderer: "svg", actions: false, defaultStyle: false, config: theme,
    ast: true, expr: expressionInterpreter, // no code is made from text: a strict content policy allows it
    tooltip: { theme: isDark() ? "dark" : "light" }, logLevel: vega.Error,
  };
}

function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

async function save(model, kind, width, theme) {
  const held = element("div");
  const title = { text: model.get("title"), limit: width };
  const spec = { ...JSON.parse(model.get("spec")), width, title, datasets: JSON.parse(model.get("data")) };
  const { view, finalize } = await embed(held, spec, options(theme));
  const address =
    kind === "png"
      ? await view.toImageURL("png", 2)
      : URL.createObjectURL(new Blob([await view.toSVG()], { type: "image/svg+xml" }));
  element("a", { href: address, download: `chart.${kind}` }).click();
  if (kind === "svg") setTimeout(() => URL.revokeObjectURL(address), 10_000);
  finalize();
}

export function render({ model, el }) {
  if (!document.getElementById("rlinfra-chart-style")) {
    document.head.append(element("style", { id: "rlinfra-chart-style", textContent: STYLE }));
  }
  const caption = element("figcaption", { ariaLive: "polite" });
  // The picture has a text. Vega would have its marks read out one by one, and gives its own element a role for that.
  let drawing = element("div", { ariaHidden: "true" });
  const picture = element("div", { className: "rlinfra-chart-picture", role: "img" }, drawing);
  const alert = element("div", { role: "alert" });
  const files = element("div", { className: "rlinfra-chart-files" });
  for (const kind of ["png", "svg"]) {
    const button = element("button", { type: "button", textContent: `Save ${kind.toUpperCase()}` });
    button.addEventListener("click", () => save(model, kind, picture.clientWidth, themeOf(el)).catch(tell));
    files.append(button);
  }
  el.replaceChildren(element("figure", { className: "rlinfra-chart" }, caption, picture, files, alert));

  let shown = null; // what embed returned
  let drawn = ""; // the spec and the theme of `shown`
  let busy = false;
  let again = false;
  let gone = false;
  let leave = () => {};

  function tell(error) {
    console.error(error);
    alert.textContent = `The chart cannot be drawn: ${error.message}`;
  }

  async function draw() {
    const theme = themeOf(el);
    const spec = model.get("spec");
    const data = JSON.parse(model.get("data"));
    caption.textContent = model.get("title");
    picture.ariaLabel = `${model.get("title")}. ${model.get("details")}`;
    const wanted = JSON.stringify([spec, theme]);
    if (shown && wanted === drawn) {
      for (const [name, rows] of Object.entries(data)) shown.view.data(name, rows);
      await shown.view.runAsync();
    } else {
      // beside what is there, and in its place once it is drawn: nobody sees an empty picture
      const fresh = element("div", { ariaHidden: "true", className: "rlinfra-chart-next" });
      picture.append(fresh);
      let next;
      try {
        next = await embed(fresh, { ...JSON.parse(spec), datasets: data }, options(theme));
      } catch (error) {
        fresh.remove();
        throw error;
      }
      shown?.finalize();
      drawing.remove();
      fresh.classList.remove("rlinfra-chart-next");
      [shown, drawing, drawn] = [next, fresh, wanted];
      later(); // the page may have had another width when the drawing began, or none while a theme was loaded
    }
    alert.textContent = "";
  }

  async function fit() {
    const width = picture.clientWidth;
    const is = Number(drawing.querySelector("svg")?.getAttribute("width"));
    if (shown && width && is !== width) await shown.view.signal("width", width).runAsync();
  }

  function later() {
    requestAnimationFrame(() => fit().catch(tell));
  }

  async function refresh() {
    again = true;
    if (busy) return; // the drawing under way takes what is newest when it is done
    busy = true;
    while (again && !gone) {
      again = false;
      await Promise.resolve(); // all parts of one change are there before it is drawn
      await draw().catch(tell);
    }
    busy = false;
  }

  const parts = ["spec", "data", "title", "details"].map((name) => `change:${name}`);
  for (const part of parts) model.on(part, refresh);
  const themes = new MutationObserver(refresh);
  themes.observe(document.body, { attributeFilter: ["data-jp-theme-name", "data-jp-theme-light"] });
  const sizes = new ResizeObserver(later);
  sizes.observe(picture);
  requestAnimationFrame(() => {
    const explorer = el.closest(".rlinfra-explorer");
    if (explorer && !gone) leave = nameSliders(explorer);
  });
  refresh();

  return () => {
    gone = true;
    for (const part of parts) model.off(part, refresh);
    themes.disconnect();
    sizes.disconnect();
    leave();
    shown?.finalize();
  };
}
