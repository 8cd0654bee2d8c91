"""The best choices known: searched alike each time, kept whole, and never taken for what they are not."""

import json
import multiprocessing
import os
from dataclasses import replace

import pytest

from rlinfra.given.lab_tune import DEFAULT_CHOICE, broken_bounds, simulate_choice, tuning_workload
from rlinfra_autograder import best_known
from rlinfra_autograder.best_known import FOLDER, hidden_marks, public_marks, rate_of, search
from rlinfra_autograder.choices import choices_hash
from rlinfra_autograder.tasks import all_tasks

TUNE = all_tasks()["tune"]
SHORT = tuning_workload(
    duration_seconds=60.0, seed=5, workers=6, train_overhead_seconds=1.0, publish_seconds=2.0, lag_sigma=0.2,
    largest_lag=2, smallest_ess=0.6,
)  # fmt: skip
# A task of one short workload, so that a search takes a fraction of a second.
ONE = replace(TUNE, workloads=(replace(TUNE.workloads[0], draw=lambda draws: {**SHORT, "seed": draws.integer(1, 99)}),))
SEED = "a secret"


@pytest.fixture(autouse=True)
def _forgotten(monkeypatch):
    """Each test is a new process, as far as what is known goes."""
    monkeypatch.setattr(best_known, "_known", {})


@pytest.fixture
def searches(monkeypatch):
    """How often something was searched."""
    made = []

    def counted(task, workload, *simulations):
        made.append(workload)
        return search(task, workload, *simulations)

    monkeypatch.setattr(best_known, "search", counted)
    return made


def path_in(root):
    return root / FOLDER / f"{choices_hash(ONE, SEED)}.json"


def forget():
    best_known._known.clear()


# --- the search --------------------------------------------------------------------------------------------------


def test_a_search_finds_the_same_choice_each_time_and_one_that_holds_the_bounds():
    choice = search(ONE, SHORT)
    assert search(ONE, dict(SHORT)) == choice
    assert broken_bounds(SHORT, simulate_choice(SHORT, choice)) == []


def test_a_search_of_few_finds_the_references_at_least_and_one_of_more_no_less():
    rates = [rate_of(ONE, SHORT, search(ONE, SHORT, simulations)) for simulations in (1, 10, 60)]
    assert rates[0] == rate_of(ONE, SHORT, TUNE.reference(SHORT))
    assert rates == sorted(rates)


@pytest.mark.parametrize("simulations", [1, 7, 60])
def test_a_search_keeps_to_its_budget(simulations, monkeypatch):
    runs = []

    def counted(task, workload, choice):
        rate = rate_of(task, workload, choice)
        runs.append(choice)
        return rate

    monkeypatch.setattr(best_known, "rate_of", counted)
    search(ONE, SHORT, simulations)
    assert 0 < len(runs) <= simulations
    assert len({tuple(choice.values()) for choice in runs}) == len(runs)


def test_a_search_finds_what_a_reference_that_knows_nothing_does_not():
    blind = replace(ONE, reference=lambda _: dict(DEFAULT_CHOICE))
    found = rate_of(blind, SHORT, search(blind, SHORT))
    assert found > 1.2 * rate_of(blind, SHORT, DEFAULT_CHOICE)
    assert found > 0.9 * rate_of(ONE, SHORT, search(ONE, SHORT))


def test_a_space_in_which_nothing_fits_leaves_the_reference():
    odd = replace(ONE, space={**TUNE.space, "batch_tokens": (8_000,), "max_queue_tokens": (1_000, 2_000)})
    assert search(odd, SHORT) == dict(TUNE.reference(SHORT))


def test_a_broken_bound_is_worth_nothing():
    assert rate_of(ONE, {**SHORT, "smallest_ess": 1.0}, DEFAULT_CHOICE) == 0


# --- what is kept ------------------------------------------------------------------------------------------------


def test_what_was_searched_is_kept_for_the_next_process(tmp_path, searches):
    first = hidden_marks(ONE, SEED, tmp_path)
    assert len(searches) == 1
    forget()
    assert hidden_marks(ONE, SEED, tmp_path) == first
    assert len(searches) == 1
    assert [path.name for path in (tmp_path / FOLDER).iterdir()] == [path_in(tmp_path).name]
    assert path_in(tmp_path).stat().st_mode & 0o077 == 0


