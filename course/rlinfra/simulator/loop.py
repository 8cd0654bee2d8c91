"""The event loop: the next event is on top of a heap, and what happens puts on the heap what follows from it.

Nothing happens between two events, so the clock jumps from one moment to the next. Of one moment, everything happens in
the order in which it was put on the heap; then the trainer takes a batch if it may, and waiting workers start if they
may. A run covers its duration without the last moment.
"""

from __future__ import annotations

import math
from collections import defaultdict, deque
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

from .result import Batch, Event, PipelineResult
from .workload import completion_tokens, length_place, noise_place, normal_quantiles, rollout_draws, uptimes

if TYPE_CHECKING:
    from collections.abc import Callable

    from .config import PipelineConfig

WAITING, TRAINING, CHECKPOINT, DOWN = "waiting", "training", "checkpoint", "down"
Rollout = tuple[int, int, int, int]  # its worker, its tokens, the version that samples it, the place of its noise


def simulate_pipeline(config: PipelineConfig, *, trace: bool = False) -> PipelineResult:
    """Return what comes of a configuration; with `trace`, every single event as well."""
    return _Loop(config, trace=trace).run()


class _Loop:
    """The loop at one moment of its run; each method is something that happens."""

    def __init__(self, config: PipelineConfig, *, trace: bool) -> None:
        self.config = config
        self.sequential = config.mode == "sequential"
        self.trace: list[Event] | None = [] if trace else None
        self.time = 0.0
        self.heap: list[tuple[float, int, Callable[[_Loop, Any], None], Any]] = []
        self.scheduled = 0
        # The workers: who waits to start, and what is in flight.
        self.draws = [rollout_draws(config, worker) for worker in range(config.workers)]
        self.lengths = completion_tokens(config)
        self.waiting: deque[int] = deque()
        self.in_flight = self.in_flight_tokens = 0
        # The queue: of each policy version the rollouts that wait, in the order in which they were finished.
        self.queue: defaultdict[int, deque[Rollout]] = defaultdict(deque)
        self.queue_tokens = self.max_queue_tokens = 0
        # The trainer: its version and the one that workers have; `saved` is that of the last checkpoint.
        self.trainer = DOWN
        self.version = self.published = self.saved = 0
        self.saved_at = self.link_free_at = 0.0
        self.publishing = 0
        self.training_tokens = 0
        self.uptimes = uptimes(config)
        # The books.
        self.batches: list[Batch] = []
        self.timeline: list[dict[str, float]] = []
        self.next_sample = 0.0
        self.generated_tokens = self.discarded_tokens = self.trained_tokens = self.lost_tokens = 0
        self.finished = self.discarded = self.interrupted = 0
        self.publications = self.checkpoints = self.failures = self.lost_updates = 0
        self.trainer_seconds = dict.fromkeys((WAITING, TRAINING, CHECKPOINT, DOWN), 0.0)
        self.workers_waiting_seconds = self.publishing_seconds = 0.0

    def run(self) -> PipelineResult:
        """Let everything happen, and return the books."""
        heap, duration = self.heap, self.config.duration_seconds
        self._at(0.0, _Loop._start_up)
        while heap and heap[0][0] < duration:
            self._advance(heap[0][0])
            while heap and heap[0][0] == self.time:
                _, _, happen, to = heappop(heap)
                happen(self, to)
            self._train()
            self._admit()
        self._advance(duration)
        return self._result()

    def _at(self, time: float, happen: Callable[[_Loop, Any], None], to: Any = None) -> None:
        """Put on the heap what happens at that time, and to what; the running number orders what is equally late."""
        self.scheduled += 1
        heappush(self.heap, (time, self.scheduled, happen, to))

    def _advance(self, time: float) -> None:
        """Move the clock, and book what everybody did since the event before."""
        while self.next_sample <= time:
            self._sample()
        passed = time - self.time
        self.trainer_seconds[self.trainer] += passed
        self.workers_waiting_seconds += passed * len(self.waiting)
        if self.publishing:
            self.publishing_seconds += passed
        self.time = time

    # --- the workers ---------------------------------------------------------------------------------------------

    def _admit(self) -> None:
        """Let workers start that wait, the first come first, as long as admission is open."""
        while self.waiting and self._admission_is_open():
            self._start(self.waiting.popleft())

    def _admission_is_open(self) -> bool:
        if self.sequential:
            free = self.trainer == WAITING and not self.publishing
            return free and self.queue_tokens < self.config.batch_tokens
        return self.queue_tokens < self.config.max_queue_tokens

    def _start(self, worker: int) -> None:
        """Start the worker's next rollout with the published version."""
        draw = next(self.draws[worker])
        tokens = self.lengths[length_place(draw)]
        self.in_flight += 1
        self.in_flight_tokens += tokens
        self._note("start", worker, tokens, self.published)
        rollout = (worker, tokens, self.published, noise_place(draw))
        self._at(self.time + self.config.rollout_seconds(tokens), _Loop._finish, rollout)

    def _finish(self, rollout: Rollout) -> None:
        """Queue a finished rollout, or discard it where it is too old already; its worker waits for the next."""
        worker, tokens, version, _ = rollout
        self.in_flight -= 1
        self.in_flight_tokens -= tokens
        self.finished += 1
        self.generated_tokens += tokens
        self.waiting.append(worker)
        self._note("finish", worker, tokens, version)
        self.queue[version].append(rollout)
        self.queue_tokens += tokens
        if self.version - version > self.config.max_policy_lag:
            self._discard(version)
        self.max_queue_tokens = max(self.max_queue_tokens, self.queue_tokens)

    def _discard(self, version: int) -> None:
        """Discard all rollouts of a version that wait."""
        rollouts = self.queue.pop(version)
        tokens = sum(tokens for _, tokens, _, _ in rollouts)
        self.discarded += len(rollouts)
        self.discarded_tokens += tokens
        self.queue_tokens -= tokens
        self._note("discard", -1, tokens, version)

    # --- the trainer ---------------------------------------------------------------------------------------------

    def _train(self) -> None:
        """Take a batch, if the trainer is free and there is one: by turns, not before all rollouts are finished."""
        if self.queue_tokens < self.config.batch_tokens or self.trainer != WAITING:
            return
        if self.sequential and self.in_flight:
            return
        batch = self._take_batch()
        self.trainer = TRAINING
        self.training_tokens = batch.tokens
        self._note("train", -1, batch.tokens, self.version)
        self._at(batch.end_seconds, _Loop._update, batch)

    def _take_batch(self) -> Batch:
        """Take rollouts, the oldest version first, until the batch has its tokens; by turns, take them all.

        The log-weight of a rollout is s·z − s²/2, with s² = mismatch² + lag · lag_sigma² and z its standard normal
        noise: so the mean weight is 1. Weights are taken relative to the largest, which no ratio of them can tell.
        """
        wanted = math.inf if self.sequential else self.config.batch_tokens
        noise = normal_quantiles()
        tokens = 0
        lag_counts = {}
        log_weights: list[float] = []
        for version in sorted(self.queue):
            rollouts = self.queue[version]
            lag = self.version - version
            variance = self.config.mismatch_sigma**2 + lag * self.config.lag_sigma**2
            scale, shift = math.sqrt(variance), variance / 2
            before = len(log_weights)
            while rollouts and tokens < wanted:
                _, length, _, place = rollouts.popleft()
                tokens += length
                log_weights.append(scale * noise[place] - shift)
            if not rollouts:
                del self.queue[version]
            if len(log_weights) > before:
                lag_counts[lag] = len(log_weights) - before
        self.queue_tokens -= tokens
        largest = max(log_weights)
        weights = [math.exp(log_weight - largest) for log_weight in log_weights]
        ess = sum(weights) ** 2 / sum(weight * weight for weight in weights)
        return Batch(
            update=self.version + 1,
            start_seconds=self.time,
            end_seconds=self.time + self.config.train_seconds(tokens),
            tokens=tokens,
            lag_counts=lag_counts,
            normalized_ess=round(ess / len(weights), 9),
        )

    def _update(self, batch: Batch) -> None:
        """End an update: a new version, one version too old, perhaps a publication, perhaps a checkpoint."""
        self.version += 1
        self.trainer = WAITING
        self.training_tokens = 0
        self.batches.append(batch)
        self.trained_tokens += batch.tokens
        self._note("update", -1, batch.tokens, self.version)
        if (too_old := self.version - self.config.max_policy_lag - 1) in self.queue:
            self._discard(too_old)
        if self.version % self.config.sync_every_updates == 0:
            self._send_weights()
        interval = self.config.checkpoint_interval_seconds
        if interval is not None and self.time - self.saved_at >= interval:
            self.trainer = CHECKPOINT
            self._at(self.time + self.config.checkpoint_seconds, _Loop._saved)

    def _send_weights(self) -> None:
        """Send the new weights over the link, one publication after the other."""
        self.publishing += 1
        self.link_free_at = max(self.link_free_at, self.time) + self.config.publish_seconds
        self._at(self.link_free_at, _Loop._publish, self.version)

    def _publish(self, version: int) -> None:
        """Let the next rollouts be sampled with these weights."""
        self.publishing -= 1
        self.publications += 1
        self.published = version
        self._note("publish", -1, 0, version)

    # --- checkpoints and failures --------------------------------------------------------------------------------

    def _saved(self, _: None) -> None:
        """End a checkpoint: from now on a failure goes back to this version."""
        self.trainer = WAITING
        self.saved, self.saved_at = self.version, self.time
        self.checkpoints += 1
        self._note("checkpoint", -1, 0, self.version)

    def _fail(self, _: None) -> None:
        """Lose what is in flight, in the queue and in the trainer, and every update since the last checkpoint."""
        undone = sum(batch.tokens for batch in self.batches[self.saved :])
        self._note("failure", -1, undone, self.version)
        self.failures += 1
        self.interrupted += self.in_flight
        self.lost_updates += self.version - self.saved
        self.lost_tokens += self.queue_tokens + self.training_tokens + undone
        self.trained_tokens -= undone
        del self.batches[self.saved :]
        for pending in (self.heap, self.queue, self.waiting):
            pending.clear()
        self.in_flight = self.in_flight_tokens = self.queue_tokens = self.training_tokens = self.publishing = 0
        self.trainer = DOWN
        self._at(self.time + self.config.restart_seconds, _Loop._start_up)

    def _start_up(self, _: None) -> None:
        """Begin at the last checkpoint, on every machine; the next failure is drawn."""
        self.version = self.published = self.saved
        self.saved_at = self.link_free_at = self.time
        self.trainer = WAITING
        self.waiting.extend(range(self.config.workers))
        self._note("restart", -1, 0, self.version)
        for seconds in self.uptimes:
            self._at(self.time + seconds, _Loop._fail)
            break

    # --- the books -----------------------------------------------------------------------------------------------

    def _note(self, kind: str, worker: int, tokens: int, version: int) -> None:
        if self.trace is not None:
            self.trace.append(Event(self.time, kind, worker, tokens, version))

    def _sample(self) -> None:
        """Add a row to the timeline, and set the time of the next."""
        self.timeline.append(
            {
                "time": self.next_sample,
                "queue_tokens": self.queue_tokens,
                "in_flight_tokens": self.in_flight_tokens,
                "trained_tokens": self.trained_tokens,
            }
        )
        taken, samples = len(self.timeline), self.config.timeline_samples
        self.next_sample = self.config.duration_seconds * taken / samples if taken <= samples else math.inf

    def _result(self) -> PipelineResult:
        return PipelineResult(
            config=self.config,
            batches=tuple(self.batches),
            timeline=tuple(self.timeline),
            events=tuple(self.trace or ()),
            generated_tokens=self.generated_tokens,
            discarded_tokens=self.discarded_tokens,
            queued_tokens=self.queue_tokens,
            training_tokens=self.training_tokens,
            lost_tokens=self.lost_tokens,
            finished_rollouts=self.finished,
            discarded_rollouts=self.discarded,
            interrupted_rollouts=self.interrupted,
            publications=self.publications,
            checkpoints=self.checkpoints,
            failures=self.failures,
            lost_updates=self.lost_updates,
            max_queue_tokens_observed=self.max_queue_tokens,
            trainer_seconds=self.trainer_seconds,
            workers_waiting_seconds=self.workers_waiting_seconds,
            publishing_seconds=self.publishing_seconds,
        )
