"""Every set: the reference that the other oracles are tested against."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import chain, combinations, islice

import numpy as np
from numpy.typing import ArrayLike

from superarm.core import Choices, Pools, Reward, as_request
from superarm.core.arguments import FloatArray, IndexArray, as_count
from superarm.oracles._budget import as_budget
from superarm.oracles._verbs import verb

_SETS_AT_ONCE = 1 << 16


@dataclass(frozen=True)
class ExhaustiveReport:
    """What the best set is worth.

    Attributes
    ----------
    value, n_best
        The value of the best set that was seen, and how many sets share it.
    certified
        Whether every set was seen, so that none is better; False only where there is a budget.
    """

    value: float
    n_best: int
    certified: bool = True


class Exhaustive:
    """Evaluates all sets of k arms: exact for every reward (eq. S_star), and as dear as it sounds.

    C(n_arms, k) evaluations a round; within `Choices` that can list their ``sets``, one for each of these. Sets within
    rounding of the best count as equally good, and one of them is drawn.

    Parameters
    ----------
    limit
        Refuses problems with more sets than this, unless the budget is smaller.
    budget
        At most so many evaluations in a round; None for every set. A smaller one goes to the first sets in the order
        of the dictionary, the arms being ranked by B_i theta_i, so that the likeliest arms are in all of them.

    Examples
    --------
    >>> import superarm as sa
    >>> Exhaustive().select(sa.AnySuccess(4), [0.1, 0.8, 0.3, 0.6], 2, rng=np.random.default_rng(0))
    array([1, 3])
    """

    def __init__(self, limit: int = 1_000_000, *, budget: int | None = None) -> None:
        self.limit = as_count(limit, "limit", least=1)
        self.budget = as_budget(budget)
        self.report: ExhaustiveReport | None = None

    def select(
        self, reward: Reward, theta: ArrayLike, k: int | Choices, *, rng: np.random.Generator
    ) -> IndexArray:
        """The best set of all."""
        theta, k = as_request(reward, theta, k, constraints=True)
        if not isinstance(k, int):
            return self._within(reward, theta, k, rng=rng)
        n_sets = math.comb(reward.n_arms, k)
        n_seen = n_sets if self.budget is None else min(n_sets, self.budget)
        if n_seen > self.limit:
            raise ValueError(
                f"Exhaustive evaluates every set of {k} of {reward.n_arms} arms: {n_sets:,} sets are more than its "
                f"limit of {self.limit:,}; use Greedy or Singletons, give a budget, or raise the limit"
            )
        best = np.zeros((0, k), np.intp)
        worth = np.zeros(0)
        arms = np.arange(reward.n_arms)
        if n_seen < n_sets:
            arms = _ranked(reward, theta, rng)
        every = islice(combinations(arms.tolist(), k), n_seen)
        while block := list(islice(every, _SETS_AT_ONCE)):
            sets = np.sort(
                np.fromiter(chain.from_iterable(block), np.intp, len(block) * k).reshape(-1, k),
                axis=1,
            )
            values = reward.batch(
                Pools(sets.ravel(), np.arange(len(sets) + 1) * k, reward.n_arms), theta
            )
            worth, best = np.concatenate([worth, values]), np.concatenate([best, sets])
            rounding = 1e-12 * max(1.0, float(np.abs(worth).max()))
            keep = worth >= worth.max() - rounding
            worth, best = worth[keep], best[keep]
        self.report = ExhaustiveReport(float(worth.max()), len(best), n_seen == n_sets)
        return best[rng.integers(len(best))] if len(best) > 1 else best[0]

    def _within(
        self, reward: Reward, theta: FloatArray, choices: Choices, *, rng: np.random.Generator
    ) -> IndexArray:
        sets = verb(self, choices, "sets")
        n_looked = getattr(choices, "n_candidates", 0)
        if n_looked > self.limit and self.budget is None:
            raise ValueError(
                f"Exhaustive looks through every candidate: {n_looked:,} are more than its limit of {self.limit:,}; "
                f"use Greedy or Singletons, give a budget, or raise the limit"
            )
        n_seen = self.limit if self.budget is None else min(self.limit, self.budget)
        every = sets() if self.budget is None else sets(_ranked(reward, theta, rng))
        seen = list(islice(every, n_seen + 1))
        if len(seen) > n_seen and self.budget is None:
            raise ValueError(
                f"Exhaustive evaluates every set, and there are more than its limit of {self.limit:,}"
            )
        values = reward.batch(Pools.of(seen[:n_seen], reward.n_arms), theta)
        best = np.flatnonzero(
            values >= values.max() - 1e-12 * max(1.0, float(np.abs(values).max()))
        )
        self.report = ExhaustiveReport(float(values.max()), len(best), len(seen) <= n_seen)
        return np.array(seen[int(best[rng.integers(len(best))] if len(best) > 1 else best[0])])


def _ranked(reward: Reward, theta: FloatArray, rng: np.random.Generator) -> IndexArray:
    """All arms by B_i theta_i, the largest first; equal arms in any order, so that none is preferred for its number."""
    bounds = reward.lipschitz * theta
    arms = np.arange(reward.n_arms)
    if len(np.unique(bounds)) < len(bounds):
        arms = rng.permutation(arms)
    return arms[np.argsort(-bounds[arms], kind="stable")]
