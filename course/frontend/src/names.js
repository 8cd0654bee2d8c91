// Names the sliders of ipywidgets for a screen reader: each has its label and its reading beside it, and nothing that
// ties them to it.
let number = 0;

function tie(slider) {
  const ids = [".widget-label", ".widget-readout"].map((part) => {
    const found = slider.querySelector(part);
    if (found) found.id ||= `rlinfra-${part.slice(8)}-${++number}`;
    return found?.id ?? "";
  });
  for (const handle of slider.querySelectorAll(".noUi-handle")) {
    handle.setAttribute("aria-labelledby", ids[0]);
    handle.setAttribute("aria-describedby", ids[1]); // the slider's own value is the number of the choice
  }
}

/** Names all sliders within an element, also those that come later; returns what ends that. */
export function nameSliders(root) {
  const sliders = () => root.querySelectorAll(".widget-hslider").forEach(tie);
  const watch = new MutationObserver(sliders);
  watch.observe(root, { childList: true, subtree: true });
  sliders();
  return () => watch.disconnect();
}
