"""Deleting a student: every row and folder of theirs, also hostile ones, and nothing of anybody else's."""

from __future__ import annotations

import os
import shutil

import pytest
from nbgrader.api import Gradebook, MissingEntry
from typer.testing import CliRunner

from rlinfra_autograder import ledger
from rlinfra_autograder.cli import app
from rlinfra_autograder.entries import GRADED, UNGRADED

from .gradebooks import empty_gradebook, put_entry, put_scores, url

FOLDERS = ("submitted", "autograded", "feedback")


def run(*arguments, answer=None):
    return CliRunner(env={"NO_COLOR": "1", "TERM": "dumb"}).invoke(app, [str(one) for one in arguments], input=answer)


@pytest.fixture
def root(made, tmp_path):
    """A copy of the course root of two students, to delete from."""
    return shutil.copytree(made, tmp_path / "root")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    root = empty_gradebook(tmp_path_factory.mktemp("forget") / "root")
    config = (root / "nbgrader_config.py").read_text()
    inbound = root / "exchange" / "rlinfra" / "inbound"
    assert 'c.Exchange.root = str(Path(__file__).parent / "exchange")' in config
    for student in ("ada", "ada2"):
        put_scores(root, student, "kv-cache", {"kv_one": 12.0, "kv_two": 8.0})
        put_entry(root, student, "kv-cache", GRADED)
        put_entry(root, student, "ess", UNGRADED, "no notebook")
        for name in FOLDERS:
            (root / name / student / "kv-cache").mkdir(parents=True)
            (root / name / student / "kv-cache" / "kv-cache.ipynb").write_text("{}")
        (inbound / f"{student}+kv-cache+2026-11-20 12:00:00 UTC").mkdir(parents=True)
    return root


def left(root):
    """Return what is there, of every student: places, students that nbgrader knows, entries of ours."""
    places = sorted(
        str(path.relative_to(root))
        for path in [*(path for name in FOLDERS for path in (root / name).iterdir()), *(root / "exchange").rglob("*+*")]
    )
    with Gradebook(url(root), "rlinfra") as gradebook:
        known = [student.id for student in gradebook.students]
        submissions = [
            one.student.id for topic in ("kv-cache", "ess") for one in gradebook.assignment_submissions(topic)
        ]
        return places, known, submissions, sorted(ledger.entries(gradebook.db()))


def test_all_that_is_a_students_is_gone_and_nothing_else(root):
    result = run("forget", "ada", "--course", root, "--yes")
    assert result.exit_code == 0, result.output
    assert left(root) == (
        [
            "autograded/ada2", "exchange/rlinfra/inbound/ada2+kv-cache+2026-11-20 12:00:00 UTC", "feedback/ada2",
            "submitted/ada2",
        ],
        ["ada2"],
        ["ada2"],
        [("ada2", "ess"), ("ada2", "kv-cache")],
    )  # fmt: skip
    with Gradebook(url(root), "rlinfra") as gradebook, pytest.raises(MissingEntry):
        gradebook.find_student("ada")
    with Gradebook(url(root), "rlinfra") as gradebook:
        assert gradebook.find_submission("kv-cache", "ada2").score == 20.0


def test_it_asks_first_and_a_no_or_a_closed_input_leaves_everything(root):
    before = left(root)
    result = run("forget", "ada", "--course", root, answer="n\n")
    assert (result.exit_code, str(root / "submitted" / "ada") in result.output) == (1, True)
    assert run("forget", "ada", "--course", root).exit_code == 1
    assert left(root) == before
    assert run("forget", "ada", "--course", root, answer="y\n").exit_code == 0
    assert left(root) != before


def test_a_student_who_was_only_ever_refused_is_forgotten_too(root):
    put_entry(root, "nina", "ess", UNGRADED, "empty")
    assert run("forget", "nina", "--course", root, "--yes").exit_code == 0
    assert ("nina", "ess") not in left(root)[3]


def test_a_link_is_removed_and_not_what_it_leads_to_and_a_deep_closed_folder_goes(root):
    (root / "submitted" / "eve").symlink_to(root / "source-of-truth")
    (root / "source-of-truth").mkdir()
    (root / "source-of-truth" / "kept").write_text("")
    deep = root / "autograded" / "eve"
    deep.mkdir()
    inside = os.open(deep, os.O_RDONLY)
    for _ in range(1500):  # deeper than a recursion goes, or than a path may be long
        os.mkdir("deep-down", dir_fd=inside)
        below = os.open("deep-down", os.O_RDONLY, dir_fd=inside)
        os.close(inside)
        inside = below
    os.close(inside)
    deep.chmod(0)
    result = run("forget", "eve", "--course", root, "--yes")
    assert result.exit_code == 0, result.output
    assert (root / "source-of-truth" / "kept").exists()
    assert not (root / "submitted" / "eve").is_symlink()
    assert not deep.exists()


@pytest.mark.parametrize("student", ["", ".", "..", "../submitted", "ada/kv-cache", "/etc"])
def test_an_id_that_is_no_folder_name_deletes_nothing(root, student):
    before = left(root)
    result = run("forget", "--course", root, "--yes", "--", student)
    assert (result.exit_code, "is the name of one folder" in result.output) == (1, True)
    assert left(root) == before


def test_a_student_whom_nobody_knows_is_said_in_a_line_and_no_gradebook_is_made(root, tmp_path):
    result = run("forget", "nobody", "--course", root, "--yes")
    assert result.exit_code == 1
    assert result.output.splitlines() == [
        "nobody: there is nothing of a student of that id: no folder and no row in the gradebook"
    ]
    (root / "gradebook.db").rename(tmp_path / "elsewhere.db")
    assert run("forget", "nobody", "--course", root, "--yes").exit_code == 1
    assert not (root / "gradebook.db").exists()
    assert (
        run("forget", "ada", "--course", root, "--yes", "--db-url", f"sqlite:///{tmp_path}/elsewhere.db").exit_code == 0
    )
    assert not (root / "submitted" / "ada").exists()
