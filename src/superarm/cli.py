"""The command line: ``superarm demo`` and its siblings."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

import superarm
from superarm import choosing_cli, comparing_cli, run_cli, serving_cli
from superarm.bench import files as bench_files
from superarm.bench import findings
from superarm.bench import measure as bench_measure
from superarm.experiments import batched, catalogue, engine
from superarm.experiments import demo as demo_experiment
from superarm.experiments import reproduce as reproduction
from superarm.experiments.catalogue import RequestError
from superarm.experiments.cell import Cell
from superarm.experiments.claims import Claim
from superarm.experiments.figures import render
from superarm.experiments.store import Store

app = typer.Typer(
    name="superarm",
    help="Pick the best k of m items, round after round, with as few evaluations of the set reward as possible.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"superarm {superarm.__version__}")
        raise typer.Exit()


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and stop.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Combinatorial semi-bandits with a black-box set reward."""


@app.command()
def demo(
    runs: Annotated[
        int, typer.Option(min=2, help="Runs of each policy; all policies meet the same instances.")
    ] = 10,
    horizon: Annotated[int, typer.Option(min=1, help="Rounds in a run.")] = 2000,
    seed: Annotated[int, typer.Option(min=0, help="Everything but the times follows from it.")] = 0,
    workers: Annotated[
        int, typer.Option(min=1, help="Processes; the results are the same for any number.")
    ] = 2,
    out: Annotated[Path, typer.Option(help="Folder for the picture.")] = Path("superarm-demo"),
) -> None:
    """Compare policies on two small problems: a progress bar, a table, and a picture of the regret curves.

    Two problems are drawn, a linear reward and a two-layer network, each with 3 of 100 arms to pick. They are played
    by chance, by Thompson sampling (CTS) with an exact oracle and with one that decides the same from remembered
    answers (lazy), by upper confidence bounds (CUCB), and by the paper's GT+QTS with several settings. The table has,
    for each, the regret at the end with its standard error over the runs, how many sets a round asked the reward
    about, and the time of one decision. About 40 seconds on 2 cores.
    """
    _need("matplotlib", "plots", "the demo draws a picture")
    console = Console()
    with (
        engine.one_blas_thread(),
        engine.processes(workers)() as executor,
        _progress(console, "runs") as bar,
    ):
        total = demo_experiment.count_runs(runs)
        task = bar.add_task("", total=total, done=0, of=total)
        results = demo_experiment.run(
            n_runs=runs,
            horizon=horizon,
            seed=seed,
            executor=executor,
            progress=lambda name: bar.update(
                task, advance=1, description=name, done=bar.tasks[task].fields["done"] + 1
            ),
        )
    for problem in demo_experiment.PROBLEMS:
        console.print(
            _table(
                problem, [result for result in results if result.problem == problem], horizon, runs
            )
        )
    out.mkdir(parents=True, exist_ok=True)
    path = out / "regret.png"
    path.write_bytes(render(lambda figure: demo_experiment.draw_regret(figure, results)))
    console.print(f"The regret curves: [bold]{path.resolve()}[/bold]", soft_wrap=True)


