"""Outputs on their way into a notebook: in a notebook's form, and bounded."""

from __future__ import annotations

import json

import nbformat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlinfra_autograder.sandbox.limits import Limits
from rlinfra_autograder.sandbox.outputs import OutputLog

CUT = "\n[output cut here: too much]\n"

a_busy_machine_is_no_failure = settings(deadline=None)


def log(cell: int = 1 << 20, notebook: int = 1 << 23) -> OutputLog:
    return OutputLog(Limits(cell_output_bytes=cell, notebook_output_bytes=notebook))


def stream(text, name="stdout"):
    return {"output_type": "stream", "name": name, "text": text}


def shown(text, display_id=None, kind="display_data"):
    return {"output_type": kind, "data": {"text/plain": text}, "metadata": {}, "display_id": display_id}


def clear(wait=False):
    return {"output_type": "clear_output", "wait": wait}


def taken(log, *outputs):
    for output in outputs:
        log.add(output)
    return log.take()


def texts(outputs):
    return [output["text"] if output["output_type"] == "stream" else output["data"]["text/plain"] for output in outputs]


def test_pieces_of_one_stream_are_joined_until_something_else_comes():
    found = taken(log(), stream("a"), stream("b"), stream("c", "stderr"), stream("d"), shown("e"), stream("f"))
    assert texts(found) == ["ab", "c", "d", "e", "f"]


def test_a_cell_starts_without_the_outputs_of_the_one_before():
    outputs = log()
    assert texts(taken(outputs, stream("first"))) == ["first"]
    assert texts(taken(outputs, stream("second"))) == ["second"]


def test_what_is_cleared_is_gone_at_once_or_when_the_next_output_comes():
    assert texts(taken(log(), stream("a"), clear(), stream("b"))) == ["b"]
    assert texts(taken(log(), stream("a"), clear(wait=True), shown("b"))) == ["b"]
    assert texts(taken(log(), stream("a"), clear(wait=True))) == ["a"]
    assert texts(taken(log(), stream("a"), clear())) == []


def test_a_clear_that_waits_does_not_wait_into_the_next_cell():
    outputs = log()
    taken(outputs, stream("a"), clear(wait=True))
    assert texts(taken(outputs, stream("b"), stream("c"))) == ["bc"]


def test_a_display_of_an_earlier_cell_can_be_updated():
    outputs = log()
    earlier = taken(outputs, shown("old", "x"), shown("other", "y"))
    later = taken(outputs, shown("again", "x"), shown("new", "x", "update_display_data"))
    assert texts(earlier) == ["new", "other"]
    assert texts(later) == ["new"]


def test_an_update_of_nothing_shows_nothing():
    assert taken(log(), shown("new", "unknown", "update_display_data")) == []
    assert taken(log(), shown("new", None, "update_display_data")) == []


def test_the_output_of_a_cell_is_cut_at_its_bound_and_the_cut_is_told_once():
    size = len(json.dumps(stream("x" * 100)))
    found = taken(log(cell=3 * size), *[stream("x" * 100)] * 10)
    assert texts(found) == ["x" * 300 + CUT]


def test_one_output_that_is_larger_than_the_bound_is_dropped_and_told():
    assert texts(taken(log(cell=1_000), shown("x" * 2_000), stream("small"))) == [CUT]


def test_the_next_cell_may_speak_again_until_the_notebook_has_no_room_left():
    size = len(json.dumps(stream("x")))
    outputs = log(cell=2 * size, notebook=3 * size)
    assert texts(taken(outputs, *[stream("x")] * 5)) == ["xx" + CUT]
    assert texts(taken(outputs, *[stream("y")] * 5)) == ["y" + CUT]
    assert texts(taken(outputs, stream("z"))) == [CUT]


def test_clearing_gives_no_room_back():
    """Else a loop that prints and clears would keep the grader busy for as long as it likes."""
    size = len(json.dumps(stream("x")))
    found = taken(log(cell=2 * size), stream("x"), clear(), stream("x"), clear(), stream("x"), clear(), stream("x"))
    assert "x" not in "".join(texts(found))


def test_updates_count_as_output():
    size = len(json.dumps(shown("x", "d")))
    updates = [shown(str(number), "d", "update_display_data") for number in range(9)]
    assert "0" not in texts(taken(log(cell=2 * size), shown("x", "d"), *updates))


GOOD_DATA = {"data": {"text/plain": "x"}, "metadata": {}}


@pytest.mark.parametrize(
    "output",
    [
        {},
        {"output_type": "stream"},
        {"output_type": "stream", "name": "stdin", "text": "x"},
        {"output_type": "stream", "name": "stdout", "text": ["x"]},
        {"output_type": "stream", "name": ["stdout"], "text": "x"},
        {"output_type": "error", "ename": "E", "evalue": "x"},
        {"output_type": "error", "ename": "E", "evalue": 1, "traceback": []},
        {"output_type": "error", "ename": "E", "evalue": "x", "traceback": "line"},
        {"output_type": "display_data"},
        {"output_type": "display_data", "data": [], "metadata": {}},
        {"output_type": "display_data", "data": {"text/plain": 1}, "metadata": {}},
        {"output_type": "display_data", "data": {"text/plain": ["x"]}, "metadata": {}},
        {"output_type": "display_data", "data": {"text/plain": "x"}, "metadata": []},
        {"output_type": "display_data", "data": {"image/png": None}, "metadata": {}},
        {"output_type": "pyout", **GOOD_DATA},
        {"output_type": ["display_data"], **GOOD_DATA},
        {"output_type": "update_display_data", "data": 1, "metadata": {}, "display_id": "x"},
    ],
    ids=str,
)
def test_what_is_no_output_is_dropped(output):
    assert taken(log(), output) == []


def test_json_of_any_form_is_kept_under_a_json_type():
    data = {"application/json": [1, {"a": None}], "text/plain": "x"}
    (found,) = taken(log(), {"output_type": "display_data", "data": data, "metadata": {}})
    assert found["data"] == data


@pytest.mark.parametrize("display_id", [1, ["x"], {"a": 1}, True], ids=str)
def test_an_odd_display_id_does_no_harm(display_id):
    found = taken(log(), shown("old", display_id), shown("new", display_id, "update_display_data"))
    assert texts(found) == ["new"]


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
KINDS = st.sampled_from(
    ["stream", "error", "display_data", "execute_result", "update_display_data", "clear_output", "other"]
)
TEXT = st.sampled_from(["stdout", "stderr", "x"])
KEYS = st.fixed_dictionaries(
    {"output_type": KINDS},
    optional={
        "name": TEXT | ANYTHING,
        "text": TEXT | ANYTHING,
        "ename": TEXT | ANYTHING,
        "evalue": TEXT | ANYTHING,
        "traceback": st.lists(TEXT | ANYTHING, max_size=3) | ANYTHING,
        "data": st.dictionaries(st.sampled_from(["text/plain", "application/json"]), TEXT | ANYTHING) | ANYTHING,
        "metadata": st.just({}) | ANYTHING,
        "display_id": TEXT | ANYTHING,
        "wait": st.booleans() | ANYTHING,
        "execution_count": ANYTHING,
    },
)


@a_busy_machine_is_no_failure
@given(st.lists(KEYS, max_size=8))
def test_whatever_comes_the_notebook_stays_a_valid_one(outputs):
    cell = nbformat.v4.new_code_cell("x", outputs=taken(log(cell=300, notebook=500), *outputs))
    notebook = nbformat.v4.new_notebook(cells=[cell])
    nbformat.validate(notebook)
