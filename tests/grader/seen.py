"""What the grader sees of a function: observations that have crossed the wire as JSON, and the verdict on them."""

import json

from rlinfra.observe import Observation
from rlinfra.variants import variant
from rlinfra_autograder.hidden import hidden_set
from rlinfra_autograder.judge import judge
from rlinfra_autograder.probes import OBSERVED, Probed, parse_observation
from rlinfra_autograder.tasks import ChoiceTask, FunctionTask, SortingTask, VariantTask, all_tasks

SEED = "tests"
FUNCTIONS = [task for task in all_tasks().values() if isinstance(task, FunctionTask)]
VARIANTS = [task for task in all_tasks().values() if isinstance(task, VariantTask)]
CHOICES = [task for task in all_tasks().values() if isinstance(task, ChoiceTask)]
SORTINGS = [task for task in all_tasks().values() if isinstance(task, SortingTask)]


def by_name(task):
    """Return what pytest calls a parameter."""
    return getattr(task, "name", None)


def crossed(observation):
    """Return an observation as it comes out of the wire."""
    return parse_observation(json.loads(json.dumps(observation.to_data(), allow_nan=False)))


def outcomes_of(hidden, function):
    """Return what the grader sees of a function in every hidden case."""
    return tuple(crossed(observation) for observation in hidden.outcomes(function))


def verdict_on(task, outcomes, student_id="ada"):
    """Return the verdict on outcomes."""
    return judge(task, Probed(OBSERVED, tuple(outcomes)), seed=SEED, student_id=student_id)


def verdict_on_function(task, function):
    """Return the verdict on a function."""
    return verdict_on(task, outcomes_of(hidden_set(task.name, SEED), function))


def verdict_on_answer(task, answer, typed="ada", student_id="ada"):
    """Return the verdict on an answer of a notebook that states the id `typed`."""
    return verdict_on(task, (crossed(Observation(answer)), crossed(Observation(typed))), student_id)


def answer_of(task, student):
    """Return the right answer of a student's variant."""
    return dict(task.answer(variant(task.topic, student).numbers))
