"""The command ``superarm compact``: remove old events of a service, after an export."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from superarm.cli import common

if TYPE_CHECKING:
    from superarm.sessions import Decision

_MOST_NAMED = 5  # open decisions


@click.command("compact")
@click.argument("database")
@click.argument("bandit")
@click.option(
    "--before",
    type=click.DateTime(["%Y-%m-%d"]),
    required=True,
    help="Remove the events of the days before this one (UTC), today at the latest.",
)
@common.rewards_option
@common.out_option("superarm-export", "the files")
@click.option("--no-export", is_flag=True, help="Do not write the decisions to files first.")
def command(
    database: str,
    bandit: str,
    before: datetime,
    rewards: str | None,
    out: Path,
    no_export: bool,
) -> None:
    """Archive and remove old events of a bandit.

    They are written as Parquet files first, those of superarm export. The bandit goes on exactly
    as before. Decisions that were removed can no longer be looked up. Open decisions stay, and all
    that came on their days and later: the command says which decisions these are.

    DATABASE is an SQLite file that no server uses, or postgresql://..., which servers may use.

    BANDIT is the id or the name of one bandit.
    """
    today = datetime.now(UTC).date()
    if before.date() > today:
        # A later export would write the file of the day again, without what was removed.
        raise click.BadParameter(f"--before must be at most {today}, today, got {before.date()}")
    common.need_service()
    if not no_export:
        common.need("duckdb", "logs", "Parquet files are written by DuckDB")
    from superarm.service import server
    from superarm.service.bandits.compaction import compact
    from superarm.service.export import export
    from superarm.service.log.events import DamagedLogError
    from superarm.service.problems import Problem

    try:
        own = server.own_rewards(rewards)
        # To serve a file that does not exist is to make it. A misspelt path is refused instead.
        with server.opened(database, "read") as store:
            common.chosen_bandits(store, bandit)
        with server.opened(database, "serve") as store:
            for one in common.chosen_bandits(store, bandit):
                write = partial(export, store, one, out / f"bandit={one.id}")
                time = before.replace(tzinfo=UTC).timestamp()
                done = compact(store, one, own, time, archive=None if no_export else write)
                click.echo(f"{one.id} {one.name}: {done.n_events:,} events removed")
                if done.still_open:
                    click.echo(_what_stays(done.still_open, before))
    except Problem as problem:
        common.stop(f"{problem.detail}; say --rewards MODULE")
    except (server.StartError, DamagedLogError) as error:
        common.stop(str(error))
    if not no_export:
        click.echo(f"The files: {out.resolve()}")


def _what_stays(still_open: Sequence[Decision], before: datetime) -> str:
    """Which open decisions keep days that were to be removed."""
    n, day = len(still_open), datetime.fromtimestamp(still_open[0].time, UTC).date()
    named = ", ".join(one.id for one in still_open[:_MOST_NAMED])
    more = f" and {n - _MOST_NAMED:,} more" if n > _MOST_NAMED else ""
    return (
        f"all events since {day} stay, because decisions before {before.date()} are open: "
        f"{n:,}, the oldest {named}{more}; send their outcomes, or make bandits with an expiry, "
        f"whose next decision closes what has expired"
    )
