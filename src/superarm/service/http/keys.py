"""API keys. A key is shown once when it is made; only its digest is stored."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable

from superarm.service.log.store import KeyRow, Store

ROLES = ("read", "decide", "admin")  # each role may do what the roles before it may do
_PREFIX = "superarm_"
_FRESH_S = 5.0  # a dropped key may work for this long


def make(role: str, note: str = "") -> tuple[str, KeyRow]:
    """A new key, and the row that is stored for it.

    Examples
    --------
    >>> key, row = make("decide")
    >>> row.role, key in str(row)
    ('decide', False)
    """
    if role not in ROLES:
        raise ValueError(f"role must be one of {', '.join(ROLES)}, got {role!r}")
    key = _PREFIX + secrets.token_urlsafe(32)
    return key, KeyRow(secrets.token_hex(4), role, note, time.time(), digest(key))


def digest(key: str) -> bytes:
    """The stored digest. Keys are random and long, so no salt and no slow hash is needed."""
    return hashlib.sha256(key.encode()).digest()


class Keys:
    """The keys of a database, read again every few seconds.

    Parameters
    ----------
    store
        The database.
    clock
        Seconds from any start; must not go back.
    """

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self._store, self._clock = store, clock
        self._rows: list[KeyRow] = []
        self._until = float("-inf")

    @property
    def stale(self) -> bool:
        """Whether `refresh` is due."""
        return self._clock() >= self._until

    def refresh(self) -> None:
        """Read the keys again."""
        # The command line changes keys beside a running server.
        self._rows = self._store.key_rows()
        self._until = self._clock() + _FRESH_S

    def role(self, key: str) -> tuple[str, str] | None:
        """Id and role of a key; None for an unknown key."""
        sent, found = digest(key), None
        # No early exit, and constant-time comparisons: the time must not tell about the keys.
        for row in self._rows:
            if hmac.compare_digest(row.digest, sent):
                found = row.id, row.role
        return found


def may(role: str, needed: str) -> bool:
    """Whether a role includes another."""
    return ROLES.index(role) >= ROLES.index(needed)
