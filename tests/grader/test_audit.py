"""The audit: a healthy task passes, and each sickness is found, alone and together with the others."""

from dataclasses import replace

import pytest

from rlinfra.checks.compare import Integer
from rlinfra_autograder import audit
from rlinfra_autograder.audit import audit_task
from rlinfra_autograder.tasks import all_tasks
from rlinfra_autograder.tasks.model import ChoiceMistake, Criterion, FunctionTask, SortingGroup, SortingTask, case

from . import tiny

TUNE = all_tasks()["tune"]


def without_hint(parcels, *, each):
    return parcels * each


def no_mistake(parcels, *, each):
    """Your value is right."""
    if parcels < 0:
        raise ValueError("parcels")
    return parcels * each + 5


def fails_with_none(parcels, *, each):
    if parcels < 0:
        raise ValueError("parcels")
    return parcels * each + 5 if parcels else 0


def fails_in_the_cases_alone(parcels, *, each):
    if parcels < 0:
        raise ValueError("parcels")
    return parcels * each + (5 if each < 60 else 6)


def halvings(number):
    """Return how often a number can be halved."""
    count = 0
    while number > 1:
        number, count = number // 2, count + 1
    return count


def test_a_healthy_task_has_no_fault():
    report = audit_task(tiny.TASK, 5)
    assert report.faults == []
    assert (report.misconceptions, report.told_by_hidden, report.told_by_examples) == (2, 2, 2)
    assert (report.variants, report.variants_full) == (3, 3)
    assert report.survivors == []
    assert (report.mutants, report.killed, report.equivalent) == (14, 14, 0)
    assert report.free_points == 0


@pytest.mark.parametrize("task", all_tasks().values(), ids=lambda task: task.name)
def test_every_task_of_the_course_passes(task):
    assert audit_task(task, 1).faults == []


SICK = {
    "a misconception without a hint": (
        {"misconceptions": (*tiny.TASK.misconceptions, without_hint)},
        ["misconception without_hint has no hint"],
    ),
    "a misconception that is none": (
        {"misconceptions": (*tiny.TASK.misconceptions, no_mistake)},
        ["misconception no_mistake gets full marks under 4 of 4 seeds"],
    ),
    "too few ways to be right": ({"correct": tiny.TASK.correct[:2]}, ["only 2 correct variants, three are wanted"]),
    "a correct variant that fails an example": (
        {"correct": (*tiny.TASK.correct, fails_with_none)},
        ["correct variant fails_with_none loses points under 4 of 4 seeds, and fails example 2"],
    ),
    "a correct variant that fails hidden cases alone": (
        {"correct": (*tiny.TASK.correct, fails_in_the_cases_alone)},
        ["correct variant fails_in_the_cases_alone loses points under 4 of 4 seeds"],
    ),
    "a criterion that a constant meets": (
        {"criteria": (tiny.TASK.criteria[0], replace(tiny.TASK.criteria[1], needs=None), tiny.TASK.criteria[2])},
        ["a constant or an always-raising function earns 1 points"],
    ),
    "a criterion that a function meets which always raises": (
        {"criteria": (*tiny.TASK.criteria[:2], replace(tiny.TASK.criteria[2], needs=None))},
        ["a constant or an always-raising function earns 1 points"],
    ),
    "weak cases": ({"criteria": tiny.WEAK}, ["only 8 of 9 mutants are killed"]),
    "an equivalent mutant that is none": (
        {"equivalent_mutants": {"parcel_cost: parcels - each": "nobody knows"}},
        ["no mutant is described by 'parcel_cost: parcels - each' (equivalent_mutants)"],
    ),
    "too many equivalent mutants": (
        {"equivalent_mutants": {"parcel_cost: 5 → 6": "of no importance"}},
        ["1 of 14 mutants are called equivalent: at most 5 % may be"],
    ),
}


@pytest.mark.parametrize(("change", "faults"), SICK.values(), ids=SICK)
def test_a_sickness_is_the_one_fault_found(change, faults):
    assert audit_task(replace(tiny.TASK, **change), 4).faults == faults


