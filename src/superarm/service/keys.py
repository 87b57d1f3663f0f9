"""API keys: made here, shown once, and kept as digests only."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable

from superarm.service.store import KeyRow, Store

ROLES = ("read", "decide", "admin")  # each may do what those before it may
_PREFIX = "superarm_"
_FRESH_S = 5.0  # so long a key that was dropped may still work


def make(role: str, note: str = "") -> tuple[str, KeyRow]:
    """A new key, and what is kept of it.

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
    """What is kept of a key: it is as random as its digest, so no salt and no slow hash is needed."""
    return hashlib.sha256(key.encode()).digest()


class Keys:
    """The keys of a database, looked up again every few seconds.

    Parameters
    ----------
    store
        Where they are.
    clock
        Seconds from any start, which only grow.
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
        self._rows = self._store.key_rows()
        self._until = self._clock() + _FRESH_S

    def role(self, key: str) -> tuple[str, str] | None:
        """Id and role of a key. Every kept digest is compared, each in constant time."""
        came, found = digest(key), None
        for row in self._rows:
            if hmac.compare_digest(row.digest, came):
                found = row.id, row.role
        return found


def may(role: str, needed: str) -> bool:
    """Whether a role is enough."""
    return ROLES.index(role) >= ROLES.index(needed)