def test_in_one_process_it_is_read_once(tmp_path, searches):
    marks = hidden_marks(ONE, SEED, tmp_path)
    path_in(tmp_path).unlink()
    assert hidden_marks(ONE, SEED, tmp_path) is marks
    assert len(searches) == 1


def test_without_a_course_root_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hidden_marks(ONE, SEED, None)
    public_marks(replace(ONE, examples={"short": SHORT}))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda task: (task, "another secret"),
        lambda task: (replace(task, default={**DEFAULT_CHOICE, "batch_tokens": 1_000}), SEED),
        lambda task: (replace(task, space={**task.space, "batch_tokens": (8_000,)}), SEED),
        lambda task: (replace(task, engine=(*task.engine, "rlinfra.wire")), SEED),
        lambda task: (replace(task, workloads=(replace(task.workloads[0], draw=lambda _: SHORT),)), SEED),
    ],
    ids=["seed", "default", "space", "source", "workloads"],
)
def test_what_was_kept_for_something_else_is_not_used(change, tmp_path, searches):
    hidden_marks(ONE, SEED, tmp_path)
    hidden_marks(*change(ONE), tmp_path)
    assert len(searches) == 2
    assert len(list((tmp_path / FOLDER).iterdir())) == 2


def kept(choices):
    return json.dumps({"sha256": best_known._sha256(choices), "choices": choices})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "null",
        "[]",
        "[" * 60_000,
        '{"choices": []}',
        '{"sha256": "", "choices": [{}]}',
        json.dumps({"sha256": "0" * 64, "choices": [dict(DEFAULT_CHOICE)]}),
        kept([]),
        kept([None]),
        kept({"0": dict(DEFAULT_CHOICE)}),
        kept([dict(DEFAULT_CHOICE)] * 2),
        kept([{**DEFAULT_CHOICE, "batch_tokens": 10**9}]),
        kept([{**DEFAULT_CHOICE, "mode": "bounded_async", "max_policy_lag": 8}]),  # breaks the bound on lag
    ],
    ids=range(14),
)
def test_what_is_spoilt_is_searched_again_and_kept_anew(text, tmp_path, searches):
    marks = hidden_marks(ONE, SEED, tmp_path)
    good = path_in(tmp_path).read_bytes()
    path_in(tmp_path).write_text(text)
    forget()
    assert hidden_marks(ONE, SEED, tmp_path) == marks
    assert len(searches) == 2
    assert path_in(tmp_path).read_bytes() == good


@pytest.mark.parametrize("spoil", ["a file in its place", "a folder in its place", "a link to nowhere"])
def test_a_cache_that_cannot_be_written_stops_nothing(spoil, tmp_path, searches):
    path = path_in(tmp_path)
    match spoil:
        case "a file in its place":
            (tmp_path / FOLDER.parts[0]).write_text("not a folder")
        case "a folder in its place":
            path.mkdir(parents=True)
        case _:
            path.parent.parent.mkdir(parents=True)
            path.parent.symlink_to(tmp_path / "nowhere")
    marks = hidden_marks(ONE, SEED, tmp_path)
    assert marks[0].best >= marks[0].default > 0
    assert len(searches) == 1
    assert not list(tmp_path.rglob("*.draft"))


def test_processes_that_meet_there_find_the_same_and_leave_one_whole_file(tmp_path):
    context = multiprocessing.get_context("fork")
    with context.Pool(4) as pool:
        found = pool.starmap(_in_another_process, [(str(tmp_path),)] * 8)
    assert len(set(found)) == 1
    assert [path.name for path in (tmp_path / FOLDER).iterdir()] == [path_in(tmp_path).name]
    forget()
    assert repr(hidden_marks(ONE, SEED, tmp_path)) == found[0]


def _in_another_process(root):
    os.chdir(root)
    forget()
    from pathlib import Path

    return repr(hidden_marks(ONE, SEED, Path(root)))
