"""One task judged again after it was mended: the real command, on a tree in which the task is changed.

The points are worked out by hand: `mended.py` says what the students wrote.
"""

from __future__ import annotations

import shutil

import pytest

from rlinfra.observe import Observation, Raised
from rlinfra.wire import Other
from rlinfra_autograder.hidden import hidden_set
from rlinfra_autograder.judge import judge
from rlinfra_autograder.observations import LARGEST_BYTES, inputs_hash, merged, pack, unpack
from rlinfra_autograder.probes import MISSING, OBSERVED, Fault, Probed
from rlinfra_autograder.regraderun import RegradeError, run_regrade
from rlinfra_autograder.submissions import Fingerprint, task_parts
from rlinfra_autograder.tasks import find_task
from rlinfra_autograder.tasks.sources import COMMON, source_parts, split
from tests.e2e.test_batch import rows

from .course import edit
from .mended import (
    TASK,
    TASKS,
    TOPIC,
    commands,
    draw_one_case_more,
    forget_the_copies,
    make_graded,
    notebook,
    sql,
    wide,
    with_code,
)

SEED = "a seed for the tests"
CELL = "cell_id in (select id from base_cell where name = 'peak_memory')"


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """A graded course root in which an assistant has marked."""
    root = make_graded(tmp_path_factory.mktemp("graded"))
    sql(root, f"update grade set manual_score = 1.5, needs_manual_grade = 1 where {CELL}")
    sql(root, "update grade set extra_credit = 0.5")
    sql(root, "update comment set manual_comment = 'well done'")
    sql(root, "update submitted_notebook set late_submission_penalty = 1")
    return root


@pytest.fixture
def tree(graded, tmp_path):
    """A copy of it, to be changed."""
    return shutil.copytree(graded, tmp_path / "tree", symlinks=True)


def auto_scores(tree):
    return {student: auto for student, name, auto, *_ in rows(tree)["grade"] if name == TASK}


def without_the_task(table):
    return [row for row in table if row[1] != TASK]


def everything(tree):
    return [path.read_bytes() for path in (tree / "gradebook.db", *sorted((tree / "autograded").rglob("*.ipynb")))]


def test_with_the_same_inputs_nothing_is_run_and_nothing_else_changes_and_a_batch_has_nothing_to_do(tree):
    forget_the_copies(with_code(tree))
    before, rows_before, ada = everything(tree), rows(tree), notebook(tree, "ada")

    (tree / ".venv-student").rename(tree / "away")  # no notebook can be run
    said = commands(tree, f"regrade {TASK}")
    assert "exit code 3" in said
    assert "2 judged again: 1 up, 1 down, 0 at the same points." in said
    assert "From recorded observations: 2; from a new run: 0." in said
    assert "│ ada     │      1 │     0 │ no longer met: a batch to score (a wrong value) │" in said
    assert "│ kira    │      0 │     1 │ now met: a batch to score" in said
    assert "zoe: ungraded: " in said
    assert f"Nothing is written yet: rlinfra-grade regrade {TASK} --apply" in said
    assert everything(tree) == before

    (tree / "away").rename(tree / ".venv-student")
    said = commands(tree, f"regrade {TASK} --apply", f"regrade {TASK} --apply", f"batch {TOPIC}")
    assert "Written for 2." in said
    assert "Written for 0." in said
    assert "0 graded now, 3 unchanged" in said
    assert auto_scores(tree) == {"ada": 0, "kira": 1}
    after = rows(tree)
    assert without_the_task(after["grade"]) == without_the_task(rows_before["grade"])
    assert (after["comment"], after["notebook"]) == (rows_before["comment"], rows_before["notebook"])
    assert [row[3:] for row in after["grade"] if row[1] == TASK] == 2 * [(None, 0.5, 0)]

    changed = notebook(tree, "ada")
    assert [cell.id for cell, old in zip(changed.cells, ada.cells, strict=True) if cell != old] == [
        ada.cells[0].id,
        TASK,
    ]
    assert "Result: 19 of 20 points" in changed.cells[0].source
    assert "0 of 1 points" in next(cell for cell in changed.cells if cell.id == TASK).outputs[0].data["text/html"]
    (regrade,) = changed.metadata["rlinfra"]["regrades"]
    assert (regrade["task"], regrade["points_before"], regrade["points_after"]) == (TASK, 1, 0)
    assert regrade["judged"] == "recorded observations"

    edit(tree / TASKS, '"full training"', '"all parameters trained"')  # a criterion of another task
    assert "3 graded now, 0 unchanged" in commands(tree, f"batch {TOPIC} --workers 1")
    again = rows(tree)
    assert (again["grade"], again["comment"]) == (after["grade"], after["comment"])  # graded as a whole, it is the same
    assert "regrades" not in notebook(tree, "ada").metadata["rlinfra"]


