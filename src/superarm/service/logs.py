"""The server's log: JSON lines on the error stream, without API keys and without bodies."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys
import threading
import time
import traceback
from json.encoder import encode_basestring_ascii as _quoted
from typing import Any

_MOST_WAITING = 10_000  # lines that wait for a slow reader of the error stream
_TOGETHER_S = 0.01  # lines wait this long for others: a switch of threads per line is expensive
_END_S = 2.0  # how long the last lines may take when the server stops


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


class Lines:
    """Writes lines in a thread of its own, those of a short time together.

    A pipe that nobody reads is full some day, and a write to it never returns. Requests must not
    wait for that: lines that have no room are dropped, and their number is written when there is.
    """

    def __init__(self, file: int) -> None:
        self._file = file
        self._lock, self._some = threading.Lock(), threading.Event()
        self._waiting: list[str] = []
        self._lost, self._is_writing = 0, False
        threading.Thread(target=self._work, name="superarm-log", daemon=True).start()

    def write(self, text: str) -> None:
        """Add a text of whole lines."""
        with self._lock:
            if len(self._waiting) >= _MOST_WAITING:
                self._lost += 1
                return
            self._waiting.append(text)
            is_first = len(self._waiting) == 1
        if is_first:
            self._some.set()

    def flush(self) -> None:
        """Nothing waits to be written by the caller."""

    def finish(self) -> None:
        """Return when all lines are written, or after a short time."""
        end = time.monotonic() + _END_S
        while (self._waiting or self._is_writing) and time.monotonic() < end:
            time.sleep(0.01)

    def _work(self) -> None:
        while True:
            self._some.wait()
            time.sleep(_TOGETHER_S)
            with self._lock:
                self._some.clear()
                # First: `finish` looks at both without the lock, and lines must be in one of them.
                self._is_writing = True
                texts, self._waiting = self._waiting, []
                lost, self._lost = self._lost, 0
            if lost:
                now = round(time.time(), 6)
                members = {"time": now, "level": "warning", "event": "log_lines_lost", "n": lost}
                texts.append(json.dumps(members) + "\n")
            data = "".join(texts).encode()
            with contextlib.suppress(OSError):  # the reader has gone, or the disk is full
                while data:
                    data = data[os.write(self._file, data) :]
            self._is_writing = False


# Replaced by `configure`. Until then, and in tests, lines go to the stream itself.
_out: Lines | None = None


def configure() -> None:
    """Send the logs of the service, of uvicorn and of other libraries to the error stream."""
    global _out
    _out = Lines(sys.stderr.fileno())
    handler = logging.StreamHandler(_out)
    handler.setFormatter(JSONLines())
    for name, level in (("superarm.service", logging.INFO), ("uvicorn.error", logging.WARNING)):
        logger = logging.getLogger(name)
        # Not to the root logger, which may have handlers of the operator with other formats.
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
    root = logging.getLogger()
    # A forked process has the handler of its parent.
    root.handlers = [one for one in root.handlers if not isinstance(one.formatter, JSONLines)]
    if not root.handlers:  # Python would write lines of text, and wait for the reader of the stream
        root.addHandler(handler)
    logging.captureWarnings(True)  # for the same reason


def request_line(
    method: str, path: str, status: int, seconds: float, key_id: str | None, client: str | None
) -> None:
    """Write the line of one request, without the cost of a logger and of a dictionary."""
    key, address = ["null" if text is None else _quoted(text) for text in (key_id, client)]
    # One call per line, so that lines of several threads do not mix.
    (_out or sys.stderr).write(
        f'{{"time": {round(time.time(), 6)!r}, "level": "info", "event": "request", '
        f'"method": {_quoted(method)}, "path": {_quoted(path)}, "status": {status}, '
        f'"ms": {round(1000 * seconds, 3)!r}, "key": {key}, "client": {address}}}\n'
    )


def finish() -> None:
    """Write the last lines before the process ends."""
    if _out is not None:
        _out.finish()
