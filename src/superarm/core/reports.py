"""What an oracle tells about its last answer, in one shape for all, and the order of its arms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.optional import HasPosterior, kind_has
from superarm.core.places import Ranks
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


@runtime_checkable
class Reports(Protocol):
    """The method of `Report`: `kind_has` is for Protocols that have methods only."""

    def ranking(self, arms: IndexArray, theta: Sample) -> Scores | None:
        """What the arms were ordered by, as in `Report`."""


def best_first(
    arms: IndexArray, theta: Sample, *, oracle: Any, report: Reports | None, belief: Any
) -> IndexArray:
    """The arms of a set in the order in which they are to be shown. Draws nothing.

    The first that exists decides: the rule of the oracle (`Ranks`), the ranking of its report, the
    sampled values, the posterior means. Equal arms are in the order of their numbers. ``report`` is
    that of this round, or None. ``belief`` is that of the round.

    Examples
    --------
    >>> import superarm as sa
    >>> policy = sa.cts(sa.LinearReward(5), 3, oracle=sa.TopK())
    >>> arms, theta = policy.decide(rng=np.random.default_rng(1))
    >>> best_first(arms, theta, oracle=policy.oracle, report=None, belief=policy.belief)
    array([1, 4, 0])
    """
    if kind_has(type(oracle), Ranks):
        return _own_order(arms, oracle, theta)
    values = scores = None
    # A ranking has a score for each of n_arms. Where only the largest values were drawn, a round
    # must not cost that much, and these values are what the arms were ordered by.
    if (
        report is not None
        and theta.is_whole
        and (scores := report.ranking(arms, theta)) is not None
    ):
        if scores.order is not None and len(scores.order) == len(arms):
            return scores.order
        values = scores.values[arms]
    # The oracle need not know a score of arms that must be in the set.
    if values is None or not np.isfinite(values).all():
        values = theta.drawn(arms)
    if values is None and len(arms) and kind_has(type(belief), HasPosterior):
        values = belief.posterior(arms).mean()
    return arms if values is None else arms[np.argsort(-values, kind="stable")]


def _own_order(arms: IndexArray, oracle: Any, theta: Sample) -> IndexArray:
    ranked = np.asarray(oracle.rank(arms, theta))
    if ranked.shape != arms.shape or not np.array_equal(np.sort(ranked), arms):
        raise ValueError(
            f"{type(oracle).__name__}.rank must return the arms {arms.tolist()} in some order, "
            f"got {ranked.tolist()}"
        )
    return ranked.astype(np.intp)
