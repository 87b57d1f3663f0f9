"""What oracles report that bound what each arm is worth alone."""

from __future__ import annotations

from dataclasses import dataclass

from superarm.core import Sample, Scores
from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.showing import one_line
from superarm.oracles._lazy.audits import share_excluded


@dataclass(frozen=True, eq=False)
class BoundsReport:
    """What is known about the arms after a ``select``.

    Attributes
    ----------
    lower, upper
        Shape (n_arms,): bounds on what each arm is worth alone.
    evaluations
        How many evaluations it took.
    certified
        Whether the bounds prove the set. False only if the budget was used up.
    """

    lower: FloatArray
    upper: FloatArray
    evaluations: int
    certified: bool

    __repr__ = one_line

    def ranking(self, arms: IndexArray, theta: Sample) -> Scores:
        """The middles of the bounds."""
        return Scores.of_bounds(self.lower, self.upper)


@dataclass(frozen=True, eq=False)
class LazySingletonsReport(BoundsReport):
    """What is known about the arms after a ``select``: a `BoundsReport`, and what audits found.

    Attributes
    ----------
    certified
        Whether the bounds prove that the set is Oracle+'s, given what the reward declares. False
        only if the budget was used up.
    audits, drawn
        How many audits the declarations have passed so far, and how many of these were of an arm
        at random.
    """

    audits: int = 0
    drawn: int = 0

    __repr__ = one_line

    @property
    def excluded(self) -> float:
        """The share of wrong bounds that the audits exclude with 95% confidence; 1 without any."""
        return share_excluded(self.drawn)
