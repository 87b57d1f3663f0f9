"""The command ``superarm run``."""

from __future__ import annotations

import json
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from superarm.experiments import engine
from superarm.own_table import findings, page
from superarm.own_table.playing import PLAYERS, USUAL, Game, Run, play_all, prepare
from superarm.own_table.reading import OwnTable, TableError, read
from superarm.version import __version__

_USUAL_HORIZON = 20_000


def run(
    table: Annotated[
        Path,
        typer.Argument(
            metavar="TABLE",
            help="A CSV file: a line of names of arms, then a line a round, with outcomes from 0 to 1 or empty cells.",
            exists=True,
            dir_okay=False,
            readable=True,
        ),
    ],
    k: Annotated[int, typer.Option("--k", min=1, help="How many arms are picked in a round.")],
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help=f"Who plays, once for each: {', '.join(PLAYERS)}. Without it: {', '.join(USUAL)}."
        ),
    ] = None,
    runs: Annotated[
        int, typer.Option(min=2, help="Runs of each policy; all policies meet the same rows.")
    ] = 10,
    order: Annotated[
        Literal["given", "shuffled"],
        typer.Option(help="The rows as they come, or in an order drawn for each run."),
    ] = "given",
    horizon: Annotated[
        int | None,
        typer.Option(
            min=1, help=f"Rounds in a run; all rows, or {_USUAL_HORIZON:,} if there are more."
        ),
    ] = None,
    skip: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Leave out a column that is no arm: its name, or its number from 1.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Everything follows from it.")] = 0,
    workers: Annotated[
        int, typer.Option(min=1, help="Processes; the files are the same for any number.")
    ] = 2,
    out: Annotated[
        Path, typer.Option(file_okay=False, help="Folder for the report and the numbers.")
    ] = Path("superarm-run"),
) -> None:
    """Play policies over a table of your own, and write a report that explains what they did.

    The table has a column an arm and a row a round: what each arm did, or would have done, as a number from 0 to 1;
    an empty cell where that is not known. In each round every policy picks k arms, is told their cells, and learns.
    `report.html` says how far each came from chance to the best set that never changes, known only afterwards.
    """
    if find_spec("matplotlib") is None:
        raise typer.BadParameter(
            "the report has a picture and needs matplotlib: pip install 'superarm[plots]'"
        )
    console = Console()
    policies = list(dict.fromkeys(policy or USUAL))
    if unknown := [name for name in policies if name not in PLAYERS]:
        raise typer.BadParameter(f"--policy must be of {', '.join(PLAYERS)}, got {unknown[0]!r}")
    try:
        found = _read(table, skip or [], console)
    except TableError as error:
        raise typer.BadParameter(str(error), param_hint=str(table)) from None
    game = _prepare(found, k, horizon, order)
    if horizon is None and game.horizon < len(found.cells):
        console.print(
            f"{escape(table.name)} has {len(found.cells):,} rows; each run plays {game.horizon:,} of them. "
            f"For all: --horizon {len(found.cells)}",
            soft_wrap=True,
        )
    settings = {
        "table": table.name,
        "n_rows": len(found.cells),
        "skipped": list(found.skipped),
        "k": k,
        "policies": policies,
        "runs": runs,
        "order": order,
        "horizon": game.horizon,
        "seed": seed,
    }
    played = _play(game, policies, runs, seed, workers, console)
    report = _write(game, played, settings, out)
    console.print(_summary(game, played))
    console.print(f"The report: [bold]{escape(str(report.resolve()))}[/bold]", soft_wrap=True)


def _read(path: Path, skip: list[str], console: Console) -> OwnTable:
    with _progress(console, transient=True) as bar:
        task = bar.add_task(f"reading {escape(path.name)}", total=path.stat().st_size)
        found = read(path, skip=skip, progress=lambda done: bar.update(task, completed=done))
        bar.update(task, completed=path.stat().st_size)
    return found


def _prepare(
    found: OwnTable, k: int, horizon: int | None, order: Literal["given", "shuffled"]
) -> Game:
    n_rows, n_arms = found.cells.shape
    if k >= n_arms:
        raise typer.BadParameter(
            f"--k must be between 1 and {n_arms - 1}, got {k}: the table has {n_arms} arms, and there is nothing to "
            f"choose where all of them are picked"
        )
    if horizon is not None and horizon > n_rows:
        raise typer.BadParameter(
            f"--horizon must be at most {n_rows:,}, the number of rows, got {horizon:,}"
        )
    try:
        return prepare(found.cells, found.names, k, horizon or min(n_rows, _USUAL_HORIZON), order)
    except ValueError as error:  # a column may be empty in the rows that are played, and not in all
        raise typer.BadParameter(f"{error}, or play more rows with --horizon") from None


def _play(
    game: Game, policies: list[str], runs: int, seed: int, workers: int, console: Console
) -> list[Run]:
    start = (
        engine.processes(workers) if workers > 1 else nullcontext
    )  # one needs no process of its own
    with engine.one_blas_thread(), start() as executor, _progress(console) as bar:
        task = bar.add_task("playing", total=runs * len(policies))
        return play_all(
            game,
            policies,
            n_runs=runs,
            seed=seed,
            executor=executor,
            progress=lambda one: bar.advance(task),
        )


def _write(game: Game, runs: list[Run], settings: dict[str, object], out: Path) -> Path:
    image = page.picture(game, runs)
    files = {
        "report.html": page.html(game, runs, settings, __version__, image),
        "numbers.json": json.dumps(
            findings.numbers(game, runs, settings), indent=1, allow_nan=False
        )
        + "\n",
        "runs.csv": findings.as_csv(findings.runs_table(runs)),
        "arms.csv": findings.as_csv(findings.arms_table(game, runs)),
    }
    out.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (out / name).write_text(text, encoding="utf-8", newline="\n")
    (out / "picture.png").write_bytes(image)
    return out / "report.html"


def _summary(game: Game, runs: list[Run]) -> Table:
    title = f"{game.k} of {game.world.n_arms:,} arms, {game.horizon:,} rounds"
    table = Table(title=title, title_justify="left")
    table.add_column("policy", no_wrap=True)
    for name in ("reward a round", "gap closed", "95% interval"):
        table.add_column(name, justify="right")
    table.add_row("best fixed set", f"{game.world.best_fixed(game.k):.4g}", "100%", "")
    for finding in findings.find(runs):
        closed = finding.gap_closed
        table.add_row(
            finding.policy,
            f"{finding.reward.mean:.4g}",
            "–" if closed is None else f"{closed.mean:.1%}",
            "" if closed is None else f"{closed.low:.1%} to {closed.high:.1%}",
        )
    return table


def _progress(console: Console, *, transient: bool = False) -> Progress:
    return Progress(
        TextColumn("{task.description:<26}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%,"),
        TimeElapsedColumn(),
        TextColumn("gone,"),
        TimeRemainingColumn(),
        TextColumn("to go"),
        console=console,
        transient=transient,
    )
