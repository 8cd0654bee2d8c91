"""The synthetic class, judged: every student gets exactly what the tasks say, and is told why."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import nbformat
import pytest

from rlinfra.topics import TOPICS
from rlinfra_autograder.classroom import expected_hint, synthetic_class
from rlinfra_autograder.feedback import summary_html, verdict_html
from rlinfra_autograder.grade import grade
from rlinfra_autograder.hidden import HiddenSet, hidden_set
from rlinfra_autograder.judge import judge, judge_function, request_of
from rlinfra_autograder.observations import inputs_hash, pack, unpack
from rlinfra_autograder.sandbox.runner import ZygoteRunner
from rlinfra_autograder.sandbox.zygote import ChildSettings
from rlinfra_autograder.tasks import ChoiceTask, FunctionTask, load_tasks
from tests.conftest import QUICK, STUDENT_PYTHON

SEED = "a seed for the tests"
NAMES = [topic.name for topic in TOPICS]
STUDENTS = {student.id: student for student in synthetic_class()}
FLAWLESS = ("ada", "bela", "chen", "dora", "emil", "wim")
BLANK = ("rosa", "vera")
HALF = ("paul", "quinn")
MISTAKEN = [student.id for student in STUDENTS.values() if student.mistakes]
LOOPS_IN = NAMES[2::3]  # each loop takes its seconds
TOPIC_OF = {task.name: topic for topic in NAMES for task in load_tasks(topic)}


def topics_of(student):
    """Return the topics that a student is graded in: all, but those in which it is as another one, or takes long.

    Right answers in every style and every topic are the audit's; here all but the first are right in every second one.
    Of two that leave something out, each does so in the topics of which the other does not.
    """
    if student.id == "tara":
        return LOOPS_IN
    if student.id == "sven":
        return NAMES[::2]  # each death begins a notebook anew
    if student.id in FLAWLESS[1:]:
        return NAMES[FLAWLESS.index(student.id) % 2 :: 2]
    if student.id in BLANK + HALF:
        return NAMES[(BLANK + HALF).index(student.id) % 2 :: 2]
    mistaken_in = [TOPIC_OF[name] for name in student.mistakes]
    return [*dict.fromkeys([*mistaken_in, "memory"])] if mistaken_in else NAMES


def pairs(*students):
    """Return each of these students with each topic that they are graded in."""
    return [(student, topic) for student in students for topic in topics_of(STUDENTS[student])]


@pytest.fixture(scope="module")
def graded(root):
    """The submissions of the class, graded; children are not measured here, which would make them slow."""

    def submission(student, topic):
        released = nbformat.read(root / "release" / topic / f"{topic}.ipynb", as_version=4)
        notebook = student.submission(released, topic)
        _put_checks_back(notebook, released)
        return notebook

    def one(runner, student, topic, notebook):
        return grade(notebook, topic=topic, student_id=student.id, runner=runner, seed=SEED, environment={})

    work = [(student, topic) for student in STUDENTS.values() for topic in topics_of(student)]
    handed_in = [submission(student, topic) for student, topic in work]  # ast of Python 3.11 is not for two threads
    with ZygoteRunner(ChildSettings(STUDENT_PYTHON, QUICK)) as runner, ThreadPoolExecutor(2) as threads:
        results = list(threads.map(lambda item: one(runner, *item[0], item[1]), zip(work, handed_in, strict=True)))
    return {(student.id, topic): result for (student, topic), result in zip(work, results, strict=True)}


def _put_checks_back(submission, released):
    """Do what nbgrader does before it grades: locked cells as released, missing graded cells added."""
    theirs = {cell.id: cell for cell in submission.cells}
    submission.cells = [theirs.get(cell.id, cell) for cell in released.cells]
    for cell, original in zip(submission.cells, released.cells, strict=True):
        if cell.metadata.get("nbgrader", {}).get("grade"):
            cell.source, cell.metadata = original.source, original.metadata


def verdicts(result):
    return {verdict.task: verdict for verdict in result.verdicts}


def test_there_are_24_students_with_ten_different_mistakes():
    assert len(STUDENTS) == 24
    assert len({wrong for student in STUDENTS.values() for wrong in student.mistakes.values()}) == 10


@pytest.mark.parametrize(("student", "topic"), pairs(*FLAWLESS))
def test_a_flawless_student_has_full_marks(graded, student, topic):
    result = graded[student, topic]
    assert result.earned == 20
    assert not result.faults


def test_judged_again_from_what_is_recorded_every_verdict_is_the_same(graded):
    for (student, topic), result in graded.items():
        recorded = unpack(pack(result.probed, load_tasks(topic), SEED))
        again = [judge(task, recorded[task.name].probed, seed=SEED, student_id=student) for task in load_tasks(topic)]
        assert tuple(again) == result.verdicts
        assert {one.inputs for one in recorded.values()} == {inputs_hash(task, SEED) for task in load_tasks(topic)}


@pytest.mark.parametrize("student", MISTAKEN)
def test_a_mistaken_student_loses_what_the_criteria_say_and_gets_the_hint(graded, student):
    ((task_name, mistake),) = STUDENTS[student].mistakes.items()
    for topic in topics_of(STUDENTS[student]):
        for verdict in graded[student, topic].verdicts:
            if verdict.task == task_name:
                hidden = hidden_set(task_name, SEED)
                assert verdict == judge_function(hidden, hidden.outcomes(mistake))
                assert verdict.earned < verdict.points
                assert verdict.hint == expected_hint(STUDENTS[student])
            else:
                assert verdict.earned == verdict.points


@pytest.mark.parametrize(("student", "topic"), pairs(*BLANK))
def test_a_blank_notebook_has_nothing_and_every_task_says_so(graded, student, topic):
    result = graded[student, topic]
    assert result.earned == 0
    assert all(verdict.remark for verdict in result.verdicts)


@pytest.mark.parametrize(("student", "topic"), pairs("sven", "tara", "udo"))
def test_crashes_loops_and_raised_arguments_lose_only_their_own_tasks(graded, student, topic):
    functions = [task.name for task in load_tasks(topic) if isinstance(task, FunctionTask)][:2]
    for verdict in graded[student, topic].verdicts:
        assert verdict.earned == (0 if verdict.task in functions else verdict.points)


@pytest.mark.parametrize(("student", "topic"), pairs(*HALF))
def test_half_a_notebook_gets_the_points_of_that_half(graded, student, topic):
    tasks = load_tasks(topic)
    written = tasks[: len(tasks) // 2] if student == "paul" else tasks[::2]
    assert graded[student, topic].earned == sum(task.points for task in written)


@pytest.mark.parametrize("topic", NAMES)
def test_a_variant_solved_for_another_id_scores_nothing_and_says_exactly_that(graded, topic):
    for verdict in graded["xenia", topic].verdicts:
        if verdict.task.endswith("_variant"):
            assert verdict.earned == 0
            assert 'right for the id "ada"' in verdict.hint
            assert '"xenia"' in verdict.hint
        else:
            assert verdict.earned == verdict.points


@pytest.mark.parametrize("topic", NAMES)
def test_nothing_of_a_hidden_case_is_in_what_a_curious_student_gets_back(graded, topic):
    """udo prints his arguments, stores them for a later cell, and raises them as text and as class names.

    What stands in ada's page too, who does none of this, is no secret: the notebook's own tables and examples.
    """
    secrets = {
        text for task in load_tasks(topic) if isinstance(task, FunctionTask | ChoiceTask) for text in _telling(task)
    }
    assert secrets
    curious, public = (_page(graded[student, topic]) for student in ("udo", "ada"))
    shown = {text for task in load_tasks(topic) for text in _public_parts(task)}
    assert not [secret for secret in secrets - shown if _stands_in(secret, curious) and not _stands_in(secret, public)]


def _stands_in(number, page):
    return re.search(rf"(?<![\d.]){re.escape(number)}(?![\d.])", page) is not None


def _page(result):
    return (
        nbformat.writes(result.notebook)
        + summary_html(result.verdicts, result.faults)
        + "".join(verdict_html(verdict) for verdict in result.verdicts)
    )


def _public_parts(task):
    """Return the arguments of a task's public examples, and their long numbers."""
    if isinstance(task, ChoiceTask):
        arguments = list(task.examples.values())
    else:
        calls = [example.call for example in getattr(task, "examples", ())]
        arguments = [argument for call in calls for argument in (*call.args, *call.kwargs.values())]
    return {*map(repr, arguments), *_long_numbers(arguments)}


