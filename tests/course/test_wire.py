"""What crosses between the student's process and the grader: everything encodes, and only JSON comes out."""

import collections
import dataclasses
import enum
import json
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlinfra.wire import MAX_DEPTH, MAX_INTEGER_BITS, MAX_ITEMS, MAX_TEXT, Other, decode, encode

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**MAX_INTEGER_BITS) + 1, 2**MAX_INTEGER_BITS - 1)
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["$float", "$other", "$dict", "$"])
)
KEYS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just("$float")


def containers(inside):
    return st.lists(inside, max_size=4) | st.dictionaries(KEYS, inside, max_size=4)


VALUES = LEAVES | containers(LEAVES | containers(LEAVES | containers(LEAVES)))


def crossed(value):
    """Send a value across as the grader does, where bare NaN and Infinity are refused."""
    return decode(json.loads(json.dumps(encode(value), allow_nan=False)))


# --- round trips -------------------------------------------------------------------------------------------------


@given(VALUES)
def test_plain_values_cross_unchanged(value):
    assert repr(crossed(value)) == repr(value)  # `repr` tells True from 1 and knows NaN as itself


@pytest.mark.parametrize(
    ("value", "data"),
    [
        (math.nan, {"$float": "nan"}),
        (math.inf, {"$float": "inf"}),
        (-math.inf, {"$float": "-inf"}),
        (-0.0, -0.0),
        ({1: "a"}, {"$dict": [[1, "a"]]}),
        ({"$float": "nan"}, {"$dict": [["$float", "nan"]]}),
        ({"a": {"$b": 1}}, {"a": {"$dict": [["$b", 1]]}}),
        ({math.nan: None}, {"$dict": [[{"$float": "nan"}, None]]}),
        ((1, (2, 3)), [1, [2, 3]]),
        ({}, {}),
    ],
)
def test_a_value_has_this_form(value, data):
    assert repr(encode(value)) == repr(data)


def test_a_dictionary_that_looks_like_a_tag_crosses_as_a_dictionary():
    assert crossed({"$other": "a set"}) == {"$other": "a set"}


def test_a_key_that_is_no_plain_value_becomes_text():
    assert crossed({(1, 2): "x"}) == {"[1, 2]": "x"}


# --- values of libraries -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (np.int64(3), 3),
        (np.uint8(255), 255),
        (np.float64(0.5), 0.5),
        (np.float32(0.25), 0.25),
        (np.float64("nan"), math.nan),
        (np.float32("-inf"), -math.inf),
        (np.longdouble(2.5), 2.5),
        (np.True_, True),
        (np.False_, False),
        (np.str_("word"), "word"),
        (np.array(7), 7),
        (np.array([1, 2]), [1, 2]),
        (np.array([[0.5, math.inf]]), [[0.5, math.inf]]),
        (np.array(["a", None], dtype=object), ["a", None]),
        ({"n": np.int32(1)}, {"n": 1}),
        (Fraction(1, 2), 0.5),
        (Fraction(6, 3), 2),
        (Fraction(2**80), 2**80),
        (Decimal("1.25"), 1.25),
        (Decimal("3.00"), 3),
        (Decimal("NaN"), math.nan),
        (Decimal("-Infinity"), -math.inf),
    ],
)
def test_numbers_and_arrays_of_libraries_become_plain_ones(value, plain):
    assert repr(crossed(value)) == repr(plain)


def test_dataclasses_named_tuples_and_enumerations_become_plain_ones():
    @dataclasses.dataclass
    class State:
        phase: str
        parts: tuple[int, ...]

    class Stage(enum.IntEnum):
        TWO = 2

    pair = collections.namedtuple("pair", "left right")
    assert crossed(State("rollout", (1, 2))) == {"phase": "rollout", "parts": [1, 2]}
    assert crossed(pair(1, np.int64(2))) == [1, 2]
    assert crossed(Stage.TWO) == 2


def test_an_object_that_is_an_index_becomes_an_integer():
    class Place:
        def __index__(self):
            return 3

    assert crossed([Place()]) == [3]


