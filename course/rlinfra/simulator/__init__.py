"""A rollout loop in simulated time: workers, a token queue, a trainer, and the publication of its weights.

The model in one paragraph. Each *worker* generates one completion at a time with the newest *published* policy version.
What it finishes goes into a *queue*. The *trainer* takes a batch of at least `batch_tokens` from it, the oldest version
first, and each *update* makes the next version. Every `sync_every_updates` updates the weights are published, which
takes a while. The *lag* of a rollout is the number of updates between the weights that sampled it and those that train
on it; what lags more than `max_policy_lag` is discarded. In the mode `"bounded_async"` all of this overlaps, and
workers pause while the queue holds `max_queue_tokens` or more. In the mode `"sequential"` it happens by turns.

    result = simulate_pipeline(PipelineConfig(mode="bounded_async", duration_seconds=120))
    result.trained_tokens_per_second

Where to read on: `config` has every quantity with its unit, `workload` the drawn lengths, `loop` the events, `result`
what comes out. All of it is made up for the course: it shows mechanisms and is no benchmark of any framework. It leaves
out memory, groups of completions, weights that change inside a completion, and workers that slow each other down.
"""

from .config import MODES, PipelineConfig
from .loop import simulate_pipeline
from .result import Batch, Event, PipelineResult, pipeline_metrics, result_row

__all__ = [
    "MODES",
    "Batch",
    "Event",
    "PipelineConfig",
    "PipelineResult",
    "pipeline_metrics",
    "result_row",
    "simulate_pipeline",
]
