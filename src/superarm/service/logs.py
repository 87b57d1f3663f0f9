"""Logs as JSON lines on the error stream: no keys, no bodies."""

from __future__ import annotations

import json
import logging
import sys
import time
import traceback
from typing import Any


class JSONLines(logging.Formatter):
    """One record, one line; what a record is given as ``extra={"fields": {...}}`` are members of it."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        members: dict[str, Any] = {
            "time": round(record.created, 6),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[1] is not None:
            members["trace"] = "".join(traceback.format_exception(record.exc_info[1]))
        return json.dumps(members)


def configure() -> None:
    """Send the service's and the server's logs to the error stream."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JSONLines())
    for name, level in (("superarm.service", logging.INFO), ("uvicorn.error", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)


def request_line(
    method: str, path: str, status: int, seconds: float, key: str | None, client: str | None
) -> None:
    """One request; the key by its id. Written at once, since there are many."""
    members = {
        "time": round(time.time(), 6),
        "level": "info",
        "event": "request",
        "method": method,
        "path": path,
        "status": status,
        "ms": round(1000 * seconds, 3),
        "key": key,
        "client": client,
    }
    sys.stderr.write(json.dumps(members) + "\n")
