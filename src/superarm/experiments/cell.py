"""A cell: one run of one thing, as plain data; the unit that is run, stored and resumed."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from superarm.version import __version__


@dataclass(frozen=True)
class Cell:
    """One run.

    Attributes
    ----------
    kind
        What is run: the name of a function in an experiment's ``RUNNERS``.
    settings
        Everything it depends on but the seed, as JSON.
    seed, run
        The seed of the whole reproduction, and which of its runs this is. Cells of equal seed and run share their
        streams, whatever their settings: policies meet the same instances, and worlds that draw alike.
    """

    kind: str
    settings: dict[str, Any]
    seed: int
    run: int

    @property
    def key(self) -> str:
        """A name that changes with anything the result depends on, the version of superarm included."""
        return digest([__version__, self.kind, self.settings, self.seed, self.run])[:24]

    def seeds(self) -> np.random.SeedSequence:
        """The seed of this run, as `replicate` would give it."""
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
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
