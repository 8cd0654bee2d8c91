"""What the notebook of the topic `lag` hands out: completions that finish at one moment."""

from __future__ import annotations

import pytest

from rlinfra.given.lag import finished_records


def test_longer_completions_began_under_older_versions():
    records = finished_records([499, 500, 2_600], tokens_per_second=50, update_seconds=10, trainer_version=20)
    assert records == [
        {"id": "r1", "version": 20, "tokens": 499},
        {"id": "r2", "version": 19, "tokens": 500},
        {"id": "r3", "version": 15, "tokens": 2_600},
    ]


@pytest.mark.parametrize(
    ("name", "bad"),
    [("lengths", [-1]), ("tokens_per_second", 0), ("update_seconds", -10), ("trainer_version", True)],
)
def test_senseless_arguments_are_refused_by_name(name, bad):
    arguments = {"lengths": [100], "tokens_per_second": 50, "update_seconds": 10, "trainer_version": 20, name: bad}
    with pytest.raises(ValueError, match=name):
        finished_records(**arguments)


def test_a_completion_cannot_have_begun_before_version_0():
    with pytest.raises(ValueError, match="trainer_version"):
        finished_records([4_000], tokens_per_second=50, update_seconds=10, trainer_version=7)
