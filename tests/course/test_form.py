"""Answers that are judged after they are handed in: what a check tells at once is their form."""

import math

import pytest

from rlinfra import check
from rlinfra.checks.card import CheckResult
from rlinfra.checks.data import all_tasks

ANSWER = {"adapted_bytes": 14_320_000_000, "full_bytes": 112_000_000_000, "rank_gib": 3.2}


def problem(result):
    """Return the one sentence that stands in the place of the examples."""
    (row,) = result.rows
    return row.problem


# --- variants ----------------------------------------------------------------------------------------------------


def check_variant(notebook, answer, **variables):
    notebook.variables.update({"STUDENT": "ada-l", "memory_variant": answer, **variables})
    return check("memory_variant")


def test_a_well_formed_variant_is_judged_later(notebook):
    result = check_variant(notebook, ANSWER)
    assert result == CheckResult("memory_variant", "well formed, judged after you submit", 2, 2)
    assert repr(result) == "2"


@pytest.mark.parametrize("answer", [None, {}, dict.fromkeys(ANSWER)])
def test_an_empty_variant_is_not_written_yet(notebook, answer):
    result = check_variant(notebook, answer)
    assert (result.state, result.points, problem(result)) == (
        "not written yet",
        0,
        "Fill in the answer: it is still empty.",
    )


@pytest.mark.parametrize("student", ["", "  ", None, 1.5])
def test_a_variant_without_an_id_asks_for_it(notebook, student):
    result = check_variant(notebook, ANSWER, STUDENT=student)
    assert (result.state, result.points) == ("not written yet", 0)
    assert problem(result) == (
        f'STUDENT must be your id, as text such as "ada-l", not {student!r}. Set it in the first code cell.'
    )


def test_a_variant_in_a_notebook_without_student_asks_for_it(notebook):
    notebook.variables["memory_variant"] = ANSWER
    assert problem(check("memory_variant")).startswith("STUDENT must be your id")


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ({**ANSWER, "rank_gib": None}, "['rank_gib']: a number is wanted, this is nothing (None)."),
        ({**ANSWER, "rank_gib": "3.2"}, "['rank_gib']: a number is wanted, this is text."),
        ({"adapted_bytes": 1, "full_bytes": 2}, 'the key "rank_gib" is missing.'),
        ({**ANSWER, "full_bytes": math.inf}, "['full_bytes']: a finite number is wanted, this is inf."),
        ([1, 2, 3], "a dictionary is wanted, this is a list of 3."),
        ({1, 2}, "a dictionary is wanted, this is a value of type set."),
    ],
)
def test_a_variant_of_another_form_is_told_so(notebook, answer, sentence):
    result = check_variant(notebook, answer)
    assert (result.state, result.points, problem(result)) == ("wrong form", 0, sentence)


@pytest.mark.parametrize("gib", [3_435_973_837, 0.003, -3.2, math.nan, math.inf])
def test_a_variant_out_of_range_is_asked_for_its_unit(notebook, gib):
    result = check_variant(notebook, {**ANSWER, "rank_gib": gib})
    assert (result.state, result.points) == ("out of range", 0)
    assert problem(result).startswith('"rank_gib" is ')
    assert problem(result).endswith("No id leads outside 0.35 to 69 GiB: is it in GiB?")


def test_every_field_out_of_range_is_told(notebook):
    result = check_variant(notebook, {"adapted_bytes": 14.32, "full_bytes": 112, "rank_gib": 3.2})
    assert [row.problem.split()[0] for row in result.rows] == ['"adapted_bytes"', '"full_bytes"']
    assert all("is it in bytes?" in row.problem for row in result.rows)


def test_both_ends_of_a_range_are_inside(notebook):
    for gib in (0.35, 69):
        assert check_variant(notebook, {**ANSWER, "rank_gib": gib}).state == "well formed, judged after you submit"


# --- sorting -----------------------------------------------------------------------------------------------------


def sorted_as(word, **other):
    return {**dict.fromkeys(all_tasks()["memory_sort"].accept.fields, word), **other}


def test_a_sorting_with_classes_of_the_list_is_judged_later(notebook):
    notebook.variables["memory_sort"] = sorted_as("counted", e_logits_at_scoring="not counted")
    assert check("memory_sort") == CheckResult("memory_sort", "well formed, judged after you submit", 2, 2)


def test_a_sorting_with_another_word_is_shown_the_classes(notebook):
    notebook.variables["memory_sort"] = sorted_as("counted", e_logits_at_scoring="uncounted")
    result = check("memory_sort")
    assert (result.state, result.points) == ("wrong form", 0)
    assert (
        problem(result)
        == '[\'e_logits_at_scoring\']: one of these is wanted: "counted", "not counted", "removed", "stays".'
    )


def test_a_sorting_that_is_half_done_is_told_what_is_missing(notebook):
    notebook.variables["memory_sort"] = sorted_as("counted", f_gradient_of_a_trained_weight=None)
    assert problem(check("memory_sort")) == (
        "['f_gradient_of_a_trained_weight']: text is wanted, this is nothing (None)."
    )


def test_a_missing_answer_is_asked_for(notebook):
    assert problem(check("memory_sort")) == "The notebook has no answer memory_sort at this point. Run its cell first."
