"""Nbgrader's code with its shortcuts: it raises what it raises without them, and asks the database far less."""

from unittest import mock

import jsonschema
import nbformat
import pytest
from nbgrader.api import Base, Gradebook
from nbgrader.nbgraderformat import MetadataValidator, common
from sqlalchemy import create_engine, event

from rlinfra_autograder.shortcuts import Shortcuts

pytestmark = pytest.mark.filterwarnings("ignore:Object of type <Submitted:sqlalchemy.exc.SAWarning")  # nbgrader's own

CELLS = ("first", "second", "third")


@pytest.fixture
def gradebook(tmp_path):
    """A gradebook with three graded cells, each with its solution cell, and a submission by ada and one by udo."""
    url = f"sqlite:///{tmp_path / 'gradebook.db'}"
    Base.metadata.create_all(create_engine(url))  # else nbgrader starts a program to do so
    with Gradebook(url) as opened:
        opened.add_assignment("ess")
        opened.add_notebook("ess", "ess")
        for name in CELLS:
            opened.add_grade_cell(name, "ess", "ess", max_score=2, cell_type="code")
            opened.add_solution_cell(f"{name}-code", "ess", "ess")
        for student in ("ada", "udo"):
            opened.add_student(student)
            opened.add_submission("ess", student)
        yield opened


def queries(gradebook):
    """Return a list that every query is added to from now on."""
    found = []
    event.listen(gradebook.engine, "before_cursor_execute", lambda _c, _u, statement, *_: found.append(statement))
    return found


def test_grades_and_comments_of_the_notebook_are_those_that_nbgrader_finds_and_cost_no_query_each(gradebook):
    expected = {name: gradebook.find_grade(name, "ess", "ess", "ada").id for name in CELLS}
    comments = {f"{name}-code": gradebook.find_comment(f"{name}-code", "ess", "ess", "ada").id for name in CELLS}
    notebook = gradebook.find_submission_notebook("ess", "ess", "ada")
    with Shortcuts(gradebook).at_hand(notebook):
        asked = queries(gradebook)
        assert {name: gradebook.find_grade(name, "ess", "ess", "ada").id for name in CELLS} == expected
        assert {name: gradebook.find_comment(name, "ess", "ess", "ada").id for name in comments} == comments
        assert asked == []


def test_grades_of_another_student_are_theirs(gradebook):
    theirs = gradebook.find_grade("first", "ess", "ess", "udo").id
    with Shortcuts(gradebook).at_hand(gradebook.find_submission_notebook("ess", "ess", "ada")):
        assert gradebook.find_grade("first", "ess", "ess", "udo").id == theirs


def test_a_submission_that_is_not_flushed_yet_is_found_too(gradebook):
    gradebook.add_student("wim")
    shortcuts = Shortcuts(gradebook)
    with shortcuts.one_session():
        (notebook,) = gradebook.add_submission("ess", "wim").notebooks
        with shortcuts.at_hand(notebook):
            asked = queries(gradebook)
            assert gradebook.find_grade("third", "ess", "ess", "wim").notebook is notebook
            assert asked == []


@pytest.mark.parametrize(
    "broken",
    [{"points": -1.0}, {"grade": "yes"}, {"unknown": 1}, {"grade_id": "a/b"}],
    ids=lambda broken: next(iter(broken)),
)
def test_a_cell_that_nbgrader_refuses_is_refused_with_the_same_words(gradebook, broken):
    ours = {"schema_version": 3, "grade": True, "solution": False, "locked": True, "task": False, "points": 2.0}
    cell = nbformat.v4.new_code_cell(
        "", metadata={"nbgrader": {**ours, "grade_id": "a", "cell_type": "code", **broken}}
    )

    def said():
        with pytest.raises(jsonschema.ValidationError) as refused:
            MetadataValidator().validate_cell(cell)
        return refused.value.message

    plain = said()
    with Shortcuts(gradebook).one_session():
        assert common.jsonschema is not jsonschema
        assert [said(), said()] == [plain, plain]
    assert common.jsonschema is jsonschema


def test_what_was_valid_once_is_not_looked_at_again_and_what_resembles_it_is(gradebook):
    ours = {"schema_version": 3, "grade": True, "solution": False, "locked": True, "task": False, "grade_id": "a"}
    whole = nbformat.v4.new_code_cell("", metadata={"nbgrader": {**ours, "cell_type": "code", "points": 2.0}})
    broken = nbformat.v4.new_code_cell("", metadata={"nbgrader": {**ours, "cell_type": "code", "points": "2.0"}})
    with Shortcuts(gradebook).one_session():
        MetadataValidator().validate_cell(whole)
        with mock.patch("rlinfra_autograder.shortcuts.best_match", side_effect=AssertionError):
            MetadataValidator().validate_cell(whole)
    with Shortcuts(gradebook).one_session():
        MetadataValidator().validate_cell(whole)
        with pytest.raises(jsonschema.ValidationError, match="is not of type 'number'"):
            MetadataValidator().validate_cell(broken)


def test_a_new_submission_goes_to_the_database_with_what_was_filled_in(gradebook):
    """Its rows are inserted once: nothing is looked up, and nothing updated afterwards."""
    shortcuts = Shortcuts(gradebook)
    wim = gradebook.add_student("wim")
    with shortcuts.one_session():
        (notebook,) = shortcuts.submission_of(wim, "ess").notebooks
        asked = queries(gradebook)
        with shortcuts.at_hand(notebook):
            for name in CELLS:
                gradebook.find_grade(name, "ess", "ess", "wim").auto_score = 1.5
            assert asked == []
            assert gradebook.find_submission("ess", "wim") is notebook.assignment
            assert gradebook.find_submission_notebook("ess", "ess", "wim") is notebook
            assert gradebook.find_submission("ess", "udo").student.id == "udo"
        assert not [statement for statement in asked if statement.startswith("UPDATE")]
    gradebook.db.commit()
    assert gradebook.find_submission("ess", "wim").score == 4.5
