"""Noisy rewards of sets for `noisy.py`: the exact values, the noise, and what is known about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import superarm as sa

N_USERS = 30
_FEW = 500  # sets, of which all are evaluated
_VISITS = 50  # simulated visits per answer of the simulator


class Rows:
    """A reward given by a function of members and their means, both of shape (n_sets, size)."""

    monotone = zero_is_absent = additive = False

    def __init__(
        self, fn: Callable[[Any, Any], Any], n_arms: int, upper: float, *, lipschitz: float = 1.0
    ) -> None:
        self.fn, self.n_arms, self.upper, self.lipschitz = fn, n_arms, upper, lipschitz

    def __call__(self, arms: Any, means: Any) -> float:
        arms, means = np.atleast_2d(arms), np.atleast_2d(means)
        return float(self.fn(arms, means)[0])

    def batch(self, pools: sa.Pools, theta: Any) -> Any:
        # All sets of a step have the same size.
        rows = pools.members.reshape(len(pools), -1)
        return self.fn(rows, np.asarray(theta)[rows])


def facilities(m: int, rng: np.random.Generator) -> Rows:
    """Facility location: every user takes the best arm. Monotone and submodular."""
    near = rng.random((m, N_USERS)) ** 3
    return Rows(
        lambda rows, means: (near[rows] * means[..., None]).max(axis=1).sum(axis=-1), m, N_USERS
    )


def simulator(m: int, rng: np.random.Generator) -> Rows:
    """The probability that a visitor of a random kind takes something. Monotone, submodular."""
    taste = rng.random((m, N_USERS)) ** 4
    return Rows(
        lambda rows, means: 1 - (1 - taste[rows] * means[..., None]).prod(axis=1).mean(axis=-1),
        m,
        1.0,
    )


def complements(m: int, rng: np.random.Generator) -> Rows:
    """Arms 2j and 2j + 1 are worth something together only. Not submodular."""
    worth = rng.random(m // 2 + 1)

    def value(rows: Any, means: Any) -> Any:
        have = np.zeros((len(rows), m + m % 2))
        np.put_along_axis(have, rows, means, axis=1)
        return means.sum(axis=1) / 2 + have[:, 0::2] * have[:, 1::2] @ worth[: have.shape[1] // 2]

    return Rows(value, m, 1.5 * m)


def portfolio(m: int, rng: np.random.Generator) -> Rows:
    """What arms are worth, less what neighbours take from each other. Not monotone."""
    load = rng.random((m, 8)) < 0.3

    def value(rows: Any, means: Any) -> Any:
        used = (load[rows] * means[..., None]).sum(axis=1)
        return 8.0 + means.sum(axis=1) - 0.15 * (used**2).sum(axis=-1)

    return Rows(value, m, 8.0 + m)


REWARDS: dict[str, Callable[[int, np.random.Generator], Any]] = {
    "coverage": lambda m, rng: sa.CoverageReward(rng.random((m, 30)) < 0.15),
    "facility location": facilities,
    "network": lambda m, rng: sa.NetworkReward.random(m, std=0.3, rng=rng),
    "simulator": simulator,
    "complements": complements,
    "portfolio": portfolio,
    "judge": lambda m, rng: sa.CoverageReward(rng.random((m, 30)) < 0.15),
}


@dataclass(eq=False)
class NoisySets:
    """A reward with noise: normal, of a simulation, or of a judge that is less sure of much.

    ``std`` bounds the sub-Gaussian parameter. The answers of the simulator are shares of visits.
    """

    name: str
    exact: Any
    scale: float
    rng: np.random.Generator
    noisy = True

    def __post_init__(self) -> None:
        for name in ("n_arms", "lipschitz", "upper", "monotone", "zero_is_absent", "additive"):
            setattr(self, name, getattr(self.exact, name))

    @property
    def std(self) -> float:
        """A bound on the standard deviation of an answer."""
        return 0.5 / _VISITS**0.5 if self.name == "simulator" else self.scale

    def __call__(self, arms: Any, means: Any) -> float:
        theta = np.zeros(self.exact.n_arms)
        theta[arms] = means
        return float(self.batch(sa.Pools.of([arms], len(theta)), theta)[0])

    def batch(self, pools: sa.Pools, theta: Any) -> Any:
        values = self._values(pools, theta)
        if self.name == "simulator":
            return self.rng.binomial(_VISITS, values) / _VISITS
        spread = self.scale
        if self.name == "judge":  # from a fifth of the bound up to the bound
            spread = self.scale * np.clip(values / self.judged, 0.2, 1.0)
        return values + spread * self.rng.normal(0, 1, len(pools))

    def _values(self, pools: sa.Pools, theta: Any) -> Any:
        if len(pools) < _FEW:
            return self.exact.batch(pools, theta)
        # An oracle repeats its questions, so few exact values are needed.
        rows = pools.members.reshape(len(pools), -1)
        _, first, places = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        few = sa.Pools.of(rows[first], self.exact.n_arms)
        return self.exact.batch(few, theta)[places.ravel()]

    judged = 1.0


def make(name: str, m: int, k: int, noise: float, rng: np.random.Generator) -> tuple[Any, float]:
    """The noisy reward, and the range of the values of random sets of k arms."""
    exact, theta = REWARDS[name](m, rng), rng.random(m)
    sets = [np.sort(rng.permutation(m)[:k]) for _ in range(200)]
    values = exact.batch(sa.Pools.of(sets, m), theta)
    reward = NoisySets(name, exact, noise * float(np.ptp(values)), rng)
    reward.judged = float(values.max())
    return reward, float(np.ptp(values))


def losses(exact: Any, theta: Any, order: Any) -> Any:
    """Shape (k,): how much less than the best arm each arm of an order adds; and gaps, sizes.

    The gap of a step is the difference of its best two sets.
    """
    m, found = len(theta), []
    for step, arm in enumerate(order):
        base = np.sort(order[:step])
        left = np.setdiff1d(np.arange(m), base)
        values = exact.batch(sa.Pools.extensions(base, left, m), theta)
        best = np.sort(values)[::-1]
        gap = best[0] - best[1] if len(best) > 1 else np.inf
        found.append((best[0] - values[left == arm][0], gap, len(left)))
    return np.array(found).T


def best_gain(exact: Any, theta: Any, arms: Any) -> tuple[float, int]:
    """How much the best swap of one arm adds, and how many swaps there are."""
    m = len(theta)
    outside = np.setdiff1d(np.arange(m), arms)
    sets = [np.sort(np.append(np.delete(arms, i), b)) for i in range(len(arms)) for b in outside]
    gain = exact.batch(sa.Pools.of(sets, m), theta).max() - exact(arms, theta[arms])
    return float(gain), len(sets)
