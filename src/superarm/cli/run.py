"""The command ``superarm run``: play policies over a table of the user."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import Any

import click

from superarm.cli import common


class _Prior(click.ParamType):  # type: ignore[type-arg]  # generic only in new versions of click
    """A word, or two numbers with a comma between them."""

    name = "prior"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> str | tuple[float, float]:
        """The word or the numbers."""
        if value in ("learned", "flat") or not isinstance(value, str):
            return value
        try:
            a, b = map(float, value.split(","))
        except ValueError:
            a = b = 0.0
        if not (0 < a < math.inf and 0 < b < math.inf):
            self.fail(
                f"expected learned, flat, or two numbers above 0 such as 1,9, got {value!r}",
                param,
                ctx,
            )
        return a, b


class _PolicyOption(click.Option):
    """An option whose help names the policies. The study is imported when the help is shown."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """The option and its help."""
        from superarm.studies import own_table

        # Set here and not in the decorator, so that `superarm --help` imports no study.
        self.help = f"A policy to play: {', '.join(own_table.POLICIES)}. Can be repeated."
        self.show_default = ", ".join(own_table.USUAL)
        return super().get_help_record(ctx)


@click.command("run")
@click.argument(
    "table",
    metavar="TABLE",
    type=common.existing_file,
)
@click.option("--k", type=click.IntRange(min=1), required=True, help="Arms picked per round.")
@click.option(
    "--policy",
    "policies",
    cls=_PolicyOption,
    multiple=True,
    metavar="NAME",
    help="A policy to play. Can be repeated.",
)
@click.option(
    "--prior",
    type=_Prior(),
    metavar="PRIOR",
    show_default="learned for thompson, flat for cts",
    help="Prior of thompson and cts: learned, flat, or A,B for Beta(A, B).",
)
@common.runs_option("Runs per policy. All policies play the same rows.", default=10)
@click.option(
    "--order",
    type=click.Choice(["given", "shuffled"]),
    default="given",
    help="The rows in the order of the table, or in a random order per run.",
)
@click.option(
    "--horizon",
    type=click.IntRange(min=1),
    show_default="all rows, at most 20,000",
    help="Rounds per run.",
)
@click.option(
    "--skip",
    metavar="COLUMN",
    multiple=True,
    help="A column that is not an arm: its name, or its number from 1. Can be repeated.",
)
@click.option(
    "--features",
    metavar="FILE",
    type=common.existing_file,
    help="A CSV file with one row per arm: its name, then what is known of it. Adds the policy "
    "features, which learns from that.",
)
@click.option(
    "--context",
    metavar="COLUMNS",
    multiple=True,
    help="Columns that are not arms but known before a round is played: names, or numbers as in "
    "1,3-5. Adds the policy contexts, which learns from them. Can be repeated.",
)
@common.log_options
@click.option(
    "--propensity",
    metavar="COLUMN",
    help="For a log: the column with the probability that the item was shown.",
)
@common.seed_option("Seed of everything.")
@common.workers_option("The files")
@common.out_option("superarm-run", "the report and the numbers")
def command(
    table: Path,
    skip: tuple[str, ...],
    features: Path | None,
    context: tuple[str, ...],
    item: str | None,
    outcome: str | None,
    rounds: tuple[str, ...],
    position: str | None,
    propensity: str | None,
    sql: str | None,
    out: Path,
    **options: Any,
) -> None:
    """Play policies over historical data and write a report.

    TABLE is a CSV file with one column per arm and one row per round. The first line has the names
    of the arms. A cell has the outcome of an arm in a round, a number from 0 to 1. A cell is empty
    if the outcome is not known.

    In each round a policy picks k arms, gets their cells as feedback, and learns. report.html shows
    which policy wins, which share of the gap between the random baseline and the best fixed set
    each policy closed, and which part of that gap is luck. The best fixed set is known only
    afterwards.

    TABLE may also be a log with one row per item that was shown (CSV, Parquet, or a database with
    --sql): name its columns with --item, --outcome and --round. The report then says what such a
    log can say.
    """
    from superarm.studies import own_log, own_table

    # The other options have the names of the arguments of both studies.
    options["folder"] = out
    try:
        source = own_log.Source(table, sql and common.query(sql))
        columns = own_log.columns_of(
            source, options["k"], item, outcome, rounds, position, propensity
        )
        if columns is None:
            play = partial(
                own_table.run, table, skip=skip, features=features, context=context, **options
            )
        elif skip or features or context:
            raise own_table.TableError(
                "--skip, --features and --context are for tables with one column per arm, got a log"
            )
        else:
            play = partial(own_log.run, source, columns, **options)
        common.show(lambda console: play(console=console), "The report")
    # A bad table is shown with the name of its file; its message has the line and the column.
    except own_table.TableError as error:
        raise click.BadParameter(str(error), param_hint=str(table)) from None
