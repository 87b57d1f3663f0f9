"""Every set: the reference that the other oracles are tested against."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import chain, combinations, islice

import numpy as np
from numpy.typing import ArrayLike

from superarm.checks import IndexArray, as_count
from superarm.core import Pools, Reward, as_request

_SETS_AT_ONCE = 1 << 16


@dataclass(frozen=True)
class ExhaustiveReport:
    """``value``: of the best set. ``n_best``: how many sets share it. ``certified``: nothing is better, as always."""

    value: float
    n_best: int
    certified: bool = True


class Exhaustive:
    """Evaluates all sets of k arms: exact for every reward (eq. S_star), and as dear as it sounds.

    C(n_arms, k) evaluations a round. Sets within rounding of the best count as equally good, and one of them is
    drawn.

    Parameters
    ----------
    limit
        Refuses problems with more sets than this.

    Examples
    --------
    >>> import superarm as sa
    >>> Exhaustive().select(sa.AnySuccess(4), [0.1, 0.8, 0.3, 0.6], 2, rng=np.random.default_rng(0))
    array([1, 3])
    """

    def __init__(self, limit: int = 1_000_000) -> None:
        self.limit = as_count(limit, "limit", least=1)
        self.report: ExhaustiveReport | None = None

    def select(self, reward: Reward, theta: ArrayLike, k: int, *, rng: np.random.Generator) -> IndexArray:
        """The best set of all."""
        theta, k = as_request(reward, theta, k)
        n_sets = math.comb(reward.n_arms, k)
        if n_sets > self.limit:
            raise ValueError(
                f"Exhaustive evaluates every set of {k} of {reward.n_arms} arms: {n_sets:,} sets are more than its "
                f"limit of {self.limit:,}; use Greedy or Singletons, or raise the limit"
            )
        best = np.zeros((0, k), np.intp)
        worth = np.zeros(0)
        every = combinations(range(reward.n_arms), k)
        while block := list(islice(every, _SETS_AT_ONCE)):
            sets = np.fromiter(chain.from_iterable(block), np.intp, len(block) * k).reshape(-1, k)
            values = reward.batch(Pools(sets.ravel(), np.arange(len(sets) + 1) * k, reward.n_arms), theta)
            worth, best = np.concatenate([worth, values]), np.concatenate([best, sets])
            rounding = 1e-12 * max(1.0, float(np.abs(worth).max()))
            keep = worth >= worth.max() - rounding
            worth, best = worth[keep], best[keep]
        self.report = ExhaustiveReport(float(worth.max()), len(best))
        return best[rng.integers(len(best))] if len(best) > 1 else best[0]
