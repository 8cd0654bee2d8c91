"""Messages from a student's process: JSON of a bounded form, or no message."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlinfra_autograder.sandbox.messages import MOST_DEPTH, MOST_DIGITS, parse_message

LISTS_WITHIN = MOST_DEPTH - 2  # the message and what it holds are two levels more


def nested(lists: int) -> bytes:
    return b'{"a": ' + b"[" * lists + b"1" + b"]" * lists + b"}"


@pytest.mark.parametrize(
    "line",
    [
        b'{"a": NaN}',
        b'{"a": Infinity}',
        b'{"a": [-Infinity]}',
        b'{"a": 1e999}',
        b'{"a": -1e999}',
        b'{"a": ' + b"7" * (MOST_DIGITS + 1) + b"}",
        b'{"a": 1, "a": 2}',
        b'{"a": {"b": 1, "c": 2, "b": 3}}',
        nested(LISTS_WITHIN + 1),
        nested(100_000),
        b"[1]",
        b'"begin"',
        b"null",
        b"1",
        b"",
        b'{"a": 1',
        b'{"a": 1} {"b": 2}',
        b'{"a": "\xff"}',
        b'{"a": "\xed\xa0\x80"}',
        b"{'a': 1}",
        b'{"a": "\n"}',
        b"\xef\xbb\xbf{}",
        b"{1: 2}",
        b'{"a": 01}',
        b'{"a": 0x10}',
        b'{"a": .5}',
    ],
    ids=[
        "NaN",
        "Infinity",
        "minus Infinity",
        "a number that overflows",
        "a negative number that overflows",
        "an integer of too many digits",
        "a key twice",
        "a key twice further down",
        "one level too deep",
        "far too deep for a recursive parser",
        "a list",
        "a text",
        "null",
        "a number",
        "nothing",
        "an object that does not end",
        "two objects",
        "bytes that are no UTF-8",
        "a surrogate in UTF-8",
        "Python's own notation",
        "a bare line break in a text",
        "a byte order mark",
        "a key that is no text",
        "a leading zero",
        "a hexadecimal number",
        "a bare point",
    ],
)
def test_what_is_no_message_is_refused(line):
    assert parse_message(line) is None


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{}", {}),
        (b'{"begin": 3}', {"begin": 3}),
        (b' {"a": [true, null, -1.5e3, "\\u00fc"]}\r', {"a": [True, None, -1500.0, "ü"]}),
        ('{"ü": "世"}'.encode(), {"ü": "世"}),
        (b'{"a": ' + b"7" * MOST_DIGITS + b"}", {"a": int("7" * MOST_DIGITS)}),
        (b'{"a": {"x": 1}, "b": {"x": 2}}', {"a": {"x": 1}, "b": {"x": 2}}),
        (b'{"a": 1e-999}', {"a": 0.0}),
    ],
    ids=["empty", "an integer", "every kind", "UTF-8", "as many digits as may be", "a key in two objects", "underflow"],
)
def test_what_is_a_message_is_read_exactly(line, message):
    assert parse_message(line) == message


def test_the_deepest_that_may_be_is_read():
    assert parse_message(nested(LISTS_WITHIN)) is not None


@given(st.binary())
def test_no_bytes_at_all_raise_anything(line):
    found = parse_message(line)
    assert found is None or isinstance(found, dict)


JSON_LIKE = st.text(alphabet='{}[]",:0123456789.eE+-NaInfityrul\\ \n\u00fc\u4e16')


@given(JSON_LIKE.map(str.encode) | JSON_LIKE.map(lambda text: b'{"a": ' + text.encode() + b"}"))
def test_nothing_that_looks_like_json_raises_anything(line):
    found = parse_message(line)
    assert found is None or isinstance(found, dict)


BOUNDED = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.text(), BOUNDED, max_size=4))
def test_whatever_an_honest_child_may_send_comes_through_as_it_was(message):
    assert parse_message(json.dumps(message, allow_nan=False).encode()) == message
