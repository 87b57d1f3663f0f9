"""The server's log: a reader that does not read stops nothing."""

import json
import os

import pytest

from superarm.service.logs import Lines, request_line


@pytest.mark.parametrize(
    ("key", "client"), [(None, None), ("0a1b", "::1"), ('a"\\\n\x7f', "é\ud800\U0001f600")]
)
def test_the_line_of_a_request_is_json(capsys, monkeypatch, key, client):
    monkeypatch.setattr("time.time", lambda: 1.7e9 + 1e-7)
    request_line("PO\tST", "/ü", 201, 0.0012345678, key, client)
    members = {"time": 1.7e9, "level": "info", "event": "request", "method": "PO\tST", "path": "/ü"}
    members |= {"status": 201, "ms": 1.235, "key": key, "client": client}
    assert capsys.readouterr().err == json.dumps(members) + "\n"


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
