"""What notebooks hand out: units, validators of arguments, tables."""

from fractions import Fraction

import numpy as np
import pytest

from rlinfra.given import (
    BYTES_PER_GB,
    BYTES_PER_GIB,
    attempt,
    human_bytes,
    require_count,
    require_fraction,
    require_nonnegative,
    require_positive,
    table,
)

NO_NUMBERS = [True, "1", None, [1], 1j, float("nan"), float("inf"), float("-inf")]


# --- bytes for reading -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "text"),
    [
        (0, "0 B"),
        (1, "1 B"),
        (0.5, "0.5 B"),
        (1_023, "1023 B"),
        (1_024, "1.00 KiB"),
        (1_536, "1.50 KiB"),
        (1_048_576, "1.00 MiB"),
        (17_179_869_184, "16.00 GiB"),
        (112_000_000_000, "104.31 GiB"),  # 112e9 / 1,073,741,824 = 104.308
        (14_320_000_000.0, "13.34 GiB"),
        (2**40, "1.00 TiB"),
        (2**50, "1.00 PiB"),
        (2**60, "1.00 EiB"),
        (2**71, "2048.00 EiB"),
    ],
)
def test_bytes_are_shown_in_the_largest_binary_unit_that_leaves_one(n, text):
    assert human_bytes(n) == text


@pytest.mark.parametrize("n", [-1, -0.5, float("nan"), float("inf"), True])
def test_bytes_that_are_no_amount_are_refused(n):
    with pytest.raises(ValueError, match=f"n must be a number of bytes, 0 or more, not {n!r}"):
        human_bytes(n)


def test_a_gib_is_binary_and_a_gb_decimal():
    assert (BYTES_PER_GIB, BYTES_PER_GB) == (1_073_741_824, 1_000_000_000)


# --- validators --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [0, 7, 10**30, np.int64(7), np.uint8(0)])
def test_a_count_is_an_integer_of_at_least_the_minimum(value):
    count = require_count("ranks", value)
    assert count == value
    assert type(count) is int


@pytest.mark.parametrize("value", [3.0, *NO_NUMBERS, np.True_, np.float64(3), Fraction(3)])
def test_what_is_no_integer_is_no_count(value):
    with pytest.raises(ValueError, match=r"^ranks must be an integer, not "):
        require_count("ranks", value)


def test_a_count_below_the_minimum_is_refused():
    assert require_count("ranks", 1, minimum=1) == 1
    with pytest.raises(ValueError, match="ranks must be at least 1, not 0"):
        require_count("ranks", 0, minimum=1)
    with pytest.raises(ValueError, match="ranks must be at least 0, not -1"):
        require_count("ranks", -1)


@pytest.mark.parametrize("value", [0, 0.0, 0.5, 12, Fraction(1, 3), np.float32(0.5), np.int64(3)])
def test_a_nonnegative_number_is_returned_as_it_is(value):
    assert require_nonnegative("size", value) is value


@pytest.mark.parametrize("value", [-1, -1e-300, *NO_NUMBERS])
def test_what_is_negative_or_no_finite_number_is_refused(value):
    with pytest.raises(ValueError, match=r"^size must be a finite number, 0 or more, not "):
        require_nonnegative("size", value)


@pytest.mark.parametrize("value", [1, 5e-324, Fraction(1, 3), np.float64(2)])
def test_a_positive_number_is_returned_as_it_is(value):
    assert require_positive("rate", value) is value


@pytest.mark.parametrize("value", [0, 0.0, -0.0, -1, *NO_NUMBERS])
def test_what_is_not_above_zero_is_refused(value):
    with pytest.raises(ValueError, match=r"^rate must be a finite number above 0, not "):
        require_positive("rate", value)


@pytest.mark.parametrize("value", [0, 1, 0.25, Fraction(1, 3)])
def test_a_fraction_lies_between_zero_and_one(value):
    assert require_fraction("share", value) is value


@pytest.mark.parametrize("value", [-1e-9, 1.000001, 50, *NO_NUMBERS])
def test_what_lies_outside_zero_to_one_is_refused(value):
    with pytest.raises(ValueError, match=r"^share must lie between 0 and 1, not "):
        require_fraction("share", value)


# --- tables ------------------------------------------------------------------------------------------------------


def test_an_attempt_is_the_functions_value():
    assert attempt(lambda: 3) == 3
    assert attempt(lambda: 0) == 0


@pytest.mark.parametrize("function", [lambda: None, lambda: ..., lambda: 1 / 0, lambda: human_bytes(None)])
def test_an_attempt_at_a_function_that_is_not_written_is_a_dash(function):
    assert attempt(function) == "–"


def test_an_attempt_lets_an_interrupt_through():
    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        attempt(interrupted)


def test_a_tables_columns_are_as_wide_as_their_widest_entry():
    lines = repr(table(["phase", "bytes"], [["rollout", 32_000], ["train", 1]])).splitlines()
    assert [line.split() for line in lines] == [["phase", "bytes"], ["rollout", "32,000"], ["train", "1"]]
    assert [len(line) for line in lines] == [len("rollout") + 2 + len("32,000")] * 3


def test_a_tables_numbers_are_grouped_or_rounded_to_four_digits():
    text = repr(table(["n"], [[1_234_567], [2.0 / 3], [True], ["–"]]))
    assert [line.strip() for line in text.splitlines()] == ["n", "1,234,567", "0.6667", "True", "–"]


def test_a_tables_html_has_heads_and_cells():
    html = table(["what", "bytes"], [["state", 112_000_000_000]])._repr_html_()
    assert html.count("<th scope='col'") == 2
    assert "<td style='text-align:left'>state</td><td style='text-align:right'>112,000,000,000</td>" in html


def test_a_tables_html_is_escaped():
    html = table(["<script>"], [["a & <b>"]])._repr_html_()
    assert "&lt;script&gt;" in html
    assert "a &amp; &lt;b&gt;" in html
    assert "<script>" not in html
    assert "<b>" not in html
