"""Jobs: the one loop that runs them, in processes or on a dask cluster, and the progress bar."""

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
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from superarm.reporting import RequestError

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "StartExecutor",
    "Step",
    "bar",
    "dask_workers",
    "processes",
    "run_all",
]

Job = TypeVar("Job")
Result = TypeVar("Result")

StartExecutor = Callable[[], AbstractContextManager[Executor]]
# Called as step(label) or step(label, weight) whenever something is finished.
Step = Callable[..., None]

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_MOST_RESTARTS = 3  # without a finished job in between: then the jobs themselves kill workers
_WIDE = 72  # columns of a terminal in which the whole bar can be shown


def run_all(
    work: Callable[[Job], Result],
    jobs: dict[str, Job],
    *,
    start: StartExecutor | None = None,
) -> Iterator[tuple[Job, Result]]:
    """Run ``work`` on every job. Yields each job with its result as soon as the result is there.

    Parameters
    ----------
    work
        A function of one job, picklable where the executor has other processes.
    jobs
        By key. Finished jobs are removed, so that the dictionary always holds what is left.
    start
        Starts an executor. Without it, jobs run here, one after the other. When a worker dies and
        breaks its executor, a new executor is started for the jobs that are left.
    """
    if start is None:
        # A copy, because finished jobs are removed from the dictionary.
        for key, job in list(jobs.items()):
            yield job, work(job)
            del jobs[key]
        return
    deaths = 0
    while jobs:
        before = len(jobs)
        try:
            with start() as executor:
                yield from _run_on(executor, work, jobs)
        except BrokenExecutor:
            # Progress resets the count: a long study may well lose a worker now and then.
            deaths = deaths + 1 if len(jobs) == before else 0
            if deaths == _MOST_RESTARTS:
                raise BrokenExecutor(
                    f"workers died {deaths} times in a row with {len(jobs)} cells to go: "
                    f"out of memory? Run again with fewer workers"
                ) from None


def _run_on(
    executor: Executor, work: Callable[[Job], Result], jobs: dict[str, Job]
) -> Iterator[tuple[Job, Result]]:
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
            yield jobs[key], result
            del jobs[key]
    finally:
        for future in futures:
            future.cancel()
    if failure is not None:
        raise failure


@contextmanager
def processes(workers: int) -> Iterator[Executor]:
    """Local worker processes, which use one BLAS thread each: together they use all cores."""
    before = {name: os.environ.get(name) for name in _THREADS}
    # BLAS reads these variables when numpy is loaded, so this process is not affected.
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    # Spawned, not forked: a fork copies locks and threads of BLAS in an unknown state.
    context = multiprocessing.get_context("spawn")
    try:
        with ProcessPoolExecutor(workers, context, initializer=_end_with_parent) as executor:
            yield executor
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


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


def dask_workers(address: str, versions: Callable[[], dict[str, str]]) -> Executor:
    """The workers of a dask scheduler. Needs ``superarm[dask]``.

    ``versions`` is called on every worker. A worker whose answer differs from the answer here
    would record different rows, and is refused.
    """
    import distributed

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
def bar(
    console: Console | None,
    unit: str | None,
    *,
    n_steps: int = 1,
    total: float | None = None,
    transient: bool = False,
) -> Iterator[Step]:
    """A progress bar on a console, or nothing without one.

    Parameters
    ----------
    console
        Where the bar is shown.
    unit
        What is counted ("cells", "runs"); None shows the percentage instead of a count.
    n_steps
        How many steps there will be.
    total
        The sum of the weights of all steps; ``n_steps`` by default. Steps of different length
        have different weights, so that the remaining time is right.
    transient
        Remove the bar at the end.
    """
    if console is None:
        yield lambda label, weight=1.0: None
        return
    from rich.progress import (
        BarColumn,
        Progress,
        ProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    count = (
        "{task.percentage:>3.0f}%," if unit is None else f"{{task.fields[done]}}/{n_steps} {unit},"
    )
    columns: tuple[ProgressColumn, ...] = (
        # Fixed width, so that the bar does not jump. No markup: labels may have brackets.
        TextColumn("{task.description:<26}", markup=False),
        BarColumn(),
        TextColumn(count),
        TimeElapsedColumn(),
        TextColumn("elapsed,"),
        TimeRemainingColumn(),
        TextColumn("left"),
    )
    if console.width < _WIDE:  # a number that is cut is another number
        columns = (TextColumn(count.rstrip(",")),)
    with Progress(*columns, console=console, transient=transient) as shown:
        task = shown.add_task("", total=n_steps if total is None else total, done=0)

        def step(label: str, weight: float = 1.0) -> None:
            done = shown.tasks[0].fields["done"] + 1
            shown.update(task, advance=weight, description=label, done=done)

        yield step
