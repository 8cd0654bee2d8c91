"""The card of a function that chooses: what each choice comes to, simulated on the spot; points worked out by hand."""

import pytest

from rlinfra import check
from rlinfra.checks.choices import GOAL, way_to_goal
from rlinfra.checks.data import all_tasks
from rlinfra.given.lab_tune import DEFAULT_CHOICE, WORKLOADS, simulate_choice

TASK = all_tasks()["tune"]
BY_TURNS = {**DEFAULT_CHOICE, "batch_tokens": 8_000, "max_queue_tokens": 16_000}


@pytest.mark.parametrize(
    ("rate", "way"),
    [(90, 0), (100, 0), (145, 0.5), (149.5, 0.55), (189, 0.99), (190, 1), (250, 1), (0, 0)],
)
def test_the_way_is_linear_from_the_default_to_95_percent_of_the_best(rate, way):
    """From 100 to 0.95 · 200 = 190: 45 of 90 is half of it."""
    assert way_to_goal(rate, default=100, best=200) == way


@pytest.mark.parametrize(("rate", "way"), [(99, 0), (100, 0), (100.1, 1), (105, 1)])
def test_where_there_is_no_way_to_go_all_above_the_default_is_at_the_goal(rate, way):
    assert way_to_goal(rate, default=100, best=105) == way


def test_the_public_goals_can_be_reached_and_are_above_the_default():
    for workload in TASK.workloads:
        assert workload.fields == dict(WORKLOADS[workload.name])
        assert simulate_choice(workload.fields, DEFAULT_CHOICE)[TASK.rate] == workload.default
        assert workload.default < 0.8 * GOAL * workload.best


def test_the_default_is_on_the_card_beside_the_goal_and_earns_nothing(notebook):
    notebook.run("from rlinfra.given.lab_tune import DEFAULT_CHOICE\ndef tune(workload):\n    return DEFAULT_CHOICE")
    result = check("tune")
    assert (result.state, result.points, result.passed, repr(result)) == ("0 of 3 workloads at the goal", 0, 0, "0")
    first, workload = result.rows[0], TASK.workloads[0]
    assert (first.call, workload.name) == ("slow link", "slow link")
    assert first.expected == f"{0.95 * workload.best:,.0f} tokens/s, from {workload.default:,.0f} by default"
    assert first.got.startswith(f"{workload.default:,.0f} tokens/s: 0 % of the way, no bound broken\nlargest lag 0 ")
    html = result._repr_html_()
    assert all(f">{head}<" in html for head in ("workload", "goal", "what your choice comes to"))
    assert "goal                     " in result.summary()


def test_a_choice_that_does_in_one_workload_gets_the_points_of_the_way_in_each(notebook):
    notebook.variables["tune"] = lambda workload: dict(BY_TURNS)
    result = check("tune")
    ways = [
        way_to_goal(simulate_choice(one.fields, BY_TURNS)[TASK.rate], one.default, one.best) for one in TASK.workloads
    ]
    assert ways[1] == 1
    assert max(ways[0], ways[2]) < 0.3
    assert result.points == round(5 * sum(ways) / 3, 2)
    assert result.passed == 1


def test_a_broken_bound_is_named_and_earns_nothing(notebook):
    choice = {**BY_TURNS, "mode": "bounded_async", "max_policy_lag": 8, "sync_every_updates": 2}
    notebook.variables["tune"] = lambda workload: dict(choice)
    rows = check("tune").rows
    assert "breaks largest_lag: no points\nlargest lag " in rows[1].got
    assert "(at most 0)" in rows[1].got


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return {}", '(the key "mode" is missing)'),
        ("return None", "nothing (None)"),
        ("return {**DEFAULT_CHOICE, 'mode': 'async'}", "one of these is wanted"),
        ("return {**DEFAULT_CHOICE, 'batch_tokens': 10**6}", "(batch_tokens must be an integer from 1,000 to 8,000)"),
        ("return {**DEFAULT_CHOICE, 'workers': 10**6}", "and no others)"),
        ("return {**DEFAULT_CHOICE, 'max_policy_lag': 0.0}", "max_policy_lag must be an integer"),
        ("return 1 / 0", "ZeroDivisionError: division by zero"),
        ("raise KeyError('seed')", "KeyError: 'seed'"),
    ],
)
def test_what_is_no_choice_says_why_and_earns_nothing(notebook, body, said):
    notebook.run(
        "from rlinfra.given.lab_tune import DEFAULT_CHOICE\n"
        f"def tune(workload):\n    if workload['largest_lag'] == 0:\n        {body}\n    return dict(DEFAULT_CHOICE)"
    )
    result = check("tune")
    assert result.points == 0
    assert said in result.rows[1].got
    assert "of the way" in result.rows[0].got


def test_a_function_that_raises_in_all_says_so(notebook):
    notebook.run("def tune(workload):\n    raise OSError('no')")
    assert check("tune").state == "raises"


@pytest.mark.parametrize("body", ["...", "return None", "raise NotImplementedError"])
def test_a_function_as_it_was_handed_out_is_not_written_yet(notebook, body):
    notebook.run(f"def tune(workload):\n    {body}")
    result = check("tune")
    assert (result.state, result.points, len(result.rows)) == ("not written yet", 0, 1)


@pytest.mark.parametrize(("value", "state"), [(7, "not a function"), (None, "not a function")])
def test_a_value_in_its_place_is_no_function(notebook, value, state):
    notebook.variables["tune"] = value
    assert check("tune").state == state


@pytest.mark.usefixtures("notebook")
def test_a_missing_function_is_missed_as_a_function():
    assert "The notebook has no function tune" in check("tune").rows[0].problem


def test_an_endless_call_is_stopped_and_the_rest_left_out(notebook, monkeypatch):
    monkeypatch.setattr("rlinfra.checks.examples.MAX_SECONDS", 0.1)
    notebook.run("def tune(workload):\n    while True:\n        pass")
    result = check("tune")
    assert (result.points, len(result.rows)) == (0, 1)
    assert result.rows[0].got == "still running after 0.1 s: stopped"


def test_what_a_function_does_to_its_workload_harms_no_other(notebook):
    notebook.run(
        "from rlinfra.given.lab_tune import DEFAULT_CHOICE\n"
        "def tune(workload):\n    workload.clear()\n    return dict(DEFAULT_CHOICE)"
    )
    assert all("of the way" in row.got for row in check("tune").rows)
    assert all("of the way" in row.got for row in check("tune").rows)
