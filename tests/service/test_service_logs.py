"""The server's log: a reader that does not read stops nothing."""

import json
import os

from superarm.service.logs import Lines


def test_an_unread_pipe_stops_nothing(monkeypatch):
    monkeypatch.setattr("superarm.service.logs._MOST_WAITING", 10)
    reading, writing = os.pipe()
    try:
        lines = Lines(writing)
        line = json.dumps({"event": "request", "path": "x" * 1000}) + "\n"
        written = 500  # a pipe takes 64 KiB
        for _ in range(written):
            lines.write(line)
        read = b""
        while b"log_lines_lost" not in read:
            lines.write(line)
            written += 1
            read += os.read(reading, 1 << 16)
        lines.finish()
        # A line of its own at the end, so that reading ends.
        lines.write("{}\n")
        while not read.endswith(b"{}\n"):
            read += os.read(reading, 1 << 16)
    finally:
        os.close(writing)
        os.close(reading)
    said = [json.loads(one) for one in read.decode().splitlines()]
    lost = sum(one["n"] for one in said if one.get("event") == "log_lines_lost")
    assert lost > 0
    assert sum(one.get("event") == "request" for one in said) + lost == written
