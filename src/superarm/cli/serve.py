"""The command ``superarm serve``: bandits over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from superarm.cli import common

_at_least_one = click.IntRange(min=1)
_HIGHEST_PORT = 65535


@click.command("serve")
@common.database_option("A file that does not exist is created.")
@click.option("--host", default="127.0.0.1", help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, _HIGHEST_PORT),
    default=8321,
    help="Port to listen on. 0 chooses a free port.",
)
@common.rewards_option
@click.option(
    "--keys/--no-keys",
    "with_keys",
    default=None,  # three values: the service decides by the host if none is given
    show_default="required unless the host is a loopback address",
    help="Require API keys.",
)
@click.option(
    "--allowed-host",
    "allowed_hosts",
    metavar="NAME",
    multiple=True,
    help="Host name of the service behind a proxy, for a server without keys. Can be repeated.",
)
@click.option(
    "--trusted-proxy",
    "trusted_proxies",
    metavar="ADDRESS",
    multiple=True,
    help="Proxy whose X-Forwarded-For header is believed. Can be repeated.",
)
@click.option(
    "--most-body", type=_at_least_one, default=64 << 20, help="Most bytes per request body."
)
@click.option("--most-arms", type=_at_least_one, default=2_000_000, help="Most arms per bandit.")
@click.option(
    "--most-open", type=_at_least_one, default=100_000, help="Most open decisions per bandit."
)
@click.option(
    "--most-samples",
    type=click.IntRange(min=0),
    default=10_000,
    help="Most samples that a request may draw for propensities. 0 allows none.",
)
@click.option(
    "--rate",
    type=common.FiniteRange(min=0.0),
    default=0.0,
    help="Most requests per second of one key or address, per worker. 0 sets no limit.",
)
@click.option(
    "--most-connections",
    type=_at_least_one,
    default=512,
    help="Most open connections of one address, per worker.",
)
@click.option(
    "--checkpoint-every",
    type=_at_least_one,
    default=10_000,
    help="Requests between two checkpoints of a bandit.",
)
@click.option(
    # Each bandit decides on one thread at a time, so that more threads help only several bandits.
    "--threads",
    "n_threads",
    type=_at_least_one,
    show_default="no limit, 64 with PostgreSQL",
    help="Number of bandits that can decide at the same time.",
)
@click.option(
    "--workers",
    "n_workers",
    type=_at_least_one,
    default=1,
    help="Number of processes. Each bandit belongs to one. More than one process needs PostgreSQL, "
    "or a folder as database, which has one SQLite file per process.",
)
@click.option(
    "--deadline",
    "deadline_s",
    metavar="SECONDS",
    type=common.FiniteRange(min=0.0),
    default=60.0,
    help="Time after which a request is given up. 0 sets no limit.",
)
@click.option(
    "--reward-processes",
    "n_processes",
    type=click.IntRange(min=0),
    default=64,
    help="Most processes that evaluate --rewards, draw many samples for propensities, and read "
    "long bodies. 0 uses the threads of the server.",
)
@click.option(
    "--most-loaded", type=_at_least_one, default=1000, help="Most bandits kept in memory."
)
@click.option(
    "--check-all",
    is_flag=True,
    help="Check whole logs at the start, not only the events after the last checkpoints.",
)
@click.option(
    "--warm-start",
    metavar="LOG",
    type=common.existing_file,
    help="Make a bandit that has learned from a log (CSV, Parquet, or a database with --sql), "
    "unless there is one of its name.",
)
@click.option("--k", type=_at_least_one, help="For --warm-start: arms per decision.")
@click.option(
    "--name", show_default="the name of the file", help="For --warm-start: name of the bandit."
)
@click.option(
    "--strength",
    type=common.FiniteRange(0.0, 1.0, min_open=True),
    default=1.0,
    help="For --warm-start: share of the rounds that count.",
)
@common.log_options
@click.option("--quiet", is_flag=True, help="Do not log requests.")
def command(
    most_body: int,
    most_arms: int,
    most_open: int,
    most_samples: int,
    rate: float,
    most_connections: int,
    quiet: bool,
    warm_start: Path | None,
    k: int | None,
    name: str | None,
    strength: float,
    item: str | None,
    outcome: str | None,
    rounds: tuple[str, ...],
    position: str | None,
    sql: str | None,
    **settings: Any,
) -> None:
    """Serve bandits over HTTP.

    Decisions have ids, and outcomes may come at any later time. Every decision is on the disk
    before it is answered, and every outcome before it is acknowledged.

    SIGTERM or Ctrl-C ends the server after the requests that have begun. The log goes to the error
    stream as JSON lines.
    """
    # Before the imports below, which would fail with a traceback.
    common.need_service()
    from superarm.service import server, workers
    from superarm.service.settings import Limits, Settings

    # The options have the names of the settings. Limits are a group of their own.
    if warm_start is not None:
        columns = (item, outcome, rounds, position, None)
        request = {"name": name or warm_start.stem, "k": k}
        settings["first"] = _first(warm_start, sql, columns, request, strength)
    elif any((k, name, item, outcome, rounds, position, sql)):
        raise click.BadParameter("--k, --name and the columns of a log are for --warm-start")
    limits = Limits(most_body, most_arms, most_open, most_samples, rate, most_connections)
    made = Settings(limits=limits, log_requests=not quiet, **settings)
    try:
        (server if made.n_workers == 1 else workers).serve(made)
    except server.StartError as error:
        # The message is for the operator, who needs no traceback.
        common.stop(str(error))


def _first(
    path: Path, sql: str | None, columns: Any, request: dict[str, Any], strength: float
) -> dict[str, Any]:
    """The request for a bandit that has learned from a log."""
    from superarm.service.bandits.warm_start import rounds_of
    from superarm.studies import own_log, own_table

    if request["k"] is None:
        raise click.BadParameter("--warm-start needs --k, the number of arms per decision")
    source = own_log.Source(path, common.query(sql))
    try:
        found = own_log.columns_of(source, request["k"], *columns, command="serve --warm-start")
        if found is None:
            raise own_table.TableError(
                "--warm-start needs the columns of a log: --item COLUMN --outcome COLUMN "
                "--round COLUMN"
            )
        log = own_log.read(source, found)
    except own_table.TableError as error:
        raise click.BadParameter(str(error), param_hint=str(path)) from None
    warm = {"rounds": rounds_of(log), "strength": strength}
    return {**request, "arms": [str(one) for one in log.names], "warm_start": warm}