@app.command()
def reproduce(
    experiments: Annotated[
        list[str] | None,
        typer.Argument(help="fig1 fig2a fig2b fig2c table1 theory beyond; or all."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Small sizes: shows that all works, in a minute.")
    ] = False,
    runs: Annotated[
        int | None, typer.Option(min=2, help="Runs of each cell instead of the experiment's own.")
    ] = None,
    engine_name: Annotated[
        str,
        typer.Option(
            "--engine",
            help="process; or batch or torch, many runs at once, for fig2a, fig2b and fig2c.",
        ),
    ] = "process",
    workers: Annotated[
        int, typer.Option(min=1, help="Processes; the rows are the same for any number.")
    ] = 2,
    dask: Annotated[
        str | None, typer.Option(help="Address of a dask scheduler to run on instead.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Every row follows from it.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for rows, pictures and report.")] = Path(
        "superarm-reproduction"
    ),
    from_: Annotated[
        Path | None, typer.Option("--from", help="Rebuild the report of this folder; run nothing.")
    ] = None,
) -> None:
    """Reproduce the paper's figures and table, and judge its claims by what was measured.

    Writes for each experiment the recorded rows, the times, the numbers and the picture, and for all of them
    `report.html`, which begins with a table of the claims. Rows are stored as they finish: what was interrupted goes
    on where it stopped, and a folder with other settings is refused, never overwritten. Paper scale takes about an
    hour on 2 cores, `--quick` about a minute.
    """
    _need("matplotlib", "plots", "the report has pictures")
    console = Console()
    known = catalogue.names()
    names = known if not experiments or "all" in experiments else list(dict.fromkeys(experiments))
    if unknown := [name for name in names if name not in known]:
        raise typer.BadParameter(
            f"experiments must be of {', '.join(known)} or all, got {unknown[0]!r}"
        )
    if engine_name == "torch":
        _need("torch", "torch", "--engine torch plays on a GPU")
    if from_ is not None and (
        experiments or quick or runs or dask or seed or engine_name != "process"
    ):
        raise typer.BadParameter(
            "--from rebuilds the report of all that a folder holds; it takes no other choices"
        )
    store = Store(from_ or out)
    try:
        if from_ is None:
            scale = catalogue.Scale(quick=quick, runs=runs, seed=seed)
            batched.check(engine_name, names)
            _run_experiments(names, scale, store, engine_name, _start(workers, dask), console)
        path, claims = reproduction.make_report(store)
    except RequestError as error:
        raise typer.BadParameter(str(error)) from None
    if claims:
        console.print(_claims_table(claims))
    console.print(f"The report: [bold]{path.resolve()}[/bold]", soft_wrap=True)


app.command()(comparing_cli.compare)
app.command()(choosing_cli.inspect)
app.command()(choosing_cli.plan)
app.command()(run_cli.run)
app.command()(serving_cli.serve)
app.command()(serving_cli.replay)
app.add_typer(serving_cli.keys)


@app.command()
def bench(
    quick: Annotated[
        bool, typer.Option("--quick", help="Small sizes: shows that all works, in seconds.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder for table, pictures and page.")] = Path(
        "superarm-bench"
    ),
    from_: Annotated[
        Path | None,
        typer.Option(
            "--from", help="Make table, pictures and page of this folder's results again."
        ),
    ] = None,
) -> None:
    """Measure what superarm costs on this machine: time side by side with others, evaluations, growth, memory.

    Thompson sampling is compared with plain numpy and with those of pybandits, mabwiser and river that are installed;
    group testing with plain numpy; the oracles with each other; and every operation with the law that it should grow
    by. Writes `performance.md`, which explains and shows it all, and the same as JSON, CSV and pictures. Some minutes
    on 2 cores, `--quick` some seconds. The machine should have nothing else to do.
    """
    _need("matplotlib", "plots", "the benchmark draws pictures")
    console = Console()
    if from_ is not None and quick:
        raise typer.BadParameter("--from measures nothing, so it has no sizes to make --quick")
    if from_ is None:
        results = _measure(bench_measure.QUICK if quick else bench_measure.Scale(), console)
    else:
        try:
            results = bench_files.read(from_)
        except FileNotFoundError as error:
            raise typer.BadParameter(str(error)) from None
    paths = bench_files.write(results, from_ or out)
    console.print(_ratios_table(results))
    console.print(f"All that was measured: [bold]{paths[-1].resolve()}[/bold]", soft_wrap=True)


def _measure(scale: bench_measure.Scale, console: Console) -> dict[str, Any]:
    jobs = bench_measure.jobs(scale)
    # One worker, alone on its machine as far as we are concerned: it reads the number of BLAS threads as it starts.
    with (
        engine.one_blas_thread(),
        engine.processes(1)() as executor,
        _progress(console, "measured") as bar,
    ):
        task = bar.add_task("", total=len(jobs), done=0, of=len(jobs))

        def step(job: bench_measure.Job) -> None:
            bar.update(
                task, advance=1, description=str(job), done=bar.tasks[task].fields["done"] + 1
            )

        return bench_measure.run(scale, executor=executor, progress=step)


def _ratios_table(results: dict[str, Any]) -> Table:
    table = Table(title="Rounds, as multiples of superarm's time", title_justify="left")
    for name in ("round", "program", "× superarm's"):
        table.add_column(name, justify="left" if name != "× superarm's" else "right")
    for what, who, ratio in findings.ratios(results):
        table.add_row(what, who, f"{ratio:.3g}")
    return table


def _run_experiments(
    names: list[str],
    scale: catalogue.Scale,
    store: Store,
    engine_name: str,
    start: engine.StartExecutor,
    console: Console,
) -> None:
    cells = {cell.key: cell for sweep in reproduction.plan(names, scale).values() for cell in sweep}
    left = [cell for cell in cells.values() if not store.has(cell)]
    with engine.one_blas_thread(), _progress(console, "cells") as bar:
        # The bar runs over estimated seconds, so that dear cells count for more; the text counts cells.
        task = bar.add_task("", total=sum(map(reproduction.cost, left)), done=0, of=len(left))

        def step(cell: Cell) -> None:
            label = cell.settings.get("label", cell.kind)
            done = bar.tasks[task].fields["done"] + 1
            bar.update(task, advance=reproduction.cost(cell), description=label, done=done)

        reproduction.run(names, scale, store, engine=engine_name, start=start, progress=step)


def _start(workers: int, dask: str | None) -> engine.StartExecutor:
    if dask is None:
        return engine.processes(workers)
    _need("distributed", "dask", "--dask connects to a dask scheduler")
    return engine.dask_workers(dask)


def _need(module: str, extra: str, why: str) -> None:
    if find_spec(module) is None:
        raise typer.BadParameter(f"{why} and needs {module}: pip install 'superarm[{extra}]'")


def _claims_table(claims: list[Claim]) -> Table:
    table = Table(title="The paper's claims", title_justify="left", show_lines=True)
    for name in ("claim", "measured", "95% interval", "verdict"):
        table.add_column(name)
    for claim in claims:
        table.add_row(claim.sentence, claim.measured, claim.interval, claim.verdict)
    return table


def _table(
    problem: demo_experiment.Problem, results: list[demo_experiment.Result], horizon: int, runs: int
) -> Table:
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
            result.cost,
            f"{result.ask_ms:.2f}",
        )
    return table


def _progress(console: Console, unit: str) -> Progress:
    return Progress(
        TextColumn("{task.description:<26}"),
        BarColumn(),
        TextColumn("{task.fields[done]}/{task.fields[of]} " + unit + ","),
        TimeElapsedColumn(),
        TextColumn("gone,"),
        TimeRemainingColumn(),
        TextColumn("to go"),
        console=console,
    )
