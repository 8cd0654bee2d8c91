"""From a submission to its graded notebook: what is shown is clean and in place, the course's own text untouched."""

from __future__ import annotations

import nbformat
import pytest

from rlinfra.topics import TOPICS
from rlinfra_autograder.grade import grade
from rlinfra_autograder.sanitise import clean_notebook

SCRIPT = "<img src=x onerror=alert(1)>"


@pytest.fixture
def released(root):
    def read(topic):
        return nbformat.read(root / "release" / topic / f"{topic}.ipynb", as_version=4)

    return read


def graded(notebook, runner):
    return grade(notebook, topic="memory", student_id="ada", runner=runner, seed="a seed", environment={})


@pytest.mark.parametrize("topic", [topic.name for topic in TOPICS])
def test_nothing_that_the_course_wrote_is_changed_by_cleaning(released, topic):
    notebook = released(topic)
    clean = clean_notebook(notebook)
    assert [cell.source for cell in clean.cells] == [cell.source for cell in notebook.cells]
    assert [cell.metadata.get("nbgrader") for cell in clean.cells] == [
        cell.metadata.get("nbgrader") for cell in notebook.cells
    ]


def test_what_a_student_puts_out_and_writes_is_clean_in_the_graded_notebook(released, runner):
    notebook = released("memory")
    shows = nbformat.v4.new_code_cell(f"from IPython.display import HTML\nHTML({SCRIPT!r} + '<b>kept</b>')", id="shows")
    notebook.cells += [shows, nbformat.v4.new_markdown_cell(f"A word. {SCRIPT}", id="writes")]
    cells = {cell.id: cell for cell in graded(notebook, runner).notebook.cells}
    (output,) = cells["shows"].outputs
    assert "<b>kept</b>" in output.data["text/html"]
    assert "onerror" not in output.data["text/html"]
    assert "onerror" in cells["shows"].source  # his source is his source: it is shown as text
    assert "A word." in cells["writes"].source
    assert "onerror" not in cells["writes"].source


def test_a_card_stands_where_the_check_is_and_in_the_place_of_whatever_else_came_out_there(released, runner):
    notebook = released("memory")
    result = graded(notebook, runner)
    cells = {cell.id: cell for cell in result.notebook.cells}
    for verdict in result.verdicts:
        (output,) = cells[verdict.task].outputs
        assert output.data["text/plain"] == "0"
        assert verdict.task in output.data["text/html"]
    assert [cell.id for cell in result.notebook.cells][1:] == [cell.id for cell in notebook.cells]


def test_a_cell_that_was_stopped_is_known_by_its_first_line_without_anything_that_acts_on_a_terminal(released, runner):
    notebook = released("memory")
    notebook.cells.append(nbformat.v4.new_code_cell("'\x1b[2J\u202eevil'; import os; os._exit(3)", id="killer"))
    (fault,) = graded(notebook, runner).faults
    assert fault == "'evil'; import os; os._exit(3): ended the Python process (exit status 3)"
