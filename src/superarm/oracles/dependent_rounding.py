"""A random set with given probabilities: dependent rounding.

Gandhi, Khuller, Parthasarathy, Srinivasan: "Dependent rounding and its applications to
approximation algorithms", JACM 2006.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from superarm.core import FeasibleSets, KOrSets, Reward, Sample, as_k_of_m, as_selection
from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.showing import one_line

# A probability this close to 0 or 1 is 0 or 1.
_ROUNDING = 1e-12
# A sum of probabilities within this share of k is k.
_SUM_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class DependentRoundingReport:
    """The probabilities that the set was drawn with.

    Attributes
    ----------
    margins
        Shape (n_arms,): the probability that each arm is in the set.
    certified
        Always False: a random set certifies nothing.
    """

    margins: FloatArray
    certified: bool = False

    __repr__ = one_line

    def ranking(self, arms: IndexArray, theta: Sample) -> None:
        """None: the arms were drawn, not ordered."""


class DependentRounding:
    """k arms at random, arm i with probability theta_i.

    For beliefs whose samples are probabilities, as those of `Exp3Belief`. If the sum of theta is
    not k, arm i has probability min(1, factor · theta_i), with the factor that makes the sum k. If
    fewer than k arms are above 0, all of these are in, and others at random.

    Two arms with probabilities strictly between 0 and 1 trade until one of them is certainly in or
    out: x goes from one to the other or y the other way, with probabilities that keep both means.
    So the probabilities are exact, the number of arms is always k, and one arm being in makes no
    other arm more likely. All pairs trade at a time, about log2(n_arms) times. No evaluations, at
    most n_arms draws, O(n_arms) time.

    Only for all sets of k arms: other feasible sets are refused, since probabilities that suit them
    are another problem.

    Examples
    --------
    >>> import superarm as sa
    >>> oracle, rng = DependentRounding(), np.random.default_rng(0)
    >>> reward, theta = sa.LinearReward(4), [0.9, 0.6, 0.3, 0.2]
    >>> picked = [oracle.select(reward, theta, 2, rng=rng) for _ in range(1000)]
    >>> np.bincount(np.concatenate(picked)) / 1000
    array([0.894, 0.592, 0.32 , 0.194])
    """

    report: DependentRoundingReport | None = None

    __repr__ = one_line

    def select(self, reward: Reward, theta: ArrayLike, k: KOrSets, *, rng: Generator) -> IndexArray:
        """A random set with these probabilities."""
        theta, feasible = as_selection(reward, theta, k)
        margins = _scaled_to_sum(theta, as_k_of_m(feasible, reward.n_arms).k)
        arms = _rounded(margins.copy(), rng)
        self.report = DependentRoundingReport(margins)
        return arms

    def check_sets(self, feasible: FeasibleSets) -> None:
        """Refuse everything but all sets of k arms."""
        as_k_of_m(feasible, feasible.undecided.size, instead="thompson, cts or cucb")


def _scaled_to_sum(theta: FloatArray, k: int) -> FloatArray:
    """The probabilities min(1, factor · theta) of sum k."""
    if abs(theta.sum() - k) <= _SUM_ROUNDING * k:
        return theta
    some = theta > 0
    n_some = int(np.count_nonzero(some))
    if n_some <= k:
        return np.where(some, 1.0, (k - n_some) / max(1, len(theta) - n_some))
    ordered = -np.sort(-theta)
    # With the j largest at 1, the factor is (k - j) / the sum of the others. The right j is the
    # first one with which no probability is above 1. Sums start at the small end, so that small
    # numbers keep their digits. The factor may be beyond the floats, but no probability is.
    j = np.arange(k)
    rest = ordered[::-1].cumsum()[::-1][:k]
    fits = int(np.argmax((k - j) * (ordered[:k] / rest) <= 1 + _ROUNDING))
    chances = (k - fits) * (np.minimum(theta, ordered[fits]) / rest[fits])
    return np.where(theta > ordered[fits], 1.0, np.minimum(1.0, chances))


def _rounded(p: FloatArray, rng: np.random.Generator) -> IndexArray:
    """The arms whose probability has become 1; changes ``p``."""
    open_ = np.flatnonzero((p > _ROUNDING) & (p < 1 - _ROUNDING))
    while len(open_) > 1:
        # With an odd number of arms, the last one waits for the next turn.
        half = len(open_) // 2
        one, other = open_[:half], open_[half : 2 * half]
        gain, loss = np.minimum(1 - p[one], p[other]), np.minimum(p[one], 1 - p[other])
        # One of them gains with probability loss / (gain + loss), so that neither mean changes.
        change = np.where(rng.random(half) * (gain + loss) < loss, gain, -loss)
        p[one] += change
        p[other] -= change
        open_ = open_[(p[open_] > _ROUNDING) & (p[open_] < 1 - _ROUNDING)]
    return np.flatnonzero(p > 0.5)
