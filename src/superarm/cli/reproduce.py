"""The command ``superarm reproduce``: the paper's experiments, and a verdict on each claim."""

from __future__ import annotations

from pathlib import Path

import click

from superarm.cli.common import refusals, seed_option, workers_option


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
    if from_ is not None and (
        experiments or quick or runs or dask or seed or engine_name != "process"
    ):
        raise click.BadParameter(
            "--from rebuilds the report of everything in a folder; it takes no other options"
        )
    from rich.console import Console

    from superarm.reporting.tables import as_rich
    from superarm.studies import Scale, paper

    console = Console()
    with refusals():
        if from_ is not None:
            done = paper.rebuild(from_)
        else:
            done = paper.reproduce(
                experiments,
                Scale("quick" if quick else "paper", runs=runs, seed=seed),
                out,
                engine=engine_name,
                workers=workers,
                dask=dask,
                console=console,
            )
    for table in done.tables:
        console.print(as_rich(table))
    click.echo(f"The report: {done.path.resolve()}")
