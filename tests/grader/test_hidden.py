"""The hidden cases: the same for the same seed on every machine, others for another; and a seed that stays secret."""

import hashlib
import json
import os
import subprocess
import sys

import pytest

from rlinfra.checks.compare import Number
from rlinfra.observe import Call, Observation, Raised
from rlinfra_autograder.hidden import (
    DEMO_SEED,
    SEED_FILE,
    HiddenSet,
    course_seed,
    expected_value,
    hidden_set,
    hint_of,
    is_right,
    same_outcome,
    seed_fingerprint,
)
from rlinfra_autograder.tasks.model import FunctionTask, case, refused

from . import tiny
from .seen import FUNCTIONS, SORTINGS, by_name

SECRET = "correct horse battery staple"


def drawn(task, seed):
    return [drawn.call.to_data() for _, drawn in task.hidden_cases(seed)]


@pytest.mark.parametrize("task", FUNCTIONS, ids=by_name)
def test_the_same_seed_draws_the_same_cases(task):
    assert drawn(task, SECRET) == drawn(task, SECRET)


@pytest.mark.parametrize("task", FUNCTIONS, ids=by_name)
def test_another_seed_draws_other_cases(task):
    assert drawn(task, SECRET) != drawn(task, DEMO_SEED)


def test_another_process_with_other_hashes_draws_the_same_cases():
    program = (
        "import hashlib, json\n"
        "from rlinfra_autograder.tasks import FunctionTask, all_tasks\n"
        f"cases = {{name: [(criterion.name, drawn.call.to_data(), drawn.names) for criterion, drawn in"
        f" task.hidden_cases({SECRET!r})] for name, task in all_tasks().items() if isinstance(task, FunctionTask)}}\n"
        "print(hashlib.sha256(json.dumps(cases).encode()).hexdigest())\n"
    )
    here = {
        task.name: [
            (criterion.name, drawn.call.to_data(), drawn.names) for criterion, drawn in task.hidden_cases(SECRET)
        ]
        for task in FUNCTIONS
    }
    environment = {**os.environ, "PYTHONHASHSEED": "12345"}
    there = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    assert there.stdout.strip() == hashlib.sha256(json.dumps(here).encode()).hexdigest()


def test_a_case_belongs_to_its_criterion_and_keeps_the_argument_that_it_names():
    cases = HiddenSet(tiny.TASK, SECRET).cases
    assert [criterion.name for criterion, _ in cases] == ["some", "some", "none", "senseless"]
    assert [case.names for _, case in cases] == [None, None, None, "parcels"]


def test_the_expected_values_are_the_references_and_there_is_none_for_a_senseless_case():
    hidden = HiddenSet(tiny.TASK, SECRET)
    each = hidden.cases[0][1].call.kwargs["each"]
    assert hidden.expected == (3 * each + 5, 2 * 70 + 5, 5, None)


def test_every_misconception_is_known_with_its_hint_on_one_line_and_what_it_does():
    hidden = HiddenSet(tiny.TASK, SECRET)
    hint, outcomes, rightness = hidden.misconceptions[0]
    assert hint == "Your value lacks exactly 5. Who collects the parcels?"
    assert [outcome.value for outcome in outcomes[1:]] == [140, 0, -70]
    assert rightness == (False, False, False, False)


def test_a_misconception_without_a_docstring_has_no_hint():
    assert hint_of(lambda: None) == ""


def test_an_expected_value_is_in_the_form_that_crosses_the_wire():
    pair = FunctionTask("pair", lambda: (1, 2), Number(), (), (), (), ())
    assert expected_value(pair, Call()) == [1, 2]


def test_a_reference_cannot_spoil_the_arguments_of_a_case():
    call = Call(([3, 1, 2],))
    sorting = FunctionTask("sorting", lambda numbers: numbers.sort(), Number(), (), (), (), ())
    expected_value(sorting, call)
    assert call.args == ([3, 1, 2],)


