"""The one loop that runs jobs on an executor: local processes or a dask cluster."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    as_completed,
)
from contextlib import contextmanager
from typing import Any, TypeVar

from superarm.reporting import RequestError

__all__ = ["StartExecutor", "dask_workers", "one_blas_thread", "processes", "run_all"]

Job = TypeVar("Job")
Result = TypeVar("Result")

StartExecutor = Callable[[], Executor]

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_MOST_RESTARTS = 3  # without a finished job in between: then the jobs themselves kill workers


def run_all(
    work: Callable[[Job], Result],
    jobs: dict[str, Job],
    done: Callable[[Job, Result], None],
    *,
    start: StartExecutor | None = None,
) -> None:
    """Run ``work`` on every job, and hand each result to ``done`` as soon as it is there.

    Parameters
    ----------
    work
        A function of one job, picklable where the executor has other processes.
    jobs
        By key. Finished jobs are removed, so that the dictionary always holds what is left.
    done
        Called in this process, in the order in which jobs finish.
    start
        Starts an executor. Without it, jobs run here, one after the other. When a worker dies and
        breaks its executor, a new executor is started for the jobs that are left.
    """
    if start is None:
        # A copy, because finished jobs are removed from the dictionary.
        for key, job in list(jobs.items()):
            done(job, work(job))
            del jobs[key]
        return
    deaths = 0
    while jobs:
        before = len(jobs)
        try:
            with start() as executor:
                _run_on(executor, work, jobs, done)
        except BrokenExecutor:
            # Progress resets the count: a long study may well lose a worker now and then.
            deaths = deaths + 1 if len(jobs) == before else 0
            if deaths == _MOST_RESTARTS:
                raise RuntimeError(
                    f"workers died {deaths} times in a row with {len(jobs)} cells to go: "
                    f"out of memory? Finished cells are kept; run again with fewer workers"
                ) from None


def _run_on(
    executor: Executor,
    work: Callable[[Job], Result],
    jobs: dict[str, Job],
    done: Callable[[Job, Result], None],
) -> None:
    futures = {executor.submit(work, job): key for key, job in jobs.items()}
    failure: BaseException | None = None
    try:
        for future in as_completed(futures):
            key = futures[future]
            try:
                result = future.result()
            except CancelledError:
                continue
            except Exception as error:
                # Jobs that are under way are still worth having. Jobs that wait are not begun.
                failure = failure or error
                for other in futures:
                    other.cancel()
                continue
            done(jobs[key], result)
            del jobs[key]
    finally:
        for future in futures:
            future.cancel()
    if failure is not None:
        raise failure


def processes(workers: int) -> StartExecutor:
    """How to start local worker processes."""
    # Spawned, not forked: a fork copies locks and threads of BLAS in an unknown state.
    context = multiprocessing.get_context("spawn")
    return lambda: ProcessPoolExecutor(workers, context, initializer=_end_with_parent)


def _end_with_parent() -> None:
    """End this process when its parent has ended.

    A parent that is killed can't tell its workers to stop. They would go on with the jobs that
    they have, beside the jobs of a command that continues, and disturb whatever is timed.
    """

    def wait() -> None:
        parent = multiprocessing.parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def dask_workers(address: str, versions: Callable[[], dict[str, str]]) -> StartExecutor:
    """How to reach the workers of a dask scheduler. Needs ``superarm[dask]``.

    ``versions`` is called on every worker. A worker whose answer differs from the answer here
    would record different rows, and is refused.
    """
    import distributed

    def start() -> Executor:
        connect: Callable[..., Any] = distributed.Client
        client = connect(address, set_as_default=False)
        for worker, found in client.run(versions).items():
            # Checked on every worker: a cluster may have been updated in part.
            if found != versions():
                client.close()
                raise RequestError(
                    f"the dask worker {worker} must have {versions()}, as here, but has {found}"
                )
        return _DaskExecutor(client)

    return start


class _DaskExecutor(Executor):
    """A dask client as an executor that closes its connection and leaves the cluster running."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._executor = client.get_executor(pure=False, retries=_MOST_RESTARTS)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return self._executor.submit(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._executor.shutdown(wait=wait)
        self._client.close()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Processes that are started inside use one BLAS thread each.

    BLAS reads these variables when numpy is loaded, so this process is not affected.
    """
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
