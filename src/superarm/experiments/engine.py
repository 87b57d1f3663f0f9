"""Running cells side by side: any executor, any order, the same rows; what is finished is never lost."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    as_completed,
)
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import scipy

import superarm
from superarm.experiments.catalogue import RequestError, run_cell
from superarm.experiments.cell import Cell
from superarm.experiments.store import Store

StartExecutor = Callable[[], Executor]

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_MOST_RESTARTS = 3

# Modules that show rows and don't make them: they may change between a run and its report.
_PRESENTATION = {
    "cli",
    "claims",
    "comparing_cli",
    "demo",
    "figures",
    "page",
    "picture",
    "report",
    "reproduce",
}
_APART = {"bench", "client", "service"}  # packages that no experiment uses


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


def processes(workers: int) -> StartExecutor:
    """How to start so many worker processes."""
    return lambda: ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))


def dask_workers(address: str) -> StartExecutor:
    """How to reach the workers of a dask scheduler. Needs ``superarm[dask]``."""
    import distributed

    def start() -> Executor:
        connect: Callable[..., Any] = distributed.Client
        client = connect(address, set_as_default=False)
        for worker, found in client.run(versions).items():
            if found != versions():
                client.close()
                raise RequestError(
                    f"the dask worker {worker} must have {versions()}, as here, but has {found}"
                )
        return _DaskExecutor(client)

    return start


def versions() -> dict[str, str]:
    """What decides the rows besides the settings: the program, and the libraries that draw and add."""
    sources = sorted(Path(superarm.__file__).parent.rglob("*.py"))
    used = [
        path
        for path in sources
        if path.stem not in _PRESENTATION and path.parent.name not in _APART
    ]
    code = hashlib.sha256(b"".join(path.read_bytes() for path in used)).hexdigest()
    return {
        "superarm": superarm.__version__,
        "code": code[:16],
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }


class _DaskExecutor(Executor):
    """A dask client as an executor that ends its connection, and leaves the cluster running."""

    def __init__(self, client: Any) -> None:
        self._client, self._executor = (
            client,
            client.get_executor(pure=False, retries=_MOST_RESTARTS),
        )

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


def _run_all(
    executor: Executor, left: dict[str, Cell], store: Store, report: Callable[[Cell], None]
) -> None:
    futures = {executor.submit(run_cell, cell): cell for cell in left.values()}
    failure: BaseException | None = None
    try:
        for future in as_completed(futures):
            cell = futures[future]
            try:
                recorded = future.result()
            except CancelledError:
                continue
            except Exception as error:
                # Those that are under way are still worth having; those that have not begun are not begun.
                failure = failure or error
                for other in futures:
                    other.cancel()
                continue
            store.put(cell, recorded)
            del left[cell.key]
            report(cell)
    finally:
        for future in futures:
            future.cancel()
    if failure is not None:
        raise failure
