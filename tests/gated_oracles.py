"""An oracle that shows in which process it works, for tests of samples in other processes."""

import os
import time
from pathlib import Path

import superarm as sa


class GatedSingletons(sa.Singletons):
    """In another process than that of its maker, waits until a file exists.

    In its own process it fails until then, so that samples which are drawn there are noticed.
    """

    def __init__(self, gate):
        super().__init__()
        self.gate, self.home = Path(gate), os.getpid()

    def select(self, reward, theta, k, *, rng):
        if os.getpid() == self.home and not self.gate.exists():
            raise RuntimeError("samples are drawn in the process of the server")
        Path(f"{self.gate}-begun").touch()
        while not self.gate.exists():
            time.sleep(0.005)
        return super().select(reward, theta, k, rng=rng)
