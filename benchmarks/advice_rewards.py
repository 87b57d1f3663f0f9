"""Rewards of known kinds, and rewards that are made to fool an inspection.

Every entry of `REWARDS`, `FOOLING` and `FRESH` makes a reward, the same reward without noise, and
its k, from a generator. `HALF` says which of them the defaults were chosen on ("tuning") and which
the figures are shown on ("shown"). It was drawn once, before any of them was played. "Fresh"
rewards were made later, and the "latest" ones, of `advice_latest`, after these.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import superarm as sa
from advice_latest import LATEST

Made = tuple[Any, Any, int]  # the reward, the same without noise, and k


def box(fn: Any, n_arms: int, k: int, lipschitz: Any, upper: float, **declared: Any) -> Made:
    """A black box."""
    reward = sa.BlackBox(fn, n_arms=n_arms, lipschitz=lipschitz, upper=upper, **declared)
    return reward, reward, k


def linear(rng: Any) -> Made:
    """A sum, declared additive."""
    reward = sa.LinearReward(30)
    return reward, reward, 4


def weighted(rng: Any) -> Made:
    """A weighted sum, declared as nothing."""
    weights = 0.2 + rng.random(30)
    return box(lambda arms, means: float(weights[arms] @ means), 30, 3, weights, weights.sum())


def any_success(rng: Any) -> Made:
    """At least one success."""
    reward = sa.AnySuccess(30)
    return reward, reward, 3


def root(rng: Any) -> Made:
    """A root of a sum: separable, and steep near 0."""
    return box(lambda arms, means: float(np.sqrt(0.1 + means.sum())), 40, 3, 1.6, 7.0)


def best_of(rng: Any) -> Made:
    """Only the best arm counts."""
    return box(lambda arms, means: float(max(means, default=0.0)), 30, 3, 1.0, 1.0)


def saturated(rng: Any) -> Made:
    """A sum that stops at 2: most sets are equally good."""
    return box(lambda arms, means: float(min(means.sum(), 2.0)), 30, 4, 1.0, 2.0)


def flat_network(rng: Any) -> Made:
    """A network that is almost linear."""
    reward = sa.NetworkReward.random(60, std=0.01, rng=rng)
    return reward, reward, 3


def network(rng: Any) -> Made:
    """A network of section 5 of the paper."""
    reward = sa.network_instance(100, 4, 0.1, rng=rng).reward
    return reward, reward, 4


def topics(rng: Any) -> Made:
    """Articles of few topics: the best ones may have one topic."""
    topic, interest = rng.integers(0, 6, 30), 0.2 + rng.random(6)

    def worth(arms: Any, means: Any) -> float:
        misses = np.ones(6)
        np.multiply.at(misses, topic[arms], 1 - means)
        return float(interest @ (1 - misses))

    return box(worth, 30, 3, interest[topic], interest.sum())


def coverage(rng: Any) -> Made:
    """Coverage, declared."""
    reward = sa.CoverageReward(rng.random((30, 8)) ** 6)
    return reward, reward, 4


def facilities(rng: Any) -> Made:
    """Every customer takes the best arm for it."""
    fits = rng.random((30, 10)) ** 3

    def worth(arms: Any, means: Any) -> float:
        return float((fits[arms] * means[:, None]).max(axis=0).sum()) if len(arms) else 0.0

    return box(worth, 30, 3, fits.sum(axis=1), 10.0)


def cut(rng: Any) -> Made:
    """The weight of the edges between the set and the other arms: submodular, not monotone."""
    edges = np.triu(rng.random((24, 24)) < 0.3, 1) * rng.random((24, 24))
    edges = edges + edges.T

    def worth(arms: Any, means: Any) -> float:
        inside = np.zeros(24)
        inside[arms] = means
        return float(inside @ edges @ (1 - inside))

    return box(worth, 24, 4, 2 * edges.sum(axis=1), edges.sum())


def crowding(rng: Any) -> Made:
    """Arms get in each other's way, the more so the more alike they are."""
    places = rng.random(30)
    alike = np.exp(-(((places[:, None] - places) / 0.1) ** 2))

    def worth(arms: Any, means: Any) -> float:
        lost = 0.15 * (means @ alike[np.ix_(arms, arms)] @ means)
        return max(0.0, float(means.sum() - lost))

    return box(worth, 30, 4, 10.0, 30.0)


def few_pairs(rng: Any) -> Made:
    """Arms are worth something with their partner only; 1,001 sets."""
    return _pairs(14, 4, rng)


def pairs(rng: Any) -> Made:
    """Arms are worth something with their partner only; 10,626 sets."""
    return _pairs(24, 4, rng)


