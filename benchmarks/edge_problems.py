"""The problems on which edge clients are simulated, for all runs at once.

The pace of the syncs was chosen on ``uniform`` and ``low rate``. The other problems are those of
the paper and of the case studies. The tables of the case studies come from packages of the extras
``data`` and ``cases``. ``python benchmarks/edge_problems.py FILE`` writes what is needed of them to
a file, for machines without these packages.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from scipy.special import expit

from superarm.environments import datasets
from superarm.simulation import linear_instance, network_instance

CASES = {"flights": 10, "yeast": 4, "ta_feng": 20}  # k of each


class Problem(Protocol):
    """Several runs of a problem, each with its own means or its own order of the rows."""

    n_runs: int
    n_arms: int
    k: int
    horizon: int

    def best(self, theta: Any) -> Any:
        """The best set per run, shape (n_runs, k), for samples of shape (n_runs, n_arms)."""

    def pull(self, t: int, arms: Any) -> tuple[Any, Any]:
        """The outcomes of round t, shape (n_runs, k), and the regret per run."""


def _top(values: Any, k: int) -> Any:
    return np.argpartition(-values, k - 1, axis=1)[:, :k]


class Sums:
    """Arms with fixed means. The reward is the sum, and the regret that of the means."""

    def __init__(self, mu: Any, k: int, horizon: int, seed: int) -> None:
        self.mu, self.k, self.horizon = mu, k, horizon
        self.n_runs, self.n_arms = mu.shape
        self._seed, self._best = seed, np.sort(mu)[:, -k:].sum(axis=1)

    def best(self, theta: Any) -> Any:
        return _top(theta, self.k)

    def pull(self, t: int, arms: Any) -> tuple[Any, Any]:
        means = np.take_along_axis(self.mu, arms, axis=1)
        # Paired: an arm has the same outcome in the same round of every policy.
        drawn = np.random.default_rng([self._seed, t]).random(self.mu.shape)
        outcomes = np.take_along_axis(drawn, arms, axis=1) < means
        return outcomes, self.regret(arms, means)

    def regret(self, arms: Any, means: Any) -> Any:
        return self._best - means.sum(axis=1)


class Networks(Sums):
    """The paper's network with Oracle+: the k arms that are best alone."""

    def __init__(self, instances: list[Any], horizon: int, seed: int) -> None:
        super().__init__(np.array([one.mu for one in instances]), instances[0].k, horizon, seed)
        self._W1 = np.array([one.reward.W1.T for one in instances])  # (n_runs, n_arms, n_hidden)
        self._w2 = np.array([one.reward.w2 for one in instances])
        self._best = np.array([one.best_value for one in instances])

    def best(self, theta: Any) -> Any:
        alone = expit(self._W1 * theta[:, :, None]) @ self._w2[:, :, None]
        return _top(alone[:, :, 0], self.k)

    def regret(self, arms: Any, means: Any) -> Any:
        weights = np.take_along_axis(self._W1, arms[:, :, None], axis=1)
        value = expit((weights * means[:, :, None]).sum(axis=1))
        return self._best - (value * self._w2).sum(axis=1)


class Tables:
    """Recorded outcomes. The regret is that of the means of the arms.

    So it is the mean regret against the best fixed set over all orders of the rows.
    """

    def __init__(self, table: Any, k: int, orders: Any) -> None:
        self.table, self.k, self._orders = table, k, orders
        self.n_runs, self.horizon = orders.shape
        self.n_arms = table.shape[1]
        self._means = table.mean(axis=0, dtype=float)
        self._best = np.sort(self._means)[-k:].sum()

    def best(self, theta: Any) -> Any:
        return _top(theta, self.k)

    def pull(self, t: int, arms: Any) -> tuple[Any, Any]:
        outcomes = self.table[self._orders[:, t, None], arms].astype(float)
        return outcomes, self._best - self._means[arms].sum(axis=1)


def uniform(seeds: range, tables: Any) -> Problem:
    """The linear problem of the paper with fewer arms and a smaller gap."""
    mu = [linear_instance(200, 5, 0.05, rng=np.random.default_rng(seed)).mu for seed in seeds]
    return Sums(np.array(mu), 5, 10_000, seeds.start)


def low_rate(seeds: range, tables: Any) -> Problem:
    """A shop in which few items are clicked often: the mean rate is 3%."""
    mu = [np.random.default_rng(seed).beta(1, 30, 200) for seed in seeds]
    return Sums(np.array(mu), 5, 10_000, seeds.start)


def linear(seeds: range, tables: Any) -> Problem:
    """Figure 2A of the paper."""
    mu = [linear_instance(5000, 5, 0.25, rng=np.random.default_rng(seed)).mu for seed in seeds]
    return Sums(np.array(mu), 5, 10_000, seeds.start)


def network(seeds: range, tables: Any) -> Problem:
    """Figure 2B of the paper."""
    made = [network_instance(1000, 5, 0.2, rng=np.random.default_rng(seed)) for seed in seeds]
    return Networks(made, 5000, seeds.start)


def _case(name: str, seeds: range, tables: Any) -> Problem:
    table, rows = tables[name], range(len(tables[name]))
    if name == "flights":  # the year in its own order
        return Tables(table, CASES[name], np.tile(rows, (len(seeds), 1)))
    orders = [np.random.default_rng(seed).permutation(rows)[:10_000] for seed in seeds]
    return Tables(table, CASES[name], np.array(orders))


PROBLEMS: dict[str, Callable[[range, Any], Problem]] = {
    "uniform": uniform,
    "low rate": low_rate,
    "linear": linear,
    "network": network,
    **{name: partial(_case, name) for name in CASES},
}


def case_tables(path: Path | None = None) -> Any:
    """The tables of the case studies, from a file or from the packages."""
    if path is not None:
        with np.load(path) as found:
            return dict(found)
    found = [datasets.flights("late"), datasets.yeast(), datasets.ta_feng(500)]
    return {name: np.asarray(one.table) for name, one in zip(CASES, found, strict=True)}


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    np.savez_compressed(sys.argv[1], **case_tables())
