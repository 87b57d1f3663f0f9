"""Connections to PostgreSQL: how they are opened, whether they live, statements and errors."""

from __future__ import annotations

import contextlib
import selectors
from collections.abc import Iterator
from functools import cache
from typing import Any

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict

from superarm.service.log.store import StoreError

# Both sides notice within half a minute that a machine has vanished, and PostgreSQL then releases
# its locks. A process that hangs may hold a bandit for minutes, because a reward may take minutes.
# Other processes wait a few seconds for the bandit and then answer 503.
_TIMEOUTS = {
    "connect_timeout": "10",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "4",
    "tcp_user_timeout": "30000",
}
_SERVER_TIMEOUTS = (
    "-c lock_timeout=5s -c idle_in_transaction_session_timeout=5min -c tcp_keepalives_idle=10 "
    "-c tcp_keepalives_interval=5 -c tcp_keepalives_count=4 -c tcp_user_timeout=30s"
)


def connect(address: str) -> psycopg.Connection[Any]:
    """A new connection."""
    made = psycopg.connect(autocommit=True, **_options(address))
    # Whatever the database's defaults are: a commit returns when it is on the disk, and a statement
    # sees what was committed before it.
    made.execute("SET synchronous_commit = on")
    made.execute("SET default_transaction_isolation = 'read committed'")
    return made


def _options(address: str) -> dict[str, Any]:
    """What psycopg takes to connect to an address."""
    given = conninfo_to_dict(address)
    # Later options win: those of the operator override ours, except the schema.
    options = f"{_SERVER_TIMEOUTS} {given.get('options') or ''} -c search_path=superarm"
    return {**_TIMEOUTS, **given, "options": options}


def is_well(connection: psycopg.Connection[Any]) -> bool:
    """Whether an idle connection has not ended: then there would be something to read."""
    with selectors.DefaultSelector() as selector:
        selector.register(connection.fileno(), selectors.EVENT_READ)
        return not selector.select(0)


@cache
def placed(query: str) -> str:
    """A shared statement with the placeholders of psycopg."""
    return query.replace("?", "%s")


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """Errors of psycopg as StoreError."""
    try:
        yield
    except psycopg.Error as error:
        full = isinstance(error, errors.DiskFull)
        read_only = isinstance(error, errors.ReadOnlySqlTransaction)
        raise StoreError(f"PostgreSQL: {error}", full=full, read_only=read_only) from error