def test_with_other_inputs_the_notebooks_are_run_and_one_that_was_handed_in_anew_is_left_to_the_batch(tree):
    """Of `ada` nothing is recorded: nbgrader's own command graded her last. `lea` is `kira` under another name."""
    draw_one_case_more(with_code(tree))
    shutil.copytree(tree / "autograded" / "kira", tree / "autograded" / "lea")
    shutil.copytree(tree / "submitted" / "kira", tree / "submitted" / "lea")
    for table, columns in (
        ("rlinfra_submission", "topic, fingerprint, status, reason, seconds, details"),
        ("rlinfra_observations", "topic, content"),
    ):
        sql(tree, f"delete from {table} where student = 'ada'")
        sql(tree, f"insert into {table} (student, {columns}) select 'lea', {columns} from {table} where student='kira'")
    said = commands(
        tree,
        f"regrade {TASK} --apply --workers 1",
        f"regrade {TASK} --apply --student kira",
        f"batch {TOPIC} --student kira",
    )
    assert "2 judged again: 0 up, 0 down, 2 at the same points" in said
    assert "From recorded observations: 0; from a new run: 2." in said
    assert "lea: not judged again: the gradebook has no grade of it" in said
    assert "From recorded observations: 1; from a new run: 0." in said
    assert "0 graded now, 1 unchanged" in said
    for student, right in (("ada", 9), ("kira", 1)):  # kira is right where there is one copy, which is one case
        verdict = next(one for one in notebook(tree, student).metadata["rlinfra"]["verdicts"] if one["task"] == TASK)
        assert [(line["right"], line["total"]) for line in verdict["criteria"]] == [(right, 9)]
    assert notebook(tree, "kira").metadata["rlinfra"]["regrades"][0]["confined"] is True


def test_what_was_handed_in_anew_or_graded_under_another_seed_is_left_to_the_batch(tree):
    with (tree / "submitted" / "kira" / TOPIC / f"{TOPIC}.ipynb").open("a") as file:
        file.write("\n")
    report = run_regrade(tree, TASK, wide())
    assert report.left == {"kira": "it was handed in anew since it was graded"}
    assert [one.standing.student for one in report.regraded] == ["ada"]
    (tree / "course-seed.txt").write_text("another seed")
    report = run_regrade(tree, TASK, wide(), students="a*")
    assert report.left == {"ada": "it was graded under another course seed, which is another exam"}
    assert report.exit_code == 3


def test_without_the_submissions_what_is_recorded_will_do(tree):
    shutil.rmtree(tree / "submitted")
    assert len(run_regrade(tree, TASK, wide()).regraded) == 2
    sql(tree, "delete from rlinfra_observations where student = 'ada'")
    report = run_regrade(tree, TASK, wide())
    assert report.left == {"ada": f"it would have to be run, and is not in {tree / 'submitted'}"}


def test_what_else_has_changed_since_is_said_since_the_next_batch_would_grade_everybody_anew(tree):
    assert run_regrade(tree, TASK, wide()).other_tasks == set()
    part = task_parts(tree, TOPIC)["peak_memory"]
    sql(tree, f"update rlinfra_submission set fingerprint = replace(fingerprint, '{part}', 'another')")
    console = wide()
    assert run_regrade(tree, TASK, console).other_tasks == {"peak_memory"}
    said = "Changed since as well: peak_memory. Regrade these too, or the next batch grades memory anew."
    assert said in console.export_text()


def test_what_an_assistant_gave_by_hand_is_said_and_stays(tree):
    sql(
        tree,
        "update grade set manual_score = 0.25 where cell_id in (select id from base_cell where name = 'logits_bytes')",
    )
    sql(tree, "update grade set auto_score = 0.5")
    console = wide()
    run_regrade(tree, TASK, console, apply=True)
    assert "0.25 given by hand stay and count" in console.export_text()
    graded = {
        student: (auto, manual, review)
        for student, name, auto, manual, _, review in rows(tree)["grade"]
        if name == TASK
    }
    assert graded == {"ada": (1, 0.25, 1), "kira": (0, 0.25, 1)}  # to be looked at again, as nbgrader does it


