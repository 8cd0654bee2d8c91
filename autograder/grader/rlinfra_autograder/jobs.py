"""What a batch hands to its workers, and what comes back: plain data, so that it can travel to another machine."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .entries import Entry

if TYPE_CHECKING:
    from datetime import datetime

    from .submissions import Submission


@dataclass(frozen=True)
class Settings:
    """What all submissions of a batch are graded with."""

    root: Path
    python: Path
    confined: bool
    seed: str = field(repr=False)  # no log shows it


@dataclass(frozen=True)
class Job:
    """A submission to grade, and the fingerprint that it will be known by; with `task`, only that one is observed."""

    submission: Submission
    fingerprint: str
    task: str = ""


@dataclass(frozen=True)
class Outcome:
    """What a submission came to; where it was graded, its notebook and the packed observations behind the verdicts."""

    entry: Entry
    notebook: Any = None
    handed_in: datetime | None = None
    log: str = ""
    observations: bytes = b""
