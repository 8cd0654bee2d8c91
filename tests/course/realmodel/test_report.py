"""The report: JSON there and back, strictly; the recorded run without any library; rows and figure."""

from __future__ import annotations

import copy
import json
import math
import subprocess
import sys
from dataclasses import fields, is_dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import get_args, get_type_hints

import jsonschema
import pytest

import rlinfra
from rlinfra.realmodel import Report, recorded_run
from rlinfra.realmodel.figures import control_title, phases_title, throughput_title

SCHEMA = json.loads((files("rlinfra.realmodel") / "report.schema.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def recorded():
    return recorded_run()


# --- JSON --------------------------------------------------------------------------------------------------------


def test_a_measurement_goes_to_json_and_back_unchanged(measured):
    report, _ = measured
    assert Report.from_json(report.to_json()) == report
    jsonschema.validate(json.loads(report.to_json()), SCHEMA)


def test_the_recorded_run_fits_the_schema_and_is_whole(recorded):
    jsonschema.validate(json.loads(recorded.to_json()), SCHEMA)
    assert recorded.complete
    assert len(recorded.control) == 10
    assert recorded.sweep


def test_the_schema_names_the_fields_of_every_dataclass():
    todo, seen = [Report], set()
    while todo:
        kind = todo.pop()
        seen.add(kind.__name__)
        described = SCHEMA["$defs"][kind.__name__]
        assert list(described["properties"]) == described["required"] == [field.name for field in fields(kind)]
        assert described["additionalProperties"] is False
        hints = get_type_hints(kind).values()
        todo += [item for hint in hints for item in (hint, *get_args(hint)) if is_dataclass(item)]
    assert seen == set(SCHEMA["$defs"])


def changed(*path, to=None, without=False):
    def change(data):
        *way, last = path
        for key in way:
            data = data[key]
        if without:
            del data[last]
        else:
            data[last] = to

    return change


WRONG = {
    "unknown": (changed("extra", to=1), "report has an unknown field 'extra'"),
    "missing": (changed("sweep", without=True), "report lacks the field 'sweep'"),
    "missing below": (changed("sweep", 0, "decode", "floor_seconds", without=True), r"report.sweep\[0\].decode lacks"),
    "format": (changed("format", to=2), "report.format must be 1, not 2: measure again"),
    "weights": (changed("setup", "weights", to="good"), "report.setup.weights must be one of random, trained"),
    "kind": (
        changed("control", 1, "kind", to="joke"),
        r"report.control\[1\].kind must be one of control, mistake, lag",
    ),
    "text for a number": (changed("setup", "temperature", to="hot"), "report.setup.temperature must be a number"),
    "bool for a count": (changed("setup", "layers", to=True), "report.setup.layers must be an integer, not 'True'"),
    "fraction for a count": (changed("setup", "layers", to=2.5), "report.setup.layers must be an integer"),
    "number for a bool": (changed("complete", to=1), "report.complete must be true or false"),
    "number for a text": (changed("setup", "device", to=1), "report.setup.device must be a text"),
    "object for a list": (changed("control", to={}), "report.control must be a list"),
    "list for an object": (changed("setup", to=[]), "report.setup must be an object"),
    "version": (changed("setup", "versions", "torch", to=2), "report.setup.versions.torch must be a text"),
    "mask": (changed("sequences", 0, "mask", 0, to=2), r"report.sequences\[0\].mask must hold 0 and 1"),
    "null": (changed("setup", "seed", to=None), "report.setup.seed must be an integer"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_does_not_fit_is_an_error_that_names_the_place_and_the_schema_refuses_it_too(recorded, name):
    change, said = WRONG[name]
    data = copy.deepcopy(json.loads(recorded.to_json()))
    change(data)
    with pytest.raises(ValueError, match=said):
        Report.from_json(json.dumps(data))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, SCHEMA)


def test_what_no_schema_can_say_is_refused_as_well(recorded):
    data = json.loads(recorded.to_json())
    data["sequences"][1]["teacher_logprobs"].pop()
    with pytest.raises(ValueError, match=r"report.sequences\[1\]: tokens, mask and log-probabilities differ in length"):
        Report.from_json(json.dumps(data))
    data = json.loads(recorded.to_json())
    data["control"][0]["k3"] = math.nan
    with pytest.raises(ValueError, match=r"report.control\[0\].k3 must be a finite number"):
        Report.from_json(json.dumps(data))
    with pytest.raises(ValueError, match=r"this is no JSON .*: give the file that `rlinfra measure` wrote"):
        Report.from_json("{")
    with pytest.raises(ValueError, match="report must be an object, not '3'"):
        Report.from_json("3")


def test_a_report_never_writes_nan(recorded):
    with pytest.raises(ValueError, match="not JSON compliant"):
        replace(recorded, control=(replace(recorded.control[0], k3=math.nan),)).to_json()


# --- the recorded run --------------------------------------------------------------------------------------------

WITHOUT_LIBRARIES = """
import sys
sys.path.insert(0, sys.argv[1])
from rlinfra.realmodel import describe_plan, recorded_run
report = recorded_run()
print(len(report.sequences), len(report.rows()) > 20, len(describe_plan()) > 500)
print(sorted({"torch", "numpy", "matplotlib", "typer"} & set(sys.modules)))
"""


def test_the_recorded_run_needs_nothing_but_python():
    folder = str(Path(rlinfra.__file__).parents[1])
    command = [sys.executable, "-I", "-S", "-W", "error", "-c", WITHOUT_LIBRARIES, folder]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == ["3 True True", "[]"]


def deltas(sequences, teacher, *, masked=True):
    return [
        theirs - ours
        for row in sequences
        for theirs, ours, counts in zip(getattr(row, teacher), row.behavior_logprobs, row.mask, strict=True)
        if counts or not masked
    ]


@pytest.mark.parametrize(
    ("name", "teacher", "masked"),
    [
        ("control", "teacher_logprobs", True),
        ("temperature_forgotten", "teacher_logprobs_raw", True),
        ("padding_scored", "teacher_logprobs", False),
    ],
)
def test_the_exercise_comes_to_the_reports_own_figures(recorded, name, teacher, masked):
    """Everybody can do this without a model, in plain Python, from eight decimals of each log-probability."""
    found = deltas(recorded.sequences, teacher, masked=masked)
    row = recorded.comparison(name)
    assert len(found) == row.tokens
    assert max(map(abs, found)) == pytest.approx(row.max_abs_delta, abs=1e-7)
    assert sum(found) / len(found) == pytest.approx(row.mean_delta, abs=1e-7)
    k3 = sum(math.exp(delta) - 1 - delta for delta in found) / len(found)
    assert k3 == pytest.approx(row.k3, abs=1e-7, rel=1e-6)


def test_rows_of_a_sequence_are_equally_long_and_padding_has_no_behaviour(recorded):
    for row in recorded.sequences:
        assert row.mask[0] == 1
        assert row.mask[-1] == 0
        assert list(row.mask) == sorted(row.mask, reverse=True)
        assert {logprob for logprob, counts in zip(row.behavior_logprobs, row.mask, strict=True) if not counts} == {0.0}


def test_an_unknown_comparison_lists_the_names(recorded):
    with pytest.raises(KeyError, match="'tempereture' is not in this report; it has control, control_raw"):
        recorded.comparison("tempereture")


# --- rows and figure ---------------------------------------------------------------------------------------------


def test_rows_say_first_whether_weights_are_random_and_give_every_number_a_unit(measured):
    report, _ = measured
    rows = report.rows()
    assert rows[0] == ["weights", "RANDOM", ""]
    assert replace(report, setup=replace(report.setup, weights="trained")).rows()[0][1] == "trained"
    assert all(unit for _, value, unit in rows if not isinstance(value, str))
    values = {what: (value, unit) for what, value, unit in rows}
    assert values["batch 1: KV cache"] == (report.sweep[0].kv_cache_bytes, "bytes, equal to the formula")
    row = report.comparison("no_attention_mask")
    assert values["mistake: no attention mask: max |Δ|"] == (row.max_abs_delta, "nats a token")
    assert values["mistake: no attention mask: mean |Δ|"] == (row.mean_abs_delta, "nats a token")
    assert values["mistake: no attention mask: k3"] == (row.k3, "nats a token")


def test_a_cache_that_is_not_what_the_formula_says_is_no_small_print(measured):
    report, _ = measured
    other = replace(report, sweep=(replace(report.sweep[0], kv_cache_bytes=5),))
    assert ["batch 1: KV cache", 5, "bytes, NOT what the formula says"] in other.rows()


def test_the_figure_says_in_its_titles_what_was_measured(measured, tmp_path):
    report, _ = measured
    figure = report.figure()
    assert "random weights" in figure.get_suptitle()
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == [control_title(report), throughput_title(report.sweep), phases_title(report.sweep)]
    assert f"{report.comparison('control').max_abs_delta:.2g} nats" in titles[0]
    assert f"{report.sweep[-1].decode.roofline_share:.1%} of the roofline" in titles[1]
    assert all(axes.get_xlabel() for axes in figure.axes)
    bars = [bar.get_x() + bar.get_width() for bar in figure.axes[0].patches]
    assert bars == pytest.approx([row.max_abs_delta for row in report.control[::-1]])
    figure.savefig(tmp_path / "report.png")
    assert (tmp_path / "report.png").read_bytes().startswith(b"\x89PNG")


def test_a_report_without_a_sweep_has_the_control_alone(measured):
    report, _ = measured
    stopped = replace(report, sweep=(), control=report.control[:1], complete=False)
    figure = stopped.figure()
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["The control was not finished"]
    assert "stopped before the end" in figure.get_suptitle()