def test_a_task_with_several_sicknesses_has_the_fault_of_each():
    sick = replace(
        tiny.TASK,
        criteria=(Criterion("some", "two parcels", 2, lambda _: [case(2, each=2)]),),
        misconceptions=(without_hint, no_mistake),
        correct=(fails_with_none,),
        equivalent_mutants={"parcel_cost: nothing": "made up"},
    )
    report = audit_task(sick, 3)
    assert report.faults == [
        "misconception without_hint has no hint",
        "misconception no_mistake gets full marks under 3 of 3 seeds",
        "only 1 correct variants, three are wanted",
        "correct variant fails_with_none loses points under 0 of 3 seeds, and fails example 2",
        "no mutant is described by 'parcel_cost: nothing' (equivalent_mutants)",
        "only 8 of 9 mutants are killed",
        "a constant or an always-raising function earns 2 points",
    ]
    assert (report.told_by_hidden, report.told_by_examples) == (1, 1)
    assert (report.variants, report.variants_full) == (1, 0)
    assert [text.partition(": ")[2].partition(": ")[2] for text in report.survivors] == [
        "parcels * each → parcels + each"
    ]
    assert report.free_points == 2


def test_an_equivalent_mutant_is_counted_apart_and_need_not_be_killed():
    weak = replace(
        tiny.TASK,
        criteria=tiny.WEAK,
        equivalent_mutants={"parcel_cost: parcels * each → parcels + each": "in our cases"},
    )
    report = audit_task(weak, 2)
    assert (report.mutants, report.killed, report.equivalent, report.survivors) == (8, 8, 1, [])
    (equivalent,) = report.equivalents
    assert equivalent.endswith("parcels * each → parcels + each (in our cases)")


def test_a_mutant_that_never_returns_is_told(monkeypatch):
    """`number // 2` made to `number // 1`, `number * 2` or `number` halves nothing."""
    monkeypatch.setattr(audit, "_MUTANT_SECONDS", 0.1)
    task = FunctionTask(
        name="halvings",
        reference=halvings,
        accept=Integer(),
        examples=(case(8),),
        criteria=(Criterion("some", "some numbers", 1, lambda _: [case(9), case(2), case(1), case(0), case(3)]),),
        misconceptions=(),
        correct=(halvings, lambda number: max(number, 1).bit_length() - 1, lambda number: len(bin(max(number, 1))) - 3),
    )
    report = audit_task(task, 1)
    assert report.faults == []
    assert report.killed == report.mutants > 10


def a_sorting(*groups):
    classes = ("new", "old")
    return SortingTask(
        "a_sorting",
        classes,
        tuple(
            SortingGroup(f"group {place}", 1, {f"{place}-{at}": classes[kind] for at, kind in enumerate(kinds)})
            for place, kinds in enumerate(groups)
        ),
    )


def test_a_sorting_with_both_classes_in_every_group_has_no_fault():
    assert audit_task(a_sorting([0, 1, 0], [1, 0])).faults == []


def test_a_group_of_one_class_earns_its_point_for_nothing():
    report = audit_task(a_sorting([0, 1, 0], [1, 1]))
    assert report.faults == ["one class for every statement earns 1 points"]
    assert report.free_points == 1


# --- choices -----------------------------------------------------------------------------------------------------


def no_mistake_in_tuning(workload):
    """Your choice is right."""
    return TUNE.reference(workload)


def default_for_all(workload):
    return dict(TUNE.default)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (
            {"mistakes": (ChoiceMistake(no_mistake_in_tuning, lambda *_: True),)},
            "misconception no_mistake_in_tuning gets full marks under 1 of 1 seeds",
        ),
        (
            {"mistakes": tuple(replace(mistake, shows=lambda *_: False) for mistake in TUNE.mistakes)},
            "misconception always_by_turns gets another hint under 1 of 1 seeds",
        ),
        (
            {"correct": (*TUNE.correct, default_for_all)},
            "default_for_all loses points under 1 of 1 seeds, and in the example slow link, "
            "and in the example fresh only, and in the example fast drift",
        ),
        ({"workloads": TUNE.workloads[:1]}, "one choice gets full marks in all workloads of the seed audit-0"),
        (
            {"default": {**TUNE.default, "batch_tokens": 1_000}},
            "the default or an always-raising function earns ",
        ),
    ],
    ids=["full marks", "no hint", "short", "constant", "free points"],
)
def test_each_sickness_of_a_task_on_choices_is_found(change, fault, monkeypatch):
    sick = replace(TUNE, **change)
    if "default" in change:  # the marks are of another default than the one that is tried
        monkeypatch.setattr(audit, "_USUAL_CONSTANTS", (dict(TUNE.default),))
    assert [found for found in audit_task(sick, 1).faults if found.startswith(fault)]
