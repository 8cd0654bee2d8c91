"""Tasks of the topic `checkpoints`: the interval and what it costs, what a checkpoint holds, the recovery drill."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rlinfra.checks.compare import FaultyFields, Fields, Integer, ListOf, Number, Text
from rlinfra.given.checkpoints import CHECKPOINT_PARTS, example_manifest
from rlinfra.observe import Drill
from rlinfra_reference import checkpoints as reference

from ..attempts import checkpoints as attempts
from ..attempts import checkpoints_drill as drills
from ..attempts import checkpoints_manifest as manifests
from .model import Case, Criterion, FunctionTask, VariantField, VariantTask, case, refused

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rlinfra.draws import Draws

HOUR = 3600.0


def _times(draws: Draws) -> tuple[int, int]:
    """Draw a checkpoint's seconds and a far longer mean time between failures."""
    return draws.integer(20, 900), draws.integer(8_000, 400_000)


# --- optimal_checkpoint_interval ---------------------------------------------------------------------------------


def _young_typical(draws: Draws) -> list[Case]:
    return [case(*_times(draws)) for _ in range(6)]


def _young_edge(draws: Draws) -> list[Case]:
    return [
        case(draws.uniform(0.1, 0.9), draws.integer(50, 500)),
        case(draws.integer(1_000, 2_000), draws.integer(300, 900)),
        case(draws.integer(10, 90), draws.uniform(5e4, 9e4)),
    ]


OPTIMAL_CHECKPOINT_INTERVAL = FunctionTask(
    name="optimal_checkpoint_interval",
    reference=reference.optimal_checkpoint_interval,
    accept=Number(),
    examples=(case(180, 36_000), case(300, 86_400), case(0.5, 25)),
    criteria=(
        Criterion("typical", "a checkpoint of seconds to minutes", 1.5, _young_typical),
        Criterion(
            "edge", "fractions of a second, a checkpoint longer than the time between failures", 0.5, _young_edge
        ),
    ),
    misconceptions=(
        attempts.two_forgotten,
        attempts.root_forgotten,
        attempts.mtbf_in_hours,
        attempts.half_the_mtbf,
    ),
    correct=(attempts.young_power, attempts.young_by_parts, attempts.young_numpy),
)


# --- daly_interval -----------------------------------------------------------------------------------------------


def _daly_series(draws: Draws) -> list[Case]:
    usual = [case(*_times(draws)) for _ in range(4)]
    return [*usual, *(case(draws.integer(200, 600), draws.integer(700, 2_000)) for _ in range(3))]


def _daly_long(draws: Draws) -> list[Case]:
    mtbf = draws.integer(50, 500)
    between = [case(mtbf + draws.integer(1, mtbf - 1), mtbf) for _ in range(3)]
    return [
        case(2 * mtbf, mtbf),
        case(2 * mtbf - 1, mtbf),
        case(2 * mtbf + draws.integer(1, 500), mtbf),
        *between,
    ]


DALY_INTERVAL = FunctionTask(
    name="daly_interval",
    reference=reference.daly_interval,
    accept=Number(),
    examples=(case(180, 36_000), case(300, 86_400), case(300, 900), case(400, 200), case(300, 200)),
    criteria=(
        Criterion("series", "checkpoints shorter than the time between failures", 2, _daly_series),
        Criterion("long", "checkpoints so long that the series ends", 1, _daly_long, "series"),
    ),
    misconceptions=(
        attempts.young_again,
        attempts.checkpoint_not_subtracted,
        attempts.ratio_without_two,
        attempts.second_order_dropped,
        attempts.series_everywhere,
        attempts.ends_at_mtbf,
    ),
    correct=(attempts.daly_terms, attempts.daly_loop, attempts.daly_numpy),
)


# --- checkpoint_cadence ------------------------------------------------------------------------------------------


def _cadence_fields(cadence: reference.CheckpointCadence) -> dict[str, float]:
    return {
        "writing_fraction": cadence.writing_fraction,
        "rework_fraction": cadence.rework_fraction,
        "total_fraction": cadence.total_fraction,
    }


def _cadence(interval: float, checkpoint_seconds: float, mtbf_seconds: float) -> Case:
    return case(interval, checkpoint_seconds=checkpoint_seconds, mtbf_seconds=mtbf_seconds)


def _cadence_typical(draws: Draws) -> list[Case]:
    drawn = [_cadence(draws.integer(600, 30_000), *_times(draws)) for _ in range(5)]
    return [*drawn, _cadence(draws.uniform(0.5, 2), draws.uniform(0.01, 0.1), draws.uniform(50, 90))]


