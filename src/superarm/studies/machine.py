"""Where, when and how long a cell ran: the machine without names and paths, and its clocks."""

from __future__ import annotations

import os
import platform
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

_CPUINFO = Path("/proc/cpuinfo")  # on Linux, where `platform.processor` says nothing


@cache
def machine() -> dict[str, Any]:
    """The processor, the number of its cores, and the versions that decide how long a cell takes.

    >>> sorted(machine())
    ['cores', 'numpy', 'processor', 'python', 'system']
    """
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def _processor() -> str:
    if _CPUINFO.exists():
        for line in _CPUINFO.read_text("utf-8").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


class Watch:
    """Starts when it is made."""

    def __init__(self) -> None:
        # The date tells which cells ran at the same time. It may be set back while a cell runs, so
        # that the seconds come from a clock that only goes forward.
        self._started = time.time()
        self._clock, self._processor = time.perf_counter(), time.process_time()

    def times(self, share: float = 1.0) -> dict[str, Any]:
        """What has passed since the start, in parts of ``share`` for cells that ran together."""
        return {
            "started": self._started,
            "ended": time.time(),
            "seconds": share * (time.perf_counter() - self._clock),
            "processor_s": share * (time.process_time() - self._processor),
            "machine": machine(),
        }
