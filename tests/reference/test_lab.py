"""The reference of the topic `lab`: the lecture's diagnosis as an oracle, the rules one by one, the recovery's laws."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rlinfra.given.lab import REQUIRED_METRICS, RUNS, DispatchLoop
from rlinfra_reference import diagnose_pipeline, load_loop, recovered_control_batch, save_loop

HEALTHY = {
    "trainer_idle_fraction": 0.1,
    "rollout_idle_fraction": 0.1,
    "verifier_fraction": 0.1,
    "weight_sync_fraction": 0.05,
    "queue_growth_per_minute": -1_000,
    "normalized_ess": 0.9,
    "oom_events": 0,
}
FRACTIONS = [name for name in REQUIRED_METRICS if name.endswith("_fraction") or name == "normalized_ess"]

fractions = st.floats(0, 1)
metrics_of_any_run = st.fixed_dictionaries(
    {
        **dict.fromkeys(FRACTIONS, fractions),
        "queue_growth_per_minute": st.one_of(st.just(0), st.floats(-1e7, 1e7)),
        "oom_events": st.integers(0, 9),
    }
)


def codes(**changes):
    return {hypothesis.partition(":")[0] for hypothesis in diagnose_pipeline({**HEALTHY, **changes})}


# --- the diagnosis -----------------------------------------------------------------------------------------------


def diagnosis_of_the_lecture(metrics):
    """The hypotheses of the lecture's worked solution, by our codes; it has no rule for idle workers or a backlog."""
    found = set()
    if metrics["trainer_idle_fraction"] > 0.25 and metrics["queue_growth_per_minute"] <= 0:
        found.add("supply")
    if metrics["verifier_fraction"] > 0.30:
        found.add("verifier")
    if metrics["weight_sync_fraction"] > 0.20:
        found.add("publication")
    if metrics["normalized_ess"] < 0.50:
        found.add("off_policy")
    if metrics["oom_events"] > 0:
        found.add("memory")
    return found


@given(metrics_of_any_run)
def test_it_finds_what_the_lecture_s_solution_finds_and_adds_only_what_that_one_never_looks_at(metrics):
    found = {hypothesis.partition(":")[0] for hypothesis in diagnose_pipeline(metrics)}
    added = {"assembly", "overload", "backpressure", "stragglers", "trace"}
    assert found - added == diagnosis_of_the_lecture(metrics)


@given(metrics_of_any_run)
def test_a_trace_is_asked_for_only_where_there_is_nothing_else_to_say(metrics):
    found = [hypothesis.partition(":")[0] for hypothesis in diagnose_pipeline(metrics)]
    assert len(set(found)) == len(found) >= 1
    assert ("trace" in found) == (found == ["trace"])


@given(metrics_of_any_run, st.sampled_from(["verifier_fraction", "weight_sync_fraction"]), fractions)
def test_a_worse_stage_never_removes_a_hypothesis(metrics, stage, share):
    assume(share >= metrics[stage])
    before = {hypothesis for hypothesis in diagnose_pipeline(metrics) if not hypothesis.startswith("trace")}
    assert before <= set(diagnose_pipeline({**metrics, stage: share}))


def test_a_healthy_run_gets_a_trace():
    assert codes() == {"trace"}
    assert codes(queue_growth_per_minute=0) == {"trace"}


@pytest.mark.parametrize(
    ("growth", "trainer", "workers"),
    [
        (-0.5, {"supply"}, {"stragglers"}),
        (0, {"supply"}, {"stragglers", "backpressure"}),
        (0.5, {"assembly", "overload"}, {"backpressure", "overload"}),
    ],
)
def test_the_queue_decides_what_idle_trainers_and_workers_may_be_waiting_for(growth, trainer, workers):
    assert codes(trainer_idle_fraction=0.26, queue_growth_per_minute=growth) == trainer
    assert codes(rollout_idle_fraction=0.26, queue_growth_per_minute=growth) == workers
    both = codes(trainer_idle_fraction=0.26, rollout_idle_fraction=0.26, queue_growth_per_minute=growth)
    assert both == trainer | workers


def test_a_growing_queue_alone_is_an_overload():
    assert codes(queue_growth_per_minute=4_000_000) == {"overload"}


@pytest.mark.parametrize(
    ("name", "threshold", "beyond", "found"),
    [
        ("trainer_idle_fraction", 0.25, 0.2501, {"supply"}),
        ("rollout_idle_fraction", 0.25, 0.2501, {"stragglers"}),
        ("verifier_fraction", 0.3, 0.3001, {"verifier"}),
        ("weight_sync_fraction", 0.2, 0.2001, {"publication"}),
        ("normalized_ess", 0.5, 0.4999, {"off_policy"}),
        ("oom_events", 0, 1, {"memory"}),
    ],
)
def test_a_threshold_itself_does_not_fire(name, threshold, beyond, found):
    assert codes(**{name: threshold}) == {"trace"}
    assert codes(**{name: beyond}) == found


def test_each_hypothesis_comes_with_what_would_test_it():
    (hypothesis,) = diagnose_pipeline({**HEALTHY, "normalized_ess": 0.3})
    assert hypothesis == "off_policy: score a batch at lag 0 with engine and trainer, then vary the lag"