def _pairs(n_arms: int, k: int, rng: Any) -> Made:
    order, partner = rng.permutation(n_arms), np.empty(n_arms, int)
    partner[order] = order.reshape(-1, 2)[:, ::-1].ravel()

    def worth(arms: Any, means: Any) -> float:
        mean = dict(zip(arms.tolist(), means.tolist(), strict=True))
        both = sum(x * mean.get(int(partner[arm]), 0.0) for arm, x in mean.items())
        return float(both + 1e-3 * means.sum())

    return box(worth, n_arms, k, 2.1, n_arms + 1.0)


def roles(rng: Any) -> Made:
    """A team needs somebody for each of three roles."""
    role = rng.integers(0, 3, 24)

    def worth(arms: Any, means: Any) -> float:
        return float(np.prod(np.bincount(role[arms], means, 3)) + 0.01 * means.sum())

    return box(worth, 24, 4, 90.0, 520.0)


def versatile(rng: Any) -> Made:
    """A sum of all means times the number of kinds among them."""
    kind = rng.integers(0, 5, 24)

    def worth(arms: Any, means: Any) -> float:
        return float(means.sum() * (1 + len(set(kind[arms].tolist()))))

    return box(worth, 24, 4, 6.0, 150.0)


def ignores_means(rng: Any) -> Made:
    """A root of weights: nothing is learned from outcomes."""
    weights = rng.random(30)
    return box(lambda arms, means: float(np.sqrt(weights[arms].sum())), 30, 3, 1.0, 5.0)


def fixed_coverage(rng: Any) -> Made:
    """Coverage by the arms themselves: nothing is learned, and arms overlap."""
    covers = rng.random((30, 12)) < 0.25

    def worth(arms: Any, means: Any) -> float:
        return float(covers[arms].any(axis=0).sum())

    return box(worth, 30, 3, 1.0, 12.0)


def noisy_sum(rng: Any) -> Made:
    """A sum with noise of 2% of an ordinary value, declared."""
    return _noisy(weighted(rng), 0.03, rng)


def noisy_topics(rng: Any) -> Made:
    """Topics with noise, declared."""
    return _noisy(topics(rng), 0.02, rng)


def _noisy(made: Made, std: float, rng: Any) -> Made:
    exact, _, k = made

    def worth(arms: Any, means: Any) -> float:
        return float(exact(arms, means) + 1 + std * rng.standard_normal())

    lipschitz, upper = exact.lipschitz, exact.upper + 2
    noisy, _, _ = box(worth, exact.n_arms, k, lipschitz, upper, noisy=True)
    return noisy, exact, k


def rivals_at_the_top(rng: Any) -> Made:
    """A sum, but arms with means around 0.9 spoil each other: random sets rarely have two."""

    def worth(arms: Any, means: Any) -> float:
        top = float(np.clip(10 * (means - 0.85), 0.0, 1.0).sum())
        return float(means.sum() - 0.6 * max(0.0, top - 1))

    return box(worth, 30, 3, 7.0, 30.0)


def twins(rng: Any) -> Made:
    """A weighted sum whose two best arms are the same thing twice."""
    weights = 0.2 + 0.5 * rng.random(30)
    one, other = rng.permutation(30)[:2]
    weights[[one, other]] = 2.0

    def worth(arms: Any, means: Any) -> float:
        values = dict(zip(arms.tolist(), (weights[arms] * means).tolist(), strict=True))
        both = min(values.get(int(one), 0.0), values.get(int(other), 0.0))
        return float(sum(values.values()) - both)

    return box(worth, 30, 3, weights, weights.sum())


def jackpot(rng: Any) -> Made:
    """A sum, with a bonus for one triple of arms."""
    triple = np.sort(rng.permutation(24)[:3])

    def worth(arms: Any, means: Any) -> float:
        return float(means.sum() + (5.0 if np.isin(triple, arms).all() else 0.0))

    return box(worth, 24, 4, 1.0, 30.0)


def late_quarrel(rng: Any) -> Made:
    """A sum for up to three arms; from four on, arms of one parity quarrel."""

    def worth(arms: Any, means: Any) -> float:
        odd = np.count_nonzero(arms % 2)
        alike = max(odd, len(arms) - odd) - 3 if len(arms) > 3 else 0
        return float(means.sum() - 0.3 * max(0, alike) * means.mean()) if len(arms) else 0.0

    return box(worth, 24, 5, 8.0, 30.0)


def misleading(rng: Any) -> Made:
    """Alone, an arm is worth the less the higher its mean; in company, the more."""

    def worth(arms: Any, means: Any) -> float:
        return float(1 - means[0]) if len(arms) == 1 else float(means.sum())

    return box(worth, 30, 3, 1.0, 30.0)


def threshold(rng: Any) -> Made:
    """A steep sigmoid of the sum: worth nothing below 2, and separable."""
    return box(lambda arms, means: float(1 / (1 + np.exp(-6 * (means.sum() - 2)))), 30, 3, 1.5, 1.0)


def false_bound(rng: Any) -> Made:
    """Topics, with a B that is ten times too small."""
    exact, _, k = topics(rng)
    return box(exact.fn, 30, k, np.asarray(exact.lipschitz) / 10, exact.upper)


