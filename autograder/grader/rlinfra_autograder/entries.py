"""What a submission came to, as it travels from a worker to the ledger; apart, so that a worker needs no database."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

GRADED, UNGRADED, FAILED = "graded", "ungraded", "failed"


@dataclass(frozen=True)
class Entry:
    """What one submission came to. `status` is `graded`, `ungraded` (it cannot be told) or `failed` (the grader's own).

    `details` is JSON data: the repairs, and for a graded one its provenance, verdicts and faults.
    """

    student: str
    topic: str
    fingerprint: str
    status: str
    reason: str = ""
    seconds: float = 0.0
    details: dict[str, Any] = field(default_factory=dict)
