"""Where the generators and the ids of a session come from."""

from __future__ import annotations

import hashlib
import itertools
import re
from dataclasses import dataclass, field, replace

import numpy as np

from superarm.core.arguments import as_count


@dataclass
class Origin:
    """A seed, and the labels of the forks that lead here; everything that a session draws or names follows from it.

    Attributes
    ----------
    entropy
        The seed.
    path
        The labels on the way from the first session to this one.
    own_key
        What ids begin with, where that is not taken from the seed.
    forks
        The labels that were given to forks of this session.
    key
        What the ids of its decisions begin with.
    """

    entropy: int
    path: tuple[str, ...] = ()
    own_key: str | None = None
    forks: list[str] = field(default_factory=list)
    key: str = field(init=False)

    def __post_init__(self) -> None:
        root = self.own_key or hashlib.sha256(str(self.entropy).encode()).hexdigest()[:8]
        self.key = ".".join([root, *self.path])

    @classmethod
    def of(cls, seed: int | None, own_key: str | None) -> Origin:
        """That of a seed, or of fresh entropy."""
        entropy = int(np.random.SeedSequence().entropy) if seed is None else as_count(seed, "seed")  # type: ignore[arg-type]
        return cls(entropy, own_key=own_key)

    def generator(self) -> np.random.Generator:
        """The session's generator, at its start."""
        return np.random.default_rng(
            np.random.SeedSequence(self.entropy, spawn_key=_keys(*self.path))
        )

    def samples(self, number: int) -> np.random.Generator:
        """Where the samples of a decision's propensities come from: the same after a load, and nothing else does."""
        keys = _keys(*self.path, "propensities of")  # no label of a fork has a blank
        return np.random.default_rng(
            np.random.SeedSequence(self.entropy, spawn_key=(*keys, number))
        )

    def fork(self, label: str | None) -> Origin:
        """That of a fork, under a label that no other fork has."""
        free = (str(number) for number in itertools.count(1) if str(number) not in self.forks)
        name = next(free) if label is None else label
        if not isinstance(name, str) or not re.fullmatch(r"\w+", name, re.ASCII):
            raise ValueError(f"label must be letters, digits and _, got {label!r}")
        if name in self.forks:
            raise ValueError(f"label must be another one for each fork, got {name!r} again")
        return replace(self, path=(*self.path, name), forks=[])


def _keys(*labels: str) -> tuple[int, ...]:
    return tuple(int.from_bytes(hashlib.sha256(label.encode()).digest()[:8]) for label in labels)
