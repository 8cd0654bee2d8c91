"""Tasks of the topic `memory`: bytes per parameter, LoRA, ideal sharding, phase peaks, logits."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rlinfra.checks.compare import Fields, Integer, Items, Number, Text
from rlinfra_reference import memory as reference

from ..attempts import memory as attempts
from .model import Case, Criterion, FunctionTask, SortingGroup, SortingTask, VariantField, VariantTask, case, refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlinfra.draws import Draws

MIXED = {"parameter_bytes": 2, "gradient_bytes": 2, "optimizer_state_bytes": 8, "master_parameter_bytes": 4}


def _profile(draws: Draws) -> dict[str, Any]:
    """Draw a profile of whole bytes in which no two components are equal or zero."""
    sizes = draws.shuffled((1, 2, 3, 4, 6, 8, 12))
    return dict(zip(MIXED, sizes, strict=False))


# --- bytes_per_parameter -----------------------------------------------------------------------------------------


def _profiles_typical(draws: Draws) -> list[Case]:
    return [case(**MIXED), *(case(**_profile(draws)) for _ in range(5))]


def _profiles_lean(draws: Draws) -> list[Case]:
    lean = [{**_profile(draws), name: 0} for name in MIXED]
    quantised = {**_profile(draws), "parameter_bytes": 0.5, "optimizer_state_bytes": 2.25}
    return [*(case(**profile) for profile in lean), case(**quantised)]


BYTES_PER_PARAMETER = FunctionTask(
    name="bytes_per_parameter",
    reference=reference.bytes_per_parameter,
    accept=Number(),
    examples=(
        case(**MIXED),
        case(**{**MIXED, "master_parameter_bytes": 0}),
        case(parameter_bytes=4, gradient_bytes=3, optimizer_state_bytes=2, master_parameter_bytes=1),
    ),
    criteria=(
        Criterion("typical", "full profiles", 1, _profiles_typical),
        Criterion("lean", "profiles without a part, or with quantised states", 1, _profiles_lean),
    ),
    misconceptions=(attempts.master_forgotten, attempts.gradient_forgotten, attempts.moments_doubled),
    correct=(attempts.profile_sum, attempts.profile_loop, attempts.profile_numpy),
)


# --- model_state_bytes -------------------------------------------------------------------------------------------


def _state_fields(state: reference.ModelState) -> dict[str, float]:
    return {
        "parameter_bytes": state.parameter_bytes,
        "gradient_bytes": state.gradient_bytes,
        "optimizer_state_bytes": state.optimizer_state_bytes,
        "master_parameter_bytes": state.master_parameter_bytes,
        "total_bytes": state.total_bytes,
    }


def _states_full(draws: Draws) -> list[Case]:
    drawn = [case(draws.integer(10**6, 7 * 10**10), **_profile(draws)) for _ in range(5)]
    everything = draws.integer(10**6, 10**9)
    return [*drawn, case(everything, trainable_parameters=everything, **_profile(draws)), case(0, **MIXED)]


def _states_partial(draws: Draws) -> list[Case]:
    drawn = []
    for _ in range(5):
        parameters = draws.integer(10**6, 7 * 10**10)
        trainable = draws.integer(1, parameters // 3)
        drawn.append(case(parameters, trainable_parameters=trainable, **_profile(draws)))
    return [*drawn, case(draws.integer(10**6, 10**9), trainable_parameters=0, **_profile(draws))]


def _states_senseless(draws: Draws) -> list[Case]:
    parameters = draws.integer(10**6, 10**9)
    bad_sizes = [(name, bad) for name in MIXED for bad in (-draws.integer(1, 8), math.nan, math.inf)]
    return [
        refused("parameters", -parameters, **MIXED),
        refused("parameters", True, **MIXED),
        refused("parameters", math.nan, **MIXED),
        refused("trainable_parameters", parameters, trainable_parameters=parameters + 1, **MIXED),
        refused("trainable_parameters", parameters, trainable_parameters=-1, **MIXED),
        refused("trainable_parameters", parameters, trainable_parameters=True, **MIXED),
        *(refused(name, parameters, **{**MIXED, name: bad}) for name, bad in bad_sizes),
    ]


MODEL_STATE_BYTES = FunctionTask(
    name="model_state_bytes",
    reference=reference.model_state_bytes,
    answer=_state_fields,
    accept=Fields(dict.fromkeys((*MIXED, "total_bytes"), Number())),
    examples=(
        case(7_000_000_000, **MIXED),
        case(7_070_000_000, trainable_parameters=70_000_000, **MIXED),
        case(1_000, trainable_parameters=0, **MIXED),
        refused("trainable_parameters", 1_000, trainable_parameters=2_000, **MIXED),
        refused("parameters", -1, **MIXED),
    ),
    criteria=(
        Criterion("full", "full training", 1.5, _states_full),
        Criterion("partial", "a part of the parameters trainable, or none", 1.5, _states_partial),
        Criterion("senseless", "senseless arguments raise a ValueError that names them", 1, _states_senseless, "full"),
    ),
    misconceptions=(
        attempts.frozen_gradients,
        attempts.frozen_master,
        attempts.trainable_weights_only,
        attempts.zero_means_all,
    ),
    correct=(attempts.state_with_validators, attempts.state_by_hand, attempts.state_dataclass),
)


# --- lora_state_bytes --------------------------------------------------------------------------------------------


def _lora_typical(draws: Draws) -> list[Case]:
    return [
        case(
            draws.integer(10**9, 7 * 10**10),
            draws.integer(10**6, 9 * 10**8),
            base_parameter_bytes=draws.choice((1, 2, 4)),
            bytes_per_trainable_parameter=draws.choice((12, 14, 16, 18)),
        )
        for _ in range(6)
    ]


def _lora_edge(draws: Draws) -> list[Case]:
    base, adapter = draws.integer(10**9, 10**10), draws.integer(10**6, 10**8)
    return [
        case(base, 0, base_parameter_bytes=2, bytes_per_trainable_parameter=16),
        case(0, adapter, base_parameter_bytes=2, bytes_per_trainable_parameter=16),
        case(base, adapter, base_parameter_bytes=0.5, bytes_per_trainable_parameter=16),
    ]


LORA_STATE_BYTES = FunctionTask(
    name="lora_state_bytes",
    reference=reference.lora_state_bytes,
    accept=Number(),
    examples=(
        case(7_000_000_000, 20_000_000, base_parameter_bytes=2, bytes_per_trainable_parameter=16),
        case(7_000_000_000, 20_000_000, base_parameter_bytes=0.5, bytes_per_trainable_parameter=16),
    ),
    criteria=(
        Criterion("typical", "a base model with an adapter", 1.5, _lora_typical),
        Criterion("edge", "no adapter, no base, a base in 4 bits", 0.5, _lora_edge),
    ),
    misconceptions=(
        attempts.base_trained,
        attempts.adapter_weights_only,
        attempts.base_forgotten,
        attempts.adapter_replaces_base,
    ),
    correct=(attempts.lora_loop, attempts.lora_numpy, attempts.lora_as_extra),
)


# --- ideal_sharded_memory ----------------------------------------------------------------------------------------


def _ideal_typical(draws: Draws) -> list[Case]:
    return [
        case(draws.integer(10**6, 10**12), draws.integer(2, 64)),
        case(draws.integer(10**6, 10**12) * 8 + 1, 8),
        case(draws.integer(10**6, 10**12), 1),
        case(draws.integer(1, 5), 7),
    ]


IDEAL_SHARDED_MEMORY = FunctionTask(
    name="ideal_sharded_memory",
    reference=reference.ideal_sharded_memory,
    accept=Number(),
    examples=(case(16 * 2**30, 4), case(10, 4)),
    criteria=(Criterion("typical", "an even share a rank", 1, _ideal_typical),),
    misconceptions=(attempts.whole_bytes, attempts.never_divided, attempts.one_rank_left_out),
    correct=(attempts.ideal_inverse, attempts.ideal_fraction, attempts.ideal_numpy),
)


# --- sharded_state_bytes -----------------------------------------------------------------------------------------


def _components(draws: Draws) -> dict[str, Any]:
    sizes = draws.shuffled((1, 2, 4, 8, 12))
    return {
        "parameters": draws.integer(10**6, 7 * 10**10),
        "parameter_bytes": sizes[0],
        "gradient_bytes": sizes[1],
        "optimizer_bytes": sizes[2],
    }


def _stage_cases(stage: int, draws: Draws) -> list[Case]:
    drawn = [case(stage, draws.integer(2, 64), **_components(draws)) for _ in range(4)]
    return [*drawn, case(stage, 7, parameters=3, parameter_bytes=1, gradient_bytes=2, optimizer_bytes=4)]


def _stages_one_rank(draws: Draws) -> list[Case]:
    return [case(stage, 1, **_components(draws)) for stage in range(4)]


SHARDED_STATE_BYTES = FunctionTask(
    name="sharded_state_bytes",
    reference=reference.sharded_state_bytes,
    accept=Number(),
    examples=(
        *(
            case(stage, 64, parameters=7_500_000_000, parameter_bytes=2, gradient_bytes=2, optimizer_bytes=12)
            for stage in range(4)
        ),
        case(1, 4, parameters=1_000, parameter_bytes=2, gradient_bytes=4, optimizer_bytes=12),
    ),
    criteria=(
        Criterion("stage-1", "stages 0 and 1", 1, lambda draws: _stage_cases(0, draws) + _stage_cases(1, draws)),
        Criterion("stage-2", "stage 2", 1, lambda draws: _stage_cases(2, draws)),
        Criterion("stage-3", "stage 3", 1, lambda draws: _stage_cases(3, draws)),
        Criterion("one-rank", "a single rank holds everything at every stage", 1, _stages_one_rank),
    ),
    misconceptions=(
        attempts.all_divided,
        attempts.stage_off_by_one,
        attempts.gradients_first,
        attempts.optimizer_forgotten,
    ),
    correct=(attempts.stages_table, attempts.stages_loop, attempts.stages_numpy),
)


# --- peak_memory -------------------------------------------------------------------------------------------------


def _phases_typical(draws: Draws) -> list[Case]:
    names = ("rollout", "scoring", "training", "weight publication", "checkpoint")
    cases = []
    for _ in range(5):
        order = draws.shuffled(names)[: draws.integer(3, 5)]
        cases.append(case({name: [draws.integer(10**6, 10**11) for _ in range(draws.integer(1, 4))] for name in order}))
    part = draws.integer(10**6, 10**10)
    many_small = {"loading": [part + part // 2], "decode": [part, part - 1], "idle": [3, 2]}
    return [*cases, case(many_small), case(dict(reversed(many_small.items())))]


def _phases_edge(draws: Draws) -> list[Case]:
    size = draws.integer(10, 10**9)
    return [
        case({"training": [size], "rollout": [size - 1, 1], "publication": [1]}),
        case({"warm-up": [1], "rollout": [size, 2], "training": [2, size]}),
        case({"only": [size, size]}),
        case({"empty": [], "one": [size]}),
        case({"training": [0], "rollout": []}),
        case({"fractional": [size + 0.5], "whole": [size]}),
    ]


PEAK_MEMORY = FunctionTask(
    name="peak_memory",
    reference=reference.peak_memory,
    answer=lambda peak: (peak.phase, peak.peak_bytes),
    accept=Items((Text(), Number())),
    examples=(
        case({"rollout": [14, 16, 2], "training": [14, 8, 28], "weight publication": [14, 14, 2]}),
        case({"rollout": [9, 9, 9], "training": [20, 1], "checkpoint": [5]}),
        case({"rollout": [30, 1], "training": [1, 30]}),
    ),
    criteria=(
        Criterion("typical", "the phase with the largest total", 1.5, _phases_typical),
        Criterion("edge", "ties, empty phases, a single phase", 0.5, _phases_edge),
    ),
    misconceptions=(attempts.phases_summed, attempts.largest_component, attempts.last_of_ties, attempts.last_phase),
    correct=(attempts.peak_loop, attempts.peak_sorted, attempts.peak_numpy),
)


# --- logits_bytes ------------------------------------------------------------------------------------------------


def _logits_typical(draws: Draws) -> list[Case]:
    return [
        case(
            draws.integer(2, 64),
            draws.integer(2, 8192),
            draws.choice((32_000, 128_256, 151_936)),
            element_bytes=draws.choice((2, 4)),
            copies=draws.integer(2, 4),
        )
        for _ in range(6)
    ] + [case(3, 5, 7, element_bytes=2, copies=1), case(3, 5, 7, element_bytes=2, copies=0)]


LOGITS_BYTES = FunctionTask(
    name="logits_bytes",
    reference=reference.logits_bytes,
    accept=Integer(),
    examples=(
        case(8, 2048, 151_936, element_bytes=4, copies=2),
        case(1, 10, 100, element_bytes=2, copies=3),
    ),
    criteria=(Criterion("typical", "a batch to score", 1, _logits_typical),),
    misconceptions=(attempts.copies_forgotten, attempts.copies_on_top, attempts.last_position),
    correct=(attempts.logits_loop, attempts.logits_prod, attempts.logits_numpy),
)


# --- the variant and the sorting question ------------------------------------------------------------------------


def _variant_answer(numbers: Mapping[str, Any]) -> dict[str, float]:
    per_trainable = reference.bytes_per_parameter(**{**MIXED, "gradient_bytes": numbers["gradient_bytes"]})
    adapted = reference.lora_state_bytes(
        numbers["base_parameters"],
        numbers["adapter_parameters"],
        base_parameter_bytes=2,
        bytes_per_trainable_parameter=per_trainable,
    )
    full = numbers["base_parameters"] * per_trainable
    share = reference.ideal_sharded_memory(adapted, numbers["ranks"])
    return {"adapted_bytes": adapted, "full_bytes": full, "rank_gib": share / 2**30}


MEMORY_VARIANT = VariantTask(
    topic="memory",
    name="memory_variant",
    answer=_variant_answer,
    fields={
        "adapted_bytes": VariantField("bytes", Integer(), 1, 6.1e9, 148e9),
        "full_bytes": VariantField("bytes", Integer(), 0.5, 48e9, 1_260e9),
        "rank_gib": VariantField("GiB", Number(relative=5e-3), 0.5, 0.35, 69),
    },
)

COUNTED, NOT_COUNTED, REMOVED, STAYS = "counted", "not counted", "removed", "stays"

MEMORY_SORT = SortingTask(
    name="memory_sort",
    classes=(COUNTED, NOT_COUNTED, REMOVED, STAYS),
    groups=(
        SortingGroup(
            "a to f: what the 16 bytes count",
            1,
            {
                "a_second_adam_moment": COUNTED,
                "b_activations_for_backward": NOT_COUNTED,
                "c_float32_master_copy": COUNTED,
                "d_kv_cache_during_rollout": NOT_COUNTED,
                "e_logits_at_scoring": NOT_COUNTED,
                "f_gradient_of_a_trained_weight": COUNTED,
            },
        ),
        SortingGroup(
            "g to j: what LoRA takes off the cards",
            1,
            {
                "g_weights_of_the_base": STAYS,
                "h_moments_of_the_base": REMOVED,
                "i_kv_cache_of_the_rollouts": STAYS,
                "j_gradients_of_the_base": REMOVED,
            },
        ),
    ),
)

TASKS = (
    BYTES_PER_PARAMETER,
    MODEL_STATE_BYTES,
    LORA_STATE_BYTES,
    IDEAL_SHARDED_MEMORY,
    SHARDED_STATE_BYTES,
    PEAK_MEMORY,
    LOGITS_BYTES,
    MEMORY_VARIANT,
    MEMORY_SORT,
)
