"""What a judgement says: points, a line a criterion, a hint, remarks. Frozen, and safe to show to a student."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class CriterionVerdict:
    """One criterion: its points, those earned, and how many of its cases were right."""

    title: str
    points: float
    earned: float
    right: int
    total: int
    note: str = ""

    @property
    def met(self) -> bool:
        """Whether the criterion earned its points."""
        return self.earned == self.points


@dataclass(frozen=True)
class Verdict:
    """One task of one submission."""

    task: str
    points: float
    criteria: tuple[CriterionVerdict, ...]
    hint: str = ""
    remark: str = ""

    @property
    def earned(self) -> float:
        """The points earned."""
        return sum(criterion.earned for criterion in self.criteria)

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Verdict:
        """Return the verdict that `dataclasses.asdict` made data of."""
        return cls(**{**data, "criteria": tuple(CriterionVerdict(**line) for line in data["criteria"])})
