"""What oracles report that bound what each arm is worth alone."""

from __future__ import annotations

from dataclasses import dataclass

from superarm.core import Sample, Scores
from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.showing import one_line


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
