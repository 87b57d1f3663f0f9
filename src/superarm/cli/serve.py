"""The command ``superarm serve``: bandits over HTTP."""

from __future__ import annotations

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
    type=click.FloatRange(min=0.0),
    default=0.0,
    help="Most requests per second of one key or address. 0 sets no limit.",
)
@click.option(
    "--most-connections",
    type=_at_least_one,
    default=512,
    help="Most open connections of one address.",
)
@click.option(
    "--checkpoint-every",
    type=_at_least_one,
    default=2000,
    help="Events between two checkpoints of a bandit.",
)
@click.option(
    # Each bandit decides on one thread at a time, so that more threads help only several bandits.
    "--threads",
    "n_threads",
    type=_at_least_one,
    default=64,
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
    "--most-loaded", type=_at_least_one, default=1000, help="Most bandits kept in memory."
)
@click.option(
    "--check-all",
    is_flag=True,
    help="Check whole logs at the start, not only the events after the last checkpoints.",
)
@click.option("--quiet", is_flag=True, help="Do not log requests.")
def command(
    most_body: int,
    most_arms: int,
    most_open: int,
    most_samples: int,
    rate: float,
    most_connections: int,
    quiet: bool,
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
    limits = Limits(most_body, most_arms, most_open, most_samples, rate, most_connections)
    made = Settings(limits=limits, log_requests=not quiet, **settings)
    try:
        (server if made.n_workers == 1 else workers).serve(made)
    except server.StartError as error:
        # The message is for the operator, who needs no traceback.
        common.stop(str(error))
