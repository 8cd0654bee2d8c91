"""Tasks of the topic `records`: a loop's protocol, the completion mask, the record contract, the projection."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rlinfra.checks.compare import FaultyFields, Fields, Flag, Integer, ListOf, Number, Text
from rlinfra.given.records import (
    EPISODE,
    REGISTRY,
    REQUIRED_FIELDS,
    TRACES,
    Event,
    consumed,
    example_record,
    prepared,
    produced,
    published,
    toy_trace,
)
from rlinfra_reference import records as reference

from ..attempts import records as attempts
from ..attempts import records_contract as contract_attempts
from .model import Case, Criterion, FunctionTask, SortingGroup, SortingTask, VariantField, VariantTask, case, refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlinfra.draws import Draws

NO_COUNTS = (True, -1, 2.5, math.nan)
NO_FINITE_NUMBERS = (math.nan, math.inf, True, None, "1.0")


# --- protocol ----------------------------------------------------------------------------------------------------


def _seconds(draws: Draws) -> dict[str, Any]:
    """Draw how long the stages of a loop take; a publication takes some time, so that no start is a tie."""
    return {
        "rollout_seconds": draws.integer(5, 40),
        "update_seconds": draws.integer(2, 12),
        "publish_seconds": draws.integer(1, 4),
    }


def _protocol_placement(draws: Draws) -> list[Case]:
    loops = [(where, ahead) for where in ("gpu-0", "server") for ahead in (0, 1, 2)]
    return [
        case(toy_trace(batches=draws.integer(4, 6), ahead=ahead, rollout_on=where, **_seconds(draws)))
        for where, ahead in loops
    ]


def _protocol_publication(draws: Draws) -> list[Case]:
    cases = []
    for where in ("gpu-0", "server"):
        for ahead in (0, 1):
            trace = toy_trace(
                batches=6,
                ahead=ahead,
                publish_every=draws.integer(2, 4),
                pause_seconds=draws.integer(1, 3),
                rollout_on=where,
                **_seconds(draws),
            )
            cases.append(case(trace))
            cases.append(case([event for event in trace if event["kind"] != "published"]))
    return cases


def _two_batches(first: list[Event], *, start: float, where: str = "server") -> list[Event]:
    """Return the trace of these events of batch 0 (which end at 12), and of a rollout of batch 1."""
    return [*first, produced(1, 1, start, start + 7, where)]


def _protocol_order(draws: Draws) -> list[Case]:
    barrier = toy_trace(batches=5, rollout_on="server", **_seconds(draws))
    ahead = toy_trace(batches=5, ahead=1, rollout_on="server", **_seconds(draws))
    early = draws.integer(1, 3)
    one = [produced(0, 0, 0, 8, "server"), consumed(0, 1, 8, 12, "gpu-0")]
    in_time, too_early = produced(1, 1, 12, 20, "server-a"), produced(1, 0, 12 - early, 19, "server-b")
    return [
        case(draws.shuffled(barrier)),
        case(barrier[::-1]),
        case(draws.shuffled(ahead)),
        case([*one, in_time, too_early]),
        case([*one, too_early, in_time]),
        case([*one, in_time, produced(1, 1, 13, 22, "server-b")]),
        # Only the second batch, only the last batch starts early.
        case([*one, too_early, consumed(1, 2, 19, 23, "gpu-0"), produced(2, 2, 23, 30, "server-a")]),
        case([*one, in_time, consumed(1, 2, 20, 24, "gpu-0"), produced(2, 1, 24 - early, 30, "server-a")]),
    ]


def _protocol_edges(draws: Draws) -> list[Case]:
    rollout, pause = produced(0, 0, 0, 8, "server"), draws.integer(1, 3)
    steps = [rollout, consumed(0, 2, 10, 12, "gpu-0"), consumed(0, 1, 8, 10, "gpu-0")]
    streaming = [rollout, consumed(0, 1, 8 - pause, 12, "gpu-0")]
    return [
        case(_two_batches(steps, start=12)),
        case(_two_batches(steps, start=11)),
        case(_two_batches(list(reversed(steps)), start=10)),
        case(_two_batches(streaming, start=12)),
        case(_two_batches(streaming, start=12 - pause)),
        case(_two_batches([*streaming, prepared(1, 0, 3), published(1, 12, 12, "server")], start=12)),
        case(_two_batches([rollout], start=8 + pause)),
        case([prepared(1, 2, 4), rollout]),
        case([rollout, consumed(0, 1, 8, 12, "gpu-0"), prepared(1, 0, pause)]),
        case([rollout, consumed(0, 1, 8 - pause, 12, "gpu-0")]),
        case([produced(0, 0, 0, 0, "gpu-0"), consumed(0, 1, 0, 0, "gpu-0"), produced(1, 1, 0, 0.5, "gpu-0")]),
        case([published(0, 0, 2, "server")]),
    ]


def _protocol_senseless(draws: Draws) -> list[Case]:
    trace = toy_trace(batches=3, rollout_on="server", **_seconds(draws))
    kinds = {event["kind"]: place for place, event in enumerate(trace)}

    def changed(which: str, /, **fields: object) -> Case:
        place = kinds[which]
        return refused("trace", [*trace[:place], {**trace[place], **fields}, *trace[place + 1 :]])

    times = (-draws.integer(1, 5), math.nan, math.inf, True)
    return [
        refused("trace", []),
        changed("prepared", kind="generated"),
        changed("produced", kind="Produced"),
        *(changed("produced", start=time) for time in times),
        *(changed("consumed", end=time) for time in times),
        changed("published", start=900, end=899),
        changed("prepared", start=0.5, end=0.25),
        *(changed("produced", batch=bad) for bad in NO_COUNTS),
        *(changed("prepared", batch=bad) for bad in NO_COUNTS),
        *(changed("consumed", version=bad) for bad in NO_COUNTS),
        *(changed("published", version=bad) for bad in NO_COUNTS),
    ]


PROTOCOL = FunctionTask(
    name="protocol",
    reference=reference.protocol,
    accept=Text(("synchronous", "asynchronous")),
    # Two answers hide much, so there are more examples than elsewhere: the loops that the notebook shows.
    examples=(*(case(list(trace)) for trace in TRACES.values()), refused("trace", [])),
    criteria=(
        Criterion("placement", "one device or several, with a barrier or ahead", 1, _protocol_placement),
        Criterion("publication", "weights published after every K updates, or never", 0.5, _protocol_publication),
        Criterion("order", "events in any order, several workers, one batch alone too early", 1, _protocol_order),
        Criterion(
            "edges", "ties, several updates a batch, prompts ahead, an update that is missing", 1, _protocol_edges
        ),
        Criterion(
            "senseless", "senseless traces raise a ValueError that names trace", 0.5, _protocol_senseless, "placement"
        ),
    ),
    misconceptions=(
        attempts.unfinished_update_ignored,
        attempts.first_update_of_a_batch,
        attempts.last_event_of_a_batch,
        attempts.ties_overlap,
        attempts.prompts_taken_for_rollouts,
        attempts.update_start_compared,
        attempts.list_order_decides,
        attempts.version_gap,
        attempts.publication_awaited,
        attempts.any_overlap,
        attempts.placement_decides,
    ),
    correct=(attempts.protocol_by_hand, attempts.protocol_by_earliest_start, attempts.protocol_numpy),
)


# --- completion_token_mask ---------------------------------------------------------------------------------------


def _token(draws: Draws) -> int:
    """Draw a token that is no EOS in any case (those are below 10)."""
    return draws.integer(10, 150_000)


def _row(draws: Draws, length: int, width: int, eos_id: int | None, padding: int) -> list[int]:
    """Return a completion of that many tokens, with its EOS if it has one, padded to the width."""
    chosen = [_token(draws) for _ in range(length if eos_id is None else length - 1)]
    ending = [] if eos_id is None else [eos_id]
    return chosen + ending + [padding] * (width - length)


def _masks_padded(draws: Draws) -> list[Case]:
    cases = []
    for padding in (2, 0):
        width = draws.integer(8, 14)
        rows = [_row(draws, draws.integer(2, width - 2), width, 2, padding) for _ in range(4)]
        cases += [case(rows, [2]), case([rows[0]], [2])]
    noise = [_token(draws) for _ in range(3)]
    return [*cases, case([[_token(draws), 2, *noise, 2, noise[0]]], [2])]


def _masks_several_ids(draws: Draws) -> list[Case]:
    ids = draws.shuffled((1, 2, 3))
    width = draws.integer(6, 10)
    rows = [_row(draws, draws.integer(2, width - 1), width, eos_id, ids[0]) for eos_id in ids]
    return [case(rows, ids), case(rows[::-1], ids[::-1]), case([_row(draws, 4, 7, ids[1], 0)], ids[:2])]


def _masks_without_eos(draws: Draws) -> list[Case]:
    width = draws.integer(5, 9)
    full = [_row(draws, width, width, None, 0) for _ in range(3)]
    return [
        case(full, [2]),
        case([full[0], _row(draws, 3, width, 2, 2), full[1]], [2, 1]),
        case([_row(draws, width, width, 2, 2), full[2]], [2]),
        case(full, []),
        case([[2, 2, 7]], []),
    ]


def _masks_edge(draws: Draws) -> list[Case]:
    token = _token(draws)
    return [
        case([], [2]),
        case([], []),
        case([[]], [2]),
        case([[], [], []], [2]),
        case([[2, 2, 2], [token, 2, 2]], [2]),
        case([[2], [token]], [2]),
        case([[0, token], [token, 0]], [0]),
    ]


def _masks_senseless(draws: Draws) -> list[Case]:
    row = [_token(draws), _token(draws), 2]
    return [
        refused("tokens", [row, row[:2]], [2]),
        refused("tokens", [row[1:], row, row[1:]], [2]),
        refused("tokens", [row, []], [2]),
        *(refused("tokens", [row, [row[0], bad, 2]], [2]) for bad in NO_COUNTS),
        *(refused("tokens", [[row[0], 2, bad]], [2]) for bad in NO_COUNTS),
        *(refused("eos_ids", [row], [2, bad]) for bad in NO_COUNTS),
        *(refused("eos_ids", [row], [bad]) for bad in NO_COUNTS),
    ]


COMPLETION_TOKEN_MASK = FunctionTask(
    name="completion_token_mask",
    reference=reference.completion_mask_rows,
    accept=ListOf(ListOf(Flag())),
    examples=(
        case([[5, 8, 2, 2], [7, 2, 2, 2], [9, 6, 4, 5]], [2]),
        case([[5, 3, 0, 0], [6, 7, 2, 4]], [2, 3]),
        case([[], []], [2]),
        refused("tokens", [[5, 2], [5]], [2]),
        refused("eos_ids", [[5, 1]], [True]),
    ),
    criteria=(
        Criterion("padded", "completions that end with an EOS, padded with it or with another token", 1, _masks_padded),
        Criterion("several", "several EOS ids", 0.5, _masks_several_ids),
        Criterion("no-eos", "completions without an EOS, models without an EOS id", 0.5, _masks_without_eos),
        Criterion("edge", "no rows, empty rows, an EOS at once", 0.5, _masks_edge),
        Criterion(
            "senseless", "senseless arguments raise a ValueError that names them", 0.5, _masks_senseless, "padded"
        ),
    ),
    misconceptions=(
        attempts.one_eos_id_only,
        attempts.cut_one_token_short,
        attempts.no_eos_no_tokens,
        attempts.eos_excluded,
        attempts.through_the_last_eos,
        attempts.eos_tokens_left_out,
    ),
    correct=(attempts.mask_loop, attempts.mask_numpy, attempts.mask_of_ones),
)


# --- rollout_contract_errors -------------------------------------------------------------------------------------


def _record(draws: Draws, **changes: object) -> dict[str, Any]:
    """Draw a record that keeps the contract, with the given fields changed."""
    length = draws.integer(2, 6)
    drawn: dict[str, Any] = {
        "sample_id": f"s{draws.integer(1, 9_999)}",
        "policy_version": draws.integer(1, 500),
        "prompt_tokens": [_token(draws) for _ in range(draws.integer(1, 6))],
        "response_tokens": [_token(draws) for _ in range(length)],
        "behavior_logprobs": [-draws.uniform(0.01, 4) for _ in range(length)],
        "decoding": {"temperature": draws.uniform(0.2, 1.5), "top_p": draws.uniform(0.5, 1)},
        "reward": draws.uniform(-2, 2),
        "stop_reason": draws.choice(("eos", "length", "tool_call")),
    }
    return example_record(**{**drawn, **changes})


def _without(record: dict[str, Any], *fields: str) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in fields}


def _contract_missing(draws: Draws) -> list[Case]:
    pair = draws.shuffled(REQUIRED_FIELDS)[:2]
    return [
        case(_record(draws)),
        case({**_record(draws), "environment_id": "calculator-2"}),
        *(case(_without(_record(draws), field)) for field in REQUIRED_FIELDS),
        case(_without(_record(draws), *pair)),
        case(_without(_record(draws), *REQUIRED_FIELDS[1:])),
        case({}),
        *(case({**_record(draws), field: None}) for field in REQUIRED_FIELDS),
    ]


def _contract_numbers(draws: Draws) -> list[Case]:
    bad_ids = (True, False, -draws.integer(1, 9), draws.integer(1, 9) + 0.5, "17", None)
    token = _token(draws)
    return [
        case(_record(draws, policy_version=0)),
        case(_record(draws, prompt_tokens=[0], response_tokens=[0, 1], behavior_logprobs=[-0.5, -0.25])),
        *(case(_record(draws, policy_version=bad)) for bad in bad_ids),
        *(case(_record(draws, prompt_tokens=[token, bad, token])) for bad in bad_ids),
        *(case(_record(draws, response_tokens=[token, bad], behavior_logprobs=[-0.5, -0.25])) for bad in bad_ids),
        case(_record(draws, prompt_tokens=[])),
        case(_record(draws, response_tokens=[], behavior_logprobs=[])),
        case(_record(draws, prompt_tokens="101 42")),
        case(_record(draws, prompt_tokens=token)),
        case(_record(draws, response_tokens={"ids": [token, 2]})),
    ]


def _contract_logprobs(draws: Draws) -> list[Case]:
    tokens = [_token(draws) for _ in range(3)]

    def with_logps(logps: object) -> Case:
        return case(_record(draws, response_tokens=tokens, behavior_logprobs=logps))

    drawn = -draws.uniform(0.1, 3)
    bad = (draws.uniform(0.05, 0.9), 1, math.nan, math.inf, -math.inf, False, True, None, "-0.5")
    return [
        with_logps([0.0, drawn, -40.0]),
        with_logps([0, -1, drawn]),
        *(with_logps([drawn, one, drawn]) for one in bad),
        *(with_logps([drawn, drawn, one]) for one in bad),
        with_logps([drawn] * 2),
        with_logps([drawn] * 4),
        with_logps([]),
        with_logps(drawn),
        with_logps("abc"),
        with_logps({"0": drawn, "1": drawn, "2": drawn}),
    ]


def _contract_labels(draws: Draws) -> list[Case]:
    text = ("sample_id", "prompt_id", "stop_reason", "verifier_version")
    knobs = {"temperature": draws.uniform(0.2, 1.5), "top_p": draws.uniform(0.5, 0.9)}
    decodings: list[object] = [
        {**knobs, "temperature": 0},
        {**knobs, "top_p": 1},
        {**knobs, "top_k": 50},
        {"temperature": 0.6, "top_p": 0.001},
        {},
        {"temperature": 0.8},
        {"top_p": 0.9},
        *({**knobs, "temperature": bad} for bad in (*NO_FINITE_NUMBERS, -0.5)),
        *({**knobs, "top_p": bad} for bad in (*NO_FINITE_NUMBERS, 0, -0.5, 1.5)),
        [0.8, 0.9],
        "temperature=0.8, top_p=0.9",
        1.0,
    ]
    rewards: list[object] = [0, -3.5, {"correctness": 1, "format": 0.0}, {"correctness": -1.5}]
    rewards += [*NO_FINITE_NUMBERS, -math.inf, {}, [1.0], [], {"correctness": {"value": 1.0}}]
    rewards += [{"correctness": 1.0, "format": bad} for bad in NO_FINITE_NUMBERS]
    return [
        case(_record(draws, **dict.fromkeys(text, "7"))),
        *(case(_record(draws, **{field: bad})) for field in text for bad in ("", 7, ["eos"], True)),
        *(case(_record(draws, decoding=decoding)) for decoding in decodings),
        *(case(_record(draws, reward=reward)) for reward in rewards),
    ]


def _contract_several(draws: Draws) -> list[Case]:
    token = _token(draws)
    return [
        case(_without(_record(draws, policy_version=-1), "behavior_logprobs")),
        case(_without(_record(draws, policy_version=True, reward=math.nan), "response_tokens")),
        case(_record(draws, response_tokens=[token, -1, token], behavior_logprobs=[-0.5, -0.5])),
        case(_record(draws, response_tokens=[token, True], behavior_logprobs=[-0.5, False])),
        case(_record(draws, response_tokens=[], behavior_logprobs=[-0.5])),
        case(_record(draws, response_tokens="abcd", behavior_logprobs=[-0.5, -0.25])),
        case(_record(draws, response_tokens=[token], behavior_logprobs=[0.5, math.nan], prompt_tokens=[])),
        case(_record(draws, sample_id="", prompt_id=None, decoding=None, stop_reason=0, verifier_version=4)),
        case(dict.fromkeys(REQUIRED_FIELDS)),
        case({name: [] for name in REQUIRED_FIELDS}),
        *(case(record) for record in (None, [], [_record(draws)], "record", 17, True, math.nan, list(REQUIRED_FIELDS))),
    ]


ROLLOUT_CONTRACT_ERRORS = FunctionTask(
    name="rollout_contract_errors",
    reference=reference.rollout_contract_errors,
    accept=FaultyFields(),
    examples=(
        case(example_record(policy_version=0, behavior_logprobs=[0.0, -1.07], reward={"correct": 1.0, "format": 0.0})),
        case(_without(example_record(policy_version=-1), "behavior_logprobs")),
        case(example_record(policy_version=True, response_tokens=[314, True], behavior_logprobs=[-0.31, False])),
        case(example_record(prompt_tokens=[], response_tokens=[314, 159, 2], stop_reason="")),
        case(example_record(behavior_logprobs=[-0.31, 0.2], decoding={}, reward=math.nan)),
        case("p3-r1"),
    ),
    criteria=(
        Criterion("missing", "sound records, and records that lack fields", 1, _contract_missing),
        Criterion("numbers", "versions and tokens", 1, _contract_numbers),
        Criterion("logprobs", "log-probabilities", 1, _contract_logprobs),
        Criterion("labels", "text, decoding and rewards", 1, _contract_labels),
        Criterion("several", "several faults at once, and what is no record at all", 1, _contract_several),
    ),
    misconceptions=(
        contract_attempts.zero_taken_for_missing,
        contract_attempts.reward_parts_refused,
        contract_attempts.missing_named_twice,
        contract_attempts.first_fault_only,
        contract_attempts.bools_pass,
        contract_attempts.empty_tokens_pass,
        contract_attempts.misalignment_unnoticed,
        contract_attempts.misalignment_blamed_on_both,
        contract_attempts.positive_logprob_passes,
        contract_attempts.nan_passes,
        contract_attempts.any_decoding_passes,
    ),
    correct=(
        contract_attempts.contract_by_table,
        contract_attempts.contract_step_by_step,
        contract_attempts.contract_with_validators,
        contract_attempts.contract_numpy,
    ),
)


# --- project_completion ------------------------------------------------------------------------------------------


def _episode(
    draws: Draws, lengths: list[tuple[int, int, int]], labels: list[str], rewards: list[float], reasons: list[str]
) -> dict[str, Any]:
    """Return an episode: for each turn the number of tokens read, of tokens sampled, and of tokens of the template."""
    pieces = [(turn, mask, n) for turn, (a, b, c) in enumerate(lengths) for mask, n in ((0, a), (1, b), (0, c))]
    mask = [mask for _, mask, n in pieces for _ in range(n)]
    return {
        "token_ids": [_token(draws) for _ in mask],
        "policy_mask": mask,
        "turn_ids": [turn for turn, _, n in pieces for _ in range(n)],
        "behavior_logprobs": [-draws.uniform(0.01, 4) if chosen else 0.0 for chosen in mask],
        "policy_versions": labels,
        "rewards": rewards,
        "stop_reasons": reasons,
        "outcome": rewards[-1],
    }


def _projection_single(draws: Draws) -> list[Case]:
    cases = []
    for _ in range(4):
        lengths = [(draws.integer(1, 6), draws.integer(1, 6), 0)]
        number = draws.integer(1, 400)
        episode = _episode(draws, lengths, [f"v{number}"], [draws.uniform(-1, 1)], [draws.choice(("eos", "length"))])
        cases.append(case(episode, 0, {f"v{number}": number}))
    return cases


def _projection_tokens(draws: Draws) -> list[Case]:
    """Return episodes whose turns have one label, reward and stop reason, so that only the tokens tell."""
    cases = []
    for _ in range(2):
        lengths = [(draws.integer(1, 4), draws.integer(2, 4), draws.integer(0, 2)) for _ in range(4)]
        number, reward = draws.integer(1, 400), draws.uniform(-1, 1)
        episode = _episode(draws, lengths, [f"v{number}"] * 4, [reward] * 4, ["tool_call"] * 4)
        cases += [case(episode, turn, {f"v{number}": number}) for turn in range(4)]
    return cases


def _projection_labels(draws: Draws) -> list[Case]:
    """Return episodes that differ from turn to turn in label, reward and stop reason; one registry counts from 0."""
    cases = []
    for start in (draws.integer(50, 90), 0):
        labels = [
            f"v{draws.integer(10, 19)}",
            f"{draws.integer(2024, 2026)}-06",
            "base",
            f"v{draws.integer(20, 29)}-fix",
        ]
        registry = dict(zip(["first", *draws.shuffled(labels)], range(start, start + 5), strict=True))
        lengths = [(draws.integer(1, 4), draws.integer(1, 4), 0) for _ in labels]
        rewards = [draws.uniform(0.1, 0.3), 0.0, -draws.uniform(0.1, 0.9), draws.uniform(0.4, 0.6)]
        episode = _episode(draws, lengths, labels, rewards, ["tool_call", "length", "stop_text", "eos"])
        episode["outcome"] = 1.0
        cases += [case(episode, turn, dict(draws.shuffled(list(registry.items())))) for turn in range(4)]
    return cases


def _projection_senseless(draws: Draws) -> list[Case]:
    labels = ["v1", "v2", "v3"]
    lengths = [(2, draws.integer(1, 3), 1), (1, draws.integer(1, 3), 0), (draws.integer(1, 3), 0, 0)]
    episode = _episode(draws, lengths, labels, [0.5, 0.25, 0.125], ["tool_call", "eos", "none"])
    registry = {"v1": 7, "v2": 9, "v3": 11}

    def cut(name: str) -> dict[str, Any]:
        return {**episode, name: episode[name][:-1]}

    per_token = ("token_ids", "policy_mask", "turn_ids", "behavior_logprobs")
    per_turn = ("policy_versions", "rewards", "stop_reasons")
    two_labels = {**episode, **{name: episode[name][:1] for name in per_turn}}
    return [
        *(refused("trajectory", cut(name), 0, registry) for name in (*per_token, *per_turn)),
        *(refused("turn", episode, bad, registry) for bad in (True, -1, 0.5, 1.0, math.nan, 2, 3, 40)),
        refused("turn", two_labels, 1, registry),
        refused("registry", episode, 1, {"v1": 7, "v3": 11}),
        refused("registry", episode, 0, {}),
        *(refused("registry", episode, 1, {**registry, "v2": bad}) for bad in (*NO_COUNTS, "9", None)),
    ]


PROJECT_COMPLETION = FunctionTask(
    name="project_completion",
    reference=reference.project_completion,
    accept=Fields(
        {
            "policy_version": Integer(),
            "prompt_tokens": ListOf(Integer()),
            "response_tokens": ListOf(Integer()),
            "behavior_logprobs": ListOf(Number()),
            "reward": Number(),
            "stop_reason": Text(),
        }
    ),
    examples=(
        case(dict(EPISODE), 0, dict(REGISTRY)),
        case(dict(EPISODE), 1, dict(REGISTRY)),
        refused("turn", dict(EPISODE), 2, dict(REGISTRY)),
        refused("registry", dict(EPISODE), 1, {"v12": 17}),
    ),
    criteria=(
        Criterion("single", "episodes of one turn", 0.5, _projection_single),
        Criterion("tokens", "prompt, response and log-probabilities of a later turn", 1.5, _projection_tokens),
        Criterion("labels", "version, reward and stop reason of each turn", 1.5, _projection_labels),
        Criterion(
            "senseless", "senseless arguments raise a ValueError that names them", 0.5, _projection_senseless, "tokens"
        ),
    ),
    misconceptions=(
        attempts.version_coerced,
        attempts.version_by_place,
        attempts.episode_outcome_copied,
        attempts.last_stop_reason,
        attempts.context_taken_for_actions,
        attempts.prompt_of_this_turn_only,
        attempts.prompt_of_earlier_turns_only,
        attempts.own_words_left_out_of_the_prompt,
    ),
    correct=(attempts.projection_with_validators, attempts.projection_by_slices, attempts.projection_numpy),
)


# --- the variant and the sorting question ------------------------------------------------------------------------


def _variant_answer(numbers: Mapping[str, Any]) -> dict[str, float]:
    """Project the turn of an episode of those lengths, and count its tokens."""
    completions = [value for name, value in numbers.items() if name.startswith("completion_")]
    observations = [value for name, value in numbers.items() if name.startswith("tool_")]
    lengths = list(zip([numbers["opening_tokens"], *observations], completions, strict=True))
    mask = [flag for read, sampled in lengths for flag in [0] * read + [1] * sampled]
    turns = [turn for turn, (read, sampled) in enumerate(lengths) for _ in range(read + sampled)]
    episode = {
        "token_ids": [0] * len(mask),
        "policy_mask": mask,
        "turn_ids": turns,
        "behavior_logprobs": [0.0] * len(mask),
        "policy_versions": ["v"] * len(lengths),
        "rewards": [0.0] * len(lengths),
        "stop_reasons": ["eos"] * len(lengths),
    }
    completion = reference.project_completion(episode, numbers["turn"], {"v": 0})
    return {
        "prompt_length": len(completion.prompt_tokens),
        "action_tokens": sum(mask),
        "action_share": sum(mask) / len(mask),
    }


RECORDS_VARIANT = VariantTask(
    topic="records",
    name="records_variant",
    answer=_variant_answer,
    fields={
        "prompt_length": VariantField("tokens", Integer(), 1, 640, 26_700),
        "action_tokens": VariantField("tokens", Integer(), 0.5, 200, 9_000),
        "action_share": VariantField("of 1", Number(relative=5e-3), 0.5, 0.01, 0.94),
    },
)

PLACEMENT, PROTOCOL_CLASS = "placement", "protocol"

RECORDS_SORT = SortingTask(
    name="records_sort",
    classes=(PLACEMENT, PROTOCOL_CLASS),
    groups=(
        SortingGroup(
            "statements a to d",
            1,
            {
                "a_pool_of_its_own": PLACEMENT,
                "b_waits_for_update_and_loading": PROTOCOL_CLASS,
                "c_buffer_of_two_batches": PROTOCOL_CLASS,
                "d_one_gpu_shared": PLACEMENT,
            },
        ),
        SortingGroup(
            "statements e to h",
            1,
            {
                "e_every_fourth_update": PROTOCOL_CLASS,
                "f_weights_over_the_network": PLACEMENT,
                "g_running_completions_finish_first": PROTOCOL_CLASS,
                "h_verifier_without_a_gpu": PLACEMENT,
            },
        ),
    ),
)

TASKS = (
    PROTOCOL,
    COMPLETION_TOKEN_MASK,
    ROLLOUT_CONTRACT_ERRORS,
    PROJECT_COMPLETION,
    RECORDS_VARIANT,
    RECORDS_SORT,
)
