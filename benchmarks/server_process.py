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
from typing import TYPE_CHECKING, Self

import httpx

if TYPE_CHECKING:
    import psutil


def free_port() -> int:
    """A free port of the loopback interface, below the ports of outgoing connections.

    Systems use the ports from 32768 on for outgoing connections. If the server had such a port,
    a client that retries while the server is down could occupy it.
    """
    while True:
        port = random.SystemRandom().randrange(15_000, 30_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


class Server:
    """``superarm serve`` with options, as a process of its own. ``said`` is its output so far.

    ``prefix`` is a command that starts the server, for example with a limit on file sizes.
    """

    def __init__(self, database: str, log: Path, *options: str, prefix: Sequence[str] = ()) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = log
        serve = ["serve", "--database", database, "--port", str(self.port), *options]
        self._prefix, self._arguments = prefix, ["-m", "superarm", *serve]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, *, wait: bool = True) -> Self:
        """Start the server. With ``wait``, return when it answers."""
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

    def wait_until_up(self, patience_s: float = 120.0) -> None:
        """Wait until the server answers. If it stops instead, raise an error with its output."""
        end = time.monotonic() + patience_s
        with httpx.Client(timeout=5.0, verify=False) as http:  # no certificates: plain HTTP
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
        """The output of the server since its first start."""
        return self.log.read_text() if self.log.exists() else ""

    def kill(self) -> None:
        """SIGKILL: no handler runs, no buffer is written."""
        self.process.kill()
        self.process.wait()

    def workers(self) -> list[psutil.Process]:
        """The processes of a server with several workers, oldest first."""
        import psutil  # not every benchmark needs it

        found = psutil.Process(self.process.pid).children()
        return sorted(found, key=lambda process: process.pid)

    def kill_all(self) -> None:
        """SIGKILL for the workers of a server, too, as when the machine stops."""
        import psutil

        workers = self.workers()
        self.kill()
        for process in workers:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(workers)

    def stop(self) -> int:
        """Ask the server to stop, wait for that, and return its exit status."""
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