def test_the_week_of_the_story_is_read_as_its_text_says():
    read = {day: " ".join(h.partition(":")[0] for h in diagnose_pipeline(run)) for day, run in RUNS.items()}
    assert read == {
        "Monday": "supply backpressure stragglers",
        "Tuesday": "supply publication",
        "Wednesday": "overload",
        "Thursday": "backpressure stragglers",
        "Friday": "off_policy",
        "Saturday": "assembly overload",
        "Sunday": "supply verifier memory",
        "second Monday": "trace",
    }


@pytest.mark.parametrize("name", REQUIRED_METRICS)
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, True, None, "0.3"])
def test_what_is_no_finite_number_is_refused_by_name(name, bad):
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        diagnose_pipeline({**HEALTHY, name: bad})


@pytest.mark.parametrize("name", FRACTIONS)
@pytest.mark.parametrize("bad", [-0.01, 1.01, 45])
def test_a_share_outside_0_to_1_is_refused_by_name(name, bad):
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        diagnose_pipeline({**HEALTHY, name: bad})


@pytest.mark.parametrize("bad", [-1, 1.5])
def test_out_of_memory_events_are_a_count(bad):
    with pytest.raises(ValueError, match="oom_events"):
        diagnose_pipeline({**HEALTHY, "oom_events": bad})


@pytest.mark.parametrize("name", REQUIRED_METRICS)
def test_a_missing_metric_is_named(name):
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        diagnose_pipeline({other: value for other, value in HEALTHY.items() if other != name})


def test_further_metrics_do_not_matter():
    assert diagnose_pipeline({**HEALTHY, "tokens_per_second": math.nan}) == diagnose_pipeline(HEALTHY)


# --- the recovery ------------------------------------------------------------------------------------------------


def test_what_was_in_flight_is_handed_out_again_behind_what_waited_already():
    before = [*[["ask"]] * 4, ["result", 1, 500], ["lost", 3]]  # in flight: prompts 0 and 2
    assert recovered_control_batch(before, [["ask"]] * 4) == [
        "ticket 4: prompt 3, version 0",
        "ticket 5: prompt 0, version 0",
        "ticket 6: prompt 2, version 0",
        "ticket 7: prompt 4, version 0",
    ]


def test_the_oldest_ticket_is_lost_first_also_beyond_ten():
    lines = recovered_control_batch([["ask"]] * 12, [["ask"]] * 12)
    assert lines == [f"ticket {12 + place}: prompt {place}, version 0" for place in range(12)]


def test_a_late_result_is_refused_and_no_ticket_is_given_twice():
    assert recovered_control_batch([["ask"]] * 2, [["result", 1, 900], ["ask"], ["result", 2, 900]]) == [
        "ticket 1: refused",
        "ticket 2: prompt 0, version 0",
        "ticket 2: kept",
    ]


def test_a_pause_goes_on_between_its_two_bounds():
    filled = [*[["ask"]] * 4, *(["result", ticket, 1_300] for ticket in range(4)), ["update"]]  # 2,600 tokens wait
    assert recovered_control_batch(filled, [["ask"], ["update"], ["ask"]]) == [
        "wait",
        "update 2: prompts 2 and 3, lags 1 and 1",
        "ticket 4: prompt 4, version 2",
    ]
    never_full = [*[["ask"]] * 3, *(["result", ticket, 1_300] for ticket in range(3))]  # 3,900 tokens wait
    assert recovered_control_batch(never_full, [["ask"]]) == ["ticket 3: prompt 3, version 0"]


@st.composite
def histories(draw):
    """Events that make sense for a loop: results and losses of tickets that are in flight."""
    loop, events = DispatchLoop(), []
    for _ in range(draw(st.integers(0, 25))):
        options = [["ask"], ["update"]]
        for ticket in loop.in_flight:
            options += [["result", ticket, draw(st.integers(1, 2_000))], ["lost", ticket]]
        events.append(draw(st.sampled_from(options)))
        loop.run(events[-1:])
    return events


@given(histories())
def test_a_recovery_is_what_the_loop_does_when_every_worker_reports_its_loss(before):
    lost = DispatchLoop()
    lost.run(before)
    lost.run([["lost", ticket] for ticket in sorted(lost.in_flight)])
    after = [*[["ask"]] * 4, ["update"], ["ask"], ["update"], ["ask"]]
    assert recovered_control_batch(before, after) == lost.run(after)


@given(histories())
def test_no_prompt_gets_lost_or_doubled_in_a_recovery(before):
    loop = DispatchLoop()
    loop.run(before)
    recovered = load_loop(json.loads(json.dumps(save_loop(loop))))

    def open_prompts(one):
        flying = [rollout["prompt"] for rollout in one.in_flight.values()]
        return sorted([*flying, *one.again, *(record["prompt"] for record in one.queue)])

    assert open_prompts(recovered) == open_prompts(loop)
    assert recovered.in_flight == {}


@given(histories())
def test_saving_leaves_the_loop_as_it_is(before):
    loop, undisturbed = DispatchLoop(), DispatchLoop()
    for event in before:
        save_loop(loop)
        assert loop.run([event]) == undisturbed.run([event])
    assert vars(loop) == vars(undisturbed)
