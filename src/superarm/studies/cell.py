"""A cell: one run of one thing as plain data. Cells are what is run, stored and resumed."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from superarm.version import __version__

_KEY_LENGTH = 24  # hexadecimal digits: 96 bits, no two cells ever share them


@dataclass(frozen=True)
class Cell:
    """One run.

    Attributes
    ----------
    kind
        What is run: the name of a module of `superarm.studies.cells`.
    settings
        Everything that the row depends on besides the seed, as JSON.
    seed, run
        The seed of the study, and the number of this run. Cells with equal seed and run share their
        random streams, whatever their settings are: all policies meet the same instances.
    """

    kind: str
    settings: dict[str, Any]
    seed: int
    run: int

    @property
    def key(self) -> str:
        """A name that changes with everything the row depends on, superarm's version included."""
        # The version is in the key, because another version may draw other random numbers: its rows
        # must not be taken for the rows of this one.
        return digest([__version__, self.kind, self.settings, self.seed, self.run])[:_KEY_LENGTH]

    @property
    def label(self) -> str:
        """What the progress bar shows."""
        return str(self.settings.get("label", self.kind))

    def seeds(self) -> np.random.SeedSequence:
        """The seed of this run, as `superarm.replicate` would spawn it."""
        return np.random.SeedSequence(self.seed, spawn_key=(self.run,))


@dataclass(frozen=True)
class Recorded:
    """What a cell gave: ``row`` is the same on every machine, ``times`` is not."""

    row: dict[str, Any]
    times: dict[str, Any]


def digest(value: Any) -> str:
    """The SHA-256 of plain data."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def canonical(value: Any) -> str:
    """Plain data as JSON in one spelling."""
    # Sorted and without spaces: equal data must have equal digests, in whatever order it was built.
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