def test_subclasses_of_plain_types_cross_as_their_plain_values():
    class Count(int):
        def __index__(self):
            return 99

        def __repr__(self):
            return "NaN"

    class Size(float):
        def __float__(self):
            return 99.0

    class Word(str):
        __slots__ = ()

        def __str__(self):
            return "another"

    data = encode([Count(3), Size(0.5), Word("word")])
    assert data == [3, 0.5, "word"]
    assert [type(item) for item in data] == [int, float, str]
    assert crossed(collections.OrderedDict(a=1)) == {"a": 1}


# --- bounds ------------------------------------------------------------------------------------------------------


LAYERS = {
    "list": lambda value: [value],
    "dictionary": lambda value: {"key": value},
    "dictionary without text keys": lambda value: {1: value},
}


@pytest.mark.parametrize("layer", LAYERS.values(), ids=LAYERS.keys())
def test_a_value_may_be_nested_eight_deep_and_no_deeper(layer):
    def nested(depth):
        return layer(nested(depth - 1)) if depth else 1

    assert MAX_DEPTH == 8
    assert crossed(nested(8)) == nested(8)
    assert "<a value nested too deeply>" in repr(crossed(nested(9)))


def test_a_key_may_be_nested_as_deep_as_a_value():
    def nested(depth):
        return (nested(depth - 1),) if depth else 1

    assert crossed({nested(7): 1}) == {"[[[[[[[1]]]]]]]": 1}
    assert crossed({nested(8): 1}) == {"[[[[[[[[<a value nested too deeply>]]]]]]]]": 1}


def test_a_list_that_holds_itself_is_cut_off():
    value = []
    value.append(value)
    assert "a value nested too deeply" in json.dumps(encode(value))


def test_a_value_with_too_many_items_becomes_other_as_a_whole():
    too_many = Other("a value with more than 20000 items")
    assert crossed([0] * (MAX_ITEMS - 1)) == [0] * 19_999
    assert crossed([0] * (MAX_ITEMS + 1)) == too_many
    assert crossed([[0] * 150] * 150) == too_many
    assert crossed(np.zeros(MAX_ITEMS + 1)) == too_many
    assert crossed(dict.fromkeys(range(MAX_ITEMS))) == too_many


def test_a_list_without_end_becomes_other():
    class Endless(list):
        def __iter__(self):
            while True:
                yield 0

    assert crossed(Endless()) == Other("a value with more than 20000 items")


def test_an_integer_may_have_512_bits_and_no_more():
    assert crossed(2**512 - 1) == 2**512 - 1
    assert crossed(1 - 2**512) == 1 - 2**512
    assert crossed(2**512) == Other("an integer of 513 bits")
    assert crossed([-(10**1000)]) == [Other("an integer of 3322 bits")]  # log2(10^1000) = 3321.9
    assert crossed(Fraction(10**200)) == Other("an integer of 665 bits")  # log2(10^200) = 664.4


def test_text_is_cut_at_four_thousand_characters():
    assert crossed("x" * 5_000) == "x" * 4_000 == "x" * MAX_TEXT
    assert crossed({"k" * 5_000: 1}) == {"k" * 4_000: 1}


@dataclasses.dataclass
class Settings:
    size: int = 1


class Scale:
    def __float__(self):
        return 1.5


@pytest.mark.parametrize(
    ("value", "description"),
    [
        ({1}, "a value of type set"),
        (range(3), "a value of type range"),
        (b"x", "a value of type bytes"),
        (1j, "a value of type complex"),
        (object(), "a value of type object"),
        ((item for item in "ab"), "a value of type generator"),
        (lambda: 1, "a value of type function"),
        (..., "a value of type ellipsis"),
        (Settings, "a class"),
        (Scale(), "a value of type Scale"),
        (type("x" * 100, (), {})(), "a value of type " + "x" * 60),
    ],
)
def test_what_has_no_plain_form_becomes_other_with_the_name_of_its_type(value, description):
    assert encode(value) == {"$other": description}
    assert crossed(value) == Other(description)