def _cadence_senseless(draws: Draws) -> list[Case]:
    usual = {"checkpoint_seconds": 180, "mtbf_seconds": 36_000}
    bad = (0, -draws.integer(1, 900), math.nan, math.inf, True)
    return [
        *(refused("interval", value, **usual) for value in bad),
        *(refused(name, 3_600, **{**usual, name: value}) for name in usual for value in bad),
    ]


CHECKPOINT_CADENCE = FunctionTask(
    name="checkpoint_cadence",
    reference=reference.checkpoint_cadence,
    answer=_cadence_fields,
    accept=Fields(dict.fromkeys(("writing_fraction", "rework_fraction", "total_fraction"), Number())),
    examples=(
        _cadence(3_600, 180, 36_000),
        _cadence(900, 180, 36_000),
        _cadence(14_400, 180, 36_000),
        refused("interval", 0, checkpoint_seconds=180, mtbf_seconds=36_000),
        refused("mtbf_seconds", 3_600, checkpoint_seconds=180, mtbf_seconds=math.nan),
    ),
    criteria=(
        Criterion("typical", "both parts and their sum", 2, _cadence_typical),
        Criterion("senseless", "senseless times raise a ValueError that names them", 1, _cadence_senseless, "typical"),
    ),
    misconceptions=(
        attempts.whole_interval_lost,
        attempts.share_of_wall_time,
        attempts.in_percent,
        attempts.larger_part_only,
    ),
    correct=(attempts.cadence_by_hand, attempts.cadence_dataclass, attempts.cadence_numpy),
)


# --- checkpoint_errors -------------------------------------------------------------------------------------------


