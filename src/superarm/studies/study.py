"""What a study is: cells at a scale, and an analysis of the rows that they recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from superarm.reporting.tables import Table
from superarm.studies.cell import Cell

Rows = list[dict[str, Any]]
Value = TypeVar("Value")


@dataclass(frozen=True)
class Scale:
    """How large a study is.

    Attributes
    ----------
    size
        "paper" has the sizes that are reported. "quick" shows in a minute that everything works.
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


@dataclass(frozen=True)
class Findings:
    """What a study found. Everything in it follows from recorded rows.

    Attributes
    ----------
    numbers
        Plain data, for numbers.json and for the claims.
    tables
        For people.
    draw
        Draws the picture into a matplotlib figure.
    notes
        Sentences for readers of the picture.
    """

    numbers: dict[str, Any]
    tables: list[Table]
    draw: Callable[[Any], None]
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Study:
    """A study on the pipeline.

    It says what is run and what the rows say. All studies are run, stored and resumed alike.

    Attributes
    ----------
    name, title
        The name in folders and commands, and the title for people.
    cells
        ``cells(scale)``: the runs, as plain data.
    analyse
        ``analyse(rows, times)``: the findings. It gets what was recorded and nothing else, so that
        a report can be made again without running anything.
    """

    name: str
    title: str
    cells: Callable[[Scale], list[Cell]]
    analyse: Callable[[Rows, Rows], Findings]


@dataclass(frozen=True)
class Done:
    """What a command prints at the end: the file to look at, tables, and notes below them."""

    path: Path
    tables: list[Table] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
