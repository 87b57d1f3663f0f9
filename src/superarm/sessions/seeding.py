"""Where the random generators and the ids of a session come from."""

from __future__ import annotations

import hashlib
import itertools
import re
from dataclasses import dataclass, field, replace

import numpy as np

from superarm.core.arguments import as_count


@dataclass
class Seeding:
    """A seed and the labels of the forks that lead to this session.

    Everything that the session draws, and the ids of its decisions, follow from these.

    Attributes
    ----------
    entropy
        The seed.
    path
        The labels of the forks from the first session to this one.
    own_key
        The beginning of the ids, if it was given. By default it is made from the seed.
    forks
        The labels of the forks of this session.
    key
        The beginning of the ids of its decisions.
    """

    entropy: int
    path: tuple[str, ...] = ()
    own_key: str | None = None
    forks: list[str] = field(default_factory=list)
    key: str = field(init=False)

    def __post_init__(self) -> None:
        # A hash, because ids are public and the seed need not be.
        root = self.own_key or hashlib.sha256(str(self.entropy).encode()).hexdigest()[:8]
        self.key = ".".join([root, *self.path])

    @classmethod
    def of(cls, seed: int | None, own_key: str | None) -> Seeding:
        """From a seed, or from fresh entropy if there is none."""
        if seed is None:
            return cls(int(np.random.SeedSequence().entropy), own_key=own_key)  # type: ignore[arg-type]
        return cls(as_count(seed, "seed"), own_key=own_key)

    def generator(self) -> np.random.Generator:
        """The session's generator, at its start."""
        return self._generator(_keys(*self.path))

    def samples(self, number: int) -> np.random.Generator:
        """The generator for the propensities of one decision.

        It depends on nothing but the session and the number of the decision, so a session that
        was saved and loaded samples the same propensities.
        """
        # The blank keeps this label apart from those of forks, which cannot have one.
        return self._generator((*_keys(*self.path, "propensities of"), number))

    def many(self, number: int) -> np.random.Generator:
        """The generator for decisions that are drawn at once, of which this is the first."""
        return self._generator((*_keys(*self.path, "many from"), number))

    def fork(self, label: str | None) -> Seeding:
        """The seeding of a fork, whose label no other fork may have."""
        # Labels, not a counter in the generator: replicas that load the same file can fork apart.
        free = (str(number) for number in itertools.count(1) if str(number) not in self.forks)
        name = next(free) if label is None else label
        if not isinstance(name, str) or not re.fullmatch(r"\w+", name, re.ASCII):
            raise ValueError(f"label must be letters, digits and _, got {label!r}")
        if name in self.forks:
            raise ValueError(f"label must be different for each fork, got {name!r} again")
        return replace(self, path=(*self.path, name), forks=[])

    def _generator(self, spawn_key: tuple[int, ...]) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(self.entropy, spawn_key=spawn_key))


def _keys(*labels: str) -> tuple[int, ...]:
    # SeedSequence takes numbers. 64 bits of a hash make equal keys of two labels negligible.
    return tuple(int.from_bytes(hashlib.sha256(label.encode()).digest()[:8]) for label in labels)
