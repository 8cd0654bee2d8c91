"""The report on a class: its figures are those of a hand calculation, and the page loads nothing and runs nothing."""

from __future__ import annotations

import re
import shutil
from datetime import UTC, datetime
from html.parser import HTMLParser
from types import SimpleNamespace

import nbformat
import pytest
from typer.testing import CliRunner

from rlinfra_autograder.classroom import mistaken_student, synthetic_class
from rlinfra_autograder.cli import app
from rlinfra_autograder.course import data_path
from rlinfra_autograder.entries import FAILED, GRADED, UNGRADED, Entry
from rlinfra_autograder.grade import METADATA_KEY, grade
from rlinfra_autograder.gradebook import GradebookWriter
from rlinfra_autograder.intake.outcome import SENTENCES, Repair
from rlinfra_autograder.probes import CALL_FAULTS
from rlinfra_autograder.release import write_release
from rlinfra_autograder.report.chart import histogram
from rlinfra_autograder.report.figures import figures_of, median_sentence
from rlinfra_autograder.standings import read_standings

from .course import REPOSITORY
from .gradebooks import empty_gradebook, put_entry, put_scores

TOPIC = "kv-cache"
CLASS = {student.id: student for student in synthetic_class()} | {
    "kira": mistaken_student("kira", TOPIC, "paged_kv_bytes", "total_rounded"),
}
GRADED_STUDENTS = ("ada", "kira", "rosa", "sven")
HOSTILE = "<img src=x onerror=alert(1)>"
VOID = {"meta", "link", "br", "img", "hr", "input"}


def run(*arguments):
    return CliRunner(env={"COLUMNS": "150", "NO_COLOR": "1", "TERM": "dumb"}).invoke(
        app, [str(one) for one in arguments]
    )


