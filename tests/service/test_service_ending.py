"""The end of a server whose database does not answer."""

import contextlib
import signal
import sqlite3
import subprocess
import sys

import pytest

from forked_server import ForkedServer
from superarm.client import Client
from superarm.service import server

PROGRAM = """
import time
from superarm.service.ending import at_most

with at_most(100):
    print("one", flush=True)
with at_most(0.01):
    time.sleep(1000)
"""


def test_a_block_that_takes_too_long_ends_the_process():
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout) == (1, "one\n")
    assert "ended_early" in ended.stderr


def hurried():
    server._GRACE_S = 0.2


@pytest.mark.parametrize("workers", [1, 2])
def test_a_server_ends_while_its_database_hangs(tmp_path, workers):
    """Its checkpoints wait for a lock, for 30 seconds each."""
    database, log = tmp_path / "bandits", tmp_path / "log"
    arguments = [str(database), log, *(["--workers", "2"] if workers > 1 else [])]
    with ForkedServer(*arguments, prefix=hurried) as one, contextlib.ExitStack() as stack:
        with Client(one.url) as client:
            issued = client.ask(client.create("held", 5, 2))
        for file in [database] if workers == 1 else sorted(database.glob("*.db")):
            other = stack.enter_context(contextlib.closing(sqlite3.connect(file)))
            other.execute("BEGIN IMMEDIATE")
        one.process.send_signal(signal.SIGTERM)
        # The parent of workers ends as always.
        assert one.process.wait(25) == (1 if workers == 1 else 0)
    assert log.read_text().count('"ended_early"') == 1
    with ForkedServer(*arguments) as again, Client(again.url) as client:
        assert client.decision(issued.id).arms == issued.arms
