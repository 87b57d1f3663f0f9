"""The command ``superarm run``: play policies over a table of the user."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from superarm.cli.common import need, progress, seed_option, workers_option
from superarm.own_table.playing import PLAYERS, USUAL
from superarm.version import __version__

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from superarm.own_table.playing import Game, Run
    from superarm.own_table.reading import OwnTable

DEFAULT_HORIZON = 20_000


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
    show_default=", ".join(USUAL),
    help=f"A policy to play: {', '.join(PLAYERS)}. Can be repeated.",
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
    show_default=f"all rows, at most {DEFAULT_HORIZON:,}",
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
    need("matplotlib", "plots", "the report has a picture")
    from rich.console import Console

    from superarm.own_table.reading import TableError

    names = list(dict.fromkeys(policies or USUAL))
    if unknown := [name for name in names if name not in PLAYERS]:
        raise click.BadParameter(f"--policy must be of {', '.join(PLAYERS)}, got {unknown[0]!r}")
    console = Console()
    try:
        found = _read(table, skip, console)
    except TableError as error:
        raise click.BadParameter(str(error), param_hint=str(table)) from None
    game = _prepare(found, k, horizon, order)
    if horizon is None and game.horizon < len(found.cells):
        click.echo(
            f"{table.name} has {len(found.cells):,} rows; each run plays {game.horizon:,} of them. "
            f"For all: --horizon {len(found.cells)}"
        )
    settings = {
        "table": table.name,
        "n_rows": len(found.cells),
        "skipped": list(found.skipped),
        "k": k,
        "policies": names,
        "runs": runs,
        "order": order,
        "horizon": game.horizon,
        "seed": seed,
    }
    played = _play(game, names, runs, seed, workers, console)
    report = _write(game, played, settings, out)
    console.print(_summary(game, played))
    click.echo(f"The report: {report.resolve()}")


def _read(path: Path, skip: tuple[str, ...], console: Console) -> OwnTable:
    from superarm.own_table.reading import read

    return read(path, skip=list(skip))


def _prepare(
    found: OwnTable, k: int, horizon: int | None, order: Literal["given", "shuffled"]
) -> Game:
    from superarm.own_table.playing import prepare

    n_rows, n_arms = found.cells.shape
    if k >= n_arms:
        raise click.BadParameter(
            f"--k must be between 1 and {n_arms - 1}, got {k}: the table has {n_arms} arms, "
            f"and there is nothing to choose where all of them are picked"
        )
    if horizon is not None and horizon > n_rows:
        raise click.BadParameter(
            f"--horizon must be at most {n_rows:,}, the number of rows, got {horizon:,}"
        )
    try:
        return prepare(found.cells, found.names, k, horizon or min(n_rows, DEFAULT_HORIZON), order)
    except ValueError as error:  # a column may be empty in the rows that are played, not in all
        raise click.BadParameter(f"{error}, or play more rows with --horizon") from None


def _play(
    game: Game, policies: list[str], runs: int, seed: int, workers: int, console: Console
) -> list[Run]:
    from superarm.experiments import engine
    from superarm.own_table.playing import play_all

    # A single worker needs no process of its own.
    start = engine.processes(workers) if workers > 1 else nullcontext
    with (
        engine.one_blas_thread(),
        start() as executor,
        progress(console, "runs", runs * len(policies)) as step,
    ):
        return play_all(
            game,
            policies,
            n_runs=runs,
            seed=seed,
            executor=executor,
            progress=lambda one: step("playing"),
        )


def _write(game: Game, runs: list[Run], settings: dict[str, object], out: Path) -> Path:
    from superarm.own_table import findings, page

    image = page.picture(game, runs)
    numbers = json.dumps(findings.numbers(game, runs, settings), indent=1, allow_nan=False)
    files = {
        "report.html": page.html(game, runs, settings, __version__, image),
        "numbers.json": numbers + "\n",
        "runs.csv": findings.as_csv(findings.runs_table(runs)),
        "arms.csv": findings.as_csv(findings.arms_table(game, runs)),
    }
    out.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (out / name).write_text(text, encoding="utf-8", newline="\n")
    (out / "picture.png").write_bytes(image)
    return out / "report.html"


def _summary(game: Game, runs: list[Run]) -> Table:
    from rich.table import Table

    from superarm.own_table import findings

    title = f"{game.k} of {game.world.n_arms:,} arms, {game.horizon:,} rounds"
    table = Table(title=title, title_justify="left")
    table.add_column("policy", no_wrap=True)
    for name in ("reward per round", "gap closed", "95% interval"):
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
