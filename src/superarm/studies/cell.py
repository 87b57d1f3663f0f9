"""A cell: one run of one thing as plain data. Cells are what is run, stored and resumed.

A `Scale` says how many there are.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol, TypeVar

import numpy as np

from superarm.core.arguments import IndexArray
from superarm.version import __version__

_KEY_LENGTH = 24  # hexadecimal digits: 96 bits, no two cells ever share them
_N_EACH = 61  # checkpoints that are spread evenly, and those spread by their logarithm

Rows = list[dict[str, Any]]
Value = TypeVar("Value")


@dataclass(frozen=True)
class Cell:
    """One run.

    Attributes
    ----------
    kind
        What is run: the name of a module of `superarm.studies.cells`.
    settings
        Everything that the row depends on besides the seed, as JSON.
    seed, run
        The seed of the study, and the number of this run. Cells with equal seed and run share their
        random streams, whatever their settings are: all policies meet the same instances.
    """

    kind: str
    settings: dict[str, Any]
    seed: int
    run: int

    @cached_property
    def key(self) -> str:
        """A name that changes with everything the row depends on, superarm's version included."""
        # The version is in the key, because another version may draw other random numbers: its rows
        # must not be taken for the rows of this one.
        said = canonical([__version__, self.kind, self.settings, self.seed, self.run])
        return hashlib.sha256(said.encode()).hexdigest()[:_KEY_LENGTH]

    @property
    def is_timed(self) -> bool:
        """Whether the times of the cell are its result, so that it runs alone."""
        return self.settings.get("purpose") == "time"

    def seeds(self) -> np.random.SeedSequence:
        """The seed of this run, as `superarm.replicate` would spawn it."""
        return np.random.SeedSequence(self.seed, spawn_key=(self.run,))


@dataclass(frozen=True)
class Recorded:
    """What a cell gave: ``row`` is the same on every machine, ``times`` is not."""

    row: dict[str, Any]
    times: dict[str, Any]


class Recording(Protocol):
    """What cells gave, by their keys.

    A dictionary for a study that is not resumed, and a `Store` for one that is.
    """

    def __contains__(self, key: object, /) -> bool:
        """Whether a cell is recorded."""

    def __getitem__(self, key: str, /) -> Recorded:
        """What a finished cell gave."""

    def __setitem__(self, key: str, recorded: Recorded, /) -> None:
        """Record a finished cell."""


@dataclass(frozen=True)
class Scale:
    """How large a study is.

    Attributes
    ----------
    size
        "paper" has the sizes that are reported. "quick" shows that everything works.
        "tiny" has the least sizes at which every analysis is defined, for tests.
    runs
        Runs per setting, instead of the study's own number.
    seed
        Every row follows from the seed.
    """

    size: Literal["paper", "quick", "tiny"] = "paper"
    runs: int | None = None
    seed: int = 0

    def pick(self, paper: Value, quick: Value, tiny: Value | None = None) -> Value:
        """The value for this size; "tiny" is as "quick" without a value of its own."""
        if self.size == "paper":
            return paper
        # `is not None`, because 0 and empty lists are values.
        return tiny if self.size == "tiny" and tiny is not None else quick

    def cells(
        self, kind: str, settings: Sequence[dict[str, Any]], *, runs: int, quick_runs: int = 5
    ) -> list[Cell]:
        """Every setting in every run, all settings of a run together."""
        n_runs = self.runs or self.pick(runs, quick_runs, 2)
        return [Cell(kind, each, self.seed, run) for run in range(n_runs) for each in settings]


def checkpoints(horizon: int) -> IndexArray:
    """The rounds at which cells record totals: about 120, the last one is the horizon.

    Half of them are spread evenly and half by their logarithm.
    """
    # Evenly spread rounds are for plain axes and rounds spread by their logarithm for logarithmic
    # axes, where evenly spread ones would leave the left half of the picture empty.
    even = np.linspace(1, horizon, _N_EACH)
    logarithmic = np.geomspace(1, horizon, _N_EACH)
    # Both halves have the first and the last round, and small horizons repeat more rounds.
    return np.unique(np.round(np.concatenate([even, logarithmic]))).astype(np.intp)


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


def canonical(value: Any) -> str:
    """Plain data as JSON in one spelling."""
    # Sorted and without spaces: equal data must have equal digests, in whatever order it was built.
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
