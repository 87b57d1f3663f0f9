"""The command ``superarm demo``: a few policies on two small problems."""

from __future__ import annotations

from pathlib import Path

import click

from superarm.cli.common import refusals, seed_option, workers_option


@click.command("demo")
@click.option(
    "--runs",
    type=click.IntRange(min=2),
    default=10,
    help="Runs per policy. All policies play the same instances.",
)
@click.option("--horizon", type=click.IntRange(min=1), default=2000, help="Rounds per run.")
@seed_option("Seed of everything but the measured times.")
@workers_option("The results")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("superarm-demo"),
    help="Folder for the picture.",
)
def command(runs: int, horizon: int, seed: int, workers: int, out: Path) -> None:
    """Compare policies on two small problems.

    Prints a table per problem and draws the regret curves. One problem has a linear reward, the other one a two-layer network. In both, a policy picks 3 of
    100 arms per round. The policies are the random baseline, Thompson sampling (CTS) with an exact
    oracle, CTS with an oracle that makes the same decisions from remembered answers (lazy), upper
    confidence bounds (CUCB), and the paper's GT+QTS with several settings.

    The table shows per policy the regret at the end with its standard error over the runs, the
    evaluations of the reward per round, and the time per decision. Takes about 40 seconds on 2
    cores.
    """
    from rich.console import Console

    from superarm.reporting.tables import as_rich
    from superarm.studies import demo

    console = Console()
    with refusals():
        done = demo.play(
            runs=runs, horizon=horizon, seed=seed, workers=workers, folder=out, console=console
        )
    for table in done.tables:
        console.print(as_rich(table))
    click.echo(f"The regret curves: {done.path.resolve()}")
