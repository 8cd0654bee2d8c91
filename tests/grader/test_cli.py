"""The staff's command line: what it prints, and how it ends."""

import re
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from rlinfra.topics import TOPICS
from rlinfra_autograder import release, tasks
from rlinfra_autograder.audit import audit_task
from rlinfra_autograder.cli import app

from . import tiny
from .course import ADVICE, DATA, RELEASED, break_headings, spoil


def run(*arguments):
    """Run the command in a terminal of 150 columns, without colours."""
    return CliRunner(env={"COLUMNS": "150", "NO_COLOR": "1", "TERM": "dumb"}).invoke(
        app, [str(one) for one in arguments]
    )


def test_without_a_command_it_says_what_there_is():
    result = run()
    assert result.exit_code == 2
    assert all(command in result.output for command in ("release", "audit", "demo"))


# --- audit --------------------------------------------------------------------------------------------------------


def test_an_audit_prints_the_counts_of_every_task_and_succeeds():
    result = run("audit", "memory", "--seeds", 1)
    reports = [audit_task(task, 1) for task in tasks.load_tasks("memory")]
    mutants = sum(report.mutants for report in reports)
    assert result.exit_code == 0, result.output
    assert "Audit over 1 seeds" in result.stdout
    rows = {cells[1]: cells[2:] for line in result.stdout.splitlines() if len(cells := re.split(r"\s*│\s*", line)) > 3}
    for report in reports:
        told, by_examples, variants, killed = rows[report.task][:4]
        assert (told, by_examples, variants, killed) == (
            f"{report.told_by_hidden}/{report.misconceptions}" if report.misconceptions else "",
            f"{report.told_by_examples}/{report.misconceptions}" if report.misconceptions else "",
            f"{report.variants_full}/{report.variants}" if report.variants else "",
            f"{report.killed}/{report.mutants}" if report.mutants else "",
        )
    assert f"{mutants} of {mutants} mutants killed (100.0%), 0 faults." in result.stdout


def test_an_audit_that_finds_faults_tells_them_and_fails(monkeypatch):
    monkeypatch.setattr(tasks, "load_tasks", lambda topic: (replace(tiny.TASK, criteria=tiny.WEAK),))
    result = run("audit", "memory", "--seeds", 1)
    assert result.exit_code == 1
    assert "FAULT parcel_cost: only 8 of 9 mutants are killed" in result.stdout
    assert re.search(r"survives: parcel_cost: line \d+: parcels \* each → parcels \+ each", result.stdout)
    assert "8 of 9 mutants killed (88.9%), 1 faults." in result.stdout


@pytest.mark.parametrize("command", ["audit", "release"])
def test_an_unknown_topic_is_a_usage_error_that_names_the_topics(command):
    result = run(command, "memories")
    assert result.exit_code == 2
    assert "there is no topic 'memories'" in result.stderr
    assert all(topic.name in result.stderr for topic in TOPICS)


@pytest.mark.parametrize("arguments", [["audit", "--seeds", 0], ["audit", "--seeds", "many"], ["grade"]])
def test_senseless_arguments_are_usage_errors(arguments):
    assert run(*arguments).exit_code == 2


# --- release ------------------------------------------------------------------------------------------------------


def test_a_release_is_written_and_told(course):
    (course / RELEASED).unlink()
    result = run("release", "memory", "--course", course)
    assert (result.exit_code, result.stdout) == (0, "memory: released.\n")
    assert (course / RELEASED).is_file()


def test_a_check_of_a_stale_release_fails_and_tells_what_is_stale(course):
    spoil(course)
    spoilt = (course / RELEASED).read_text()
    result = run("release", "memory", "--check", "--course", course)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.splitlines() == [f"{DATA} is stale", f"{RELEASED} is stale", ADVICE]
    assert (course / RELEASED).read_text() == spoilt


def test_a_check_of_a_fresh_release_succeeds(monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(release, "stale", lambda root, names: asked.append((root, names)) or [])
    result = run("release", "--check", "--course", tmp_path)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == ", ".join(topic.name for topic in TOPICS) + ": fresh.\n"
    assert asked == [(tmp_path, [topic.name for topic in TOPICS])]


def test_a_source_that_cannot_be_released_fails_with_the_reason(course):
    break_headings(course)
    result = run("release", "memory", "--course", course)
    assert result.exit_code == 1
    assert "the sources do not pass the lint" in result.stderr
    assert "a heading of level 4" in result.stderr


def test_a_course_root_that_is_not_there_is_a_usage_error(tmp_path):
    assert run("release", "--course", tmp_path / "nowhere").exit_code == 2
