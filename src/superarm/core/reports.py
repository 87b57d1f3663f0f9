"""What an oracle tells about its last answer, in one shape for all oracles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.policy import Sample
from superarm.core.pools import Pools
from superarm.core.showing import one_line


@dataclass(frozen=True, eq=False)
class Scores:
    """What an oracle ordered the arms by.

    Attributes
    ----------
    meaning
        What the scores are, in words: "worth alone", for example.
    values
        Shape (n_arms,): the score of each arm. NaN where it is unknown, -inf where an arm was not
        evaluated.
    order
        The chosen arms, best first, if the oracle has an order of its own; None for descending
        values.
    lower, upper
        Shape (n_arms,): bounds on the worth of each arm, if the oracle has bounds; both or neither.
    tests
        The sets that were evaluated, if the scores come from sets of several arms.
    """

    meaning: str
    values: FloatArray
    # Greedy has an order of its own: what an arm adds depends on the arms before it.
    order: IndexArray | None = None
    # Only for oracles that certify by bounds; explanations then show a range.
    lower: FloatArray | None = None
    upper: FloatArray | None = None
    tests: Pools | None = None

    __repr__ = one_line

    @classmethod
    def of_bounds(cls, lower: FloatArray, upper: FloatArray) -> Scores:
        """What arms are worth alone, as far as bounds tell: the middles."""
        meaning = "worth alone, the middle of its bounds"
        return cls(meaning, (lower + upper) / 2, lower=lower, upper=upper)


@runtime_checkable
class Report(Protocol):
    """What the last ``select`` of an oracle found out."""

    @property
    def certified(self) -> bool:
        """Whether the oracle proves that its set is the one it promises, given the declarations."""

    def ranking(self, arms: IndexArray, theta: Sample) -> Scores | None:
        """What the arms were ordered by; None if the oracle does not order arms.

        ``arms`` is the set that was chosen, ascending, and ``theta`` is what ``select`` was given.
        """
