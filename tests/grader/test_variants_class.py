"""The variants of whole classes: nobody has another's answer, every answer is in range, a wrong unit is not."""

import random

import pytest

from rlinfra.variants import variant
from tests.conftest import THOROUGH

from .seen import VARIANTS, by_name

CLASSES = 20 if THOROUGH else 5  # at least one in each style
STUDENTS = 1_000
FEWER_CLASSES = {"records_variant": 5 if THOROUGH else 2}  # its answer is counted token by token, 1 ms a student
NAMES = ("ada", "bela", "chen", "dora", "emil", "felix", "grace", "hugo", "ines", "jonas")
# What a number is multiplied with by someone who gives it in another unit.
OTHER_UNITS = {
    "bytes": {"KiB": 2**-10, "GiB": 2**-30, "GB": 1e-9, "bits": 8},
    "GiB": {"bytes": 2**30, "MiB": 2**10},
    "GB": {"bytes": 1e9, "MB": 1e3},
    "seconds": {"milliseconds": 1e3, "microseconds": 1e6, "minutes": 1 / 60, "hours": 1 / 3600},
    "s": {"milliseconds": 1e3, "microseconds": 1e6, "minutes": 1 / 60, "hours": 1 / 3600},
    "minutes": {"seconds": 60, "hours": 1 / 60},
    "hours": {"seconds": 3600, "minutes": 60},
    "percent": {"a fraction": 1e-2},
    "%": {"a fraction": 1e-2},
    "of 1": {"percent": 1e2},
    "plain numbers": {"percent": 1e2},
}


def a_class(number):
    """Return the ids of one class, in a style of its own: numbers, names, names with a number, e-mail addresses."""
    chance = random.Random(number)
    first = chance.randrange(10**6)
    match number % 5:
        case 0:
            return [str(first + student) for student in range(STUDENTS)]
        case 1:
            return [
                f"{chance.choice(NAMES)}.{chance.choice(NAMES)}{student}@uni-{number}.example"
                for student in range(STUDENTS)
            ]
        case 2:
            return [
                f"{NAMES[student % 10]}-{NAMES[student // 10 % 10]}-{student // 100}" for student in range(STUDENTS)
            ]
        case 3:
            return [f"s{first + 7 * student:08d}" for student in range(STUDENTS)]
    return [f"{chance.choice(NAMES)}{chance.randrange(10**9)}x{student}" for student in range(STUDENTS)]


@pytest.fixture(scope="module", params=VARIANTS, ids=by_name)
def classes(request):
    """A variant task and the answers of some classes to it."""
    task = request.param
    answers = [
        [dict(task.answer(variant(task.topic, student).numbers)) for student in a_class(number)]
        for number in range(FEWER_CLASSES.get(task.name, CLASSES))
    ]
    return task, answers


def test_the_ids_of_a_class_are_all_different():
    assert [len(set(a_class(number))) for number in range(CLASSES)] == [STUDENTS] * CLASSES


def test_no_two_students_of_a_class_share_an_answer(classes):
    _, answers = classes
    assert [len({tuple(answer.values()) for answer in mine}) for mine in answers] == [STUDENTS] * len(answers)


def test_every_answer_has_every_field_and_lies_in_its_range(classes):
    task, answers = classes
    for name, part in task.fields.items():
        values = [answer[name] for mine in answers for answer in mine]
        assert part.low <= min(values)
        assert max(values) <= part.high


def test_an_answer_in_another_unit_is_mostly_out_of_range_for_some_field(classes):
    task, answers = classes
    units = {name: OTHER_UNITS[part.unit] for name, part in task.fields.items() if part.unit in OTHER_UNITS}
    if not units:
        pytest.skip("no field of this variant has a unit that we know another for")
    told = [
        sum(not task.fields[name].low <= answer[name] * factor <= task.fields[name].high for answer in answers[1])
        for name, others in units.items()
        for factor in others.values()
    ]
    assert max(told) > STUDENTS / 2


@pytest.mark.parametrize(
    ("name", "field", "factor"),
    [
        pytest.param("memory_variant", "adapted_bytes", 2**-30, id="GiB for bytes"),
        pytest.param("memory_variant", "adapted_bytes", 1e-9, id="GB for bytes"),
        pytest.param("memory_variant", "rank_gib", 2**30, id="bytes for GiB"),
        pytest.param("kv_cache_variant", "bytes_per_token", 2**-10, id="KiB for bytes"),
    ],
)
def test_the_units_that_are_easily_mistaken_are_told_for_every_id(name, field, factor):
    task = next(task for task in VARIANTS if task.name == name)
    part = task.fields[field]
    for student in a_class(1):
        value = task.answer(variant(task.topic, student).numbers)[field]
        assert part.low <= value <= part.high
        assert not part.low <= value * factor <= part.high
