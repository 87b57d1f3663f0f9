"""Which arm of a set is shown first."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np

from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.optional import HasPosterior, has
from superarm.core.places import Ranks
from superarm.core.policy import Sample
from superarm.core.reports import Scores


@runtime_checkable
class Reports(Protocol):
    """The method of `Report`: `has` is for Protocols that have methods only."""

    def ranking(self, arms: IndexArray, theta: Sample) -> Scores | None:
        """As in `Report`."""


def best_first(
    arms: IndexArray, theta: Sample, *, oracle: Any, report: Any, belief: Any
) -> IndexArray:
    """The arms of a set in the order in which they are to be shown. Draws nothing.

    By the rule of the oracle if it has one (`Ranks`); else by what its report orders them by; else
    by the sampled values; and by the posterior means if theta was not looked at. Equals are in the
    order of their numbers. ``report`` is that of this round, or None. ``belief`` is that of the
    round.

    Examples
    --------
    >>> import superarm as sa
    >>> policy = sa.cts(sa.LinearReward(5), 3, oracle=sa.TopK())
    >>> arms, theta = policy.decide(rng=np.random.default_rng(1))
    >>> best_first(arms, theta, oracle=policy.oracle, report=None, belief=policy.belief)
    array([1, 4, 0])
    """
    if has(oracle, Ranks):
        return _own_order(arms, oracle, theta)
    scores = _scores(arms, theta, report)
    if scores is not None and scores.order is not None and len(scores.order) == len(arms):
        return scores.order
    values = None if scores is None else scores.values[arms]
    # The oracle need not know a score of arms that must be in the set.
    if values is None or not np.isfinite(values).all():
        values = theta.drawn(arms)
    if values is None:
        values = _means(belief, arms)
    return arms if values is None else arms[np.argsort(-values, kind="stable")]


def _scores(arms: IndexArray, theta: Sample, report: Any) -> Scores | None:
    # A ranking has a score for each of n_arms. Where only the largest values were drawn, a round
    # must not cost that much, and these values are what the arms were ordered by.
    if report is None or not theta.is_whole or not has(report, Reports):
        return None
    return report.ranking(arms, theta)


def _means(belief: Any, arms: IndexArray) -> FloatArray | None:
    if not has(belief, HasPosterior) or not len(arms):
        return None
    return belief.posterior(arms).mean()


def _own_order(arms: IndexArray, oracle: Any, theta: Sample) -> IndexArray:
    ranked = np.asarray(oracle.rank(arms, theta))
    if ranked.shape != arms.shape or not np.array_equal(np.sort(ranked), arms):
        raise ValueError(
            f"{type(oracle).__name__}.rank must return the arms {arms.tolist()} in some order, "
            f"got {ranked.tolist()}"
        )
    return ranked.astype(np.intp)
