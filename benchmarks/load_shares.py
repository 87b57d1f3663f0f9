"""Give processes a share of a core each, as if the machine had more and slower cores (Linux, root).

Clients, workers and a database on few cores are limited by the cores, however well workers share
the work. With half a core each, two workers leave room for the others.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import psutil

_OLD, _NEW = Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")  # versions 1 and 2 of cgroups
_PERIOD_US = 2000  # short, so that nobody waits long for the next one


def workers_of(pid: int) -> list[int]:
    """A server and its workers."""
    return [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]


@contextlib.contextmanager
def limited(pids: Iterable[int], share: float) -> Iterator[None]:
    """Each process has at most this share of a core during the block."""
    root = _OLD if _OLD.is_dir() else _NEW
    with contextlib.ExitStack() as stack:
        for pid in pids:
            group = root / f"superarm-{os.getpid()}-{pid}"
            group.mkdir()
            stack.callback(group.rmdir)
            if root == _OLD:
                (group / "cpu.cfs_period_us").write_text(f"{_PERIOD_US}")
                (group / "cpu.cfs_quota_us").write_text(f"{int(share * _PERIOD_US)}")
            else:
                (group / "cpu.max").write_text(f"{int(share * _PERIOD_US)} {_PERIOD_US}")
            (group / "cgroup.procs").write_text(f"{pid}")
            stack.callback((root / "cgroup.procs").write_text, f"{pid}")
        yield
