"""The ids of bandits."""

from __future__ import annotations

import re
import secrets

_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"  # without characters that look alike
_LENGTH = 10
_ID = re.compile(r"[a-z2-9]{10}")


def new_id() -> str:
    """A random id."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(_LENGTH))


def may_exist(id: str) -> bool:
    """Whether a text could be an id. Other texts are never looked up in the database."""
    return _ID.fullmatch(id) is not None
