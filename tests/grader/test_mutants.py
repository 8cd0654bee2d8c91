"""The mutator, on modules of a few lines whose mutants are listed by hand."""

import importlib
import itertools
import textwrap

import pytest

from rlinfra_autograder.mutants import mutants_of

_numbers = itertools.count()


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Write a module, import it and return it."""

    def imported(text):
        name = f"mutated_{next(_numbers)}"
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(text), encoding="utf-8")
        importlib.invalidate_caches()
        return importlib.import_module(name)

    monkeypatch.syspath_prepend(tmp_path)
    return imported


def descriptions(reference, validation=False):
    return [mutant.description for mutant in mutants_of(reference, validation=validation)]


SMALL = '''\
"""A module of 3 functions."""

UNIT = 100  # 7


def cost(count, each, *, express: bool = False):
    """Return 2 + 2, the cost."""
    if count < 0:
        raise ValueError(f"count must be {1 - 1} or more, not {count}")
    total: int | None = weight(count) * each
    return total + 3 if express else total


def weight(count):
    """Return 1 + 1."""
    return max(count, 2)


def unrelated(count):
    return count - 4
'''
BODY = [
    "cost: line 10: weight(count) * each → weight(count) + each",
    "cost: line 10: weight(count) * each → weight(count) // each",
    "cost: line 10: weight(count) * each → weight(count)",
    "cost: line 10: weight(count) * each → each",
    "cost: line 11: total + 3 if express else total → total + 3",
    "cost: line 11: total + 3 if express else total → total",
    "cost: line 11: total + 3 → total - 3",
    "cost: line 11: total + 3 → total",
    "cost: line 11: total + 3 → 3",
    "cost: line 11: 3 → 4",
    "cost: line 11: 3 → 2",
    "weight: line 16: max(count, 2) → min(count, 2)",
    "weight: line 16: 2 → 3",
    "weight: line 16: 2 → 1",
]
VALIDATION = [
    "cost: line 8: dropped if count < 0: raise ValueError(f'count must be {1 - 1} or…",
    "cost: line 8: count < 0 → count <= 0",
    "cost: line 8: count < 0 → count >= 0",
    "cost: line 8: 0 → 1",
    "cost: line 8: 0 → -1",
]


def test_the_function_and_those_that_it_calls_are_mutated_and_nothing_else(module):
    """No docstring, no annotation, no default, no constant of the module, no other function, no validation."""
    assert sorted(descriptions(module(SMALL).cost)) == sorted(BODY)


def test_validation_is_mutated_where_asked_but_what_it_raises_is_not(module):
    assert sorted(descriptions(module(SMALL).cost, validation=True)) == sorted(BODY + VALIDATION)


def test_each_mutant_is_the_reference_with_that_one_change(module):
    cost = module(SMALL).cost
    mutants = {mutant.description: mutant.function for mutant in mutants_of(cost, validation=True)}
    by_hand = {
        "cost: line 10: weight(count) * each → weight(count) + each": 5 + 7 + 3,
        "cost: line 10: weight(count) * each → each": 7 + 3,
        "cost: line 11: total + 3 → total - 3": 5 * 7 - 3,
        "cost: line 11: 3 → 4": 5 * 7 + 4,
        "cost: line 11: total + 3 if express else total → total": 5 * 7,
        "weight: line 16: max(count, 2) → min(count, 2)": 2 * 7 + 3,
        "weight: line 16: 2 → 3": 5 * 7 + 3,
    }
    assert {name: mutants[name](5, 7, express=True) for name in by_hand} == by_hand
    assert mutants["weight: line 16: 2 → 3"](0, 7) == 21
    assert mutants["cost: line 8: 0 → -1"](-1, 7) == 14
    assert mutants["cost: line 8: count < 0 → count <= 0"](1, 7) == 14
    with pytest.raises(ValueError, match="count must be 0 or more, not 0"):
        mutants["cost: line 8: count < 0 → count <= 0"](0, 7)


def test_a_mutant_without_the_validation_takes_any_argument(module):
    dropped = next(m for m in mutants_of(module(SMALL).cost, validation=True) if "dropped" in m.description)
    assert dropped.function(-5, 7) == 14


def test_the_reference_itself_stays_as_it_is(module):
    cost = module(SMALL).cost
    assert len(mutants_of(cost, validation=True)) == len(BODY + VALIDATION)
    assert cost(5, 7, express=True) == 38
    with pytest.raises(ValueError, match="count must be 0 or more, not -1"):
        cost(-1, 7)


def test_mutants_that_are_made_twice_are_the_same(module):
    cost = module(SMALL).cost
    assert descriptions(cost, validation=True) == descriptions(cost, validation=True)


def test_require_statements_and_loops_of_them_are_validation(module):
    small = module(
        """
        from rlinfra.given import require_count

        def total(lengths, each):
            for length in lengths:
                require_count("lengths", length, minimum=1)
            require_count("each", each)
            return sum(lengths) * each
        """
    )
    assert not any("require_count" in text or "line 6" in text for text in descriptions(small.total))
    more = set(descriptions(small.total, validation=True)) - set(descriptions(small.total))
    assert more == {
        "total: line 5: dropped for length in lengths: require_count('lengths', length, m…",
        "total: line 6: 1 → 2",
        "total: line 6: 1 → 0",
        "total: line 7: dropped require_count('each', each)",
    }


EXPRESSIONS = {
    "a - b": {"a + b", "a", "b"},
    "a / b": {"a * b", "a // b", "a", "b"},
    "a // b": {"a / b", "a * b", "a", "b"},
    "a % b": {"a // b", "a", "b"},
    "a ** b": {"a * b", "a", "b"},
    "a <= b": {"a < b", "a > b"},
    "a > b": {"a >= b", "a <= b"},
    "a >= b": {"a > b", "a < b"},
    "a == b": {"a != b"},
    "a != b": {"a == b"},
    "a is b": {"a is not b"},
    "a is not b": {"a is b"},
    "a in b": {"a not in b"},
    "a not in b": {"a in b"},
    "a and b": {"a or b", "a", "b"},
    "a or b": {"a and b", "a", "b"},
    "-a": {"a"},
    "not a": {"a"},
    "True": {"False"},
    "0.5": {"1.5", "-0.5"},
    "min(a, b)": {"max(a, b)"},
    "sum(a)": {"max(a)"},
    "any(a)": {"all(a)"},
    "all(a)": {"any(a)"},
    "math.ceil(a)": {"math.floor(a)"},
    "math.floor(a)": {"math.ceil(a)"},
    "max(a, key=b)": {"min(a, key=b)"},
    "'1 + 2'": set(),
    "f'{a} of 3'": set(),
    "None": set(),
    "len(a)": set(),
}


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression_is_exchanged_for_its_neighbours(module, expression):
    small = module(f"import math\n\ndef f(a, b):\n    return {expression}\n")
    assert set(descriptions(small.f)) == {f"f: line 4: {expression} → {other}" for other in EXPRESSIONS[expression]}


def test_a_helper_of_a_helper_is_mutated_once(module):
    small = module(
        """
        def first(a):
            return second(a) if a else second(a + 1)

        def second(a):
            return third(a)

        def third(a):
            return first(0) if a > 9 else -a
        """
    )
    assert [text for text in descriptions(small.first) if text.startswith("third")].count("third: line 9: -a → a") == 1
