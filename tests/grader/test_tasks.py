"""The tasks of all topics: found by name, worth what a topic is worth, and sound in what they refer to."""

import keyword

import pytest

from rlinfra.topics import TOPICS
from rlinfra_autograder.tasks import ChoiceTask, FunctionTask, VariantTask, all_tasks, load_tasks, topic_source

from .seen import FUNCTIONS, SORTINGS, by_name

topics = pytest.mark.parametrize("topic", [topic.name for topic in TOPICS])


def test_every_name_stands_for_one_task_of_the_course():
    names = [task.name for topic in TOPICS for task in load_tasks(topic.name)]
    assert sorted(all_tasks()) == sorted(names)
    assert all(name.isidentifier() and not keyword.iskeyword(name) for name in names)


@topics
def test_the_tasks_of_a_topic_are_worth_20_points(topic):
    assert sum(task.points for task in load_tasks(topic)) == 20


@topics
def test_a_variant_draws_from_the_stories_of_its_own_topic(topic):
    assert {task.topic for task in load_tasks(topic) if isinstance(task, VariantTask)} <= {topic}


@pytest.mark.parametrize("task", FUNCTIONS, ids=by_name)
def test_a_criterion_needs_only_one_that_is_judged_before_it(task):
    before = set()
    for criterion in task.criteria:
        assert criterion.name not in before
        assert criterion.needs is None or criterion.needs in before
        before.add(criterion.name)


@pytest.mark.parametrize("task", SORTINGS, ids=by_name)
def test_every_statement_has_one_of_the_classes_and_every_class_a_statement(task):
    assert set(task.key.values()) == set(task.classes)
    assert len(task.key) == sum(len(group.classes) for group in task.groups)


@topics
def test_the_source_of_a_topic_holds_all_that_a_grade_depends_on(topic):
    source = topic_source(topic)
    for task in load_tasks(topic):
        assert task.name in source
        if isinstance(task, FunctionTask | ChoiceTask):
            for function in (task.reference, *task.misconceptions, *task.correct):
                assert f"def {function.__name__}(" in source


def test_a_topic_that_is_not_there_has_no_tasks():
    with pytest.raises(LookupError, match="there is no topic 'memories'; the topics are "):
        load_tasks("memories")
