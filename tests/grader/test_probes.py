"""What comes out of the student's process is parsed, bounded and anonymised before anyone looks at it."""

import json

import pytest

from rlinfra.observe import Call, Observation, Raised
from rlinfra.wire import Other
from rlinfra_autograder.probes import Request, parse_observation

RAISED = {"exception": "ValueError", "own": False, "message": "bad ranks", "line": 3}


def parsed(data):
    return parse_observation(json.loads(json.dumps(data)))


@pytest.mark.parametrize(
    "data",
    [
        None,
        7,
        "value",
        [],
        [{"value": 1}],
        {},
        {"result": 1},
        {"value": 1, "points": 4},
        {"value": 1, "raised": RAISED},
        {"raised": None},
        {"raised": "ValueError"},
        {"raised": []},
        {"raised": {}},
        {"raised": RAISED, "points": 4},
        *({"raised": {key: value for key, value in RAISED.items() if key != gone}} for gone in RAISED),
        {"raised": {**RAISED, "exception": 3}},
        {"raised": {**RAISED, "exception": None}},
        {"raised": {**RAISED, "own": 1}},
        {"raised": {**RAISED, "own": "no"}},
        {"raised": {**RAISED, "message": None}},
        {"raised": {**RAISED, "message": ["bad ranks"]}},
        {"value": {"$float": "1.0"}},
        {"value": {"$float": 1.0}},
        {"value": {"$float": "nan", "more": 1}},
        {"value": {"$other": 3}},
        {"value": {"$dict": 3}},
        {"value": {"$code": "print()"}},
        {"value": [1, [2, {"$code": "print()"}]]},
    ],
    ids=str,
)
def test_what_is_no_observation_is_refused(data):
    with pytest.raises(ValueError, match=r"not an observation|not a wire value"):
        parsed(data)


@pytest.mark.parametrize(
    "value", [None, True, 3, -2.5, "text", [1, [2.0, "three"]], {"a": {"b": [None]}}, {}, [], 2**200], ids=str
)
def test_a_plain_value_comes_through_as_it_is(value):
    assert parsed({"value": value}) == Observation(value)


def test_values_that_json_lacks_come_through():
    observation = parsed({"value": [{"$float": "-inf"}, {"$dict": [[1, "one"], [2.5, {"$float": "inf"}]]}]})
    assert observation.value == [float("-inf"), {1: "one", 2.5: float("inf")}]


def test_an_exception_comes_through_with_its_message_and_line():
    assert parsed({"raised": RAISED}) == Observation(raised=Raised("ValueError", False, "bad ranks", 3))


@pytest.mark.parametrize(
    "name", ["ValueError", "KeyboardInterrupt", "SystemExit", "BaseException", "ZeroDivisionError"]
)
def test_a_built_in_exception_keeps_its_name(name):
    raised = parsed({"raised": {**RAISED, "exception": name, "own": True}}).raised
    assert (raised.exception, raised.own) == (name, True)


@pytest.mark.parametrize("name", ["Seen_((70000,), {})", "", "print", "True", "__import__", "builtins.ValueError"])
def test_any_other_name_becomes_an_exception_of_its_own(name):
    raised = parsed({"raised": {**RAISED, "exception": name}}).raised
    assert (raised.exception, raised.own) == ("Exception", True)


@pytest.mark.parametrize("line", [1, 10_000])
def test_a_line_of_a_cell_is_kept(line):
    assert parsed({"raised": {**RAISED, "line": line}}).raised.line == line


@pytest.mark.parametrize("line", [None, 0, -3, 10_001, 70_000, True, 2.0, "3", [3], {"line": 3}], ids=repr)
def test_what_can_be_no_line_of_a_cell_is_dropped(line):
    assert parsed({"raised": {**RAISED, "line": line}}).raised.line is None


def test_a_long_message_is_cut():
    assert parsed({"raised": {**RAISED, "message": "x" * 9_999}}).raised.message == "x" * 500


def test_the_description_of_an_object_is_not_the_students():
    secret = {"$other": "a value of type Seen_70000"}
    observation = parsed({"value": [secret, {"key": secret, "more": [[secret]]}]})
    assert observation.value == [
        Other("an object"),
        {"key": Other("an object"), "more": [[Other("an object")]]},
    ]


# --- what is asked for --------------------------------------------------------------------------------------------


def test_a_request_for_calls_asks_for_each_call_in_one_message():
    request = Request("f", calls=(Call((1, 2)), Call((), {"x": float("nan")})))
    assert len(request) == 2
    assert request.message(range(2))["asked"] == [
        {"call": {"args": [1, 2], "kwargs": {}}},
        {"call": {"args": [], "kwargs": {"x": {"$float": "nan"}}}},
    ]


def test_a_request_for_variables_reads_each_in_one_message():
    request = Request("answer", read=("answer", "STUDENT"))
    assert len(request) == 2
    assert request.message(range(2)) == {"asked": [{"read": "answer"}, {"read": "STUDENT"}], "one by one": False}


@pytest.mark.parametrize(
    "value", [10**400, {"a": [1 << 513]}, json.loads("[" * 600 + "]" * 600)], ids=["wide", "inside", "deep"]
)
def test_what_no_honest_child_sends_is_refused(value):
    with pytest.raises(ValueError, match="too"):
        parse_observation({"value": value})
