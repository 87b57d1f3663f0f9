"""The commands ``superarm inspect`` and ``superarm plan``."""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from superarm.advice import Inspection, n_evaluations
from superarm.advice import inspect as inspect_reward
from superarm.advice import Plan
from superarm.advice import plan as plan_oracles
from superarm.advice.text import shown_s
from superarm.core import Reward

_STYLES = {"ERROR": "bold red", "fails": "yellow", "ok": "green", "holds": "green"}


def inspect(
    target: Annotated[
        str,
        typer.Argument(
            metavar="MODULE:REWARD",
            help="Where the reward is: a dotted module or a path to a .py file, a colon, and the name of a reward or "
            "of a function without arguments that makes one.",
        ),
    ],
    k: Annotated[
        int | None, typer.Option(min=1, help="Arms in a set; 5 unless given, or all if fewer.")
    ] = None,
    probes: Annotated[int, typer.Option(min=4, help="Probes of each property.")] = 200,
    tolerance: Annotated[float, typer.Option(help="Share of a value that may be rounding.")] = 1e-9,
    seed: Annotated[int, typer.Option(min=0, help="The probes follow from it.")] = 0,
    json_: Annotated[
        bool, typer.Option("--json", help="Print the data instead of the tables.")
    ] = False,
) -> None:
    """Probe a reward: what it is like, whether it keeps what it declares, and which oracle suits it.

    Ends with exit code 1 if something required or declared is violated. How many evaluations it will make is said
    before the first.
    """
    reward = load_reward(target)
    rng = np.random.default_rng(seed)
    try:
        size = 5 if k is None else k
        most = n_evaluations(reward.n_arms, min(size, reward.n_arms), probes)
        typer.echo(f"Making at most {most:,} evaluations of {target} ...", err=True)
        found = inspect_reward(reward, k=k, probes=probes, tolerance=tolerance, rng=rng)
    except (TypeError, ValueError) as error:
        raise typer.BadParameter(str(error)) from None
    if json_:
        typer.echo(json.dumps(found.as_dict(), indent=2))
    else:
        _print_inspection(found)
    raise typer.Exit(0 if found.ok else 1)


def plan(
    m: Annotated[int, typer.Option("--m", min=1, help="How many arms there are.")],
    k: Annotated[int, typer.Option("--k", min=1, help="How many arms a set has.")],
    cost: Annotated[float, typer.Option(min=0.0, help="Seconds of one evaluation of the reward.")],
    horizon: Annotated[int, typer.Option(min=1, help="How many rounds.")],
    seed: Annotated[
        int, typer.Option(min=0, help="The measured problem follows from it, the times do not.")
    ] = 0,
    json_: Annotated[
        bool, typer.Option("--json", help="Print the data instead of the tables.")
    ] = False,
) -> None:
    """What every oracle would cost: evaluations and time a round, over the horizon, and break-even costs.

    Measures for some seconds on this machine.
    """
    try:
        found = plan_oracles(
            n_arms=m, k=k, cost_s=cost, horizon=horizon, rng=np.random.default_rng(seed)
        )
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    if json_:
        typer.echo(json.dumps(found.as_dict(), indent=2))
    else:
        _print_plan(found)


def load_reward(target: str) -> Reward:
    """The reward at MODULE:REWARD, or a clear refusal."""
    where, colon, name = target.rpartition(":")
    if not colon or not where or not name:
        raise typer.BadParameter(f"expected MODULE:REWARD, as in shop.py:reward, got {target!r}")
    try:
        module = _load_module(where)
    except Exception as error:  # the module is the user's, and may fail in any way
        raise typer.BadParameter(
            f"{where} could not be imported: {type(error).__name__}: {error}"
        ) from None
    if not hasattr(module, name):
        raise typer.BadParameter(f"{where} has no attribute {name!r}")
    found = getattr(module, name)
    if callable(found) and (isinstance(found, type) or not isinstance(found, Reward)):
        try:
            found = found()
        except Exception as error:
            raise typer.BadParameter(
                f"{name} must be a reward or a function without arguments that makes one, and calling it raised "
                f"{type(error).__name__}: {error}"
            ) from None
    if not isinstance(found, Reward):
        raise typer.BadParameter(
            f"{name} must be a reward or make one, got {type(found).__name__}; see BlackBox"
        )
    return found


def _load_module(where: str) -> ModuleType:
    path = Path(where)
    # Like python itself: what is imported finds its neighbours.
    sys.path.insert(0, str(path.resolve().parent if where.endswith(".py") else Path.cwd()))
    if not where.endswith(".py"):
        return importlib.import_module(where)
    name = path.stem if path.stem not in sys.modules else f"inspected_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = (
        module  # where pickle looks for functions, and so the processes of an executor
    )
    spec.loader.exec_module(module)
    return module


def _print_inspection(found: Inspection) -> None:
    console = Console()
    table = Table(title=found.summary(), title_justify="left")
    for head, side in (
        ("property", "left"),
        ("verdict", "left"),
        ("violated", "right"),
        ("rate (95%)", "right"),
    ):
        table.add_column(head, justify=side, no_wrap=True)  # type: ignore[arg-type]
    table.add_column("worst", justify="right")
    for name, verdict, *rest in found.table():
        table.add_row(name, f"[{_STYLES.get(verdict, 'dim')}]{verdict}[/]", *rest)
    console.print(table)
    for line in [*found.remarks(), "", *str(found.recommendation).splitlines()]:
        console.print(line, markup=False, highlight=False)


def _print_plan(found: Plan) -> None:
    console = Console()
    title = f"{found.k} of {found.n_arms:,} arms, {shown_s(found.cost_s)} an evaluation, {found.horizon:,} rounds"
    table = Table(
        title=title,
        title_justify="left",
        caption=f"measured on: {found.measured_on}; * extrapolated",
    )
    for head in ("oracle", "picks"):
        table.add_column(head, no_wrap=True)
    for head in ("evaluations", "", "besides", "a round", "in all"):
        table.add_column(head, justify="right", no_wrap=True)
    for row in found.rows:
        table.add_row(
            row.oracle,
            row.picks,
            f"{row.evaluations:,.4g}" if row.evaluations < 1000 else f"{row.evaluations:,.0f}",
            row.evaluations_are,
            shown_s(row.overhead_s) + ("*" if row.overhead_is == "extrapolated" else ""),
            shown_s(row.round_s),
            shown_s(row.total_s),
        )
    console.print(table)
    names = [row.oracle for row in found.rows]
    matrix = Table(
        title="Row is faster than column once an evaluation takes longer than", title_justify="left"
    )
    matrix.add_column("")
    for name in names:
        matrix.add_column(name, justify="right", no_wrap=True)
    for name in names:
        cells = [found.break_even[name].get(other) for other in names]
        matrix.add_row(
            name, *("" if cell is None else "0" if cell == 0 else shown_s(cell) for cell in cells)
        )
    console.print(matrix)
