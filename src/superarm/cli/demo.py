"""The command ``superarm demo``: a few policies on two small problems."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from superarm.cli.common import need, progress, seed_option, workers_option

if TYPE_CHECKING:
    from rich.table import Table

    from superarm.experiments.demo import Problem, Result


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
    need("matplotlib", "plots", "the demo draws a picture")
    from rich.console import Console

    from superarm.experiments import demo, engine
    from superarm.experiments.figures import render

    console = Console()
    total = demo.count_runs(runs)
    with (
        engine.one_blas_thread(),
        engine.processes(workers)() as executor,
        progress(console, "runs", total) as step,
    ):
        results = demo.run(
            n_runs=runs, horizon=horizon, seed=seed, executor=executor, progress=step
        )
    for problem in demo.PROBLEMS:
        played = [result for result in results if result.problem == problem]
        console.print(_table(problem, played, horizon, runs))
    out.mkdir(parents=True, exist_ok=True)
    path = out / "regret.png"
    path.write_bytes(render(lambda figure: demo.draw_regret(figure, results)))
    click.echo(f"The regret curves: {path.resolve()}")


def _table(problem: Problem, results: list[Result], horizon: int, runs: int) -> Table:
    from rich.table import Table

    table = Table(title=f"{problem.title}: {horizon:,} rounds, {runs} runs", title_justify="left")
    table.caption = "evaluations of the reward, and milliseconds, per round"
    table.add_column("policy", no_wrap=True)
    for name in ("regret", "± s.e.", "of random", "evaluations", "ms"):
        table.add_column(name, justify="right")
    random = next(result.mean for result in results if result.policy == "random")
    for result in sorted(results, key=lambda result: -result.mean):
        table.add_row(
            result.policy,
            f"{result.mean:,.0f}",
            f"{result.standard_error:,.0f}",
            f"{result.mean / random:.0%}",
            result.cost,
            f"{result.ask_ms:.2f}",
        )
    return table
