"""The command ``superarm plan``: what each oracle would cost."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from superarm.cli import common

if TYPE_CHECKING:
    from rich.table import Table

    from superarm.advice import Plan

# Terminals have 80 columns, and rows that do not fit would lose their names.
_NARROW: Any = {"title_justify": "left", "box": None, "padding": (0, 1, 0, 0)}
_count = click.IntRange(min=1)


@click.command("plan")
@click.option("--m", "n_arms", type=_count, required=True, help="Number of arms.")
@click.option("--k", type=_count, required=True, help="Arms per set.")
@click.option(
    "--cost",
    "cost_s",
    type=common.FiniteRange(min=0.0),
    required=True,
    help="Seconds per evaluation of the reward.",
)
@click.option("--horizon", type=_count, required=True, help="Number of rounds.")
@common.seed_option("Seed of the measured problem. The measured times vary.")
@common.json_option
def command(n_arms: int, k: int, cost_s: float, horizon: int, seed: int, as_json: bool) -> None:
    """Show what each oracle would cost.

    The tables have the evaluations and the time per round, the total time over the horizon, and
    the break-even costs of an evaluation. Measures for some seconds on this machine.
    """
    import numpy as np

    from superarm.advice import plan

    rng = np.random.default_rng(seed)
    try:
        found = plan(n_arms=n_arms, k=k, cost_s=cost_s, horizon=horizon, rng=rng)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    # The same numbers, for programs and for people.
    if as_json:
        click.echo(json.dumps(found.as_dict(), indent=2))
    else:
        from rich.console import Console

        console = Console()
        common.print_table(console, _costs(found))
        common.print_table(console, _break_even(found))


def _costs(found: Plan) -> Table:
    from rich.table import Table

    caption = f"measured on: {found.measured_on}; exact except ~ measured, * extrapolated"
    table = Table(title=found.summary(), caption=caption, **_NARROW)
    table.add_column("oracle", no_wrap=True)
    table.add_column("picks")  # wraps in narrow terminals
    for head in ("evaluations", "overhead", "per round", "in total"):
        table.add_column(head, justify="right", no_wrap=True)
    for oracle, picks, evaluations, kind, *times in found.table():
        mark = {"measured": "~", "extrapolated": "*"}.get(kind, "")
        table.add_row(oracle, picks, evaluations + mark, *times)
    return table


def _break_even(found: Plan) -> Table:
    from rich.table import Table

    title = "Row is faster than column once an evaluation takes longer than"
    table = Table(title=title, caption="columns have the numbers of the rows", **_NARROW)
    table.add_column("", no_wrap=True)
    # Numbers as headings keep the table narrow enough for a terminal.
    for number in range(1, len(found.rows) + 1):
        table.add_column(str(number), justify="right", no_wrap=True)
    for number, (name, *costs) in enumerate(found.break_even_table(), start=1):
        table.add_row(f"{number} {name}", *costs)
    return table
