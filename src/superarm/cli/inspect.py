"""The command ``superarm inspect``: probe a reward, and recommend an oracle for it."""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import click

from superarm.cli import common
from superarm.core import Reward
from superarm.core.arguments import as_k
from superarm.core.declarations import evaluations_per_value

if TYPE_CHECKING:
    from superarm.advice import Inspection, Progress

_DEFAULT_K = 5
_STYLES = {
    "ERROR": "bold red",
    "fails": "yellow",
    "undecided": "yellow",
    "ok": "green",
    "holds": "green",
}


@click.command("inspect")
@click.argument("target", metavar="MODULE:REWARD")
@click.option(
    "--k",
    type=click.IntRange(min=1),
    show_default=f"{_DEFAULT_K}, or all arms if there are fewer",
    help="Arms per set.",
)
@click.option("--probes", type=click.IntRange(min=4), default=200, help="Probes per property.")
@click.option(
    "--budget",
    type=click.IntRange(min=1),
    help="Evaluations at most, spent on what decides the advice, instead of --probes.",
)
@common.workers_option("The results", default=1)
@click.option(
    "--tolerance", type=float, default=1e-9, help="Relative difference that counts as rounding."
)
@common.seed_option("Seed of the probes.")
@common.json_option
def command(
    target: str,
    k: int | None,
    probes: int,
    budget: int | None,
    workers: int,
    tolerance: float,
    seed: int,
    as_json: bool,
) -> None:
    """Probe a reward and recommend an oracle.

    Shows which properties the reward has, whether its declarations hold, and which oracle suits it.

    MODULE is a dotted module name or the path of a .py file. REWARD is the name of a reward in the
    module, or of a function without arguments that makes a reward. The module is imported, so its
    code runs.

    Announces the number of evaluations before the first evaluation, and their time after it. Ctrl-C
    ends the probes with a report of what is known. Ends with exit code 1 if a required or declared
    property is violated.
    """
    import numpy as np

    from superarm.advice import inspect, n_evaluations

    reward = load_reward(target)  # before anything is evaluated
    try:
        # Refused before the evaluations are announced.
        size = as_k(min(_DEFAULT_K, reward.n_arms) if k is None else k, reward.n_arms)
        most = budget
        if most is None:
            most = evaluations_per_value(reward) * n_evaluations(reward.n_arms, size, probes)
        # On the error stream, so that --json leaves nothing but JSON on the output stream.
        click.echo(f"Making at most {most:,} evaluations of {target} ...", err=True)
        copied = _generators(target) if workers > 1 else []
        if copied:
            click.echo(
                f"Note: every worker starts with a copy of {', '.join(copied)}, so that all draw "
                f"the same numbers. Seed per process, as in default_rng([1, os.getpid()]).",
                err=True,
            )
        with _executor(workers) as executor, _progress(most) as progress:
            found = inspect(
                reward,
                k=k,
                probes=probes,
                budget=budget,
                tolerance=tolerance,
                rng=np.random.default_rng(seed),
                executor=executor,
                progress=progress,
            )
    except (TypeError, ValueError) as error:
        raise click.BadParameter(str(error)) from None
    if as_json:
        click.echo(json.dumps(found.as_dict(), indent=2))
    else:
        _print(found)
    # For scripts and CI: a reward that breaks its declarations fails.
    raise click.exceptions.Exit(0 if found.ok else 1)


@contextmanager
def _executor(workers: int) -> Iterator[Executor | None]:
    """The processes, if there are to be any."""
    if workers == 1:
        yield None
        return
    from superarm.reporting.jobs import processes

    with processes(workers) as executor:
        yield executor


