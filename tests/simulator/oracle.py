"""The same loop as a SimPy program: processes that wait, where the course's has a heap and handlers.

It shares the configuration and the drawn rollouts with `rlinfra.simulator`, and no code of its loop.
"""

from __future__ import annotations

import contextlib
import math
from bisect import bisect_left
from collections import Counter, deque
from dataclasses import dataclass, field
from itertools import accumulate
from statistics import NormalDist

import simpy

from rlinfra.simulator import PipelineConfig
from rlinfra.simulator.workload import completion_tokens, rollout_draws, uptimes


@dataclass(slots=True)
class Rollout:
    tokens: int
    version: int
    noise: float


NOISE = [round(NormalDist().inv_cdf((place + 0.5) / 4096), 9) for place in range(4096)]


@dataclass
class Oracle:
    """A run of `config`: what is noted as (time, kind, worker, tokens, version), the batches, and the totals."""

    config: PipelineConfig
    notes: bool = True
    events: list = field(default_factory=list)
    batches: list = field(default_factory=list)
    totals: Counter = field(default_factory=Counter)

    def __post_init__(self):
        self.env = simpy.Environment()
        self.lengths = completion_tokens(self.config)
        self.draws = [rollout_draws(self.config, number) for number in range(self.config.workers)]
        self.saved = []
        self.env.process(self.operations())
        self.env.run(until=self.config.duration_seconds)
        for since in (*self.pauses.values(), *self.barrier.values()):
            self.totals["waited"] += self.config.duration_seconds - since
        self.totals["queued"] = sum(rollout.tokens for rollout in self.queue)
        self.totals["training"] = sum(rollout.tokens for rollout in self.batch)

    def note(self, kind, worker=-1, tokens=0, version=0):
        if self.notes:
            self.events.append((self.env.now, kind, worker, tokens, version))

    # --- the whole: from start to failure, again and again -------------------------------------------------------

    def operations(self):
        times = uptimes(self.config)
        while True:
            self.begin()
            uptime = next(times, None)
            if uptime is None:
                return
            yield self.env.timeout(uptime)
            self.fail()
            yield self.env.timeout(self.config.restart_seconds)

    def begin(self):
        self.batches = list(self.saved)
        self.version = self.published = len(self.saved)
        self.saved_at = self.env.now
        self.queue, self.batch, self.gates, self.pauses, self.barrier = [], [], deque(), {}, {}
        self.queue_tokens = self.busy_workers = 0
        self.wake = None
        self.link = simpy.Resource(self.env)
        self.alive = []
        self.note("restart", version=self.version)
        if self.config.mode == "sequential":
            self.go(self.rounds())
        else:
            self.go(self.trainer())
            for number in range(self.config.workers):
                self.go(self.worker(number))

    def go(self, steps):
        def until_failure():
            with contextlib.suppress(simpy.Interrupt):
                yield from steps

        process = self.env.process(until_failure())
        self.alive = [other for other in self.alive if other.is_alive] if len(self.alive) > 10_000 else self.alive
        self.alive.append(process)
        return process

    def fail(self):
        undone = sum(tokens for tokens, *_ in self.batches[len(self.saved) :])
        self.note("failure", tokens=undone, version=self.version)
        for process in self.alive:
            if process.is_alive:
                process.interrupt()
        for since in (*self.pauses.values(), *self.barrier.values()):
            self.totals["waited"] += self.env.now - since
        self.totals["lost"] += undone + sum(rollout.tokens for rollout in self.queue + self.batch)
        self.totals["interrupted"] += self.busy_workers
        self.queue, self.batch, self.pauses, self.barrier = [], [], {}, {}

    # --- the workers ---------------------------------------------------------------------------------------------

    def rollout(self, number):
        draw = next(self.draws[number])
        tokens, version = self.lengths[draw // 2**20], self.published
        self.note("start", number, tokens, version)
        self.busy_workers += 1
        yield self.env.timeout(self.config.rollout_seconds(tokens))
        self.busy_workers -= 1
        self.note("finish", number, tokens, version)
        self.totals["generated"] += tokens
        self.totals["finished"] += 1
        if self.version - version > self.config.max_policy_lag:
            self.discard([Rollout(tokens, version, 0.0)])
            return
        self.queue.append(Rollout(tokens, version, NOISE[draw // 2**8 % 2**12]))
        self.queue_tokens += tokens
        self.totals["deepest"] = max(self.totals["deepest"], self.queue_tokens)

    def worker(self, number):
        while True:
            yield from self.rollout(number)
            trainer_takes_it = self.wake is not None and self.queue_tokens >= self.config.batch_tokens
            if trainer_takes_it and not self.wake.triggered:
                self.wake.succeed()
            if trainer_takes_it or self.queue_tokens >= self.config.max_queue_tokens:
                gate = self.env.event()
                self.gates.append((number, gate))
                self.pauses[number] = self.env.now
                yield gate

    def open_gates(self):
        if self.queue_tokens < self.config.max_queue_tokens:
            while self.gates:
                number, gate = self.gates.popleft()
                self.totals["waited"] += self.env.now - self.pauses.pop(number)
                gate.succeed()

    def collect(self, number):
        while self.queue_tokens < self.config.batch_tokens:
            yield from self.rollout(number)
        self.barrier[number] = self.env.now

    # --- the trainer ---------------------------------------------------------------------------------------------

    def trainer(self):
        while True:
            while self.queue_tokens < self.config.batch_tokens:
                self.wake = self.env.event()
                self.open_gates()
                yield self.wake
            self.wake = None
            by_age = sorted(self.queue, key=lambda rollout: rollout.version)
            totals = list(accumulate(rollout.tokens for rollout in by_age))
            taken = bisect_left(totals, self.config.batch_tokens) + 1
            self.queue, self.queue_tokens = by_age[taken:], totals[-1] - totals[taken - 1]
            self.open_gates()
            yield from self.update(by_age[:taken])
            if self.checkpoint_is_due():
                self.open_gates()
                yield from self.checkpoint()

    def rounds(self):
        while True:
            for since in self.barrier.values():
                self.totals["waited"] += self.env.now - since
            self.barrier = {}
            yield simpy.AllOf(self.env, [self.go(self.collect(number)) for number in range(self.config.workers)])
            batch, self.queue, self.queue_tokens = self.queue, [], 0
            under_way = [(yield from self.update(batch))]
            if self.checkpoint_is_due():
                under_way.append(self.go(self.checkpoint()))
            yield simpy.AllOf(self.env, [process for process in under_way if process is not None])

    def update(self, batch):
        begun, self.batch = self.env.now, batch
        lags = [self.version - rollout.version for rollout in batch]
        self.note("train", tokens=sum_of(batch), version=self.version)
        yield self.env.timeout(self.config.train_seconds(sum_of(batch)))
        self.batch = []
        self.version += 1
        weights = [self.weight(rollout, lag) for rollout, lag in zip(batch, lags, strict=True)]
        ess = sum(weights) ** 2 / sum(weight**2 for weight in weights)
        self.batches.append((sum_of(batch), begun, self.env.now, Counter(lags), ess / len(batch)))
        self.note("update", tokens=sum_of(batch), version=self.version)
        self.discard([one for one in self.queue if self.version - one.version > self.config.max_policy_lag])
        self.queue = [one for one in self.queue if self.version - one.version <= self.config.max_policy_lag]
        self.queue_tokens = sum_of(self.queue)
        if self.version % self.config.sync_every_updates == 0:
            return self.go(self.publish(self.version))
        return None

    def weight(self, rollout, lag):
        sigma = math.hypot(self.config.mismatch_sigma, self.config.lag_sigma * math.sqrt(lag))
        return math.exp(sigma * rollout.noise - sigma * sigma / 2)

    def discard(self, rollouts):
        if rollouts:
            self.totals["discarded"] += sum_of(rollouts)
            self.totals["discards"] += len(rollouts)
            self.note("discard", -1, sum_of(rollouts), rollouts[0].version)

    def publish(self, version):
        with self.link.request() as turn:
            yield turn
            yield self.env.timeout(self.config.publish_seconds)
        self.published = version
        self.totals["publications"] += 1
        self.note("publish", version=version)

    def checkpoint_is_due(self):
        interval = self.config.checkpoint_interval_seconds
        return interval is not None and self.env.now - self.saved_at >= interval

    def checkpoint(self):
        yield self.env.timeout(self.config.checkpoint_seconds)
        self.saved, self.saved_at = list(self.batches), self.env.now
        self.note("checkpoint", version=self.version)


def sum_of(rollouts):
    return sum(rollout.tokens for rollout in rollouts)
