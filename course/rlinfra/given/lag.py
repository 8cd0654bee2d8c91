"""The lag topic: completions that began under older weights, and the variant problem on what publishing costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..variants import Variant
from .arguments import require_count, require_positive

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..draws import Draws


def finished_records(
    lengths: Sequence[int], *, tokens_per_second: float, update_seconds: float, trainer_version: int
) -> list[dict[str, Any]]:
    """Return the records of completions of these lengths in tokens that all finish at this moment.

    The engine loads the trainer's weights after every update, but a completion keeps those it began with: the longer
    it is, the earlier it began, and the older its version. Raises `ValueError` where an argument is senseless, or a
    completion would have begun before version 0.
    """
    require_positive("tokens_per_second", tokens_per_second)
    require_positive("update_seconds", update_seconds)
    require_count("trainer_version", trainer_version)
    records = []
    for place, tokens in enumerate(lengths):
        updates_meanwhile = int(require_count("lengths", tokens) / tokens_per_second // update_seconds)
        if updates_meanwhile > trainer_version:
            raise ValueError(f"trainer_version must be at least {updates_meanwhile} for {tokens} tokens")
        version = trainer_version - updates_meanwhile
        records.append({"id": f"r{place + 1}", "version": version, "tokens": tokens})
    return records


def variant_story(draws: Draws) -> Variant:
    """Draw a model, its adapter, a link and a schedule, and tell their story."""
    parameters = draws.integer(3_000_000_000, 69_999_999_999)
    adapter = draws.integer(20_000_000, 799_999_999)
    bandwidth = draws.choice((10, 12.5, 20, 25, 40, 50))
    efficiency = draws.integer(10, 19) / 20
    setup = draws.integer(50, 400) / 1000
    every = draws.integer(3, 12)
    updates = every * draws.integer(2, 5) + draws.integer(1, every - 1)
    story = (
        f"A trainer holds {parameters:,} parameters and publishes all of them in bfloat16 (2 bytes each) after every "
        f"{every}th update. The link carries {bandwidth:g} GB/s, of which {efficiency:.0%} are reached; each "
        f"publication takes {setup:g} s to set up. A run has {updates} updates. The alternative is an adapter of "
        f"{adapter:,} parameters, in bfloat16 as well, published after every single update over the same link."
    ).replace(" 3th ", " 3rd ")
    return Variant(
        story,
        {
            "parameters": parameters,
            "adapter_parameters": adapter,
            "bandwidth_gb_per_s": bandwidth,
            "efficiency": efficiency,
            "setup_seconds": setup,
            "sync_every": every,
            "updates": updates,
        },
    )
