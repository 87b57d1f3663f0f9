"""What a reward may declare beyond the properties of `Reward`; see `optional` for other parts.

Each has a function that returns the default for a reward without the declaration.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from superarm.core.protocols import Reward


@runtime_checkable
class DeclaresConcave(Protocol):
    """A reward that says whether the value of each single arm is concave in its mean."""

    @property
    def concave(self) -> bool:
        """Whether it is. `LazySingletons` then needs fewer evaluations."""


def is_concave(reward: Reward) -> bool:
    """Whether a reward declares ``concave``; False by default."""
    return bool(_declared(reward, "concave", False))


@runtime_checkable
class DeclaresDiminishing(Protocol):
    """A reward that says whether its returns diminish."""

    @property
    def diminishing(self) -> bool:
        """Whether raising a mean never lowers a value, and raises it less where means are higher.

        An absent arm counts as one of mean 0. `LazyGreedy` then needs fewer evaluations.
        """


def is_diminishing(reward: Reward) -> bool:
    """Whether a reward declares ``diminishing``; False by default."""
    return bool(_declared(reward, "diminishing", False))


@runtime_checkable
class DeclaresNoisy(Protocol):
    """A reward that says whether the same set and means can have different answers."""

    @property
    def noisy(self) -> bool:
        """Whether they can. Oracles that remember answers then refuse the reward."""


def is_noisy(reward: Reward) -> bool:
    """Whether a reward declares ``noisy``; False by default."""
    return bool(_declared(reward, "noisy", False))


@runtime_checkable
class Repeats(Protocol):
    """A reward whose values are averages of several evaluations; `Counted` uses this."""

    @property
    def repeats(self) -> int:
        """How many evaluations one value takes."""


def evaluations_per_value(reward: Reward) -> int:
    """How many evaluations one value takes: ``repeats`` of a reward that averages; 1 by default."""
    return int(_declared(reward, "repeats", 1))


@runtime_checkable
class ShowsProgress(Protocol):
    """A reward that can show how far the evaluations of a round are; `Policy.ask` uses this."""

    @property
    def progress(self) -> object:
        """Anything that is true if it does show that."""


def shows_progress(reward: Reward) -> bool:
    """Whether a reward shows the progress of a round; False by default."""
    return bool(_declared(reward, "progress", False))


def _declared(reward: Reward, name: str, default: bool | int) -> Any:
    # Not isinstance: since Python 3.12 that does not look whether a property can be read.
    return getattr(reward, name, default)


class SameDeclarations:
    """What stands in for a reward, and declares the same."""

    def __init__(self, reward: Reward) -> None:
        self.uncounted = reward
        self.n_arms = reward.n_arms
        self.repeats = evaluations_per_value(reward)
        self.shows_progress = shows_progress(reward)

    lipschitz = property(lambda self: self.uncounted.lipschitz)
    upper = property(lambda self: self.uncounted.upper)
    monotone = property(lambda self: self.uncounted.monotone)
    zero_is_absent = property(lambda self: self.uncounted.zero_is_absent)
    additive = property(lambda self: self.uncounted.additive)
    concave = property(lambda self: is_concave(self.uncounted))
    diminishing = property(lambda self: is_diminishing(self.uncounted))
    noisy = property(lambda self: is_noisy(self.uncounted))
