"""Explorers: kernel time a control event, key to paint beside matplotlib in an Output, and what eight of them send."""

from __future__ import annotations

import json
import statistics
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import nbformat
from jupyter_client.manager import start_new_kernel
from playwright.sync_api import expect
from tests.e2e.browser import SCREENSHOTS, TOKEN, chromium_page, jupyter_lab, run_all_cells
from tests.e2e.explorers.every import solution

from rlinfra.chart import bundle
from rlinfra.explorers import _has_explorer
from rlinfra.topics import TOPICS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from playwright.sync_api import Page, WebSocket

T = TypeVar("T")
EVENTS, WARM_UPS = 30, 4
KERNEL_EVENTS = 300
MOST_KERNEL_MS, MOST_OF = 10.0, {"lab": 50.0}  # the lab's explorer simulates two loops anew
LEAST_RATIO, CHARTS = 2.5, 8
PAUSE_MS = 330  # between two moves: ipywidgets sends one at a time

KERNEL = """
import json, time
from rlinfra.explorers import explore
explorer = explore(TOPIC, globals())
def parts_of(widget):
    return [widget, *(part for child in getattr(widget, "children", ()) for part in parts_of(child))]
seconds = []
for event in range(EVENTS):
    moved = [part for part in parts_of(explorer.widget) if type(part).__name__ in ("SelectionSlider", "Dropdown")]
    control = moved[event % len(moved)]
    values = [value for _, value in control.options]
    new = values[(values.index(control.value) + 1) % len(values)]
    begun = time.perf_counter()
    control.value = new
    seconds.append(time.perf_counter() - begun)
print(json.dumps(seconds))
"""
PLOTTED = """
import ipywidgets, matplotlib.pyplot as plt
from IPython.display import clear_output, display
plotted, out = explore("memory", globals()), ipywidgets.Output()
control = plotted.topic.control("sequences")
slider = ipywidgets.SelectionSlider(options=control.choices, value=8, description="plotted")
def redraw(change):
    plotted.set(sequences=change["new"])
    picture, _ = plotted.draw()
    with out:
        clear_output(wait=True)
        figure, axes = plt.subplots(figsize=(7, 3))
        left = {}
        for part in picture.data["parts"]:
            axes.barh(part["row"], part["gib"], left=left.get(part["row"], 0))
            left[part["row"]] = left.get(part["row"], 0) + part["gib"]
        axes.axvline(picture.data["card"][0]["gib"], linestyle="--")
        axes.set_title(picture.title)
        axes.set_xlabel("resident on one card, GiB")
        plt.show()
slider.observe(redraw, "value")
redraw({"new": 8})
display(ipywidgets.VBox([slider, out]))
"""
# From the key that a slider gets to the frame in which the change of the picture is painted. An image is painted once
# it is decoded. What matplotlib puts out replaces its image, a chart's marks are changed where they are.
PAINTED = """
([slider, picture]) => {
  const painted = () => new Promise((resolve) => requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => resolve(performance.now());
    channel.port2.postMessage(0);
  }));
  window.measured = new Promise((resolve) => {
    let begun = 0;
    slider.addEventListener("keydown", () => { begun = performance.now(); }, { once: true, capture: true });
    const watch = new MutationObserver(async () => {
      const image = picture.querySelector("img");
      if (!begun || (picture.dataset.plotted && !image)) return;
      watch.disconnect();
      if (image) await image.decode();
      resolve(await painted() - begun);
    });
    watch.observe(picture, { subtree: true, childList: true, attributes: true, characterData: true });
  });
}
"""


def measure(root: Path) -> str:
    """Return the section of the results; the machine should be quiet."""
    topics = [topic.name for topic in TOPICS if _has_explorer(topic)]
    kernel = {topic: _kernel_milliseconds(topic) for topic in topics}
    ours, theirs = _in_jupyterlab(root, ["explore('memory', globals())", PLOTTED], _key_to_paint)
    loads, sent = _in_jupyterlab(root, ["explore('memory', globals())"] * CHARTS, _bytes_sent)
    ratio = statistics.median(theirs) / statistics.median(ours)
    size = bundle().stat().st_size
    return "\n".join(
        [
            "## Explorers",
            "",
            f"A control event in a kernel, over {KERNEL_EVENTS} events on all controls in turn:",
            "",
            "| | median | p95 | at most wanted |",
            "|---|---:|---:|---:|",
            *(
                f"| `{topic}` | {statistics.median(times):.1f} ms | **{_p95(times):.1f} ms** "
                f"| {MOST_OF.get(topic, MOST_KERNEL_MS):g} ms |"
                for topic, times in kernel.items()
            ),
            "",
            f"From a key on a slider to the painted picture, {EVENTS} events each, interleaved, in JupyterLab:",
            "",
            "| | median | p95 |",
            "|---|---:|---:|",
            _row("the explorer's chart", ours),
            _row("matplotlib in an Output, of the same data", theirs),
            "",
            f"The chart is there **{ratio:.1f} ×** as soon (at least {LEAST_RATIO:g} × is wanted).",
            "",
            f"A notebook with {CHARTS} explorers loads the bundle of {size / 1e3:.0f} kB **{loads} time** and gets",
            f"{sent / 1e3:.0f} kB more from its kernel; a bundle each would be {CHARTS * size / 1e3:,.0f} kB.",
            "",
        ]
    )


