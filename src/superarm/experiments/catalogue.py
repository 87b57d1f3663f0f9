"""The experiments that there are: every module of `superarm.experiments.paper`.

An experiment is a module with

    TITLE                      a line for people
    sweep(scale)               its cells, as plain data
    analyse(rows, times)       an `Analysis` of what was recorded, and of nothing else
    PART                       optional: 2 puts it behind the others in the report
    RUNNERS                    optional: functions that run its own kinds of cells, by kind

so adding one is adding a file.
"""

from __future__ import annotations

import pkgutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Protocol

from superarm.experiments import paper
from superarm.experiments.cell import Cell, Recorded
from superarm.experiments.comparison.cells import compare
from superarm.experiments.play import play

Rows = list[dict[str, Any]]

# The kinds of cells that are not one experiment's own.
_SHARED: dict[str, Callable[[Cell], Recorded]] = {"play": play, "compare": compare}


class RequestError(ValueError):
    """What was asked for can't be done: an unknown experiment, a folder of something else."""


@dataclass(frozen=True)
class Scale:
    """How large: the paper's sizes, or quick ones that only show that everything works."""

    quick: bool = False
    runs: int | None = None
    seed: int = 0

    def pick(self, full: Any, quick: Any) -> Any:
        """One of two values."""
        return quick if self.quick else full

    def cells(
        self, kind: str, settings: list[dict[str, Any]], *, runs: int, quick_runs: int = 5
    ) -> list[Cell]:
        """Every setting in every run, all settings of a run together."""
        n_runs = self.runs or self.pick(runs, quick_runs)
        return [Cell(kind, each, self.seed, run) for run in range(n_runs) for each in settings]


@dataclass(frozen=True)
class Analysis:
    """What an experiment found.

    Attributes
    ----------
    numbers
        Plain data, for numbers.json and for the claims.
    tables
        Captions with rows of cells, the first row being the heading.
    draw
        Draws the picture into a matplotlib figure.
    notes
        Sentences for the reader of the picture.
    """

    numbers: dict[str, Any]
    tables: list[tuple[str, list[list[str]]]]
    draw: Callable[[Any], None]
    notes: list[str] = field(default_factory=list)


class Experiment(Protocol):
    """What a module of `superarm.experiments.paper` provides."""

    TITLE: str

    def sweep(self, scale: Scale) -> list[Cell]:
        """Its cells."""

    def analyse(self, rows: Rows, times: Rows) -> Analysis:
        """What the rows say."""


def names() -> list[str]:
    """The names of all experiments, in the order of the report."""
    found = [
        module.name
        for module in pkgutil.iter_modules(paper.__path__)
        if not module.name.startswith("_")
    ]
    return sorted(found, key=lambda name: (getattr(_module(name), "PART", 1), name))


def load(name: str) -> Experiment:
    """An experiment by name."""
    if name not in names():
        raise RequestError(f"experiment must be one of {', '.join(names())}, got {name!r}")
    return _module(name)


def _module(name: str) -> Any:
    return import_module(f"{paper.__name__}.{name}")


def run_cell(cell: Cell) -> Recorded:
    """Run one cell, wherever this is called, and note how long it took."""
    start = time.perf_counter()
    recorded = _runner(cell.kind)(cell)
    return Recorded(recorded.row, {**recorded.times, "seconds": time.perf_counter() - start})


def _runner(kind: str) -> Callable[[Cell], Recorded]:
    if kind in _SHARED:
        return _SHARED[kind]
    for name in names():
        runners: dict[str, Callable[[Cell], Recorded]] = getattr(load(name), "RUNNERS", {})
        if kind in runners:
            return runners[kind]
    raise ValueError(f"no experiment has a runner for cells of the kind {kind!r}")