def copies(rng: Any) -> Made:
    """Ten copies of each of three things; the best copy of each counts."""
    worth_of = 0.3 + rng.random(3)

    def worth(arms: Any, means: Any) -> float:
        best = np.zeros(3)
        np.maximum.at(best, arms % 3, means)
        return float(worth_of @ best)

    return box(worth, 30, 3, worth_of[np.arange(30) % 3], worth_of.sum())


def bundles(rng: Any) -> Made:
    """Arms of one bundle are worth more together: the square of the sum of each bundle."""
    bundle = rng.permutation(24) // 4

    def worth(arms: Any, means: Any) -> float:
        return float((np.bincount(bundle[arms], means, 6) ** 2).sum())

    return box(worth, 24, 4, 8.0, 96.0)


def two_resources(rng: Any) -> Made:
    """The scarcer one of two resources."""
    gives = rng.random((24, 2))

    def worth(arms: Any, means: Any) -> float:
        return float((means @ gives[arms]).min())

    return box(worth, 24, 4, 1.0, 24.0)


def helper(rng: Any) -> Made:
    """The best arm counts twice if one of three helpers is there."""
    helpers = rng.permutation(24)[:3]

    def worth(arms: Any, means: Any) -> float:
        extra = max(means, default=0.0) if np.isin(arms, helpers).any() else 0.0
        return float(means.sum() + extra)

    return box(worth, 24, 3, 2.0, 26.0)


def log_sum(rng: Any) -> Made:
    """A logarithm of a weighted sum."""
    weights = 0.2 + rng.random(40)
    return box(
        lambda arms, means: float(np.log1p(weights[arms] @ means)), 40, 3, weights, weights.sum()
    )


def best_two(rng: Any) -> Made:
    """The sum of the two largest means."""
    return box(lambda arms, means: float(np.sort(means)[-2:].sum()), 30, 4, 1.0, 2.0)


def volume(rng: Any) -> Made:
    """The logarithm of a determinant: alike arms add little."""
    places = rng.normal(size=(24, 3))
    places /= np.linalg.norm(places, axis=1, keepdims=True)
    alike = places @ places.T

    def worth(arms: Any, means: Any) -> float:
        scaled = 5 * np.sqrt(np.outer(means, means)) * alike[np.ix_(arms, arms)]
        return float(np.linalg.slogdet(np.eye(len(arms)) + scaled)[1])

    return box(worth, 24, 4, 5.0, 60.0)


def spoiler(rng: Any) -> Made:
    """The arm that is worth most alone spoils every set of two or more."""
    bad = int(rng.integers(24))

    def worth(arms: Any, means: Any) -> float:
        doubled = np.where(arms == bad, 2 * means, means).sum()
        return float(doubled * (0.5 if bad in arms and len(arms) > 1 else 1.0))

    return box(worth, 24, 3, 2.0, 26.0)


def noisy_copies(rng: Any) -> Made:
    """Copies with noise, declared."""
    return _noisy(copies(rng), 0.02, rng)


def heavy(rng: Any) -> Made:
    """Coverage in which few arms reach most of what there is, and overlap."""
    reach = rng.random((30, 8)) * (rng.random(30) ** 4)[:, None]
    reward = sa.CoverageReward(reach)
    return box(lambda arms, means: float(reward(arms, means)), 30, 3, reach.sum(axis=1), 8.0)


REWARDS: dict[str, Callable[[Any], Made]] = {
    make.__name__: make
    for make in (
        linear,
        weighted,
        any_success,
        root,
        best_of,
        saturated,
        flat_network,
        network,
        topics,
        coverage,
        facilities,
        cut,
        crowding,
        few_pairs,
        pairs,
        roles,
        versatile,
        ignores_means,
        fixed_coverage,
        noisy_sum,
        noisy_topics,
    )
}
# Made to fool an inspection.
FOOLING: dict[str, Callable[[Any], Made]] = {
    make.__name__: make
    for make in (
        rivals_at_the_top,
        twins,
        jackpot,
        late_quarrel,
        misleading,
        threshold,
        false_bound,
    )
}

# Made after the halves had been played, and played once.
FRESH: dict[str, Callable[[Any], Made]] = {
    make.__name__: make
    for make in (
        copies,
        bundles,
        two_resources,
        helper,
        log_sum,
        best_two,
        volume,
        spoiler,
        noisy_copies,
        heavy,
    )
}


def _halves() -> dict[str, str]:
    """Half of each group, by a generator whose seed is the year."""
    rng = np.random.default_rng(2026)
    halves = {}
    for group in (REWARDS, FOOLING):
        names = list(group)
        tuning = set(rng.permutation(names)[: len(names) // 2].tolist())
        halves.update({name: "tuning" if name in tuning else "shown" for name in names})
    return {**halves, **dict.fromkeys(FRESH, "fresh"), **dict.fromkeys(LATEST, "latest")}


HALF = _halves()
