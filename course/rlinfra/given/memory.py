"""The memory topic's variant problem: an adapter run on a few ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..variants import Variant

if TYPE_CHECKING:
    from ..draws import Draws


def variant_story(draws: Draws) -> Variant:
    """Draw a base model, an adapter and a group of ranks, and tell their story."""
    base = draws.integer(3_000_000_000, 69_999_999_999)
    adapter = draws.integer(8_000_000, 399_999_999)
    ranks = draws.integer(2, 16)
    gradient = draws.choice((2, 4))
    story = (
        f"A team adapts a model of {base:,} parameters, held in bfloat16, with {adapter:,} adapter parameters. "
        f"An adapter parameter is stored in 2 bytes, its gradient in {gradient}, its two Adam moments in 8 and its "
        f"float32 master copy in 4. The base is frozen. The state is divided ideally over {ranks} ranks."
    )
    return Variant(
        story,
        {
            "base_parameters": base,
            "adapter_parameters": adapter,
            "gradient_bytes": gradient,
            "ranks": ranks,
        },
    )
