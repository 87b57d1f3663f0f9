"""The one runner: any executor, any order, the same rows; a finished cell is never lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import chain
from typing import TYPE_CHECKING

from superarm.reporting.files import need
from superarm.reporting.jobs import (
    StartExecutor,
    bar,
    dask_workers,
    processes,
    run_all,
)
from superarm.studies import batched, cells
from superarm.studies.cell import Cell, Recorded, Recording
from superarm.studies.code import versions
from superarm.studies.machine import Watch

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
    wanted: Iterable[Cell], store: Recording, *, start: StartExecutor | None = None
) -> Iterator[Cell]:
    """Run the cells that the store does not have. Yields each as soon as it is stored."""
    # By key, so that a cell that stands in two sweeps is played once.
    left = {cell.key: cell for cell in wanted if cell.key not in store}
    for cell, recorded in run_all(run_cell, left, start=start):
        store[cell.key] = recorded
        yield cell


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
    costs = {key: cost(cell) for key, cell in distinct.items() if key not in store}
    left = [distinct[key] for key in sorted(costs, key=costs.__getitem__, reverse=True)]
    start: StartExecutor | None = partial(processes, workers) if workers else None
    if dask is not None:
        need("distributed", "dask", "--dask connects to a dask scheduler")
        known = partial(versions, *sorted({cell.kind for cell in left}))
        start = partial(dask_workers, dask, known)
    together = [cell for cell in left if not cell.is_timed]
    alone = [cell for cell in left if cell.is_timed]
    parts = [
        run_cells(together, store, start=start),
        run_cells(alone, store, start=partial(processes, 1)),
    ]
    if engine != "process":
        at_once = [cell for cell in distinct.values() if batched.can_play(cell)]
        parts.insert(0, batched.run_together(at_once, store, engine))
    with bar(console, unit, n_steps=len(left), total=sum(costs.values())) as step:
        for cell in chain.from_iterable(parts):
            step(str(cell.settings.get("label", cell.kind)), costs[cell.key])


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