def _telling(task):
    """Yield what of a task's hidden arguments does not stand in a page by chance: long numbers, and long arguments.

    Short numbers do, and so do parts of an argument: the notebooks' own tables hold thousands.
    """
    choosing = isinstance(task, ChoiceTask)
    calls = request_of(task, SEED).calls if choosing else [case.call for _, case in HiddenSet(task, SEED).cases]
    for call in calls:
        arguments = [*call.args, *call.kwargs.values()]
        yield from (repr(argument) for argument in arguments if len(repr(argument)) >= 60)
        yield from _long_numbers(arguments)


def _long_numbers(values):
    for value in values:
        if isinstance(value, (int, float)) and len(repr(value)) >= (9 if isinstance(value, int) else 12):
            yield repr(value)
        elif isinstance(value, (dict, list, tuple)):
            yield from _long_numbers(value.values() if isinstance(value, dict) else value)


def test_the_same_inputs_give_the_same_grade(graded, root, runner):
    released = nbformat.read(root / "release" / "memory" / "memory.ipynb", as_version=4)
    submission = STUDENTS["grace"].submission(released, "memory")
    again = grade(submission, topic="memory", student_id="grace", runner=runner, seed=SEED, environment={})
    assert again.verdicts == graded["grace", "memory"].verdicts


def test_a_grade_says_what_made_it(graded):
    made = graded["ada", "memory"].notebook.metadata.rlinfra.provenance
    assert len(made.submission_sha256) == len(made.tasks_and_reference_sha256) == 64
    assert SEED not in nbformat.writes(graded["ada", "memory"].notebook)
    assert made.confined is True
    assert made.limits.call_cpu_seconds == 0.5
    assert {"rlinfra-autograder", "rlinfra-reference", "nbgrader"} <= set(made.grader)
    assert made.graded_at.endswith("+00:00")
