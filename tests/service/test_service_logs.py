"""The server's log: a reader that does not read stops nothing."""

import json
import os
import subprocess
import sys

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


@pytest.mark.parametrize("own", [False, True])
def test_lines_of_libraries_are_json(own):
    """Unless the operator wants them otherwise. Python itself would wait for an unread stream."""
    program = """
import logging, warnings
from superarm.service import logs
{}
logs.configure()
logs.configure()  # as in a process of a worker
logging.getLogger("psycopg").warning("lost")
warnings.warn_explicit("overflow", RuntimeWarning, "reward.py", 7)  # as numpy does
logs.finish()
""".format("logging.basicConfig()" if own else "")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    lost, overflow, *_ = done.stderr.splitlines()
    said = [lost, overflow] if own else [json.loads(one)["event"] for one in (lost, overflow)]
    lines = "WARNING:psycopg:lost", "WARNING:py.warnings:reward.py:7: RuntimeWarning: overflow"
    assert said == (list(lines) if own else ["lost", "reward.py:7: RuntimeWarning: overflow\n"])
