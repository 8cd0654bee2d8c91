"""The solved lab runs from top to bottom without a screen, in its profiles, in time, and shows what its text says."""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from tests.conftest import ROOT

pytestmark = pytest.mark.slow
LAB = ROOT / "source" / "lab" / "lab.ipynb"
SECONDS = {"smoke": 30, "full": 120}


@dataclass(frozen=True)
class Run:
    """A run of the solved lab: its profile, what each cell put out, and how long it all took."""

    profile: str
    outputs: dict[str, list]
    seconds: float

    def text(self, cell):
        """What a cell shows, as text."""
        return "\n".join(output.data["text/plain"] for output in self.outputs[cell] if "data" in output)


def executed(profile, cells=None):
    """Run the solved lab, or the first of its cells, with a profile asked for."""
    notebook = nbformat.read(LAB, as_version=4)
    notebook.cells = notebook.cells[:cells]
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("RL_LLM_PROFILE", profile)
        environment.delenv("RL_LLM_MODEL_PATH", raising=False)
        environment.delenv("RL_LLM_MODEL_REVISION", raising=False)
        started = time.monotonic()
        NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    outputs = {cell.id: cell.outputs for cell in notebook.cells if cell.cell_type == "code"}
    return Run(profile, outputs, time.monotonic() - started)


def cells_to(name):
    """How many cells there are up to this one."""
    return [cell["id"] for cell in json.loads(LAB.read_text(encoding="utf-8"))["cells"]].index(name) + 1


@pytest.fixture(scope="module", params=SECONDS)
def run(request):
    return executed(request.param)


def test_it_takes_less_than_half_a_minute_and_in_full_less_than_two(run):
    assert run.seconds < SECONDS[run.profile]


def test_nothing_is_complained_about(run):
    kinds = {(output.output_type, output.get("name")) for cell in run.outputs.values() for output in cell}
    assert kinds <= {("execute_result", None), ("stream", "stdout"), ("display_data", None)}


def test_every_figure_can_be_read_out(run):
    pictures = {
        name: re.search(r'alt="(.*)"', output.data["text/html"])[1]
        for name, outputs in run.outputs.items()
        for output in outputs
        if "<img" in output.get("data", {}).get("text/html", "")
    }
    assert len(pictures) == 8
    assert all(len(alternative) > 20 for alternative in pictures.values())
    assert all(any(sign.isdigit() for sign in text) for text in pictures.values())


def test_the_pauses_that_the_text_states(run):
    """Section 5: 12.8 % in 120 s, and 16.6 % in the profile `full`."""
    share = {"smoke": "12.8%", "full": "16.6%"}[run.profile]
    assert run.text("queue-depth").splitlines()[-1].split()[-1] == share


def test_the_exercise_comes_to_the_figures_of_the_report(run):
    lines = [line.split()[-2:] for line in run.text("logprobs").splitlines()[1:]]
    assert len(lines) == 6
    for mine, theirs in lines:
        assert float(mine) == pytest.approx(float(theirs), rel=0.02, abs=1e-8)


def test_any_other_profile_stops_at_once_with_the_three_that_there_are():
    with pytest.raises(CellExecutionError, match="must be smoke, full or real-model, not 'fast'"):
        executed("fast", cells_to("profile"))


def test_the_profile_real_model_asks_for_a_model():
    """It is no silent return to the recorded run: what is missing is said, and what to do."""
    with pytest.raises(CellExecutionError, match="ModelProblem"):
        executed("real-model", cells_to("real"))