def _manifest(draws: Draws) -> dict[str, Any]:
    """Draw a complete manifest, its parts in any order."""
    step = draws.integer(100, 90_000)
    manifest = {
        **example_manifest(),
        "weights": {"model": f"step-{step}/model.safetensors"},
        "optimizer_state": f"step-{step}/adam.safetensors",
        "progress": {"global_step": step, "policy_version": step // 4},
        "rng_states": {"python": [draws.integer(1, 999) for _ in range(4)]},
        "dataset_cursor": draws.integer(1, 999_999),
        "reward_normalization": {"mean": draws.uniform(-1, 1), "std": draws.uniform(0.1, 2)},
    }
    return {part: manifest[part] for part in draws.shuffled(CHECKPOINT_PARTS)}


def _changed(draws: Draws, **parts: object) -> Case:
    return case({**_manifest(draws), **parts})


def _without(draws: Draws, *parts: str) -> Case:
    return case({part: value for part, value in _manifest(draws).items() if part not in parts})


def _manifests_complete(draws: Draws) -> list[Case]:
    return [
        *(case(_manifest(draws)) for _ in range(2)),
        _changed(draws, dataset_cursor=0),
        _changed(draws, curriculum={}),
        _changed(draws, progress={"global_step": 0, "policy_version": 0}),
        _changed(draws, reward_normalization={"mean": 0, "std": 1e-9}),
        _changed(draws, layout={"ranks": 1, "queue_recovery": draws.choice(("keep", "drop")), "zero_stage": 3}),
        _changed(draws, notes="", weights={"model": "m", "adapter": "a"}),
    ]


def _manifests_missing(draws: Draws) -> list[Case]:
    one = [_without(draws, part) for part in CHECKPOINT_PARTS]
    weights = _manifest(draws)["weights"]
    return [*one, _without(draws, *draws.shuffled(CHECKPOINT_PARTS[1:])[:3]), case({"weights": weights}), case({})]


def _manifests_unsound(draws: Draws) -> list[Case]:
    low = -draws.integer(1, 9)
    unsound: list[tuple[str, Iterable[object]]] = [
        ("weights", ({}, None, "model.safetensors", ["model"])),
        ("optimizer_state", ("", None, 17, {})),
        ("lr_scheduler", ({}, None, "cosine")),
        ("progress", _damaged({"global_step": 8, "policy_version": 2}, bad=(low, True, "8"))),
        ("rng_states", ({}, None, [1, 2], {"python": 12_016}, {"python": [1], "numpy": []}, {"python": None})),
        ("dataset_cursor", (low, True, False, None, "128")),
        ("curriculum", (None, [], "easy")),
        ("reward_normalization", _damaged({"mean": 0.3, "std": 0.5}, bad=(math.nan, math.inf, True, "1"))),
        ("reward_normalization", ({"mean": 0.3, "std": 0}, {"mean": 0.3, "std": -0.5})),
        ("tokenizer", _damaged({"tokenizer_revision": "a", "chat_template_revision": "b"}, bad=("", 3))),
        ("environment", _damaged({"verifier_version": "a", "environment_version": "b"}, bad=("", 3))),
        ("decoding", ({}, None, "greedy")),
        ("rollout_schema", ("", None, 3, {})),
        ("layout", _damaged({"ranks": 8, "queue_recovery": "drop"}, bad=("", low, True))),
        ("layout", ({"ranks": 0, "queue_recovery": "drop"}, {"ranks": "8", "queue_recovery": "drop"})),
    ]
    return [_changed(draws, **{part: value}) for part, values in unsound for value in values]


def _damaged(part: Mapping[str, object], bad: Iterable[object]) -> list[object]:
    """Return a part without each of its entries, with each bad value in each of those, empty, and no dictionary."""
    without = [{name: value for name, value in part.items() if name != gone} for gone in part]
    return [*without, *({**part, name: value} for name in part for value in bad), {}, list(part)]


def _manifests_several(draws: Draws) -> list[Case]:
    return [
        _changed(draws, progress={"global_step": -1, "policy_version": True}, dataset_cursor=-1, decoding=None),
        _changed(draws, tokenizer={"tokenizer_revision": "", "chat_template_revision": ""}, layout={}, weights={}),
        _changed(draws, weights=None, rng_states={"python": 1, "numpy": 2}),
        *(case(value) for value in (None, [], "step-4000", 4000, [example_manifest()])),
    ]


CHECKPOINT_ERRORS = FunctionTask(
    name="checkpoint_errors",
    reference=reference.checkpoint_errors,
    accept=Fields({"errors": FaultyFields(), "start": Text(("resume", "new run", "no start"))}),
    examples=(
        case({**example_manifest(), "dataset_cursor": 0, "curriculum": {}}),
        case({"weights": {"model": "step-4000/model.safetensors"}}),
        case(
            {
                **example_manifest(),
                "progress": {"global_step": -1, "policy_version": True},
                "rng_states": {"python": 12_016},
                "reward_normalization": {"mean": math.nan, "std": 0.46},
            }
        ),
        case({**example_manifest(), "weights": {}, "dataset_cursor": True}),
        case("step-4000"),
    ),
    criteria=(
        Criterion("missing", "a part missing, or several", 1.5, _manifests_missing),
        Criterion("complete", "complete manifests, also with a cursor of 0", 0.5, _manifests_complete, "missing"),
        Criterion("unsound", "a part that is there and is not sound", 1.5, _manifests_unsound, "complete"),
        Criterion("several", "several faults, and what is no manifest", 0.5, _manifests_several, "missing"),
    ),
    misconceptions=(
        manifests.weights_are_enough,
        manifests.zero_is_missing,
        manifests.seed_is_a_state,
        manifests.bool_is_a_count,
        manifests.nan_is_a_mean,
        manifests.part_named_twice,
        manifests.first_error_only,
        manifests.always_a_new_run,
        manifests.keys_are_enough,  # last: with one faulty part alone, others give the same
    ),
    correct=(manifests.errors_by_table, manifests.errors_by_validators, manifests.errors_as_a_set),
)


# --- restore: the recovery drill ---------------------------------------------------------------------------------


def _events(draws: Draws, count: int, *, arrivals: tuple[int, ...], rewarded: bool = True) -> list[dict[str, Any]]:
    return [
        {
            "arrivals": draws.choice(arrivals),
            "reward": draws.uniform(0, 1) if rewarded else None,
            "publish": draws.integer(1, 3) == 1,
        }
        for _ in range(count)
    ]


def _before(draws: Draws, count: int = 8) -> dict[str, Any]:
    """Draw a history that leaves its mark on every part: two publications, an update after them, a waiting queue."""
    events = _events(draws, count, arrivals=(1, 2))
    events[0]["arrivals"] = 4
    events[2]["publish"] = events[4]["publish"] = True
    events[3]["reward"] = draws.uniform(0, 0.1)
    events[-1] |= {"reward": draws.uniform(0.6, 1), "publish": False}
    return {"seed": draws.integer(1, 10**6), "events": events}


def _drill_trainer(draws: Draws) -> list[Case]:
    return [case(_before(draws), _events(draws, 3, arrivals=(0,))) for _ in range(3)]


def _drill_rollouts(draws: Draws) -> list[Case]:
    return [case(_before(draws), _events(draws, 3, arrivals=(2, 3), rewarded=False)) for _ in range(3)]


def _drill_whole(draws: Draws) -> list[Case]:
    fresh = {"seed": draws.integer(1, 10**6), "events": []}
    drained = {"seed": draws.integer(1, 10**6), "events": _events(draws, 5, arrivals=(1,))}
    waiting = _events(draws, 8, arrivals=(0, 1, 2))
    for event in waiting[::3]:
        event["reward"] = None
    return [
        case(fresh, _events(draws, 6, arrivals=(1, 2))),
        case(drained, _events(draws, 6, arrivals=(0, 1, 2))),
        case(_before(draws, 30), _events(draws, 6, arrivals=(1, 2))),
        *(case(_before(draws), waiting) for _ in range(3)),
    ]


def _public(seed: int, after: list[dict[str, Any]]) -> Case:
    rewards = (0.9, 0.2, 0.7, 0.1, 0.8, 0.6)
    events = [{"arrivals": 2, "reward": reward, "publish": place in (1, 3)} for place, reward in enumerate(rewards)]
    return case({"seed": seed, "events": events}, after)


RESTORE = FunctionTask(
    name="restore",
    reference=reference.resumed_control_batch,
    accept=Fields(
        {
            "rollouts": ListOf(Fields({"prompt": Integer(), "version": Integer(), "action": Number()})),
            "updates": ListOf(
                Fields(
                    {
                        "step": Integer(),
                        "prompt": Integer(),
                        "lag": Integer(),
                        "advantage": Number(),
                        "learning_rate": Number(),
                        "loss": Number(),
                        "weights": ListOf(Number()),
                    }
                )
            ),
        }
    ),
    examples=(
        _public(
            7, [{"arrivals": 0, "reward": 0.75, "publish": False}, {"arrivals": 0, "reward": 0.5, "publish": False}]
        ),
        _public(7, [{"arrivals": 2, "reward": None, "publish": False}]),
        _public(
            12_016,
            [{"arrivals": 1, "reward": reward, "publish": True} for reward in (0.3, 0.9, 0.4, 0.8, 0.2, 0.6, 0.5)],
        ),
    ),
    criteria=(
        Criterion("trainer", "the trainer goes on with what waits in the queue", 2, _drill_trainer),
        Criterion("rollouts", "new rollouts are the ones that would have come", 2, _drill_rollouts),
        Criterion("whole", "long control batches, a fresh loop, an empty queue, many passes", 2, _drill_whole),
    ),
    misconceptions=(
        drills.weights_only,
        drills.usual_tutorial,
        drills.replayed_without_events,
        drills.moments_lost,
        drills.scheduler_lost,
        drills.step_lost,
        drills.version_lost,
        drills.newest_weights_published,
        drills.rng_reseeded,
        drills.cursor_lost,
        drills.prompt_keys_lost,
        drills.reward_mean_lost,
        drills.queue_dropped,
    ),
    correct=(drills.part_by_part, drills.all_attributes, drills.generator_wound_forward, drills.pickled_as_text),
    drill=Drill(("snapshot", "restore"), first="checkpoints.run_and_snapshot", second="checkpoints.restore_and_run"),
)


# --- the variant -------------------------------------------------------------------------------------------------


def _variant_answer(numbers: Mapping[str, Any]) -> dict[str, float]:
    checkpoint = numbers["state_bytes"] / (numbers["bandwidth_gb_per_s"] * 1e9)
    mtbf = numbers["machine_mtbf_days"] * 24 * HOUR / numbers["machines"]
    times = {"checkpoint_seconds": checkpoint, "mtbf_seconds": mtbf}
    interval = reference.optimal_checkpoint_interval(checkpoint, mtbf)
    present = reference.checkpoint_cadence(numbers["present_interval_minutes"] * 60, **times)
    return {
        "interval_seconds": interval,
        "overhead_percent": 100 * reference.checkpoint_cadence(interval, **times).total_fraction,
        "present_percent": 100 * present.total_fraction,
    }


CHECKPOINTS_VARIANT = VariantTask(
    topic="checkpoints",
    name="checkpoints_variant",
    answer=_variant_answer,
    fields={
        "interval_seconds": VariantField("seconds", Number(relative=1e-3), 1, 2_000, 22_200),
        "overhead_percent": VariantField("%", Number(relative=1e-3), 0.5, 2.4, 27),
        "present_percent": VariantField("%", Number(relative=1e-3), 0.5, 2.4, 71),
    },
)

TASKS = (
    OPTIMAL_CHECKPOINT_INTERVAL,
    DALY_INTERVAL,
    CHECKPOINT_CADENCE,
    CHECKPOINT_ERRORS,
    RESTORE,
    CHECKPOINTS_VARIANT,
)
