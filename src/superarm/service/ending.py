"""The end of a server, also if its database does not answer."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Iterator

from superarm.service import logs

_log = logging.getLogger("superarm.service")


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """End the process if the block takes longer.

    Nothing is lost: what was acknowledged is in the database, and the rest gets no answer.
    """
    # A thread that waits for a database cannot be cancelled, and Python would wait for it.
    timer = threading.Timer(seconds, _end, [seconds])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _end(seconds: float) -> None:
    _log.error("ended_early", extra={"fields": {"seconds": seconds}})
    logs.finish()
    os._exit(1)
