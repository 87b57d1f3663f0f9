"""The server's log: JSON lines on the error stream, without API keys and without bodies."""

from __future__ import annotations

import json
import logging
import sys
import time
import traceback
from typing import Any


class JSONLines(logging.Formatter):
    """One line per record. The dict ``extra={"fields": {...}}`` adds members to the line."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        members: dict[str, Any] = {
            "time": round(record.created, 6),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[1] is not None:
            # In one member, so that a record stays one line.
            members["trace"] = "".join(traceback.format_exception(record.exc_info[1]))
        return json.dumps(members)


def configure() -> None:
    """Send the logs of the service and of uvicorn to the error stream."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JSONLines())
    for name, level in (("superarm.service", logging.INFO), ("uvicorn.error", logging.WARNING)):
        logger = logging.getLogger(name)
        # Not to the root logger, whose handlers would write other formats.
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)


def request_line(
    method: str, path: str, status: int, seconds: float, key_id: str | None, client: str | None
) -> None:
    """Write the line of one request, without the cost of a logger."""
    members = {
        "time": round(time.time(), 6),
        "level": "info",
        "event": "request",
        "method": method,
        "path": path,
        "status": status,
        "ms": round(1000 * seconds, 3),
        "key": key_id,
        "client": client,
    }
    # One call per line, so that lines of several threads do not mix.
    sys.stderr.write(json.dumps(members) + "\n")