@pytest.fixture(scope="module")
def root(tmp_path_factory, runner):
    """A released course root with four submissions that the engine graded, one refused, one failed, one repaired."""
    root = tmp_path_factory.mktemp("report") / "root"
    shutil.copytree(REPOSITORY / "source" / TOPIC, root / "source" / TOPIC, ignore=shutil.ignore_patterns(".*"))
    shutil.copy(REPOSITORY / "nbgrader_config.py", root)
    data_path(root, TOPIC).parent.mkdir(parents=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        patch.setenv("PATH", "/usr/bin:/bin")
        write_release(root, [TOPIC])
    released = nbformat.read(root / "release" / TOPIC / f"{TOPIC}.ipynb", as_version=4)
    repairs = (Repair("renamed", SENTENCES["renamed"].format("“kv (1).ipynb”")),)
    with GradebookWriter(root) as gradebook:
        for place, name in enumerate(GRADED_STUDENTS):
            graded = grade(
                CLASS[name].submission(released, TOPIC),
                topic=TOPIC,
                student_id=name,
                runner=runner,
                seed="a seed",
                environment={},
                repairs=repairs if name == "rosa" else (),
            )
            details = graded.notebook.metadata[METADATA_KEY]
            entry = Entry(name, TOPIC, "as now", GRADED, seconds=1.5 + place, details=details)
            gradebook.write(entry, graded.notebook, datetime(2026, 11, 20, 12, tzinfo=UTC))
        gradebook.write(Entry(HOSTILE, TOPIC, "as now", UNGRADED, f"There is no notebook in {HOSTILE}."))
        gradebook.write(Entry("uma", TOPIC, "as now", FAILED, "the grader itself failed", seconds=60.25))
    return root


@pytest.fixture(scope="module")
def figures(root):
    return figures_of(root, TOPIC, read_standings(root, [TOPIC]))


@pytest.fixture(scope="module")
def page(root):
    result = run("report", "--course", root)
    assert result.exit_code == 0, result.output
    return (root / "build" / "report.html").read_text(encoding="utf-8")


def test_scores_and_states_are_counted(figures):
    # ada 20, kira 17 (paged_kv_bytes keeps 1 of its 4 points), rosa 0, sven 15 (two functions, of 3 and 2 points, end
    # the process)
    assert figures.scores == (0.0, 15.0, 17.0, 20.0)
    assert (figures.median, figures.mean) == (16.0, 13.0)
    assert (figures.students, figures.handed_in) == (6, 6)
    assert dict(figures.statuses) == {"graded": 4, "ungraded": 1, "failed": 1}
    assert median_sentence(figures) == (
        "The median of the 4 graded submissions is 16 of 20 points; 1 has full marks, 1 has 0 points."
    )


def test_each_tasks_difficulty_is_the_share_of_full_marks_and_of_points_and_what_is_missed_most(figures):
    tasks = {task.name: task for task in figures.tasks}
    paged = tasks["paged_kv_bytes"]  # ada and sven 4 of 4, kira 1, rosa 0
    assert (paged.students, paged.full, paged.full_share) == (4, 2, 0.5)
    assert paged.mean_share == pytest.approx((4 + 4 + 1 + 0) / 4 / 4)
    assert (paged.hardest, paged.hardest_missed) == ("sequences that leave a part of their last block empty", 2)
    assert tasks["group_kv_bytes"].full_share == 0.75  # all but rosa
    assert [task.name for task in figures.tasks][:2] == ["kv_bytes_per_token", "kv_cache_bytes"]


def test_mistakes_have_their_names_and_hints_and_count_students(figures):
    (mistake,) = [group for group in figures.misconceptions if group.task == "paged_kv_bytes"]
    assert (mistake.name, mistake.students) == ("total rounded", ("kira",))
    assert mistake.text.endswith("?")


def test_repairs_faults_refusals_and_the_slowest_are_told(figures):
    assert [(group.name, group.students) for group in figures.repairs] == [
        ("The notebook has another name than the released one.", ("rosa",))
    ]
    assert {(group.name, group.task) for group in figures.faults if group.task} == {
        (f"a call {CALL_FAULTS['died']}", "kv_bytes_per_token"),
        (f"a call {CALL_FAULTS['died']}", "kv_cache_bytes"),
    }
    assert all(group.students == ("sven",) for group in figures.faults)
    assert [student for student, _, _ in figures.refused] == [HOSTILE, "uma"]
    assert figures.slowest[:2] == (("uma", 60.25), ("sven", 4.5))


def test_the_same_gradebook_gives_the_same_page(root, page, tmp_path):
    run("report", "--course", root, "--to", tmp_path / "again.html")
    assert (tmp_path / "again.html").read_text(encoding="utf-8") == page


class _Reader(HTMLParser):
    """Gathers tags, attributes, ids, and whether elements are closed in order."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.attributes, self.crossed = [], [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        if self.open.pop() != tag:
            self.crossed.append(tag)


def test_the_page_is_well_formed_loads_nothing_and_runs_nothing(page):
    read = _Reader(page)
    assert not read.crossed
    assert not read.open
    assert not {"script", "img", "link", "iframe", "object", "form", "base"} & set(read.tags)
    assert not [name for name, _ in read.attributes if name.startswith("on") or name in ("src", "srcset")]
    links = [value for name, value in read.attributes if name in ("href", "xlink:href")]
    assert links
    assert all(value.startswith("#") for value in links)
    assert "@import" not in page
    assert set(re.findall(r"url\((.)", page)) <= {"#"}
    assert "default-src 'none'" in page
    ids = [value for name, value in read.attributes if name == "id"]
    assert len(ids) == len(set(ids))


def test_what_a_student_is_called_is_text_and_the_chart_says_what_it_shows(page):
    assert HOSTILE not in page
    assert "&lt;img src=x onerror=alert(1)&gt;" in page
    assert 'role="img" aria-label="The median of the 4 graded submissions is 16 of 20 points;' in page
    assert page.count("<svg") == 1
    assert "median 16" in page


def test_a_topic_without_a_grade_says_so_and_what_waits_or_is_late_is_told(tmp_path):
    root = empty_gradebook(tmp_path / "root")
    put_entry(root, "ada", TOPIC, UNGRADED, "no notebook")
    put_scores(root, "bela", "ess", {"ess_one": 20.0}, waits=True, penalty=2.0)
    assert run("report", "--course", root).exit_code == 0
    page = (root / "build" / "report.html").read_text(encoding="utf-8")
    assert "No submission is graded yet." in page
    assert "The one graded submission has 18 of 24 points." in page  # 20 less 2 for being late
    assert "1 of these scores can still rise" in page
    assert "<code>ess-words</code>" in page
    assert "What the autograder said of each task is not known here" in page


def test_grades_by_nbgraders_own_command_are_reported_from_the_graded_notebook(root, tmp_path):
    copied = shutil.copytree(root, tmp_path / "root")
    before = figures_of(copied, TOPIC, read_standings(copied, [TOPIC])).tasks
    with GradebookWriter(copied) as gradebook:
        from rlinfra_autograder import ledger

        for student in GRADED_STUDENTS:
            ledger.forget(gradebook._gradebook.db(), student)
        gradebook._gradebook.db.commit()
    assert figures_of(copied, TOPIC, read_standings(copied, [TOPIC])).tasks == before
    (copied / "autograded" / "ada" / TOPIC / f"{TOPIC}.ipynb").write_text("[]")
    assert figures_of(copied, TOPIC, read_standings(copied, [TOPIC])).tasks[0].students == 3


@pytest.mark.parametrize(("most", "bars"), [(20.0, 4), (200.0, 4)])
def test_a_bar_stands_at_each_score_that_somebody_has(most, bars):
    scores = (0.0, most / 2, most / 2, 0.75 * most, most)
    drawn = histogram(SimpleNamespace(name="t", scores=scores, max_score=most, median=most / 2), "so many")
    assert len(re.findall(r"fill: #0072b2", drawn)) == bars


def test_what_cannot_be_done_is_said_in_a_line(root, tmp_path):
    for arguments, said in (
        (("memory",), "does not know the topic memory"),
        (("--course", tmp_path), "is no course root"),
        (("--to", "/proc/no/report.html"), "cannot be written"),
    ):
        result = run("report", "--course", root, *arguments)
        assert (result.exit_code, said in result.output, len(result.output.splitlines())) == (1, True, 1), result.output


def test_without_a_student_there_is_nothing_to_report_or_export(tmp_path):
    root = empty_gradebook(tmp_path / "root")
    for command in ("report", "export"):
        result = run(command, "--course", root)
        assert (result.exit_code, "there is no student" in result.output) == (1, True)
        assert not (root / "build").exists()
