"""Confident Threshold Greedy, to compare `NoisyGreedy` with: ``noisy.py thresholds``.

Chen, Xing, Crawford: "A threshold greedy algorithm for noisy submodular maximization", 2023. A
threshold falls from the largest value of a single arm to a small share of it. An arm is added when
what it adds is at least the threshold, which is decided by answers about the set with and without
the arm, until a confidence bound is off the threshold, up to the tolerance. The bounds are those of
`NoisyGreedy` for known noise, and the first threshold comes from one of its contests. Both take
fewer answers than in the paper.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

import superarm as sa
from superarm.oracles._boundaries import radius
from superarm.oracles._contests import Sweeps, best_of
from superarm.oracles._noise import Known
from superarm.oracles._noisy_settings import share_of_round

_NO_LIMIT = 10**9
_SHARE_PER_LOOK = 1 / 10  # as for `NoisyGreedy`


@dataclass
class Report:
    """The arms in their order."""

    order: Any
    certified: bool = True

    def ranking(self, arms: Any, theta: Any) -> None:
        """None."""


class ConfidentThresholdGreedy:
    """Within (1 - 1/e - step) of the best set, up to the tolerance per arm, for known noise."""

    report: Report | None = None

    def __init__(
        self, delta: float, *, noise_std: float, tolerance: float, step: float = 0.1
    ) -> None:
        self.delta, self.std, self.tolerance, self.step = delta, noise_std, tolerance, step
        self._n_rounds = 0

    def select(self, reward: Any, theta: Any, k: int, *, rng: Any) -> Any:
        """The arms of a round."""
        theta, m = np.asarray(theta), reward.n_arms
        self._n_rounds += 1
        n_levels = math.ceil(math.log(k / self.step) / -math.log1p(-self.step)) + 1
        alpha = share_of_round(self.delta, self._n_rounds, "run") / (m * (n_levels + 1))
        alone, noise = [np.array([arm]) for arm in range(m)], Known(self.std)
        sweeps = Sweeps(reward, theta, alone, noise, _NO_LIMIT)
        level, order = best_of(sweeps, alpha * m, self.tolerance, rng=rng).value, []
        least = self.step * level / k
        while level > least and len(order) < k:
            for arm in rng.permutation(m):
                if arm in order or len(order) == k:
                    continue
                if self._adds(reward, theta, (order, int(arm)), level, alpha):
                    order.append(int(arm))
            level *= 1 - self.step
        # Arms that add less than the last threshold fill the set.
        rest = [int(arm) for arm in np.argsort(-theta) if arm not in order]
        self.report = Report(np.array(order + rest[: k - len(order)]))
        return np.sort(self.report.order)

    def _adds(self, reward: Any, theta: Any, choice: Any, level: float, alpha: float) -> bool:
        """Whether an arm adds as much as the threshold, up to the tolerance."""
        order, arm = choice
        sets = [np.sort([*order, arm]).astype(int)] + [np.sort(order).astype(int)] * bool(order)
        pools = sa.Pools.of(sets, len(theta))
        n, total = 0, 0.0
        std = self.std * math.sqrt(len(sets))
        while True:
            times = max(1, int(_SHARE_PER_LOOK * n))
            answers = [reward.batch(sa.Pools.of([one] * times, len(theta)), theta) for one in pools]
            total += answers[0].sum() - (answers[1].sum() if order else 0.0)
            n += times
            off = float(radius(np.array([float(n)]), alpha, std)[0])
            if total / n - off >= level - self.tolerance:
                return True
            if total / n + off <= level + self.tolerance:
                return False
