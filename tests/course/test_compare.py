"""What a task accepts: each kind of specification with right values, wrong ones and malformed ones."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlinfra.checks.compare import (
    Difference,
    FaultyFields,
    Fields,
    Flag,
    Integer,
    Items,
    ListOf,
    Number,
    Text,
    describe,
    from_data,
    names_argument,
    same,
)
from rlinfra.wire import Other

NAN, INF = math.nan, math.inf
PAGES = Fields({"blocks": Integer(), "waste_fraction": Number()})
PEAK = Items((Text(), Number()))


def difference(accept, got, expected):
    return str(accept.differs(got, expected))


# --- numbers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("got", "expected"), [(7, 7), (7.0, 7), (0, 0), (-0.0, 0), (2**70, 2**70), (2.0**70, 2**70)])
def test_a_count_may_be_an_integral_float(got, expected):
    assert Integer().differs(got, expected) is None


@pytest.mark.parametrize(
    ("got", "expected"), [(8, 7), (7.5, 7), (7 + 1e-9, 7), (2**53 + 1, 2**53), (float(2**53), 2**53 + 1)]
)
def test_a_count_has_no_tolerance(got, expected):
    assert Integer().differs(got, expected) == Difference("", "another number")


@pytest.mark.parametrize(("got", "text"), [(NAN, "nan"), (INF, "inf"), (-INF, "-inf")])
def test_a_count_is_finite(got, text):
    assert str(Integer().form_problem(got)) == f"a finite number is wanted, this is {text}"


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        (1_000_000_000, 1_000_000_000),
        (1_000_000_001, 1_000_000_000),
        (999_999_999, 1_000_000_000),
        (-1_000_000_001, -1_000_000_000),
        (1e-12, 0),
        (-1e-12, 0.0),
        (0.1 + 0.2, 0.3),
        (5, 5.0),
        (INF, INF),
        (-INF, -INF),
        (NAN, NAN),
    ],
)
def test_a_quantity_is_equal_up_to_rounding(got, expected):
    assert Number().differs(got, expected) is None


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        (1_000_000_003, 1_000_000_000),
        (999_999_997, 1_000_000_000),
        (3e-12, 0),
        (1, -1),
        (INF, 1e308),
        (INF, -INF),
        (NAN, 0),
        (0, NAN),
        (INF, NAN),
    ],
)
def test_a_quantity_beyond_rounding_is_another(got, expected):
    assert Number().differs(got, expected) == Difference("", "another number")


@pytest.mark.parametrize("got", [99.5, 99.6, 100, 100.4, 100.5])
def test_a_tolerance_of_half_a_percent_reaches_half_a_percent(got):
    assert Number(relative=5e-3).differs(got, 100) is None


@pytest.mark.parametrize("got", [99.4, 99.49, 100.6, 0, 200])
def test_a_tolerance_of_half_a_percent_reaches_no_further(got):
    assert Number(relative=5e-3).differs(got, 100) is not None


def test_an_absolute_tolerance_holds_near_zero():
    accept = Number(relative=0, absolute=0.25)
    assert accept.differs(0.25, 0) is None
    assert accept.differs(10.25, 10) is None
    assert accept.differs(0.26, 0) is not None


@pytest.mark.parametrize("accept", [Integer(), Number()])
@pytest.mark.parametrize(
    ("got", "description"),
    [
        (True, "a truth value"),
        (False, "a truth value"),
        (None, "nothing (None)"),
        ("1", "text"),
        ([1], "a list of 1"),
        ({}, "a dictionary"),
        (Other("a value of type set"), "a value of type set"),
    ],
)
def test_what_is_no_number_is_told_so_and_never_right(accept, got, description):
    assert str(accept.form_problem(got)) == f"a number is wanted, this is {description}"
    assert accept.differs(got, 1) == accept.form_problem(got)


# --- text and flags ----------------------------------------------------------------------------------------------


def test_text_is_compared_letter_by_letter():
    assert Text().differs("rollout", "rollout") is None
    assert difference(Text(), "Rollout", "rollout") == "another text"
    assert difference(Text(), "rollout ", "rollout") == "another text"


@pytest.mark.parametrize("got", [None, 1, ["rollout"], Other("a value of type bytes")])
def test_what_is_no_text_is_told_so(got):
    assert str(Text().form_problem(got)) == f"text is wanted, this is {describe(got)}"
    assert Text().differs(got, "rollout") is not None


def test_a_word_must_be_among_those_that_are_listed():
    accept = Text(("counted", "not counted"))
    assert accept.form_problem("counted") is None
    assert difference(accept, "counted", "not counted") == "another text"
    assert str(accept.form_problem("Counted")) == 'one of these is wanted: "counted", "not counted"'


@pytest.mark.parametrize(("got", "expected"), [(True, True), (1, True), (1.0, True), (False, False), (0, False)])
def test_a_flag_may_be_one_or_zero(got, expected):
    assert Flag().differs(got, expected) is None


@pytest.mark.parametrize(("got", "expected"), [(True, False), (0, True), (1, False)])
def test_a_flag_is_the_other_of_the_two(got, expected):
    assert difference(Flag(), got, expected) == "the other of the two"


@pytest.mark.parametrize("got", [2, 0.5, NAN, "True", None, [], [True], Other("a value of type object")])
def test_what_is_no_flag_is_told_so(got):
    assert str(Flag().form_problem(got)) == f"True or False (or 1 or 0) is wanted, this is {describe(got)}"
    assert Flag().differs(got, True) == Flag().form_problem(got)


# --- faulty fields -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "got",
    [
        ["seed: is missing", "policy_version: is negative"],
        ["policy_version: below 0", "seed"],
        ["seed :no seed: none", " policy_version: -1"],
    ],
)
def test_faulty_fields_are_known_by_the_words_before_the_colons(got):
    assert FaultyFields().differs(got, ["policy_version: is -1", "seed: is missing"]) is None


@pytest.mark.parametrize("got", [[], ["seed: a"], ["seed: a", "seed: b"], ["seed: a", "policy: b"], ["Seed: a", "b"]])
def test_faulty_fields_are_named_each_once_and_no_other(got):
    assert difference(FaultyFields(), got, ["seed: x", "b: y"]) == "other fields are named"


def test_faulty_fields_are_a_list_of_text():
    assert str(FaultyFields().form_problem("seed: x")) == "a list is wanted, this is text"
    assert str(FaultyFields().form_problem(["a: b", 1])) == "[1]: text is wanted, this is a number"
    assert FaultyFields().differs(None, []) is not None
    assert FaultyFields().differs([], []) is None


# --- dictionaries, tuples and lists ------------------------------------------------------------------------------


def test_fields_may_stand_in_any_order_beside_others():
    assert PAGES.differs({"more": 1, "waste_fraction": 0.5, "blocks": 3}, {"blocks": 3, "waste_fraction": 0.5}) is None


def test_the_field_that_differs_is_named():
    expected = {"blocks": 3, "waste_fraction": 0.5}
    assert difference(PAGES, {"blocks": 3, "waste_fraction": 0.6}, expected) == "['waste_fraction']: another number"
    assert difference(PAGES, {"blocks": 4, "waste_fraction": 0.6}, expected) == "['blocks']: another number"


def test_a_missing_or_malformed_field_is_a_matter_of_form():
    assert str(PAGES.form_problem({"blocks": 3})) == 'the key "waste_fraction" is missing'
    assert str(PAGES.form_problem([3, 0.5])) == "a dictionary is wanted, this is a list of 2"
    assert str(PAGES.form_problem({"blocks": True, "waste_fraction": 0})) == (
        "['blocks']: a number is wanted, this is a truth value"
    )
    assert PAGES.form_problem({"blocks": -1, "waste_fraction": 7}) is None
    assert PAGES.differs({"blocks": 3}, {"blocks": 3, "waste_fraction": 0.5}) == PAGES.form_problem({"blocks": 3})


@pytest.mark.parametrize("got", [("rollout", 32), ["rollout", 32.0]])
def test_a_tuple_may_be_a_list(got):
    assert PEAK.differs(got, ["rollout", 32]) is None
    assert PEAK.differs(got, ("rollout", 32)) is None


def test_the_place_of_a_tuple_that_differs_is_named():
    assert difference(PEAK, ("training", 32), ["rollout", 32]) == "[0]: another text"
    assert difference(PEAK, ("rollout", 33), ["rollout", 32]) == "[1]: another number"


@pytest.mark.parametrize("got", [("rollout",), ("rollout", 32, 1), "ab", {"rollout": 32}, None, 32])
def test_a_tuple_of_another_length_or_no_tuple_is_told_so(got):
    assert str(PEAK.form_problem(got)) == f"a tuple of 2 is wanted, this is {describe(got)}"
    assert PEAK.differs(got, ["rollout", 32]) is not None


def test_a_malformed_place_of_a_tuple_is_a_matter_of_form():
    assert str(PEAK.form_problem((32, "rollout"))) == "[0]: text is wanted, this is a number"


def test_a_list_is_compared_item_by_item():
    accept = ListOf(Number())
    assert accept.differs((1, 2.0), [1, 2]) is None
    assert accept.differs([], []) is None
    assert difference(accept, [1, 3], [1, 2]) == "[1]: another number"
    assert difference(accept, [2, 1], [1, 2]) == "[0]: another number"
    assert difference(accept, [1], [1, 2]) == "a list of another length"
    assert difference(accept, [1, True], [1, 1]) == "[1]: a number is wanted, this is a truth value"
    assert difference(accept, "12", [1, 2]) == "a list is wanted, this is text"
    assert difference(accept, {0: 1}, [1]) == "a list is wanted, this is a dictionary"


def test_a_difference_deep_inside_is_found_by_its_path():
    accept = Fields({"phases": ListOf(Items((Text(), Number())))})
    expected = {"phases": [["rollout", 1], ["training", 2]]}
    assert difference(accept, {"phases": [("rollout", 1), ("training", 3)]}, expected) == (
        "['phases'][1][1]: another number"
    )


def test_a_difference_tells_no_expected_value():
    for accept, got, expected in ((Integer(), 1, 4711), (Text(), "a", "secret"), (ListOf(Number()), [1], [4711, 42])):
        assert not {"4711", "42", "secret"} & set(difference(accept, got, expected).split())


# --- both ways ---------------------------------------------------------------------------------------------------


def test_two_wrong_values_are_the_same_where_the_task_tells_no_difference():
    assert same(PEAK, ("a", 1), ["a", 1.0])
    assert not same(PEAK, ("a", 1), ["a", 2])


@pytest.mark.parametrize(("got", "other"), [(("a", 1), None), (None, ("a", 1)), (None, None), ("ab", "ab")])
def test_malformed_values_are_the_same_as_nothing(got, other):
    assert not same(PEAK, got, other)


@pytest.mark.parametrize(
    ("message", "named"),
    [
        ("ranks must be at least 1", True),
        ("bad 'ranks': 0", True),
        ("ranks=0", True),
        ("ranks", True),
        ("num_ranks must be at least 1", False),
        ("ranks_per_node must be at least 1", False),
        ("Ranks must be at least 1", False),
        ("rank must be at least 1", False),
        ("", False),
    ],
)
def test_an_argument_is_named_as_a_whole_word(message, named):
    assert names_argument(message, "ranks") is named


def test_an_argument_is_no_pattern():
    assert not names_argument("abc", "a.c")
    assert names_argument("a.c is bad", "a.c")


SPECIFICATIONS = st.recursive(
    st.builds(Integer)
    | st.builds(Number, st.floats(0, 1), st.floats(0, 1))
    | st.builds(Text, st.lists(st.text(max_size=5), max_size=3).map(tuple))
    | st.builds(Flag)
    | st.builds(FaultyFields),
    lambda inside: (
        st.builds(Fields, st.dictionaries(st.text(max_size=5), inside, max_size=3))
        | st.builds(Items, st.lists(inside, max_size=3).map(tuple))
        | st.builds(ListOf, inside)
    ),
    max_leaves=6,
)


@given(SPECIFICATIONS)
def test_a_specification_travels_as_json(accept):
    assert from_data(json.loads(json.dumps(accept.to_data()))) == accept


def test_an_unknown_kind_of_specification_is_refused():
    with pytest.raises(ValueError, match="unknown kind of specification: 'set'"):
        from_data({"kind": "set"})


@pytest.mark.parametrize(
    ("value", "description"),
    [
        (None, "nothing (None)"),
        (True, "a truth value"),
        (1.5, "a number"),
        ("a", "text"),
        ({}, "a dictionary"),
        ((1, 2), "a list of 2"),
        (Other("a value of type set"), "a value of type set"),
        ({1}, "a value of type set"),
    ],
)
def test_a_value_is_described_by_its_kind(value, description):
    assert describe(value) == description
