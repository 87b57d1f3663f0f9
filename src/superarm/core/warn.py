"""Warnings that point at the line of the user's program."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

_PACKAGE = str(Path(__file__).resolve().parent.parent)


def warn_user(message: str) -> None:
    """Warn, and name the innermost line outside of superarm.

    The same warning may come from ``oracle.select``, ``policy.ask`` or ``session.ask``, so that no
    fixed ``stacklevel`` would be right. In a thread that superarm started, the outermost line is
    named.
    """
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, stacklevel=level)
