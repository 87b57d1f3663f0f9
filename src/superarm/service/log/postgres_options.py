"""How connections to PostgreSQL are opened: their timeouts, and the schema."""

from __future__ import annotations

from typing import Any

from psycopg.conninfo import conninfo_to_dict

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


def options(address: str) -> dict[str, Any]:
    """What psycopg takes to connect to an address."""
    given = conninfo_to_dict(address)
    # Later options win: those of the operator override ours, except the schema.
    options = f"{_SERVER_TIMEOUTS} {given.get('options') or ''} -c search_path=superarm"
    return {**_TIMEOUTS, **given, "options": options}