def test_a_set_is_computed_once_a_task_and_seed():
    name = FUNCTIONS[0].name
    assert hidden_set(name, SECRET) is hidden_set(name, SECRET)
    assert hidden_set(name, SECRET) is not hidden_set(name, DEMO_SEED)


def test_a_task_that_is_no_function_has_no_hidden_cases():
    with pytest.raises(TypeError, match=f"{SORTINGS[0].name} is no function task"):
        hidden_set(SORTINGS[0].name, SECRET)


# --- right or wrong -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcome", "right"),
    [
        (Observation(17), True),
        (Observation(17.0), True),
        (Observation(18), False),
        (Observation("17"), False),
        (Observation(None), False),
        (Observation(raised=Raised("ValueError", message="parcels")), False),
    ],
)
def test_a_case_is_right_where_the_value_is(outcome, right):
    assert is_right(tiny.TASK, case(3, each=4), 17, outcome) is right


@pytest.mark.parametrize(
    ("outcome", "right"),
    [
        (Observation(raised=Raised("ValueError", message="bad parcels: -1")), True),
        (Observation(raised=Raised("ValueError", own=True, message="parcels")), True),
        (Observation(raised=Raised("ValueError", message="bad num_parcels: -1")), False),
        (Observation(raised=Raised("ValueError", message="")), False),
        (Observation(raised=Raised("TypeError", message="parcels")), False),
        (Observation(5), False),
        (Observation(None), False),
    ],
)
def test_a_senseless_case_is_right_where_a_value_error_names_the_argument(outcome, right):
    assert is_right(tiny.TASK, refused("parcels", -1, each=4), None, outcome) is right


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (Observation(4), Observation(4.0), True),
        (Observation(4), Observation(5), False),
        (Observation("4"), Observation("4"), False),  # no form that the task knows
        (Observation(raised=Raised("KeyError", message="a")), Observation(raised=Raised("KeyError")), True),
        (Observation(raised=Raised("KeyError")), Observation(raised=Raised("IndexError")), False),
        (Observation(raised=Raised("KeyError")), Observation(4), False),
        (Observation(4), Observation(raised=Raised("KeyError")), False),
    ],
)
def test_two_calls_did_the_same_where_values_or_exceptions_agree(one, other, same):
    assert same_outcome(tiny.TASK, one, other) is same


# --- the course seed ----------------------------------------------------------------------------------------------


def test_the_course_seed_is_the_text_of_its_file(tmp_path):
    (tmp_path / SEED_FILE).write_text(f"  {SECRET}\n", encoding="utf-8")
    assert course_seed(tmp_path) == SECRET


def test_without_a_file_the_course_seed_is_the_public_one(tmp_path):
    assert course_seed(tmp_path) == "demo"


@pytest.mark.parametrize("text", ["", " \n\t\n"])
def test_an_empty_seed_file_is_an_error_that_names_it(tmp_path, text):
    (tmp_path / SEED_FILE).write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"course-seed\.txt is empty: write a long random text in it, or remove it"):
        course_seed(tmp_path)


def test_a_fingerprint_is_twelve_digits_of_a_hash_and_holds_no_word_of_the_seed():
    fingerprint = seed_fingerprint(SECRET)
    assert len(fingerprint) == 12
    assert set(fingerprint) <= set("0123456789abcdef")
    assert not any(word in fingerprint for word in SECRET.split())


def test_a_fingerprint_is_not_that_of_the_bare_seed():
    """Else a table of hashes of likely seeds, made for anything else, would tell it."""
    assert hashlib.sha256(SECRET.encode()).hexdigest()[:12] != seed_fingerprint(SECRET)


def test_fingerprints_tell_seeds_apart_and_say_of_the_demo_seed_alone_that_it_is_public():
    seeds = [DEMO_SEED, SECRET, f"{SECRET}!", "Demo"]
    fingerprints = [seed_fingerprint(seed) for seed in seeds]
    assert fingerprints[0] == "demo (public)"
    assert len(set(fingerprints)) == len(seeds)
    assert not any("public" in fingerprint for fingerprint in fingerprints[1:])
