"""Processes for rewards and samples, as many as are at work at the same time."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from superarm.core.stopping import may_stop
from superarm.service.problems import Problem
from superarm.service.processes.child import Made, Wanted

_NICENESS = 10  # of helpers, whose work may wait for requests
_LOOK_S = 0.05  # between two looks whether the work is still wanted


class EvaluationError(RuntimeError):
    """The process of a reward has ended before it answered."""


class _Trace(Exception):  # noqa: N818 - only carries text
    """The traceback in the process of a reward."""

    def __str__(self) -> str:
        return f"in the process of the reward:\n{self.args[0]}"


class Processes:
    """Evaluates rewards of a module in processes, one request per process at a time.

    A request whose work is no longer wanted (`may_stop`) loses its process, which is killed,
    whatever its reward is doing. A bandit has at most one process at a time, because one thread at
    a time decides for a bandit.

    Parameters
    ----------
    module
        The module with the rewards. The processes import it, too.
    most
        How many processes there may be. More requests wait until one is free.
    niceness
        By how much they come after other processes when all of them want to compute.
    """

    def __init__(self, module: str, most: int, niceness: int = 0) -> None:
        self._most, self._source = most, _Source(module, niceness)
        self._free: list[_Child] = []
        self._n_taken = 0
        self._changed = threading.Condition()
        self._closed = False

    def ask(self, wanted: Wanted) -> Any:
        """What a reward says. Raises what it raises."""
        child = self._take(wanted.made)
        try:
            child = child or self._source.fork()
            ok, said = child.ask(wanted)
        except BaseException as error:
            self._give_back(None)
            if child is not None:
                child.kill()
            if isinstance(error, EOFError | OSError):
                raise EvaluationError("the process of the reward has ended") from error
            raise
        self._give_back(child)
        if not ok:
            raise said[0] from _Trace(said[1])
        return said

    def close(self) -> None:
        """End all processes that are free. The others end when their requests do."""
        with self._changed:
            self._closed = True
            for child in self._free:
                child.kill()
            self._free.clear()
        self._source.close()

    def _take(self, made: Made | None) -> _Child | None:
        """A free process, at best one that has made the reward already; None for a new one."""
        with self._changed:
            while not self._free and self._n_taken >= self._most:
                self._changed.wait(_LOOK_S)
                may_stop()
            self._n_taken += 1
            # The operating system may have ended some of them, for lack of memory.
            silent = [child for child in self._free if child.is_silent]
            for child in set(self._free) - set(silent):
                child.kill()
            self._free = silent
            known = (i for i, child in enumerate(self._free) if made in child.made)
            return self._free.pop(next(known, -1)) if self._free else None

    def _give_back(self, child: _Child | None) -> None:
        with self._changed:
            self._n_taken -= 1
            if child is not None and not self._closed:
                self._free.append(child)
            elif child is not None:
                child.kill()
            self._changed.notify()


class Helpers:
    """`Processes` of the library's own code, which are started when they are first needed.

    Parameters
    ----------
    module
        A module that they import once, before the first request.
    most
        How many processes there may be.
    work, fix
        What a process did that has ended before it answered, and what its client may do.
    """

    def __init__(self, module: str, most: int, work: str, fix: str) -> None:
        self._module, self._most, self._work, self._fix = module, most, work, fix
        self._lock = threading.Lock()
        self._processes: Processes | None = None

    @property
    def is_started(self) -> bool:
        """Whether there was a request."""
        return self._processes is not None

    def ask(self, wanted: Wanted) -> Any:
        """What a process answers. Raises what it raises."""
        with self._lock:
            if self._processes is None:
                self._processes = Processes(self._module, self._most, _NICENESS)
        try:
            return self._processes.ask(wanted)
        except EvaluationError as error:  # the system may have ended it, for lack of memory
            detail, headers = f"the process that {self._work} has ended", {"Retry-After": "1"}
            raise Problem(503, detail, fix=self._fix, headers=headers) from error

    def close(self) -> None:
        """End the processes."""
        with self._lock:
            if self._processes is not None:
                self._processes.close()


class _Child:
    """A process that evaluates rewards."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._pid: int = self._receive()
        self.made: set[Made | None] = set()

    def ask(self, wanted: Wanted) -> Any:
        """The answer to a request."""
        self._connection.send(wanted)
        said = self._receive()
        self.made.add(wanted.made)
        return said

    def _receive(self) -> Any:
        while not self._connection.poll(_LOOK_S):
            may_stop()
        return self._connection.recv()

    @property
    def is_silent(self) -> bool:
        """Whether the process has neither answered nor ended."""
        try:
            return not self._connection.poll()
        except OSError:
            return False

    def kill(self) -> None:
        """End the process, whatever it does."""
        # One that has ended has no number any more: another process may have it now. One that has
        # answered ends with its connection.
        is_there = self.is_silent
        self._connection.close()
        if is_there:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)


class _Source:
    """The process that has imported the module, of which others are forked."""

    def __init__(self, module: str, niceness: int) -> None:
        self._module, self._niceness = module, niceness
        self._lock = threading.Lock()
        self._closed = False
        self._open()

    def fork(self) -> _Child:
        """A new process."""
        ours, theirs = socket.socketpair()
        with self._lock, theirs:
            if self._closed:
                raise EvaluationError("the server is about to stop")
            if self._process.poll() is not None:  # it was killed
                self._door.close()
                self._open()
            socket.send_fds(self._door, [b"+"], [theirs.fileno()])
        return _Child(Connection(ours.detach()))

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._closed = True
            self._door.close()
            self._process.kill()
            self._process.wait()

    def _open(self) -> None:
        self._door, theirs = socket.socketpair()
        with theirs:
            number = theirs.fileno()
            program = [sys.executable, "-m", "superarm.service.processes.child", str(number)]
            # It finds modules where this process finds them.
            path = os.pathsep.join(part or str(Path.cwd()) for part in sys.path)
            self._process = subprocess.Popen(
                [*program, self._module, str(self._niceness)],
                pass_fds=[number],
                stdin=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": path},
            )


@contextlib.contextmanager
def opened(module: str | None, most: int) -> Iterator[Processes | None]:
    """The processes of a module; None without a module, or for no processes."""
    # Windows cannot fork.
    if module is None or not most or not hasattr(os, "fork"):
        yield None
        return
    made = Processes(module, most)
    try:
        yield made
    finally:
        made.close()
