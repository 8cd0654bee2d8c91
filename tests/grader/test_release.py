"""From source to release: what is committed is what the sources make, and what is stale is found."""

import ast
import json
import re
import shutil

import nbformat
import pytest
from nbgrader.api import Gradebook

from rlinfra.topics import TOPICS
from rlinfra_autograder.course import course_config, data_path, notebook_path
from rlinfra_autograder.release import ReleaseError, nbgrader_api, stale, write_release
from rlinfra_autograder.tasks import load_tasks
from rlinfra_autograder.tasks.model import SortingTask

from .course import ADVICE, DATA, RELEASED, REPOSITORY, SOURCE, break_headings, edit, spoil

topics = pytest.mark.parametrize("topic", [topic.name for topic in TOPICS])

# --- what a release is --------------------------------------------------------------------------------------------


@topics
def test_the_committed_release_is_what_the_source_makes(released, topic):
    committed = notebook_path(REPOSITORY / "release", topic)
    assert notebook_path(released / "release", topic).read_text() == committed.read_text()


@topics
def test_the_committed_check_data_is_what_the_tasks_make(released, topic):
    assert data_path(released, topic).read_bytes() == data_path(REPOSITORY, topic).read_bytes()


@topics
def test_nbgraders_database_knows_the_topic_and_its_20_points_of_judged_work(released, topic):
    with Gradebook(f"sqlite:///{released / 'gradebook.db'}") as gradebook:
        assert gradebook.find_assignment(topic).max_code_score == 20


def solution_lines(source):
    """Yield the lines between the marks of each solution."""
    inside = False
    for line in source.splitlines():
        if "END SOLUTION" in line:
            inside = False
        elif inside:
            yield line.strip()
        elif "BEGIN SOLUTION" in line:
            inside = True


@topics
def test_a_release_holds_no_line_of_a_solution(topic):
    source = nbformat.read(notebook_path(REPOSITORY / "source", topic), as_version=4)
    release = nbformat.read(notebook_path(REPOSITORY / "release", topic), as_version=4)
    answers = {line for cell in source.cells for line in solution_lines(cell.source) if len(line) > 12}
    outside = {
        line.strip()
        for cell in source.cells
        for line in re.sub(r"### BEGIN SOLUTION.*?### END SOLUTION", "", cell.source, flags=re.DOTALL).splitlines()
    }
    given = {line.strip() for cell in release.cells for line in cell.source.splitlines()}
    assert len(answers - outside) > 10
    assert given.isdisjoint(answers - outside)
    assert "SOLUTION" not in "".join(cell.source for cell in release.cells)


@topics
def test_a_release_gives_no_statement_its_class(topic):
    text = notebook_path(REPOSITORY / "release", topic).read_text(encoding="utf-8")
    for task in load_tasks(topic):
        if isinstance(task, SortingTask):
            for statement, name in task.key.items():
                assert not re.search(rf"{statement}\W+{re.escape(name)}", text)


@topics
def test_every_solution_cell_of_a_release_can_be_run_before_anything_is_written(topic):
    release = nbformat.read(notebook_path(REPOSITORY / "release", topic), as_version=4)
    stub = course_config(REPOSITORY).ClearSolutions.code_stub["python"]
    cells = {cell.id: cell for cell in release.cells}
    for task in load_tasks(topic):
        source = cells[f"{task.name}-code"].source
        assert source.splitlines()[-1].strip() == stub
        ast.parse(source)


def test_a_course_names_its_settings_once_and_others_go_on_top(released):
    config = course_config(released, release_directory="elsewhere")
    assert config.CourseDirectory.course_id == "rlinfra"
    assert config.CourseDirectory.root == str(released)
    assert config.CourseDirectory.release_directory == "elsewhere"


def test_nbgrader_finds_alembic_where_this_python_is_installed(released, monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    nbgrader_api(course_config(released))
    assert shutil.which("alembic") is not None


# --- what is stale ------------------------------------------------------------------------------------------------


def test_nothing_of_a_new_release_is_stale_and_looking_for_it_changes_nothing(course):
    def everything():
        return {path: path.stat().st_mtime_ns for path in course.rglob("*") if path.is_file()}

    before = everything()
    assert stale(course, ["memory"]) == []
    assert everything() == before


def test_an_edited_release_and_edited_check_data_are_stale(course):
    spoil(course)
    assert stale(course, ["memory"]) == [f"{DATA} is stale", f"{RELEASED} is stale", ADVICE]


def test_a_missing_release_and_missing_check_data_are_stale(course):
    (course / RELEASED).unlink()
    (course / DATA).unlink()
    assert stale(course, ["memory"]) == [f"{DATA} is stale", f"{RELEASED} is stale", ADVICE]


def test_an_edited_source_makes_its_release_stale_and_what_the_lint_finds_is_told_too(course):
    break_headings(course)
    headings, *others = stale(course, ["memory"])
    assert headings.startswith("memory: cell closing: a heading of level 4 follows")
    assert others == [f"{RELEASED} is stale", ADVICE]


def test_a_new_release_makes_good_what_was_stale(course):
    fresh = (course / RELEASED).read_text(), (course / DATA).read_text()
    (course / RELEASED).unlink()
    edit(course / DATA, '"expected": 16', '"expected": 17')
    write_release(course, ["memory"])
    assert ((course / RELEASED).read_text(), (course / DATA).read_text()) == fresh


# --- what cannot be released --------------------------------------------------------------------------------------


def test_a_source_that_does_not_pass_the_lint_is_not_released(course):
    edit(course / DATA, '"expected": 16', '"expected": 17')
    break_headings(course)
    with pytest.raises(ReleaseError, match="the sources do not pass the lint:\nmemory: cell closing: a heading"):
        write_release(course, ["kv-cache", "memory"])
    assert '"expected": 17' in (course / DATA).read_text()


def test_a_notebook_that_nbgrader_refuses_is_not_released(course):
    path = course / SOURCE
    notebook = json.loads(path.read_text())
    setup = next(cell for cell in notebook["cells"] if cell["id"] == "setup")
    setup["source"] = ["### BEGIN SOLUTION\n", "1\n", "### END SOLUTION"]
    path.write_text(json.dumps(notebook))
    with pytest.raises(
        ReleaseError, match="nbgrader cannot release memory: Solution region detected in a non-solution cell"
    ):
        write_release(course, ["memory"])


def test_a_topic_that_is_not_there_cannot_be_released(course):
    with pytest.raises(LookupError, match="there is no topic 'memories'"):
        write_release(course, ["memories"])
