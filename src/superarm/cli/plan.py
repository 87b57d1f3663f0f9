"""The command ``superarm plan``: what each oracle would cost."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from superarm.cli.common import json_option, seed_option

if TYPE_CHECKING:
    from rich.table import Table

    from superarm.advice import Plan, PlanRow

_PICKS_WIDTH = 18
_count = click.IntRange(min=1)


@click.command("plan")
@click.option("--m", "n_arms", type=_count, required=True, help="Number of arms.")
@click.option("--k", type=_count, required=True, help="Arms per set.")
@click.option(
    "--cost",
    "cost_s",
    type=click.FloatRange(min=0.0),
    required=True,
    help="Seconds per evaluation of the reward.",
)
@click.option("--horizon", type=_count, required=True, help="Number of rounds.")
@seed_option("Seed of the measured problem. The measured times vary.")
@json_option
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
    if as_json:
        click.echo(json.dumps(found.as_dict(), indent=2))
    else:
        from rich.console import Console

        console = Console()
        console.print(_costs(found))
        console.print(_break_even(found))


def _costs(found: Plan) -> Table:
    from rich.table import Table

    from superarm.advice.text import shown_s

    title = (
        f"{found.k} of {found.n_arms:,} arms, {shown_s(found.cost_s)} per evaluation, "
        f"{found.horizon:,} rounds"
    )
    caption = f"measured on: {found.measured_on}; * extrapolated"
    table = Table(title=title, title_justify="left", caption=caption)
    table.add_column("oracle", no_wrap=True)
    table.add_column("picks", width=_PICKS_WIDTH)  # takes two lines, for narrow terminals
    for head in ("evaluations", "", "overhead", "per round", "in total"):
        table.add_column(head, justify="right", no_wrap=True)
    for row in found.rows:
        extrapolated = "*" if row.overhead_is == "extrapolated" else ""
        overhead = shown_s(row.overhead_s) + extrapolated
        times = (overhead, shown_s(row.round_s), shown_s(row.total_s))
        table.add_row(row.oracle, row.picks, _evaluations(row), row.evaluations_are, *times)
    return table


def _evaluations(row: PlanRow) -> str:
    # Four digits of a measured mean below a thousand, whole evaluations above.
    return f"{row.evaluations:,.4g}" if row.evaluations < 1000 else f"{row.evaluations:,.0f}"


def _break_even(found: Plan) -> Table:
    from rich.table import Table

    title = "Row is faster than column once an evaluation takes longer than"
    table = Table(title=title, title_justify="left", caption="columns have the numbers of the rows")
    table.add_column("", no_wrap=True)
    names = [row.oracle for row in found.rows]
    # Numbers as headings keep the table narrow enough for a terminal.
    for number in range(1, len(names) + 1):
        table.add_column(str(number), justify="right", no_wrap=True)
    for number, name in enumerate(names, start=1):
        costs = (_shown_cost(found.break_even[name].get(other)) for other in names)
        table.add_row(f"{number} {name}", *costs)
    return table


def _shown_cost(cost_s: float | None) -> str:
    from superarm.advice.text import shown_s

    if cost_s is None:
        return ""
    return "0" if cost_s == 0 else shown_s(cost_s)
