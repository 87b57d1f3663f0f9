"""Running cells side by side: any executor, any order, the same rows; what is finished is never lost."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from typing import Any

from superarm.experiments.catalogue import run_cell
from superarm.experiments.cell import Cell
from superarm.experiments.store import Store

StartExecutor = Callable[[], Executor]

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_MOST_RESTARTS = 3


def run_cells(
    cells: Sequence[Cell],
    store: Store,
    *,
    start: StartExecutor | None = None,
    progress: Callable[[Cell], None] | None = None,
) -> None:
    """Run the cells that the store does not have, and store each as it finishes.

    ``start`` gives an executor; without it they run here, one after the other. Where a worker dies and takes its
    executor with it, a new one is started for what is left; three deaths in a row without a finished cell end it.
    """
    report = progress or (lambda cell: None)
    left = {cell.key: cell for cell in cells if not store.has(cell)}
    if start is None:
        for cell in left.values():
            store.put(cell, run_cell(cell))
            report(cell)
        return
    deaths = 0
    while left:
        before = len(left)
        try:
            with start() as executor:
                _run_all(executor, left, store, report)
        except BrokenExecutor:
            deaths = deaths + 1 if len(left) == before else 0
            if deaths == _MOST_RESTARTS:
                raise RuntimeError(
                    f"workers died {deaths} times in a row with {len(left)} cells to go: out of memory? "
                    f"What is finished is kept; run again with fewer workers to go on"
                ) from None


def processes(workers: int) -> StartExecutor | None:
    """How to start so many worker processes; None, which means here, for one."""
    if workers == 1:
        return None
    return lambda: ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))


def dask_workers(address: str) -> StartExecutor:
    """How to reach the workers of a dask scheduler. Needs ``superarm[dask]``."""
    import distributed

    def start() -> Executor:
        connect: Callable[..., Any] = distributed.Client
        return _DaskExecutor(connect(address, set_as_default=False))

    return start


class _DaskExecutor(Executor):
    """A dask client as an executor that ends its connection, and leaves the cluster running."""

    def __init__(self, client: Any) -> None:
        self._client, self._executor = client, client.get_executor(pure=False, retries=_MOST_RESTARTS)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return self._executor.submit(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._executor.shutdown(wait=wait)
        self._client.close()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Processes started meanwhile use one thread each: they read these variables when they load numpy."""
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


def _run_all(executor: Executor, left: dict[str, Cell], store: Store, report: Callable[[Cell], None]) -> None:
    futures = {executor.submit(run_cell, cell): cell for cell in left.values()}
    try:
        for future in as_completed(futures):
            cell = futures[future]
            store.put(cell, future.result())
            del left[cell.key]
            report(cell)
    except BaseException:
        for future in futures:
            future.cancel()
        raise
