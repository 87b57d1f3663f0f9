"""The command ``superarm run``: play policies over a table of the user."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from superarm.cli.common import refusals, seed_option, workers_option
from superarm.studies import own_table


@click.command("run")
@click.argument(
    "table",
    metavar="TABLE",
    type=click.Path(exists=True, dir_okay=False, readable=True, path_type=Path),
)
@click.option("--k", type=click.IntRange(min=1), required=True, help="Arms picked per round.")
@click.option(
    "--policy",
    "policies",
    multiple=True,
    metavar="NAME",
    show_default=", ".join(own_table.USUAL),
    help=f"A policy to play: {', '.join(own_table.POLICIES)}. Can be repeated.",
)
@click.option(
    "--runs",
    type=click.IntRange(min=2),
    default=10,
    help="Runs per policy. All policies play the same rows.",
)
@click.option(
    "--order",
    type=click.Choice(["given", "shuffled"]),
    default="given",
    help="The rows in the order of the table, or in a random order per run.",
)
@click.option(
    "--horizon",
    type=click.IntRange(min=1),
    show_default=f"all rows, at most {own_table.USUAL_HORIZON:,}",
    help="Rounds per run.",
)
@click.option(
    "--skip",
    metavar="COLUMN",
    multiple=True,
    help="A column that is not an arm: its name, or its number from 1. Can be repeated.",
)
@seed_option("Seed of everything.")
@workers_option("The files")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("superarm-run"),
    help="Folder for the report and the numbers.",
)
def command(
    table: Path,
    k: int,
    policies: tuple[str, ...],
    runs: int,
    order: Literal["given", "shuffled"],
    horizon: int | None,
    skip: tuple[str, ...],
    seed: int,
    workers: int,
    out: Path,
) -> None:
    """Play policies over historical data and write a report.

    TABLE is a CSV file with one column per arm and one row per round. The first line has the names
    of the arms. A cell has the outcome of an arm in a round, a number from 0 to 1. A cell is empty
    if the outcome is not known.

    In each round a policy picks k arms, gets their cells as feedback, and learns. report.html shows
    which share of the gap between the random baseline and the best fixed set each policy closed.
    The best fixed set is known only afterwards.
    """
    from rich.console import Console

    from superarm.reporting.tables import as_rich

    console = Console()
    try:
        with refusals():
            done = own_table.run(
                table,
                k=k,
                policies=policies or own_table.USUAL,
                runs=runs,
                order=order,
                horizon=horizon,
                skip=skip,
                seed=seed,
                workers=workers,
                folder=out,
                console=console,
            )
    except own_table.TableError as error:
        raise click.BadParameter(str(error), param_hint=str(table)) from None
    for shown in done.tables:
        console.print(as_rich(shown))
    click.echo(f"The report: {done.path.resolve()}")
