"""The command line: ``superarm demo`` and its siblings."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

import superarm
from superarm.experiments import demo as demo_experiment

app = typer.Typer(
    name="superarm",
    help="Pick the best k of m items, round after round, with as few evaluations of the set reward as possible.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
)

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"superarm {superarm.__version__}")
        raise typer.Exit()


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Combinatorial semi-bandits with a black-box set reward."""


@app.command()
def demo(
    runs: Annotated[int, typer.Option(min=2, help="Runs of each policy; all policies meet the same instances.")] = 10,
    horizon: Annotated[int, typer.Option(min=1, help="Rounds in a run.")] = 2000,
    seed: Annotated[int, typer.Option(min=0, help="Everything but the times follows from it.")] = 0,
    workers: Annotated[int, typer.Option(min=1, help="Processes; the results are the same for any number.")] = 2,
    out: Annotated[Path, typer.Option(help="Folder for the picture.")] = Path("superarm-demo"),
) -> None:
    """Compare policies on two small problems: a progress bar, a table, and a picture of the regret curves.

    Two problems are drawn, a linear reward and a two-layer network, each with 3 of 100 arms to pick. They are played
    by chance, by Thompson sampling with an exact oracle (CTS), by upper confidence bounds (CUCB), and by the paper's
    GT+QTS with several settings. The table has, for each, the regret at the end with its standard error over the
    runs, how many sets a round asked the reward about, and the time of one decision. About 40 seconds on 2 cores.
    """
    if find_spec("matplotlib") is None:
        raise typer.BadParameter("the demo draws a picture and needs matplotlib: pip install 'superarm[plots]'")
    from superarm.experiments import plots

    console = Console()
    with _executor(workers) as executor, _progress(console) as bar:
        task = bar.add_task("", total=demo_experiment.count_runs(runs))
        results = demo_experiment.run(
            n_runs=runs,
            horizon=horizon,
            seed=seed,
            executor=executor,
            progress=lambda name: bar.update(task, advance=1, description=name),
        )
    for problem in demo_experiment.PROBLEMS:
        console.print(_table(problem, [result for result in results if result.problem == problem], horizon, runs))
    out.mkdir(parents=True, exist_ok=True)
    path = out / "regret.png"
    plots.regret_curves(results, path)
    console.print(f"The regret curves: [bold]{path.resolve()}[/bold]", soft_wrap=True)


def _table(problem: demo_experiment.Problem, results: list[demo_experiment.Result], horizon: int, runs: int) -> Table:
    table = Table(title=f"{problem.title}: {horizon:,} rounds, {runs} runs", title_justify="left")
    table.caption = "evaluations of the reward, and milliseconds, a round"
    table.add_column("policy", no_wrap=True)
    for name in ("regret", "± s.e.", "of random", "evaluations", "ms"):
        table.add_column(name, justify="right")
    chance = next(result.mean for result in results if result.policy == "random")
    for result in sorted(results, key=lambda result: -result.mean):
        table.add_row(
            result.policy,
            f"{result.mean:,.0f}",
            f"{result.standard_error:,.0f}",
            f"{result.mean / chance:.0%}",
            f"{result.evaluations:,.0f}",
            f"{result.ask_ms:.2f}",
        )
    return table


def _progress(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description:<24}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("runs,"),
        TimeElapsedColumn(),
        TextColumn("gone,"),
        TimeRemainingColumn(),
        TextColumn("to go"),
        console=console,
    )


@contextmanager
def _executor(workers: int) -> Iterator[Executor | None]:
    """Worker processes with one BLAS thread each; none for one worker."""
    if workers == 1:
        yield None
        return
    # New processes read these when they load numpy.
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as executor:
            yield executor
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
