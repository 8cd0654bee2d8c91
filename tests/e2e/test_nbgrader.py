"""nbgrader's own commands from a course root: autograde, feedback, validate, and the demo beside them."""

from __future__ import annotations

import subprocess

import nbformat
import pytest
from nbgrader.api import Gradebook

from rlinfra_autograder.classroom import mistaken_student, solve_in_style, synthetic_class
from rlinfra_autograder.demo import read_result
from rlinfra_autograder.hidden import DEMO_SEED, SEED_FILE
from rlinfra_autograder.runners import verified_runner
from rlinfra_autograder.tasks import load_tasks
from tests.e2e.course import copy_course, run

TOPIC = "kv-cache"
STUDENTS = {student.id: student for student in synthetic_class()} | {
    "grace": mistaken_student("grace", TOPIC, "kv_bytes_per_token", "keys_alone"),
    "kira": mistaken_student("kira", TOPIC, "paged_kv_bytes", "total_rounded"),
}
HANDING_IN = ("ada", "kira", "grace", "wim", "vera", "udo")


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A course root in which a few students have handed in and `nbgrader autograde` has run."""
    folder = copy_course(tmp_path_factory.mktemp("course"))
    run(folder, "rlinfra-grade", "release", TOPIC)
    released = nbformat.read(folder / "release" / TOPIC / f"{TOPIC}.ipynb", as_version=4)
    for student in HANDING_IN:
        path = folder / "submitted" / student / TOPIC / f"{TOPIC}.ipynb"
        path.parent.mkdir(parents=True)
        nbformat.write(STUDENTS[student].submission(released, TOPIC), path)
    run(folder, "nbgrader", "autograde", TOPIC)
    run(folder, "nbgrader", "generate_feedback", TOPIC)
    return folder


def scores(course):
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as gradebook:
        return {
            student: {grade.cell.name: grade.auto_score for grade in gradebook.find_submission_notebook(
                TOPIC, TOPIC, student).grades}
            for student in HANDING_IN
        }  # fmt: skip


def test_points_reach_the_gradebook_with_partial_credit(course):
    found = scores(course)
    assert sum(found["ada"].values()) == 20
    assert found["grace"]["kv_bytes_per_token"] == 0
    assert found["kira"]["paged_kv_bytes"] == 1
    assert sum(found["kira"].values()) == 17


def test_edited_and_deleted_checks_are_put_back(course):
    found = scores(course)
    assert sum(found["wim"].values()) == 20
    assert sum(found["vera"].values()) == 0
    assert set(found["vera"]) == set(found["ada"]) == {task.name for task in load_tasks(TOPIC)}


def test_nobody_needs_manual_grading_where_no_question_is_hand_graded(course):
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as gradebook:
        assert not any(gradebook.find_submission(TOPIC, student).needs_manual_grade for student in HANDING_IN)


def test_feedback_has_the_criteria_and_the_hint_and_nothing_hidden(course):
    page = (course / "feedback" / "kira" / TOPIC / f"{TOPIC}.html").read_text()
    assert "Result: 17 of 20 points" in page
    assert "Can two sequences write into one block?" in page
    assert "not met" in page
    curious = (course / "feedback" / "udo" / TOPIC / f"{TOPIC}.html").read_text()
    assert "raises an exception of its own (a ValueError)" in curious
    assert curious.count("Seen_") == 2  # his own source says it, and the explorer, which quotes that line of it
    assert "Seen_(" not in curious  # with the arguments after it, as the name of what he raises has them


def test_the_demo_reads_the_same_points(course):
    assert read_result(course, "kira", TOPIC).score == 17


def test_a_grade_made_without_a_sandbox_says_so(course):
    """And grading with one takes the mark away again."""
    graded = course / "autograded" / "ada" / TOPIC / f"{TOPIC}.ipynb"
    for flags, confined in ((["--GradeNotebook.unsafe_no_sandbox=True"], False), ([], True)):
        run(course, "nbgrader", "autograde", TOPIC, "--student", "ada", "--force", *flags)
        notebook = nbformat.read(graded, as_version=4)
        assert notebook.metadata.rlinfra.provenance.confined is confined
        assert ("Graded without a sandbox" in notebook.cells[0].source) is not confined
        assert sum(scores(course)["ada"].values()) == 20


def test_without_the_answers_out_of_reach_nothing_is_graded(course, root):
    (course / ".venv-student").unlink()
    (course / ".venv-student").symlink_to(root / ".venv")
    try:
        (course / "nbgrader_config.py").write_text(
            (course / "nbgrader_config.py").read_text() + "c.GradeNotebook.unsafe_no_sandbox = True\n"
        )
        said = run(course, "nbgrader", "autograde", TOPIC, "--student", "ada", "--force", fails=True)
        assert "student code could reach what it must not: import rlinfra_reference" in said
    finally:
        (course / ".venv-student").unlink()
        (course / ".venv-student").symlink_to(root / ".venv-student")


def test_a_seed_of_its_own_is_read_and_told_by_its_fingerprint_only(course, root):
    assert DEMO_SEED not in (course / SEED_FILE).read_text() if (course / SEED_FILE).exists() else True
    (course / SEED_FILE).write_text("a long secret of this course")
    (course / "nbgrader_config.py").write_text((root / "nbgrader_config.py").read_text())
    run(course, "nbgrader", "autograde", TOPIC, "--student", "ada", "--force")
    text = (course / "autograded" / "ada" / TOPIC / f"{TOPIC}.ipynb").read_text()
    made = nbformat.reads(text, as_version=4).metadata.rlinfra.provenance
    assert made.course_seed not in ("", "demo (public)")
    assert "a long secret" not in text
    assert sum(scores(course)["ada"].values()) == 20


def test_the_runner_is_verified_once_a_process(course):
    python = course / ".venv-student" / "bin" / "python"
    assert verified_runner(course, python, True) is verified_runner(course, python, True)


@pytest.fixture(scope="module")
def half_done(root):
    """A released notebook in which the first task of each kind is solved, and nothing else."""
    released = nbformat.read(root / "release" / TOPIC / f"{TOPIC}.ipynb", as_version=4)
    cells = {cell.id: cell for cell in released.cells}
    first = load_tasks(TOPIC)[0]
    cells[f"{first.name}-code"].source = solve_in_style(0)(first, "your-id")
    return released


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("blank", "VALIDATION FAILED ON 8 CELL(S)!"),
        ("partial", "VALIDATION FAILED ON 7 CELL(S)!"),
        ("complete", "Success! Your notebook passes all the tests."),
    ],
)
def test_validate_tells_blank_partial_and_complete_apart(root, half_done, tmp_path, what, said):
    notebook = {
        "blank": nbformat.read(root / "release" / TOPIC / f"{TOPIC}.ipynb", as_version=4),
        "partial": half_done,
        "complete": nbformat.read(root / "source" / TOPIC / f"{TOPIC}.ipynb", as_version=4),
    }[what]
    (setup,) = [cell for cell in notebook.cells if cell.id == "setup"]
    setup.source = setup.source.replace("your-id", "ada-l")
    nbformat.write(notebook, tmp_path / "mine.ipynb")
    assert said in run_as_student(root, tmp_path, "nbgrader", "validate", "mine.ipynb")


def run_as_student(root, folder, *command):
    student = root / ".venv-student" / "bin"
    environment = {"PATH": f"{student}:/usr/bin:/bin", "HOME": str(folder)}
    line = [student / command[0], *command[1:]]
    result = subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return result.stdout + result.stderr
