"""A server process that is forked from a process which has already imported everything.

A new Python process spends a second on imports, and the tests start and kill many servers. A forked
server is a process of its own, too: it can be killed, it has its own files, and it exits with a
status. It runs the same command line.
"""

import functools
import multiprocessing
import multiprocessing.forkserver
import os
import runpy
import signal
import subprocess
import sys

import pytest

from server_process import Server

FORKS = multiprocessing.get_context("forkserver")
_PRELOADED = (
    "__main__",
    "superarm.cli",
    "superarm.client",
    "superarm.service.server",
    "superarm.service.log.postgres",
    "uvicorn.lifespan.on",
    "uvicorn.loops.auto",
    "uvicorn.loops.uvloop",
    "uvicorn.protocols.http.auto",
    "uvicorn.protocols.websockets.auto",
    "superarm.studies.cells.play",
    "superarm.studies.cells.table",
    "superarm.studies.run",
    "encodings.idna",
    "forked_last",
)


@functools.cache
def start_forking():
    """Start the process that is forked. It finds modules where this process finds them."""
    FORKS.set_forkserver_preload(list(_PRELOADED))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
        multiprocessing.forkserver.ensure_running()


class Forked:
    """``python ARGUMENTS`` in a forked process, with the methods of `Popen`.

    The process calls ``prepare`` first, if given. A daemon ends with the tests, and may not start
    processes of its own.
    """

    def __init__(self, arguments, log, prepare=None, *, daemon=True):
        start_forking()
        wanted = arguments, str(log), prepare
        self._process = FORKS.Process(target=_run, args=wanted, daemon=daemon)
        self._process.start()
        self.pid = self._process.pid

    @property
    def returncode(self):
        return self._process.exitcode

    def poll(self):
        return self._process.exitcode

    def wait(self, timeout=None):
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("superarm", timeout)
        return self._process.exitcode

    def send_signal(self, number):
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self):
        self.send_signal(signal.SIGKILL)


class ForkedServer(Server):
    """A `Server` whose processes are forked. Its ``prefix`` is a function that they call first."""

    python = staticmethod(lambda arguments, log, prefix=(): Forked(arguments, log, prefix or None))


def _run(arguments, log, prepare):
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    for stream in (1, 2):
        os.dup2(out, stream)
    if prepare is not None:
        prepare()
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        runpy.run_path(arguments[0], run_name="__main__")