@contextmanager
def _progress(most: int) -> Iterator[Callable[[Progress], None]]:
    """Says what all evaluations will take after the first one, and shows a bar on a terminal."""
    from rich.console import Console

    from superarm.advice.text import shown_s
    from superarm.reporting.jobs import bar

    console = Console(stderr=True)
    n_seen = 0
    with bar(
        console if console.is_terminal else None, "sets", n_steps=most, transient=True
    ) as step:

        def show(progress: Progress) -> None:
            nonlocal n_seen
            if n_seen == 0 and progress.first_s is not None:
                took, most_s = shown_s(progress.first_s), shown_s(progress.most_s)
                said = f"The first took {took}: at most {most_s} in all, one after the other."
                console.print(said, highlight=False, soft_wrap=True)
            for _ in range(progress.evaluations - n_seen):
                step(progress.about)
            n_seen = progress.evaluations

        yield show


def load_reward(target: str) -> Reward:
    """The reward at MODULE:REWARD. Anything else is refused with a message."""
    where, colon, name = target.rpartition(":")
    if not colon or not where or not name:
        raise click.BadParameter(f"expected MODULE:REWARD, as in shop.py:reward, got {target!r}")
    try:
        module = _load_module(where)
    except Exception as error:  # the module is the user's and may fail in any way
        raise click.BadParameter(f"{where} could not be imported: {_shown(error)}") from None
    if not hasattr(module, name):
        rewards = [one for one, value in vars(module).items() if _is_reward(value)]
        known = f"; its rewards are {', '.join(rewards)}" if rewards else ""
        raise click.BadParameter(f"{where} has no attribute {name!r}{known}")
    found = getattr(module, name)
    # A reward is callable, too: only classes and functions that are not rewards make one.
    if callable(found) and not _is_reward(found):
        found = _call(found, name)
    if not isinstance(found, Reward):
        raise click.BadParameter(
            f"{name} must be a reward or make one, got {type(found).__name__}; see BlackBox"
        )
    return found


def _generators(target: str) -> list[str]:
    """The random generators of the module of a target that was loaded, by name."""
    import random

    import numpy as np

    where = target.rpartition(":")[0]
    path = Path(where).resolve()
    modules = [
        module
        for name, module in list(sys.modules.items())
        if name == where or getattr(module, "__file__", None) == str(path)
    ]
    kinds = (np.random.Generator, np.random.RandomState, random.Random)
    found = {
        name: None
        for one in modules
        for name, value in vars(one).items()
        if isinstance(value, kinds)
    }
    return list(found)


def _is_reward(value: Any) -> bool:
    return isinstance(value, Reward) and not isinstance(value, type)


def _call(make: Any, name: str) -> Any:
    try:
        return make()
    except Exception as error:  # the function is the user's, too
        raise click.BadParameter(
            f"{name} must be a reward or a function without arguments that makes one, "
            f"and calling it raised {_shown(error)}. If {name} values a set, wrap it: "
            f"reward = superarm.BlackBox({name}, n_arms=..., lipschitz=..., upper=...)"
        ) from None


def _load_module(where: str) -> ModuleType:
    path = Path(where)
    # Like python itself: the module can import its neighbours.
    sys.path.insert(0, str(path.resolve().parent if where.endswith(".py") else Path.cwd()))
    if not where.endswith(".py"):
        return importlib.import_module(where)
    # A file may have the name of a module that is loaded already, such as inspect.py.
    name = path.stem if path.stem not in sys.modules else f"inspected_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    module = importlib.util.module_from_spec(spec)
    # pickle, and so the processes of an executor, look for functions in sys.modules.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _shown(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _print(found: Inspection) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    console.print(found.summary(), markup=False, highlight=False)
    table = Table()
    for head in ("property", "verdict"):
        table.add_column(head, no_wrap=True)
    for head in ("violated", "rate (95%)"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("worst", justify="right")
    for name, verdict, *rest in found.table():
        table.add_row(name, f"[{_STYLES.get(verdict, 'dim')}]{verdict}[/]", *rest)
    common.print_table(console, table)
    notes = [*found.meaning(), *found.remarks()]
    for line in [*notes, "", *found.advice()]:
        # Brackets in these lines are Python, not markup.
        console.print(line, markup=False, highlight=False)
