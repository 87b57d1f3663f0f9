"""A random set with given chances: dependent rounding.

Gandhi, Khuller, Parthasarathy, Srinivasan: "Dependent rounding and its applications to approximation algorithms",
JACM 2006.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from superarm.core import FeasibleSets, Reward, Sample, as_k_of_m, as_selection
from superarm.core.arguments import FloatArray, IndexArray

_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class DependentRoundingReport:
    """``margins``, shape (n_arms,): with which probability each arm was in the set. A draw certifies nothing."""

    margins: FloatArray
    certified: bool = False

    def ranking(self, arms: IndexArray, theta: Sample) -> None:
        """None: the arms were drawn, not ordered."""


class DependentRounding:
    """k arms at random, arm i with probability theta_i: for beliefs whose samples are that, as those of `Exp3Belief`.

    Where the sum of theta is not k, with probability min(1, factor · theta_i), the factor being the one of sum k; if
    fewer than k arms are above 0, with all of these and others at random. Two arms with fractions trade until one of
    them is in for certain or out: x goes from one to the other or y the other way, with chances that keep both means.
    So the chances are exact, the number of arms is always k, and that one arm is in makes it no likelier that another
    is. All pairs trade at a time, about log2(n_arms) times. No evaluations, at most n_arms draws, O(n_arms).

    Knows no `FeasibleSets`: chances that suit them all are another problem.

    Examples
    --------
    >>> import superarm as sa
    >>> oracle, rng = DependentRounding(), np.random.default_rng(0)
    >>> picked = [oracle.select(sa.LinearReward(4), [0.9, 0.6, 0.3, 0.2], 2, rng=rng) for _ in range(1000)]
    >>> np.bincount(np.concatenate(picked)) / 1000
    array([0.894, 0.592, 0.32 , 0.194])
    """

    def __init__(self) -> None:
        self.report: DependentRoundingReport | None = None

    def select(
        self, reward: Reward, theta: ArrayLike, k: int | FeasibleSets, *, rng: np.random.Generator
    ) -> IndexArray:
        """A set with these chances."""
        theta, feasible = as_selection(reward, theta, k)
        margins = _to_sum(theta, as_k_of_m(feasible, reward.n_arms).k)
        arms = _rounded(margins.copy(), rng)
        self.report = DependentRoundingReport(margins)
        return arms


def _to_sum(theta: FloatArray, k: int) -> FloatArray:
    """The chances min(1, factor · theta) of sum k."""
    if abs(theta.sum() - k) <= 1e-9 * k:
        return theta
    some = theta > 0
    n_some = int(np.count_nonzero(some))
    if n_some <= k:
        return np.where(some, 1.0, (k - n_some) / max(1, len(theta) - n_some))
    ordered = -np.sort(-theta)
    # With the j largest at 1 the factor is (k - j) / the sum of the others; the first j at which it takes none above 1.
    # Sums from the small end, so that small ones keep their digits; a factor may be beyond the floats, a chance is not.
    j = np.arange(k)
    rest = ordered[::-1].cumsum()[::-1][:k]
    fits = int(np.argmax((k - j) * (ordered[:k] / rest) <= 1 + 1e-12))
    chances = (k - fits) * (np.minimum(theta, ordered[fits]) / rest[fits])
    return np.where(theta > ordered[fits], 1.0, np.minimum(1.0, chances))


def _rounded(p: FloatArray, rng: np.random.Generator) -> IndexArray:
    """The arms whose chance has become 1."""
    open_ = np.flatnonzero((p > _ROUNDING) & (p < 1 - _ROUNDING))
    while len(open_) > 1:
        half = len(open_) // 2
        one, other = open_[:half], open_[half : 2 * half]
        gain, loss = np.minimum(1 - p[one], p[other]), np.minimum(p[one], 1 - p[other])
        # One of them gains with chance loss / (gain + loss), so that neither changes in the mean.
        change = np.where(rng.random(half) * (gain + loss) < loss, gain, -loss)
        p[one] += change
        p[other] -= change
        open_ = open_[(p[open_] > _ROUNDING) & (p[open_] < 1 - _ROUNDING)]
    return np.flatnonzero(p > 0.5)
