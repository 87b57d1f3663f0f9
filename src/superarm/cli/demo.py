"""The command ``superarm demo``: a few policies on two small problems."""

from __future__ import annotations

from pathlib import Path

import click

from superarm.cli import common


@click.command("demo")
@common.runs_option("Runs per policy. All policies play the same instances.", default=10)
@click.option("--horizon", type=click.IntRange(min=1), default=2000, help="Rounds per run.")
@common.seed_option("Seed of everything but the measured times.")
@common.workers_option("The results")
@common.out_option("superarm-demo", "the picture")
def command(runs: int, horizon: int, seed: int, workers: int, out: Path) -> None:
    """Compare policies on two small problems.

    Prints a table per problem and draws the regret curves. One problem has a linear reward, the
    other one a two-layer network. In both, a policy picks 3 of 100 arms per round. The policies are
    the random baseline, Thompson sampling with a learned prior (the default of superarm), Thompson
    sampling with a flat prior (CTS) and an exact oracle, CTS with an oracle that makes the same
    decisions from remembered answers (lazy), upper confidence bounds (CUCB), and the paper's GT+QTS
    with several settings.

    The table shows per policy the regret at the end with its standard error over the runs, the
    evaluations of the reward per round, and the time per decision. Takes one or two minutes on 2
    cores.
    """
    from superarm.studies import demo

    common.show(
        lambda console: demo.play(
            runs=runs, horizon=horizon, seed=seed, workers=workers, folder=out, console=console
        ),
        "The regret curves",
    )