def test_only_the_part_without_a_plain_form_becomes_other():
    assert crossed([1, {"a": {2}}]) == [1, {"a": Other("a value of type set")}]


def test_other_shows_its_description():
    assert repr(Other("a value of type set")) == "<a value of type set>"


# --- hostile objects ---------------------------------------------------------------------------------------------


def failing(*_):
    raise RuntimeError("hostile")


def object_with(**methods):
    return type("Hostile", (), methods)()


def subclass_with(base, **methods):
    return type("Hostile", (base,), methods)


@dataclasses.dataclass
class Unset:
    there: int = 1
    missing: int = dataclasses.field(init=False)


HOSTILE = {
    "__index__ raises": object_with(__index__=failing),
    "__index__ returns text": object_with(__index__=lambda self: "1"),
    "__float__ raises": subclass_with(Fraction, __float__=failing)(1, 3),
    "__int__ raises": subclass_with(Fraction, __int__=failing, __trunc__=failing)(1, 3),
    "__eq__ raises": subclass_with(Decimal, __eq__=failing)(1),
    "too large for a float": Fraction(10**400),
    "a signalling NaN": Decimal("sNaN"),
    "__iter__ of a list raises": subclass_with(list, __iter__=failing)([1]),
    "tolist raises": object_with(tolist=failing),
    "tolist returns itself": object_with(tolist=lambda self: self),
    "__getattr__ raises": object_with(__getattr__=failing),
    "__getattribute__ raises": object_with(__getattribute__=failing),
    "__class__ raises": object_with(__class__=property(failing)),
    "a field is not set": Unset(),
    "a class": int,
    "a class with a name that raises": type("Meta", (type,), {"__name__": property(failing)})("Hostile", (), {})(),
    **{
        f"__class__ is said to be {kind.__name__}": object_with(__class__=property(lambda _, kind=kind: kind))
        for kind in (int, float, str, list, tuple, dict, Fraction, type(None))
    },
}


@pytest.mark.parametrize("hostility", HOSTILE)
def test_a_hostile_object_becomes_other_and_raises_nothing(hostility):
    assert isinstance(crossed(HOSTILE[hostility]), Other)


@pytest.mark.parametrize("hostility", HOSTILE)
def test_a_hostile_object_inside_a_value_raises_nothing(hostility):
    assert "$other" in json.dumps(encode({"inside": [1, HOSTILE[hostility]]}), allow_nan=False)


def test_a_hostile_field_of_a_dataclass_raises_nothing():
    @dataclasses.dataclass
    class State:
        total: object

        def __getattribute__(self, name):
            return failing() if name == "total" else super().__getattribute__(name)

    assert crossed(State(1)) == Other("an object that cannot be read")


# --- decoding ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        {"$float": "1.5"},
        {"$float": 1},
        {"$float": "nan", "more": 1},
        {"$other": 1},
        {"$other": "a set", "$float": "nan"},
        {"$dict": {}},
        {"$dict": [], "more": 1},
        {"$unknown": 1},
        {"a": 1, "$": 2},
        [{"$float": "NaN"}],
        {"a": [{"$dict": 3}]},
        {"$dict": [["key", {"$float": 0}]]},
    ],
)
def test_data_that_encoding_never_writes_is_refused(data):
    with pytest.raises(ValueError, match="not a wire value"):
        decode(data)


def test_a_description_is_cut_at_four_thousand_characters():
    assert decode({"$other": "x" * 5_000}) == Other("x" * 4_000)


@pytest.mark.parametrize(
    "lies",
    [{"__iter__": failing}, {"items": failing}, {"items": lambda self: [1, 2]}],
    ids=["__iter__ raises", "items raises", "items are no pairs"],
)
def test_of_a_dictionary_that_lies_about_its_items_the_true_ones_are_read(lies):
    assert encode(subclass_with(dict, **lies)(a=1)) == {"a": 1}
