"""What a grade is made of, for a reader and for a script.

The points are worked out by hand: `mended.py` says what the students wrote.
"""

from __future__ import annotations

import json
import shutil

import pytest

from rlinfra_autograder.explain import ExplainError, explained, show
from rlinfra_autograder.regraderun import run_regrade

from .mended import TASK, TOPIC, make_graded, sql, wide


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """A graded course root."""
    return make_graded(tmp_path_factory.mktemp("graded"))


@pytest.fixture
def tree(graded, tmp_path):
    """A copy of it, to be changed."""
    return shutil.copytree(graded, tmp_path / "tree", symlinks=True)


def text(data):
    console = wide()
    show(data, console)
    return console.export_text()


def test_a_grade_says_points_criteria_hint_and_what_made_it(graded):
    data = explained(graded, "kira", TOPIC)
    said = text(data)
    assert said.startswith("kira · memory · graded\n")
    assert "│ total in the gradebook │        │         │       │     19 │ 20 │" in said
    assert f"{TASK}: 0 of 1 points\n  ✗ not met a batch to score" in said
    assert "What does log-softmax write its result into?" in said
    for name in ("submission", "course seed demo (public)", "student code was confined", "limits: ", "nbgrader 0.9.6"):
        assert name in said
    assert data["notes"] == []
    assert data["score"] == {"sum": 19, "late_penalty": 0, "score": 19, "of": 20}
    assert json.loads(json.dumps(data)) == data


def test_of_one_task_it_says_that_one_alone(graded):
    data = explained(graded, "ada", TOPIC, TASK)
    assert [line["task"] for line in data["tasks"]] == [TASK]
    assert "1 of 1 points" in text(data)
    assert "model_state_bytes" not in text(data)


def test_an_ungraded_one_says_why_and_has_no_points(graded):
    data = explained(graded, "zoe", TOPIC)
    assert text(data).startswith("zoe · memory · ungraded: “memory.ipynb” is a web page")
    assert (data["score"], data["tasks"], data["provenance"]) == (None, [], None)


def test_where_the_gradebook_counts_something_else_it_says_what_and_the_total_is_the_gradebooks(tree):
    cell = f"where cell_id in (select id from base_cell where name = '{TASK}')"
    sql(tree, f"update grade set manual_score = 0.5, extra_credit = 0.25, needs_manual_grade = 1 {cell}")
    sql(tree, "update grade set auto_score = 3 where cell_id in (select id from base_cell where name = 'peak_memory')")
    sql(tree, "update submitted_notebook set late_submission_penalty = 2")
    data = explained(tree, "ada", TOPIC)
    assert data["score"] == {"sum": 20.75, "late_penalty": 2, "score": 18.75, "of": 20}  # 20 − 0.5 + 0.25 + 1 − 2
    said = text(data)
    assert "20.75 − 2 late = 18.75" in said
    assert f"{TASK}: an assistant gave 0.5 points by hand; they count." in said
    assert f"{TASK}: 0.25 points of extra credit count on top." in said
    assert f"{TASK}: is to be marked or looked at by hand" in said
    assert "peak_memory: 2 points were judged, and the gradebook's automatic score is 3: " in said


def test_a_regrade_and_a_task_that_is_another_one_today_are_said(tree):
    sql(tree, "update grade set auto_score = 0.5")
    sql(tree, f"""update rlinfra_submission set fingerprint = replace(fingerprint, '"{TASK}": "', '"{TASK}": "0')""")
    assert f"the task is another one today than in this grade (rlinfra-grade regrade {TASK})" in text(
        explained(tree, "ada", TOPIC, TASK)
    )
    run_regrade(tree, TASK, wide(), apply=True)
    data = explained(tree, "ada", TOPIC, TASK)
    assert data["notes"] == []
    assert f"Judged again:\n  {TASK}: 0.5 → 1 points, from recorded observations, at 20" in text(data)


def test_one_graded_by_nbgraders_own_command_is_explained_from_its_notebook(tree):
    sql(tree, "delete from rlinfra_submission where student = 'kira'")
    data = explained(tree, "kira", TOPIC, TASK)
    assert data["status"] == "graded by nbgrader autograde"
    assert data["tasks"][0]["judged"]["criteria"][0]["right"] == 1


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("kiera", TOPIC), "there is no student 'kiera' in the gradebook; did you mean kira?"),
        (("kira", "memmory"), "there is no topic 'memmory'; the topics are "),
        (("kira", "ess"), "there is no grade 'ess' of kira; there are memory"),
        (
            ("kira", TOPIC, "logit_bytes"),
            "there is no task 'logit_bytes' in this grade of memory; did you mean logits_b",
        ),
    ],
)
def test_what_there_is_not_is_one_line_with_what_there_is(graded, asked, said):
    with pytest.raises(ExplainError) as raised:
        explained(graded, *asked)
    assert str(raised.value).startswith(said)
    assert "\n" not in str(raised.value)
