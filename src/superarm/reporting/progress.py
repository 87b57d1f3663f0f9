"""The one progress bar."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Step", "bar"]

# Called as step(label) or step(label, weight) whenever something is finished.
Step = Callable[..., None]
_WIDE = 72  # columns of a terminal in which the whole bar can be shown


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
