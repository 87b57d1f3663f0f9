"""What a study is: cells at a scale, an analysis of the rows that they recorded, and its end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from superarm.reporting.tables import Table
from superarm.studies.cell import Cell, Rows, Scale


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
