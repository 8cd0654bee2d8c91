"""What a submission's functions did with the hidden inputs, kept so that a task can be judged again without a run.

Each task's observations carry the hash of the inputs that they answer: with the same inputs they are what a run of the
same notebook would give. They are kept in the form that crosses the wire, which is bounded, and are parsed as strictly
as what comes from a student's process.
"""

from __future__ import annotations

import json
import sys
import zlib
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from .choices import choices_hash
from .hidden import hidden_set
from .judge import request_of
from .probes import Fault, Outcome, Probed, parse_observation
from .tasks.model import ChoiceTask, FunctionTask

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .tasks.model import Task

LARGEST_BYTES = 4 << 20  # of one task before compression; an honest one has some thousand


@dataclass(frozen=True)
class Recorded:
    """What was observed of one task, and the hash of the inputs that were asked."""

    inputs: str
    probed: Probed


def inputs_hash(task: Task, seed: str) -> str:
    """Return the hash of all that the probes of a task ask under a course seed, and of what simulates choices."""
    if isinstance(task, FunctionTask):
        return hidden_set(task.name, seed).inputs_hash
    if isinstance(task, ChoiceTask):
        return choices_hash(task, seed)
    return sha256(json.dumps([task.name, request_of(task, seed).read]).encode()).hexdigest()


def pack(probed: Mapping[str, Probed], tasks: Iterable[Task], seed: str) -> bytes:
    """Return the observations of some tasks as compressed JSON; those of a task that are too large are left out."""
    found = {task.name: _to_data(probed[task.name], inputs_hash(task, seed)) for task in tasks}
    texts = {name: json.dumps(data, separators=(",", ":")) for name, data in found.items()}
    kept = (f"{json.dumps(name)}:{text}" for name, text in texts.items() if len(text) <= LARGEST_BYTES)
    return zlib.compress(f"{{{','.join(kept)}}}".encode())


def unpack(content: bytes) -> dict[str, Recorded]:
    """Return the recorded observations by task; nothing where nothing was kept."""
    found = json.loads(zlib.decompress(content)) if content else {}
    return {name: Recorded(data["inputs"], _from_data(data)) for name, data in found.items()}


def merged(before: bytes, after: bytes) -> bytes:
    """Return packed observations in which those of the second take the place of those of the first."""
    both = [json.loads(zlib.decompress(content)) if content else {} for content in (before, after)]
    return zlib.compress(json.dumps({**both[0], **both[1]}, separators=(",", ":")).encode())


def _to_data(probed: Probed, inputs: str) -> dict[str, Any]:
    outcomes = [
        {"fault": outcome.kind} if isinstance(outcome, Fault) else outcome.to_data() for outcome in probed.outcomes
    ]
    return {"inputs": inputs, "status": probed.status, "outcomes": outcomes}


def _from_data(data: Mapping[str, Any]) -> Probed:
    return Probed(data["status"], tuple(_outcome(outcome) for outcome in data["outcomes"]))


def _outcome(data: dict[str, Any]) -> Outcome:
    return Fault(data["fault"]) if "fault" in data else parse_observation(data, sys.maxsize)
