"""Workers end with the command that started them, however it ends."""

import os
import signal
import subprocess
import sys
import time

SCRIPT = """
import os, sys, time
from functools import partial
from pathlib import Path
from superarm.reporting.jobs import processes, run_all

def work(folder):
    Path(folder, str(os.getpid())).touch()
    time.sleep(600)

if __name__ == "__main__":
    list(run_all(work, {"one": sys.argv[1], "two": sys.argv[1]}, start=partial(processes, 2)))
"""


def waited(condition, seconds=60):
    """Whether a condition came true in time."""
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


def ended(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_workers_of_a_killed_command_end(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "pids").mkdir()
    command = [sys.executable, tmp_path / "script.py", tmp_path / "pids"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        assert waited(lambda: len(list((tmp_path / "pids").iterdir())) == 2)
        workers = [int(path.name) for path in (tmp_path / "pids").iterdir()]
        # The command alone: nobody tells the workers.
        process.kill()
        process.wait()
        assert waited(lambda: all(map(ended, workers)))
    finally:
        # Whatever a failed test would leave behind for ten minutes.
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
