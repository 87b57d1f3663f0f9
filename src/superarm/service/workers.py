"""A server of several processes: a parent that only watches, and workers that serve.

Each bandit has one home among the workers (see `superarm.service.http.team`). The workers share the
listening socket and the channels between them, which the parent opens. So connections wait while a
worker that was lost is started again, and everything that it had acknowledged is in the database.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from superarm.service import logs, server
from superarm.service.http.team import channels
from superarm.service.log import folder
from superarm.service.log.store import StoreError
from superarm.service.server import BACKLOG, StartError, Worker
from superarm.service.settings import Settings

_log = logging.getLogger("superarm.service")
_PAUSE_S = 1.0  # before a worker that was lost soon after its start is started again
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD)
_READY = "+"
_LONGEST_ERROR = 10_000  # bytes of the message of a worker that cannot start


def serve(settings: Settings) -> None:
    """Serve with ``settings.n_workers`` processes until a signal stops them."""
    if not hasattr(os, "fork"):
        raise StartError("--workers needs a system with fork, such as Linux; use one process")
    # Before anything is opened: a child that fails for the same reason would say it many times.
    server.own_rewards(settings.rewards)
    if not server.is_postgres(settings.database):
        try:
            folder.prepare(Path(settings.database), settings.n_workers)
        except StoreError as error:
            raise StartError(str(error)) from error
    with _bound(settings) as listening:
        # Before the log has a thread: it would take signals that the parent is to wait for.
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        logs.configure()
        gc.freeze()  # what exists now is shared with the workers
        try:
            Parent(settings, listening).run()
        finally:
            logs.finish()


@contextlib.contextmanager
def _bound(settings: Settings) -> Iterator[socket.socket]:
    """The socket to listen at."""
    try:
        family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
        address = (settings.host, settings.port)
        listening = socket.create_server(address, family=family, backlog=BACKLOG)
    except OSError as error:
        raise StartError(f"{settings.host}:{settings.port} must be free to listen at") from error
    with listening:
        yield listening


class Parent:
    """Starts the workers, starts those again that are lost, and ends all of them.

    It opens no database and has no event loop, so that its copies start clean.
    """

    def __init__(self, settings: Settings, listening: socket.socket) -> None:
        self._settings, self._listening = settings, listening
        self._channels = channels(settings.n_workers)
        self._alive, self._end = os.pipe()
        self._workers: dict[int, tuple[int, float]] = {}  # process: number, time of its start
        # Signals are waited for below, not handled at any moment. The handler of SIGCHLD keeps it
        # from being dropped.
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def run(self) -> None:
        """Watch until SIGTERM or SIGINT."""
        try:
            waiting = [self._start(number) for number in range(self._settings.n_workers)]
            for ready in waiting:
                self._wait_until_ready(ready)
            while signal.sigwait(_SIGNALS) == signal.SIGCHLD:
                self._restart_lost()
        finally:
            self._stop_all()
        _log.info("stopped")

    def _start(self, number: int) -> int:
        """Fork a worker. Returns a pipe that says how its start ended."""
        ready, said = os.pipe()
        process = os.fork()
        if process == 0:
            os.close(ready)
            os.close(self._end)
            os._exit(self._work(number, said))
        os.close(said)
        self._workers[process] = number, time.monotonic()
        return ready

    def _work(self, number: int, said: int) -> int:
        """The life of a worker. Returns its exit status."""
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        logs.configure()  # the thread that writes the log of the parent is not in this process
        say = partial(_say, said)
        worker = Worker(number, self._channels, self._listening, say, self._alive)
        try:
            server.serve(self._settings, worker)
        except StartError as error:
            _log.error("worker_failed", extra={"fields": {"worker": number, "why": str(error)}})
            logs.finish()
            say(str(error))
            return 1
        except BaseException:
            sys.excepthook(*sys.exc_info())
            return 1
        return 0

    def _wait_until_ready(self, ready: int) -> None:
        with open(ready, "rb") as pipe:
            # One byte if all is well. A worker that ends writes why, or nothing.
            said = os.read(pipe.fileno(), 1)
            if said != _READY.encode():
                why = (said + pipe.read()).decode(errors="replace")
                raise StartError(why or "a worker ended while it started; its messages say why")

    def _restart_lost(self) -> None:
        for process, number, seconds in list(self._lost()):
            fields = {"worker": number, "process": process, "after_s": round(seconds, 1)}
            _log.error("worker_lost", extra={"fields": fields})
            if seconds < _PAUSE_S:
                time.sleep(_PAUSE_S)
            # Not waited for: the other workers go on, and this one may be lost again.
            os.close(self._start(number))

    def _lost(self) -> Iterator[tuple[int, int, float]]:
        """The workers that have ended: process, number, and how long each was there."""
        for process in list(self._workers):
            if os.waitpid(process, os.WNOHANG)[0]:
                number, start = self._workers.pop(process)
                yield process, number, time.monotonic() - start

    def _stop_all(self) -> None:
        for process in self._workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGTERM)
        for process in self._workers:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(process, 0)


def _say(pipe: int, what: str = _READY) -> None:
    with contextlib.suppress(BrokenPipeError):  # the parent waits for the first start only
        os.write(pipe, what.encode()[:_LONGEST_ERROR])
