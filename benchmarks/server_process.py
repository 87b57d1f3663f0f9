"""A server process that can be killed and started again on the same port."""

from __future__ import annotations

import contextlib
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import httpx


def free_port() -> int:
    """A port of the loopback interface that nobody listens on, and that no connection is given
    while it is free.

    Clients that ask again and again while a server is away would sooner or later be given its port,
    were it one of those that systems hand out (from 32768 on).
    """
    while True:
        port = random.SystemRandom().randrange(15_000, 30_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


class Server:
    """``superarm serve`` with options, as a process of its own. What it prints goes to a file that
    ``said`` reads.

    ``prefix`` is a command that runs it, for a machine in another state.
    """

    def __init__(self, database: str, log: Path, *options: str, prefix: Sequence[str] = ()) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = log
        serve = ["serve", "--database", database, "--port", str(self.port), *options]
        self._prefix, self._arguments = prefix, ["-m", "superarm", *serve]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, *, wait: bool = True) -> Self:
        """Start it; ``wait`` until it answers."""
        self._process = self.python(self._arguments, self.log, self._prefix)
        if wait:
            self.wait_until_up()
        return self

    @staticmethod
    def python(
        arguments: Sequence[str], log: Path, prefix: Sequence[str] = ()
    ) -> subprocess.Popen[bytes]:
        """Start a Python process. Its output goes to the file ``log``."""
        with log.open("ab") as out:
            command = [*prefix, sys.executable, *arguments]
            return subprocess.Popen(command, stdout=out, stderr=out)

    def wait_until_up(self, patience_s: float = 60.0) -> None:
        """Until it answers; an error with its own words if it stops instead."""
        end = time.monotonic() + patience_s
        with httpx.Client(timeout=5.0) as http:
            while time.monotonic() < end:
                if self.process.poll() is not None:
                    raise RuntimeError(
                        f"the server stopped with {self.process.returncode}: {self.said[-2000:]}"
                    )
                try:
                    if http.get(f"{self.url}/healthz").is_success:
                        return
                except httpx.TransportError:
                    time.sleep(0.02)
        raise RuntimeError(f"the server did not answer in {patience_s} s: {self.said[-2000:]}")

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The process, which must have been started."""
        if self._process is None:
            raise RuntimeError("start() comes first")
        return self._process

    @property
    def said(self) -> str:
        """All that it printed, over all its lives."""
        return self.log.read_text() if self.log.exists() else ""

    def kill(self) -> None:
        """SIGKILL: no handler runs, no buffer is written."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """Ask it to stop, wait, and give its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def __enter__(self) -> Self:
        return self if self._process else self.start()

    def __exit__(self, *error: object) -> None:
        if self._process is not None and self._process.poll() is None:
            self.kill()
