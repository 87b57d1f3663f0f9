"""The command ``superarm compact``: remove old events of a service, after an export."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from superarm.cli import common


@click.command("compact")
@click.argument("database")
@click.argument("bandit")
@click.option(
    "--before",
    type=click.DateTime(["%Y-%m-%d"]),
    required=True,
    help="Remove the events of the days before this one (UTC).",
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
    that came on their days and later.

    DATABASE is an SQLite file that no server uses, or postgresql://..., which servers may use.

    BANDIT is the id or the name of one bandit.
    """
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
                if not no_export:
                    export(store, one, out / f"bandit={one.id}")
                n_events = compact(store, one, own, before.replace(tzinfo=UTC).timestamp())
                click.echo(f"{one.id} {one.name}: {n_events:,} events removed")
    except (server.StartError, DamagedLogError, Problem) as error:
        common.stop(str(error))
    if not no_export:
        click.echo(f"The files: {out.resolve()}")
