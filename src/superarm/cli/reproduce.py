"""The command ``superarm reproduce``: the paper's experiments, and a verdict on each claim."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from superarm.cli.common import need, progress, seed_option, workers_option

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from superarm.experiments.catalogue import Scale
    from superarm.experiments.cell import Cell
    from superarm.experiments.claims import Claim
    from superarm.experiments.engine import StartExecutor
    from superarm.experiments.store import Store


@click.command("reproduce")
@click.argument("experiments", nargs=-1)
@click.option("--quick", is_flag=True, help="Small sizes, to see in a minute that all works.")
@click.option(
    "--runs",
    type=click.IntRange(min=2),
    show_default="those of the experiment",
    help="Runs per cell.",
)
@click.option(
    "--engine",
    "engine_name",
    default="process",
    help="process; or batch or torch, which play many runs at once, for fig2a, fig2b and fig2c.",
)
@workers_option("The rows")
@click.option("--dask", metavar="ADDRESS", help="Run on the workers of this dask scheduler.")
@seed_option("Seed of every row.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("superarm-reproduction"),
    help="Folder for rows, pictures and report.",
)
@click.option(
    "--from",
    "from_",
    type=click.Path(path_type=Path),
    help="Rebuild the report of this folder from its rows, and run nothing.",
)
def command(
    experiments: tuple[str, ...],
    quick: bool,
    runs: int | None,
    engine_name: str,
    workers: int,
    dask: str | None,
    seed: int,
    out: Path,
    from_: Path | None,
) -> None:
    """Reproduce the paper's figures and table.

    EXPERIMENTS are some of fig1, fig2a, fig2b, fig2c, table1, theory, beyond; or all, the default.

    Judges the paper's claims by the measurements. Writes the recorded rows, the times, the numbers
    and the picture of each experiment, and report.html, which begins with a table of the claims. Rows are stored as they finish. After an
    interruption the same command continues where it stopped. A folder with other settings is
    refused and never overwritten. The paper's sizes take about an hour on 2 cores, --quick takes
    about a minute.
    """
    need("matplotlib", "plots", "the report has pictures")
    if engine_name == "torch":
        need("torch", "torch", "--engine torch plays on a GPU")
    from rich.console import Console

    from superarm.experiments import batched, catalogue, reproduce
    from superarm.experiments.store import Store

    names = _names(experiments)
    if from_ is not None and (
        experiments or quick or runs or dask or seed or engine_name != "process"
    ):
        raise click.BadParameter(
            "--from rebuilds the report of everything in a folder; it takes no other options"
        )
    console = Console()
    store = Store(from_ or out)
    try:
        if from_ is None:
            scale = catalogue.Scale(quick=quick, runs=runs, seed=seed)
            batched.check(engine_name, names)
            _run(names, scale, store, engine_name, _start(workers, dask), console)
        path, claims = reproduce.make_report(store)
    except catalogue.RequestError as error:
        raise click.BadParameter(str(error)) from None
    if claims:
        console.print(_table(claims))
    click.echo(f"The report: {path.resolve()}")


def _names(experiments: tuple[str, ...]) -> list[str]:
    from superarm.experiments import catalogue

    known = catalogue.names()
    if not experiments or "all" in experiments:
        return known
    if unknown := [name for name in experiments if name not in known]:
        raise click.BadParameter(
            f"experiments must be of {', '.join(known)} or all, got {unknown[0]!r}"
        )
    return list(dict.fromkeys(experiments))


def _run(
    names: list[str],
    scale: Scale,
    store: Store,
    engine_name: str,
    start: StartExecutor,
    console: Console,
) -> None:
    from superarm.experiments import engine, reproduce

    cells = {cell.key: cell for sweep in reproduce.plan(names, scale).values() for cell in sweep}
    left = [cell for cell in cells.values() if not store.has(cell)]
    seconds = sum(map(reproduce.cost, left))
    # The bar runs over estimated seconds, so that expensive cells count for more.
    with (
        engine.one_blas_thread(),
        progress(console, "cells", len(left), seconds) as step,
    ):

        def tell(cell: Cell) -> None:
            step(cell.settings.get("label", cell.kind), reproduce.cost(cell))

        reproduce.run(names, scale, store, engine=engine_name, start=start, progress=tell)


def _start(workers: int, dask: str | None) -> StartExecutor:
    from superarm.experiments import engine

    if dask is None:
        return engine.processes(workers)
    need("distributed", "dask", "--dask connects to a dask scheduler")
    return engine.dask_workers(dask)


def _table(claims: list[Claim]) -> Table:
    from rich.table import Table

    table = Table(title="The paper's claims", title_justify="left", show_lines=True)
    for name in ("claim", "measured", "95% interval", "verdict"):
        table.add_column(name)
    for claim in claims:
        table.add_row(claim.sentence, claim.measured, claim.interval, claim.verdict)
    return table
