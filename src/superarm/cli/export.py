"""The command ``superarm export``: the log of a service as Parquet files."""

from __future__ import annotations

from pathlib import Path

import click

from superarm.cli import common


@click.command("export")
@click.argument("database")
@click.argument("bandit", required=False)
@common.out_option("superarm-export", "the files")
def command(database: str, bandit: str | None, out: Path) -> None:
    """Write the log of a service as Parquet files.

    Each bandit gets a folder bandit=ID with one file per day, date=YYYY-MM-DD/part.parquet, and
    log.json with its name and its arms. A row is an arm of a decision, with its place, outcome,
    propensity and context.

    DATABASE is an SQLite file, or postgresql://...

    BANDIT is the id or the name of one bandit. Without BANDIT, all bandits are written.

    Changes nothing in the database, and can run while a server is running.
    """
    common.need_service()
    common.need("duckdb", "logs", "Parquet files are written by DuckDB")
    from superarm.service import server
    from superarm.service.export import export
    from superarm.service.log.events import DamagedLogError

    try:
        with server.opened(database, "read") as store:
            for one in common.chosen_bandits(store, bandit):
                files = export(store, one, out / f"bandit={one.id}")
                plural = "" if len(files) == 1 else "s"
                click.echo(f"{one.id} {one.name}: {len(files):,} day{plural}")
    except (server.StartError, DamagedLogError) as error:
        common.stop(str(error))
    click.echo(f"The files: {out.resolve()}")
