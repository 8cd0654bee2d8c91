"""What the explorers say in Pyodide: run there by run.mjs, it prints one line of JSON.

The solutions of the topics are in /given/solutions.json.
"""

import json
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path[:0] = ["/course"]
sys.path.append("/site")

from rlinfra.explorers import explore  # noqa: E402 - found there only


def solved(source):
    """Return the variables of a notebook in which this is run."""
    variables = {"__name__": "__main__"}
    exec(source, variables)
    return variables


def forever(**_):
    """Never end."""
    while True:
        pass


def widgets(widget):
    """Return a widget and all that it holds."""
    return [widget, *(part for child in getattr(widget, "children", ()) for part in widgets(child))]


def moved(explorer):
    """Return what a chart says before and after a control of its explorer is moved."""
    parts = widgets(explorer.widget)
    (chart,) = (part for part in parts if hasattr(part, "spec"))
    slider = next(part for part in parts if type(part).__name__ == "SelectionSlider")
    before = chart.text
    slider.value = slider.options[-1][1] if slider.value == slider.options[0][1] else slider.options[0][1]
    return before, chart.text


notebooks = {topic: solved(source) for topic, source in json.loads(Path("/given/solutions.json").read_text()).items()}
answer = {
    "platform": sys.platform,
    "texts": {topic: explore(topic, variables).text for topic, variables in notebooks.items()},
    "moved": {topic: moved(explore(topic, variables)) for topic, variables in notebooks.items()},
    "hangs": explore("memory", {"bytes_per_parameter": forever}).text,
}
print(json.dumps(answer))
