"""The topics of the course, in reading order.

A topic's name is the axis of the whole project: the notebook, the module of what notebooks hand out, the
reference, the tasks and the check data of a topic all carry it. To add a topic, add its files and one line here.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Topic:
    """One topic: one nbgrader assignment with one notebook."""

    name: str
    title: str

    @property
    def module(self) -> str:
        """The name of the topic's module in every package (`kv-cache` is `kv_cache`)."""
        return self.name.replace("-", "_")


TOPICS = (
    Topic("records", "Roles, protocols and the rollout record"),
    Topic("memory", "Bytes per parameter"),
    Topic("kv-cache", "The KV cache"),
    Topic("pipelines", "Pipelines, stragglers and queues"),
    Topic("ess", "Importance weights"),
    Topic("lag", "Lag and weight publication"),
    Topic("checkpoints", "Checkpoints and recovery"),
    Topic("lab", "The whole loop"),
)


def find_topic(name: str) -> Topic:
    """Return the topic of that name; raise `LookupError` that lists the topics there are."""
    for topic in TOPICS:
        if topic.name == name:
            return topic
    raise LookupError(f"there is no topic {name!r}; the topics are {', '.join(topic.name for topic in TOPICS)}")
