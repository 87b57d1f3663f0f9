"""Rewards of kinds that no other reward has, made before any of them was played.

They could fool an inspection, and nothing was chosen by them. `LATEST` has them by name, as
`advice_rewards.REWARDS` has its rewards.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import superarm as sa

Made = tuple[Any, Any, int]  # the reward, the same without noise, and k


def _box(fn: Any, n_arms: int, k: int, lipschitz: Any, upper: float) -> Made:
    reward = sa.BlackBox(fn, n_arms=n_arms, lipschitz=lipschitz, upper=upper)
    return reward, reward, k


def assortment(rng: Any) -> Made:
    """What customers pay who choose among the arms or nothing (multinomial logit).

    One more arm draws customers away from arms with a higher price.
    """
    price, appeal = 0.2 + 0.8 * rng.random(30), 2 * rng.random(30)

    def worth(arms: Any, means: Any) -> float:
        drawn = appeal[arms] * means
        return float(price[arms] @ drawn / (1 + drawn.sum()))

    return _box(worth, 30, 3, appeal, 1.0)


def errands(rng: Any) -> Made:
    """A sum minus the way between the first and the last of the places."""
    places = rng.random(24)

    def worth(arms: Any, means: Any) -> float:
        way = np.ptp(places[arms]) if len(arms) else 0.0
        return max(0.0, float(means.sum() - 1.5 * way))

    return _box(worth, 24, 4, 1.0, 24.0)


def jury(rng: Any) -> Made:
    """The probability that more than half of the arms succeed."""

    def worth(arms: Any, means: Any) -> float:
        law = np.ones(1)  # of the number of successes
        for mean in means:
            law = np.append(law * (1 - mean), 0.0) + np.append(0.0, law * mean)
        return float(law[len(arms) // 2 + 1 :].sum())

    return _box(worth, 30, 3, 1.0, 1.0)


def weakest(rng: Any) -> Made:
    """The smallest weighted mean: every arm can only lower the value of the others."""
    weights = 0.3 + 0.7 * rng.random(30)
    return _box(
        lambda arms, means: float(min(weights[arms] * means, default=0.0)), 30, 3, weights, 1.0
    )


def catalyst(rng: Any) -> Made:
    """One arm is worth nothing alone, and almost doubles the value of the others."""
    hidden = int(rng.integers(24))

    def worth(arms: Any, means: Any) -> float:
        there = arms == hidden
        return float(means[~there].sum() * (1 + 0.9 * means[there].sum()))

    return _box(worth, 24, 4, 22.0, 45.0)


def portfolio(rng: Any) -> Made:
    """A sum minus the standard deviation of the sum, where three factors move the arms."""
    loads = 0.4 * rng.normal(size=(24, 3))

    def worth(arms: Any, means: Any) -> float:
        own = 0.05 * len(arms)
        return max(0.0, float(means.sum() - np.sqrt((loads[arms].sum(axis=0) ** 2).sum() + own)))

    return _box(worth, 24, 4, 1.0, 24.0)


def runs(rng: Any) -> Made:
    """A sum, and a bonus for every three neighbours in a hidden order. Pairs show nothing."""
    place = rng.permutation(24)

    def worth(arms: Any, means: Any) -> float:
        there = np.zeros(26, bool)
        there[place[arms]] = True
        triples = np.count_nonzero(there[:-2] & there[1:-1] & there[2:])
        return float(means.sum() + 1.5 * triples)

    return _box(worth, 24, 4, 1.0, 60.0)


def quiet_judge(rng: Any) -> Made:
    """Noise that nobody declared, and that grows with the value; every reader takes the best."""
    fits = rng.random((30, 8)) ** 3

    def exact(arms: Any, means: Any) -> float:
        return float((fits[arms] * means[:, None]).max(axis=0).sum()) if len(arms) else 0.0

    def judged(arms: Any, means: Any) -> float:
        return 1 + exact(arms, means) * (1 + 0.01 * float(rng.standard_normal()))

    reward, _, k = _box(judged, 30, 3, fits.sum(axis=1), 11.0)
    return reward, _box(exact, 30, 3, fits.sum(axis=1), 9.0)[0], k


LATEST: dict[str, Callable[[Any], Made]] = {
    make.__name__: make
    for make in (assortment, errands, jury, weakest, catalyst, portfolio, runs, quiet_judge)
}
