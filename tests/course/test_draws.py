"""Draws are hashes of their key: the values here were worked out with Perl's Digest::SHA and with hashlib."""

import hashlib
from itertools import islice, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlinfra.draws import Draws, words

KEY = ("memory", "ada")


def bits_by_hand(count):
    return int(hashlib.sha256(f"memory\x1fada\x1e{count}".encode()).hexdigest()[:32], 16)


def test_integers_are_those_that_perl_draws():
    draws = Draws(*KEY)
    assert [draws.integer(1, 6) for _ in range(10)] == [2, 1, 5, 5, 1, 5, 6, 3, 4, 3]


def test_choices_are_those_that_perl_draws():
    draws = Draws(*KEY)
    assert [draws.choice("abc") for _ in range(8)] == list("babbabcc")


def test_uniform_draws_are_those_that_perl_draws():
    draws = Draws(*KEY)
    assert [draws.uniform(0, 1) for _ in range(4)] == [0.147288, 0.961179, 0.271006, 0.313050]


def test_a_shuffle_is_the_one_that_perl_draws():
    assert Draws(*KEY).shuffled("abcde") == list("cadbe")


def test_a_draw_is_the_first_half_of_a_hash_of_key_and_counter():
    assert bits_by_hand(1) == 0x25B4AB1FCDD0DEFEA71230A17705E2EB
    draws = Draws(*KEY)
    assert [draws.integer(0, 2**128 - 1) for _ in range(3)] == [bits_by_hand(count) for count in (1, 2, 3)]


def test_a_uniform_draw_is_the_first_53_bits_of_a_hash():
    assert Draws(*KEY).uniform(10, 30) == round(10 + 20 * (bits_by_hand(1) >> 75) / 2**53, 6) == 12.945761


def test_streams_with_equal_keys_give_equal_draws():
    one, other = Draws("hidden", "seed"), Draws("hidden", "seed")
    assert [one.integer(0, 10**9) for _ in range(20)] == [other.integer(0, 10**9) for _ in range(20)]


def test_a_stream_does_not_depend_on_other_streams():
    alone = Draws("a")
    expected = [alone.integer(0, 10**9) for _ in range(5)]
    one, other = Draws("a"), Draws("b")
    mixed = []
    for _ in range(5):
        other.integer(0, 10**9)
        mixed.append(one.integer(0, 10**9))
    assert mixed == expected


@pytest.mark.parametrize("other", [("adamemory",), ("memoryada",), ("ada", "memory"), ("memory", "ada", ""), ()])
def test_streams_with_other_keys_give_other_draws(other):
    assert Draws(*KEY).integer(0, 2**128 - 1) != Draws(*other).integer(0, 2**128 - 1)


@given(key=st.text(), low=st.integers(-(10**12), 10**12), width=st.integers(0, 10**12))
def test_an_integer_lies_in_its_range(key, low, width):
    assert low <= Draws(key).integer(low, low + width) <= low + width


def test_both_ends_of_an_integers_range_are_drawn():
    draws = Draws("ends")
    assert {draws.integer(-1, 1) for _ in range(100)} == {-1, 0, 1}


@given(key=st.text(), low=st.integers(-1000, 1000), width=st.integers(1, 1000))
def test_a_uniform_draw_lies_in_its_range_and_has_six_decimals(key, low, width):
    value = Draws(key).uniform(low, low + width)
    assert low <= value <= low + width
    assert value == round(value, 6)


def test_uniform_draws_fill_their_range():
    draws = Draws("fill")
    values = sorted([0, 1, *(draws.uniform(0, 1) for _ in range(1000))])
    assert max(after - before for before, after in pairwise(values)) < 0.02


@given(key=st.text(), items=st.lists(st.integers(), max_size=30))
def test_a_shuffle_is_a_permutation_that_leaves_its_argument_alone(key, items):
    before = list(items)
    assert sorted(Draws(key).shuffled(items)) == sorted(items)
    assert items == before


def test_every_order_of_three_is_drawn():
    draws = Draws("orders")
    assert len({tuple(draws.shuffled("abc")) for _ in range(100)}) == 6


def test_words_are_those_that_perl_draws():
    drawn = list(islice(words("rollouts", "12016", "3"), 32))
    assert drawn[:4] == [1299178923, 4252453940, 3058806394, 3032253685]
    assert drawn[15:18] == [3717508812, 2697023781, 2479973270]
    assert drawn[31] == 3672838588


def test_words_of_another_key_are_others():
    assert list(islice(words("a", "1"), 3)) != list(islice(words("a", "11"), 3))