def _in_jupyterlab(root: Path, cells: Sequence[str], measured: Callable[[Page, str], T]) -> T:
    """Return what is measured in a page that opens a notebook of these cells, at the address that it gets."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)  # where a page that fails is kept
    with tempfile.TemporaryDirectory(prefix="bench-explorers-") as name:
        notebook = nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_code_cell(cell) for cell in (solution("memory"), *cells)]
        )
        notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
        nbformat.write(notebook, Path(name) / "measured.ipynb")
        jupyter = root / ".venv-student" / "bin" / "jupyter"
        with jupyter_lab(jupyter, Path(name)) as address, chromium_page([]) as page:
            return measured(page, f"{address}/lab/tree/measured.ipynb?token={TOKEN}")


def _row(name: str, milliseconds: Sequence[float]) -> str:
    return f"| {name} | {statistics.median(milliseconds):.0f} ms | {_p95(milliseconds):.0f} ms |"


def _p95(values: Sequence[float]) -> float:
    return statistics.quantiles(values, n=20)[-1]


def _kernel_milliseconds(topic: str) -> list[float]:
    """Return what the events take in a kernel: function calls, drawing and messages, without a page."""
    said: list[str] = []
    manager, client = start_new_kernel()
    try:
        source = f"EVENTS, TOPIC = {KERNEL_EVENTS}, {topic!r}\n{solution(topic)}\n{KERNEL}"
        client.execute_interactive(source, timeout=120, output_hook=lambda message: said.append(_text(message)))
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    return [1e3 * seconds for seconds in json.loads("".join(said))]


def _text(message: dict[str, Any]) -> str:
    return message["content"].get("text", "") if message["msg_type"] == "stream" else ""


def _key_to_paint(page: Page, address: str) -> tuple[list[float], list[float]]:
    """Return the milliseconds of each event of the chart and of matplotlib; they take turns, so noise meets both."""
    page.goto(address)
    run_all_cells(page)
    page.locator("figure.rlinfra-chart svg").first.wait_for(timeout=60_000)
    image = page.locator(".widget-output img")
    image.wait_for(timeout=60_000)
    image.evaluate("image => { image.closest('.widget-output').dataset.plotted = 'yes'; }")
    rivals = {
        "chart": (page.get_by_role("slider", name="scored", exact=True), page.locator(".rlinfra-chart-picture")),
        "plotted": (
            page.locator(".widget-hslider", has=page.get_by_text("plotted", exact=True)).locator(".noUi-handle"),
            page.locator(".widget-output"),
        ),
    }
    times: dict[str, list[float]] = {name: [] for name in rivals}
    for event in range(WARM_UPS + EVENTS):
        for name, (slider, picture) in rivals.items():
            slider.focus()
            page.evaluate(PAINTED, [slider.element_handle(), picture.element_handle()])
            slider.press("ArrowLeft" if event % 2 else "ArrowRight")
            times[name].append(page.evaluate("window.measured"))
            page.wait_for_timeout(PAUSE_MS)
    return times["chart"][WARM_UPS:], times["plotted"][WARM_UPS:]


def _bytes_sent(page: Page, address: str) -> tuple[int, int]:
    """Return how often the bundle was loaded, and the bytes that came from the kernel."""
    loaded: list[str] = []
    received: list[int] = []

    def listen(socket: WebSocket) -> None:
        if "/channels" in socket.url:
            socket.on("framereceived", lambda frame: received.append(len(frame)))

    page.on("response", lambda answer: loaded.append(answer.url) if bundle().name in answer.url else None)
    page.on("websocket", listen)
    page.goto(address)
    run_all_cells(page)
    expect(page.locator("figure.rlinfra-chart svg")).to_have_count(CHARTS, timeout=90_000)
    return len(loaded), sum(received)
