"""The check data that students get: fresh, and without anything that a grade is made of."""

import json
from dataclasses import replace
from importlib.resources import files

import pytest

from rlinfra.topics import TOPICS
from rlinfra_autograder.hidden import DEMO_SEED
from rlinfra_autograder.public import check_data, task_data
from rlinfra_autograder.tasks import load_tasks
from rlinfra_autograder.tasks.model import SortingGroup

from . import tiny
from .seen import FUNCTIONS, SORTINGS, VARIANTS, by_name

topics = pytest.mark.parametrize("topic", [topic.name for topic in TOPICS])


@topics
def test_the_committed_check_data_is_fresh(topic):
    committed = files("rlinfra.checks") / "data" / f"{topic}.json"
    assert committed.read_text(encoding="utf-8") == check_data(topic)


@topics
def test_the_check_data_holds_the_tasks_in_the_order_of_the_notebook(topic):
    tasks = load_tasks(topic)
    assert [(task["name"], task["kind"], task["points"]) for task in json.loads(check_data(topic))["tasks"]] == [
        (task.name, task.kind, task.points) for task in tasks
    ]


def test_the_data_of_the_tiny_task_is_what_a_student_may_know():
    assert json.loads(json.dumps(task_data(tiny.TASK))) == {
        "name": "parcel_cost",
        "kind": "function",
        "points": 4,
        "accept": {"kind": "integer"},
        "examples": [
            {
                "call": {"args": [3], "kwargs": {"each": 4}},
                "expected": 17,
                "wrong": [
                    {"value": 12, "hint": "Your value lacks exactly 5. Who collects the parcels?"},
                    {
                        "value": 27,
                        "hint": "Your value takes the fee for each parcel. How often is the collector called?",
                    },
                ],
            },
            {
                "call": {"args": [0], "kwargs": {"each": 4}},
                "expected": 5,
                "wrong": [
                    {"value": 0, "hint": "Your value lacks exactly 5. Who collects the parcels?"},
                    {
                        "value": 0,
                        "hint": "Your value takes the fee for each parcel. How often is the collector called?",
                    },
                ],
            },
            {"call": {"args": [-1], "kwargs": {"each": 4}}, "names": "parcels", "wrong": []},
        ],
    }


def test_a_misconception_that_raises_or_is_right_in_an_example_gives_no_wrong_value():
    def raises(parcels, *, each):
        """Your function raises."""
        raise KeyError(parcels)

    task = replace(tiny.TASK, misconceptions=(raises, tiny.parcel_cost))
    assert [example["wrong"] for example in task_data(task)["examples"]] == [[], [], []]


@pytest.mark.parametrize("task", FUNCTIONS, ids=by_name)
def test_of_a_function_the_public_calls_are_told_and_no_hidden_one(task):
    told = [example["call"] for example in task_data(task)["examples"]]
    assert told == [example.call.to_data() for example in task.examples]
    text = json.dumps(task_data(task))
    for seed in (DEMO_SEED, "tests"):
        hidden = [drawn.call.to_data() for _, drawn in task.hidden_cases(seed)]
        unseen = [json.dumps(call) for call in hidden if call not in told]
        assert unseen
        assert not [call for call in unseen if call in text]


@pytest.mark.parametrize("task", SORTINGS, ids=by_name)
def test_the_data_of_a_sorting_question_does_not_depend_on_its_key(task):
    """With every statement in another class, students get the very same data."""
    other = dict(zip(task.classes, (*task.classes[1:], task.classes[0]), strict=True))
    turned = tuple(
        SortingGroup(group.title, group.points, {key: other[name] for key, name in group.classes.items()})
        for group in task.groups
    )
    turned_task = replace(task, groups=turned)
    assert turned_task.key != task.key
    assert task_data(turned_task) == task_data(task)


@pytest.mark.parametrize("task", VARIANTS, ids=by_name)
def test_the_data_of_a_variant_is_made_without_computing_an_answer(task):
    def unknown(numbers):
        raise AssertionError("nobody may ask")

    assert task_data(replace(task, answer=unknown)) == task_data(task)


@pytest.mark.parametrize("task", VARIANTS, ids=by_name)
def test_of_a_variant_the_forms_and_ranges_of_its_fields_are_told(task):
    fields = task_data(task)["fields"]
    assert list(fields) == list(task.fields)
    assert all(set(form) == {"unit", "low", "high"} for form in fields.values())
