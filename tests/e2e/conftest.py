"""A Dask cluster on this machine, for the tests that grade over one."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def cluster():
    """One worker process, whose two threads share a runner. Killed, it is started anew; Dask tries no task twice."""
    import dask
    from distributed import LocalCluster

    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        LocalCluster(n_workers=1, threads_per_worker=2, processes=True, dashboard_address=None) as found,
    ):
        yield found
