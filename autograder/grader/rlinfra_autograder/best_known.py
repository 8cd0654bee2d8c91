"""The best choice known for each workload of a task: searched within a budget, the same one each time, and kept.

What is kept are the choices. What they come to is simulated again by whoever reads them, so that nothing that lies in
the folder can be taken for a rate. The folder is outside git, and outside what student code can reach.
"""

from __future__ import annotations

import json
import os
import tempfile
import threading
from contextlib import suppress
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rlinfra.checks.choices import bench_of
from rlinfra.draws import Draws

from .choices import Marks, choices_hash

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from .tasks.model import ChoiceTask

FOLDER = Path("build/best-known")  # from the course root
SIMULATIONS = 60  # a workload: some seconds for a course seed
_LARGEST_BYTES = 1 << 16
_CLIMBS = 3  # how many of the best choices found at random are climbed from
_STEPS = (-1, 1, -2, 2)  # in the values of a setting

_known: dict[str, tuple[Marks, ...]] = {}
_one_at_a_time = threading.Lock()  # a Dask worker has several threads, and one search is enough

Choice = dict[str, Any]


def hidden_marks(task: ChoiceTask, seed: str, root: Path | None) -> tuple[Marks, ...]:
    """Return the marks of the hidden workloads under a course seed; kept in the course root `root`, if there is one."""
    folder = None if root is None else root / FOLDER
    return _marks(task, task.hidden_workloads(seed), choices_hash(task, seed), folder)


def public_marks(task: ChoiceTask) -> tuple[Marks, ...]:
    """Return the marks of the public workloads, which are committed with the check data."""
    return _marks(task, tuple(task.examples.values()), choices_hash(task, None), None)


def _marks(
    task: ChoiceTask, workloads: Sequence[Mapping[str, Any]], key: str, folder: Path | None
) -> tuple[Marks, ...]:
    with _one_at_a_time:
        if key not in _known:
            path = folder / f"{key}.json" if folder else None
            choices = _read(task, workloads, path) if path else None
            if choices is None:
                choices = [search(task, workload) for workload in workloads]
                if path:
                    _write(path, choices)
            pairs = zip(workloads, choices, strict=True)
            _known[key] = tuple(
                Marks(rate_of(task, workload, task.default), rate_of(task, workload, choice))
                for workload, choice in pairs
            )
        return _known[key]


def rate_of(task: ChoiceTask, workload: Mapping[str, Any], choice: Mapping[str, Any]) -> float:
    """Return the rate of a choice in a workload; 0 where it breaks a bound. Raises `ValueError` for a senseless one."""
    bench = bench_of(task.bench)
    row = bench.simulate_choice(workload, choice)
    return 0.0 if bench.broken_bounds(workload, row) else float(row[task.rate])


# --- the search --------------------------------------------------------------------------------------------------


def search(task: ChoiceTask, workload: Mapping[str, Any], simulations: int = SIMULATIONS) -> Choice:
    """Return the best choice found for a workload, the reference's at least, in at most so many simulations.

    Half of them go to choices drawn at random, the rest to climbing from the best ones, a setting at a time.
    """
    return _Search(task, workload, simulations).run()


class _Search:
    def __init__(self, task: ChoiceTask, workload: Mapping[str, Any], simulations: int) -> None:
        self._task, self._workload, self._left = task, workload, simulations
        self._draws = Draws("best known", task.name, json.dumps(workload, sort_keys=True))
        self._rates: dict[tuple[Any, ...], float] = {}

    def run(self) -> Choice:
        random = self._left // 2
        self._rate(dict(self._task.reference(dict(self._workload))))
        for choice in islice(self._drawn(), 100 * self._left):  # most draws fit together, and few do in odd spaces
            if self._left <= random:
                break
            self._rate(choice)
        for start in sorted(self._rates, key=self._rates.__getitem__, reverse=True)[:_CLIMBS]:
            self._climb(self._choice(start))
        return self._choice(max(self._rates, key=self._rates.__getitem__))

    def _choice(self, values: tuple[Any, ...]) -> Choice:
        return dict(zip(self._task.space, values, strict=True))

    def _drawn(self) -> Iterator[Choice]:
        while True:
            yield {name: self._draws.choice(values) for name, values in self._task.space.items()}

    def _rate(self, choice: Choice) -> float:
        """Return the rate of a choice, simulated once; below any rate where settings do not fit, or nothing is left."""
        values = tuple(choice[name] for name in self._task.space)
        if values not in self._rates:
            if self._left == 0:
                return -1.0
            try:
                self._rates[values] = rate_of(self._task, self._workload, choice)
            except ValueError:
                return -1.0
            self._left -= 1
        return self._rates[values]

    def _climb(self, choice: Choice) -> None:
        """Take every step that leads up, until none does."""
        climbing = True
        while climbing and self._left:
            climbing = False
            for name in self._draws.shuffled(list(self._task.space)):
                for value in self._near(name, choice[name]):
                    step = {**choice, name: value}
                    if self._rate(step) > self._rate(choice):
                        choice, climbing = step, True
                        break

    def _near(self, name: str, value: Any) -> list[Any]:
        values = self._task.space[name]
        if value not in values:  # the reference may choose what is in no list
            return list(values)
        place = values.index(value)
        return [values[place + step] for step in _STEPS if 0 <= place + step < len(values)]


# --- what is kept ------------------------------------------------------------------------------------------------


def _read(task: ChoiceTask, workloads: Sequence[Mapping[str, Any]], path: Path) -> list[Choice] | None:
    """Return the choices that a file holds, or None where it holds anything else, or a choice that breaks a bound."""
    try:
        with path.open("rb") as file:
            kept = json.loads(file.read(_LARGEST_BYTES))
        if not (isinstance(kept, dict) and kept.get("sha256") == _sha256(kept.get("choices"))):
            return None
        choices = [bench_of(task.bench).require_choice(choice) for choice in kept["choices"]]
        pairs = zip(workloads, choices, strict=True)
        sound = all(rate_of(task, workload, choice) > 0 for workload, choice in pairs)
    except (OSError, ValueError, TypeError, RecursionError):
        return None
    return choices if sound else None


def _write(path: Path, choices: list[Choice]) -> None:
    """Keep choices, in one step for whoever reads meanwhile; where that cannot be, the next one searches again."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, draft = tempfile.mkstemp(dir=path.parent, suffix=".draft")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump({"sha256": _sha256(choices), "choices": choices}, file)
            Path(draft).replace(path)
        except OSError:
            Path(draft).unlink(missing_ok=True)
            raise


def _sha256(choices: Any) -> str:
    return sha256(json.dumps(choices, sort_keys=True).encode()).hexdigest()
