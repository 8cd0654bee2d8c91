"""`make demo` in small: two students, one topic; what a second run does, and what it refuses."""

from __future__ import annotations

import io

import nbformat
import pytest
from nbgrader.api import Gradebook
from rich.console import Console

from rlinfra.topics import find_topic
from rlinfra_autograder import demo
from rlinfra_autograder.classroom import synthetic_class
from rlinfra_autograder.sandbox.zygote import RunnerError
from tests.e2e.course import copy_course

pytestmark = pytest.mark.filterwarnings("ignore")  # nbgrader 0.9.6 under SQLAlchemy 2.1


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    return copy_course(tmp_path_factory.mktemp("demo"))


@pytest.fixture
def run_demo(course, monkeypatch):
    """Run the demo with a flawless and a blank student, and return what it printed."""
    students = tuple(student for student in synthetic_class() if student.id in ("ada", "rosa"))
    monkeypatch.setattr(demo, "synthetic_class", lambda: students)
    monkeypatch.setattr(demo, "TOPICS", (find_topic("memory"),))

    def run():
        said = io.StringIO()
        demo.run_demo(course, Console(file=said, width=150))
        return said.getvalue()

    return run


def test_the_demo_ends_with_the_table_and_a_second_run_grades_nothing(run_demo, course):
    first = run_demo()
    assert "2 graded now, 0 unchanged" in first
    assert "2 pages written, 0 unchanged" in first
    assert "of 20" in first
    assert [line.split()[3] for line in first.splitlines() if line.startswith(("│ ada", "│ rosa"))] == ["20", "0"]
    assert "nothing to judge in 9 of 9 tasks" in first
    assert (course / "feedback" / "rosa" / "memory" / "memory.html").is_file()
    second = run_demo()
    assert "0 graded now, 2 unchanged" in second
    assert "0 pages written, 2 unchanged" in second


def test_what_was_changed_by_hand_is_handed_in_anew_and_needs_no_grading(run_demo, course):
    submission = course / "submitted" / "rosa" / "memory" / "memory.ipynb"
    as_handed_in = submission.read_text()
    submission.write_text("changed by hand")
    assert "0 graded now, 2 unchanged" in run_demo()
    assert submission.read_text() == as_handed_in


def test_where_a_notebook_has_other_cells_the_class_begins_anew(run_demo, course):
    path = course / "source" / "memory" / "memory.ipynb"
    notebook = nbformat.read(path, as_version=4)
    notebook.cells = [cell for cell in notebook.cells if cell.id != "logits_bytes-prompt"]
    extra = nbformat.v4.new_markdown_cell("## Another prompt\n\n1 min", id="logits_bytes-prompt")
    extra.metadata = nbformat.from_dict(
        {"nbgrader": {"grade": False, "grade_id": "logits_bytes-prompt", "locked": True, "schema_version": 3,
                      "solution": False, "task": False}}
    )  # fmt: skip
    notebook.cells.insert(3, extra)
    added = nbformat.v4.new_markdown_cell("a note", id="a-note")
    added.metadata = nbformat.from_dict({"nbgrader": {**extra.metadata.nbgrader, "grade_id": "a-note"}})
    notebook.cells.insert(4, added)
    nbformat.write(notebook, path)
    assert "2 graded now, 0 unchanged" in run_demo()


def test_where_student_code_cannot_be_confined_the_synthetic_class_is_graded_and_marked(run_demo, course, monkeypatch):
    class OfAnotherKernel(demo.Nursery):
        def verified_environment(self):
            raise RunnerError("student code cannot be confined here: this kernel has no Landlock")

    monkeypatch.setattr(demo, "Nursery", OfAnotherKernel)
    said = run_demo()
    assert "no Landlock" in said
    assert "marks every grade" in said
    graded = nbformat.read(course / "autograded" / "ada" / "memory" / "memory.ipynb", as_version=4)
    assert graded.metadata.rlinfra.provenance.confined is False


def test_a_gradebook_with_a_real_class_is_left_alone(run_demo, course):
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as gradebook:
        gradebook.update_or_create_student("a-real-student")
    with pytest.raises(demo.DemoError, match=r"a-real-student.*clone of its own"):
        run_demo()
