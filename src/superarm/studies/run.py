"""The one runner: any executor, any order, the same rows; a finished cell is never lost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from superarm.reporting import need
from superarm.reporting.executors import (
    StartExecutor,
    dask_workers,
    one_blas_thread,
    processes,
    run_all,
)
from superarm.reporting.progress import bar
from superarm.studies import batched, cells
from superarm.studies.cell import Cell, Recorded
from superarm.studies.code import versions
from superarm.studies.machine import Watch
from superarm.studies.store import Recording
from superarm.studies.study import Rows

if TYPE_CHECKING:
    from rich.console import Console

# Rough seconds, measured once, for `cost`: per round, per arm, per test and arm, per sparse test.
_ROUND_S, _ARM_S, _TEST_ARM_S, _SPARSE_TEST_S = 1.5e-4, 1.5e-7, 8e-10, 1e-6
# Of a round with a network, and of a call for a single set.
_NETWORK_S, _CALL_S = 3e-4, 1e-5
_TYPICAL_TESTS = 300  # where the number of tests is a rule
# What a round takes beyond that, with oracles that do more than to sort or to test.
_ORACLE_S = {
    "cts-greedy": 4e-3,
    "cts-lazy": 1e-3,
    "cts-lazy-greedy": 2e-2,
    "cts-local-search": 1e-2,
    "cts-rarely": 1e-3,
    "gt-qts-regression": 3e-3,
}
_KIND_S = {"signal": 10.0}  # other kinds are short, so that a wrong guess does not matter

Progress = Callable[[Cell], None]


def run_cell(cell: Cell) -> Recorded:
    """Run one cell, in whichever process this is called; note when, where and how long it ran."""
    watch = Watch()
    name = f"{cells.__name__}.{cell.kind}"
    # Checked first: an ImportError inside a runner must not be taken for a missing runner.
    if find_spec(name) is None:
        raise ValueError(f"cells of the kind {cell.kind!r} have no runner: there is no {name}")
    recorded: Recorded = import_module(name).run(cell)
    return Recorded(recorded.row, {**recorded.times, **watch.times()})


def run_cells(
    wanted: Iterable[Cell],
    store: Recording,
    *,
    start: StartExecutor | None = None,
    progress: Progress | None = None,
) -> None:
    """Run the cells that the store does not have, and store each as soon as it finishes."""

    def done(cell: Cell, recorded: Recorded) -> None:
        store[cell.key] = recorded
        if progress is not None:
            progress(cell)

    # By key, so that a cell that stands in two sweeps is played once.
    left = {cell.key: cell for cell in wanted if cell.key not in store}
    run_all(run_cell, left, done, start=start)


def record(
    sweeps: Mapping[str, Sequence[Cell]],
    store: Recording,
    *,
    unit: str = "cells",
    workers: int = 0,
    dask: str | None = None,
    engine: str = "process",
    console: Console | None = None,
) -> None:
    """Record every cell that the store does not have yet, with a progress bar on the console.

    Cells that studies share run once. Expensive cells come first, so that all workers finish at
    about the same time. Timed cells come last, one at a time in a process of their own, so that
    nothing runs beside them.

    Parameters
    ----------
    sweeps, store
        The cells by study, and where they are recorded.
    unit
        What the progress bar calls a cell. The bar advances by estimated seconds, so that expensive
        cells count for more.
    workers, dask
        The number of processes, where 0 runs the cells in this one; or the address of a dask
        scheduler to use instead.
    engine
        "batch" and "torch" play the runs of a setting together where they can; the other cells are
        played one by one.
    console
        Where to show progress.
    """
    distinct = {cell.key: cell for sweep in sweeps.values() for cell in sweep}
    # Only what is left to run: a resumed study starts at 0% of the rest.
    left = [cell for key, cell in distinct.items() if key not in store]
    left.sort(key=cost, reverse=True)
    start = processes(workers) if workers else None
    if dask is not None:
        need("distributed", "dask", "--dask connects to a dask scheduler")
        start = dask_workers(dask, partial(versions, *sorted({cell.kind for cell in left})))
    total = sum(map(cost, left))
    # The workers use all cores already, and the threads of BLAS would only compete with them.
    with one_blas_thread(), bar(console, unit, n_steps=len(left), total=total) as step:

        def progress(cell: Cell) -> None:
            step(cell.label, cost(cell))

        if engine != "process":
            at_once = [cell for cell in distinct.values() if batched.can_play(cell)]
            batched.run_together(at_once, store, engine, progress=progress)
        together, alone = list[Cell](), list[Cell]()
        for cell in left:
            (alone if cell.is_timed else together).append(cell)
        run_cells(together, store, start=start, progress=progress)
        run_cells(alone, store, start=processes(1), progress=progress)


def recorded_rows(cells: Sequence[Cell], store: Recording) -> tuple[Rows, Rows]:
    """The rows and the times of cells in their order, each with the settings of its cell.

    The seed and the run are there, so that an analysis can draw the instances of a row again.
    """
    rows, times = [], []
    for cell in cells:
        recorded = store[cell.key]
        # Rows come after the settings: what was recorded must win over what was asked for.
        about = {"kind": cell.kind, "run": cell.run, "seed": cell.seed, **cell.settings}
        rows.append({**about, **recorded.row})
        times.append({**about, **recorded.times})
    return rows, times


def cost(cell: Cell) -> float:
    """About how many seconds a cell takes: for the order, and for the remaining time."""
    s = cell.settings
    if cell.kind != "play":
        return _KIND_S.get(cell.kind, 1.0)
    name, n_arms = s["policy"]["name"], s["problem"]["n_arms"]
    n_tests = s["policy"].get("n_tests", 0)
    if isinstance(n_tests, str):
        n_tests = _TYPICAL_TESTS
    is_sparse = name.endswith("of-m")  # p = K/m or 1/m
    round_s = _ROUND_S + _ARM_S * n_arms + _ORACLE_S.get(name, 0.0)
    round_s += n_tests * (_SPARSE_TEST_S if is_sparse else _TEST_ARM_S * n_arms)
    if s["problem"]["family"] == "network":
        round_s += _NETWORK_S
    if s.get("calls", "batch") != "batch":
        round_s += _CALL_S * (n_tests or n_arms)
    return round_s * s["horizon"]
