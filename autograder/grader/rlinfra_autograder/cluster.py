"""A batch over Dask: the workers of a cluster behind the executor that a pool of workers asks for.

All workers are asked whether they are fit (`fitness`) when a batch begins, and each again before its first chunk, since
workers may join later.
"""

from __future__ import annotations

import logging
import time
import warnings
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from .fitness import ClusterError, Terms, end_batch, grade_as_agreed, unfit

if TYPE_CHECKING:
    from collections.abc import Callable

    from .jobs import Settings

CHUNK = 4  # submissions a task at most: seconds of work, so that Dask's milliseconds do not count
_ANSWER_SECONDS = 5
_PATIENCE_SECONDS = 60.0  # for the last worker to come back
_GO_ON = "what is graded is kept, and the same command goes on"


class Cluster:
    """A connection to a Dask scheduler and its workers; used as a context, or closed in the end.

    Raises `ClusterError` where there is no scheduler, or no worker.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._agreed: tuple[Settings, Terms] | None = None
        self._client = _connected(address)
        self._empty_since: float | None = None
        try:
            self._client.wait_for_workers(1, timeout=_ANSWER_SECONDS)
            self.workers: int = sum(self._client.nthreads().values())
        except Exception as error:
            self.close()
            raise ClusterError(
                f"the Dask scheduler at {address} has no workers: start some (dask worker {address})"
            ) from error

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def agree(self, settings: Settings, terms: Terms) -> None:
        """Say what is graded with. Raises `ClusterError` with the first worker that finds anything else, and what."""
        self._agreed = settings, terms
        said = self._client.run(unfit, settings, terms, on_error="return")
        for worker, why in sorted(said.items()):
            if isinstance(why, BaseException):
                raise ClusterError(_cannot(worker, why)) from why
            if why:
                raise ClusterError(f"the Dask worker {worker} {why}")

    def start(self) -> Executor:
        """Return an executor over the workers, in the way of `concurrent.futures`."""
        assert self._agreed is not None
        return _FitWorkers(self._client, self._address, self._agreed[1])

    def chunk(self, jobs: int) -> int:
        """Return how many of so many jobs go into one task: few enough that every worker has some to the end."""
        return max(1, min(CHUNK, jobs // (2 * self.workers)))

    def look(self) -> None:
        """Raise `ClusterError` where there has been no worker for a while, or the scheduler is gone."""
        try:
            workers = self._client.nthreads()
        except Exception as error:
            raise ClusterError(_gone(self._address)) from error
        now = time.monotonic()
        self._empty_since = None if workers else self._empty_since or now
        if self._empty_since is not None and now - self._empty_since > _PATIENCE_SECONDS:
            raise ClusterError(f"no worker is left at {self._address}: {_GO_ON}")

    def close(self) -> None:
        """Leave the cluster, and nothing of the batch in its workers."""
        with suppress(Exception):  # what is gone holds nothing of ours
            if self._agreed is not None:
                settings, terms = self._agreed
                self._client.run(end_batch, terms.batch, settings, on_error="ignore")
            self._client.close(timeout=_ANSWER_SECONDS)


def _connected(address: str) -> Any:
    """Return a client of the scheduler at an address."""
    try:
        from distributed import Client  # noqa: PLC0415 - an extra, and slow to import
        from distributed.comm import get_address_host_port  # noqa: PLC0415
    except ImportError as error:
        raise ClusterError("--dask needs Dask: pip install 'rlinfra-autograder[dask]'") from error
    for name in [one for one in logging.root.manager.loggerDict if one.startswith("distributed")]:
        logging.getLogger(name).setLevel(logging.CRITICAL)  # what is wrong, we say ourselves
    try:
        get_address_host_port(address)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Client(address, timeout=_ANSWER_SECONDS, set_as_default=False, name="rlinfra-grade")
    except (OSError, ValueError) as error:
        raise ClusterError(
            f"there is no Dask scheduler at {address}: --dask takes the address that `dask scheduler` prints, "
            "such as tcp://127.0.0.1:8786"
        ) from error


class _FitWorkers(Executor):
    """Dask's own executor, with our terms in every task and our errors in every future."""

    def __init__(self, client: Any, address: str, terms: Terms) -> None:
        self._theirs = client.get_executor(pure=False)
        self._address, self._terms = address, terms

    def submit(self, fn: Callable[..., Any], /, *args: Any, **_: Any) -> Future[Any]:
        """Return the future of a chunk. Its worker lost, again and again: `BrokenExecutor`."""
        mine: Future[Any] = Future()
        theirs = self._theirs.submit(grade_as_agreed, self._terms, fn, *args)
        theirs.add_done_callback(partial(self._hand_on, mine))
        return mine

    def _hand_on(self, mine: Future[Any], theirs: Future[Any]) -> None:
        from distributed import KilledWorker  # noqa: PLC0415

        try:
            mine.set_result(theirs.result())
        except CancelledError:
            mine.set_exception(ClusterError(_gone(self._address)))
        except KilledWorker as error:
            mine.set_exception(BrokenExecutor(str(error)))
        except ClusterError as error:
            mine.set_exception(error)
        except Exception as error:
            mine.set_exception(ClusterError(_cannot("", error)))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Cancel what is in flight, or wait for it."""
        self._theirs.shutdown(wait=wait and not cancel_futures)


def _gone(address: str) -> str:
    return f"the Dask scheduler at {address} is gone: {_GO_ON}"


def _cannot(worker: str, error: BaseException) -> str:
    who = f"the Dask worker {worker}" if worker else "a Dask worker"
    return f"{who} cannot grade ({type(error).__name__}: {error}): it needs the staff's packages, as here"