def test_one_line_says_what_is_wrong_with_the_task_the_gradebook_or_the_points(tree, tmp_path):
    with pytest.raises(RegradeError, match="there is no task 'logits_byts'; did you mean logits_bytes"):
        run_regrade(tree, "logits_byts", wide())
    with pytest.raises(RegradeError, match="there is no gradebook at "):
        run_regrade(tree, TASK, wide(), db_url=f"sqlite:///{tmp_path}/none.db")
    assert not (tmp_path / "none.db").exists()
    with pytest.raises(RegradeError, match="cannot be read: it looks like"):
        run_regrade(tree, TASK, wide(), db_url="no url")
    sql(tree, "update grade_cells set max_score = 2 where id in (select id from base_cell where name = 'logits_bytes')")
    with pytest.raises(
        RegradeError, match="logits_bytes is worth 1 points, and 2 in the gradebook: rlinfra-grade release"
    ):
        run_regrade(tree, TASK, wide())


def test_a_drill_and_a_function_judged_from_the_record_have_the_very_verdict_of_every_attempt():
    for name in ("restore", TASK):
        _, task = find_task(name)
        for attempt in (*task.misconceptions, *task.correct):
            probed = Probed(OBSERVED, hidden_set(name, SEED).outcomes(attempt))
            recorded = unpack(pack({name: probed}, [task], SEED))[name].probed
            verdicts = [judge(task, one, seed=SEED, student_id="ada") for one in (probed, recorded)]
            assert verdicts[0] == verdicts[1]


def test_what_is_recorded_comes_back_as_it_was():
    _, task = find_task(TASK)
    outcomes = (
        Observation(value=[1.5, float("inf"), None, {"a": Other("an object")}]),
        Observation(raised=Raised("ValueError", own=True, message="no", line=20_000)),
        Fault("time"),
    )
    for probed in (Probed(OBSERVED, outcomes), Probed(MISSING)):
        recorded = unpack(pack({TASK: probed}, [task], SEED))[TASK]
        assert recorded.probed == probed
        assert recorded.inputs == inputs_hash(task, SEED) != inputs_hash(task, "another")
    assert unpack(b"") == {}


def test_one_record_takes_the_place_of_its_own_task_and_what_is_too_large_is_not_kept():
    tasks = [find_task(name)[1] for name in (TASK, "model_state_bytes")]
    both = pack({task.name: Probed(MISSING) for task in tasks}, tasks, SEED)
    one = pack({TASK: Probed(OBSERVED, (Observation(7),))}, tasks[:1], SEED)
    found = unpack(merged(both, one))
    assert found[TASK].probed.outcomes == (Observation(7),)
    assert found["model_state_bytes"].probed == Probed(MISSING)
    huge = Observation(["x" * 4_000] * (LARGEST_BYTES // 4_000))
    assert set(unpack(pack({TASK: Probed(OBSERVED, (huge,)), tasks[1].name: Probed(MISSING)}, tasks, SEED))) == {
        "model_state_bytes"
    }


def test_a_statement_belongs_to_the_tasks_that_reach_it_and_else_to_all():
    tasks = "from x import lib\nimport math\nA = task(lib.answer, one)\nB = task(two)\nTASKS = (A, B)\n"
    answers = "def answer():\n    return helper()\ndef helper(): ...\ndef one(): ...\ndef two(): return math.pi\n"
    parts = split([tasks, answers], {"a": "A", "b": "B"})
    assert parts["a"].split("\n")[:2] == ["from x import lib", "A = task(lib.answer, one)"]
    assert "def helper" in parts["a"]
    assert "def two" not in parts["a"]
    assert "import math" in parts["b"]
    assert parts[COMMON] == "TASKS = (A, B)"
    assert split([tasks + "# a comment\n", answers], {"a": "A", "b": "B"}) == parts


def test_every_line_of_a_topic_is_in_a_part_and_a_reference_is_in_that_of_its_task():
    parts = source_parts(TOPIC)
    assert "def logits_bytes" in parts[TASK]
    assert "def logits_bytes" not in parts["model_state_bytes"] + parts[COMMON]
    assert "def variant_story" in parts[COMMON]


def test_a_fingerprint_says_each_task_apart():
    made = Fingerprint("files", "settings", {"a": "1", "b": "1"})
    assert Fingerprint.parse(str(made)) == made
    assert str(made.with_task("a", "2")) == str(Fingerprint("files", "settings", {"b": "1", "a": "2"}))
