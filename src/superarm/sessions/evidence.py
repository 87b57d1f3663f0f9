"""What a session keeps of a decision so that it can be explained later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from superarm.core import FeasibleSets, Report, Sample
from superarm.core.arguments import IndexArray
from superarm.core.optional import HasPosterior, Posterior, has


@runtime_checkable
class HasContributions(Protocol):
    """A belief that says what features and contexts add to means."""

    def contributions(self, arms: IndexArray) -> Any:
        """``base``, a number, ``columns`` and ``own``, with one row per arm, and ``name_of``."""


@runtime_checkable
class HasPrior(Protocol):
    """A posterior that follows from a prior which was learned from all arms."""

    prior: Any
    """What was learned; as a string, it is a sentence for people."""


@dataclass(slots=True)
class Evidence:
    """What a session keeps of a decision so that it can be explained.

    Attributes
    ----------
    arms, ranked
        The numbers of the chosen arms, ascending, and in the order of the decision.
    theta
        The sample that the oracle saw.
    report
        The oracle's report on this round. None if the oracle did not report on it.
    posterior
        The posterior of the chosen arms before the decision. None if the belief has none.
    feasible
        The sets that could have been chosen.
    contributions
        What added up to the means of the chosen arms. None if the belief does not say.
    """

    arms: IndexArray
    ranked: IndexArray
    theta: Sample
    report: Report | None
    posterior: Posterior | None
    feasible: FeasibleSets
    contributions: Any = None


def known_of(belief: Any, arms: IndexArray) -> tuple[Posterior | None, Any]:
    """The posterior of some arms, and what adds up to their means, if the belief has them."""
    return (
        belief.posterior(arms) if has(belief, HasPosterior) else None,
        belief.contributions(arms) if has(belief, HasContributions) else None,
    )
