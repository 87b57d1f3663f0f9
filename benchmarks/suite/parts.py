"""Oracles and operations that are timed part by part, each with the law by which it should grow.

To measure another one, add a row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import superarm as sa
from suite.timing import Program
from superarm.core import top_k
from superarm.oracles import RandomSets


@dataclass(frozen=True)
class OracleRow:
    """An oracle, and how its evaluations and its own time per round grow with m.

    ``power`` is the exponent of m in the law of the time.
    """

    name: str
    make: Callable[[int, int], sa.Oracle]
    evaluations: str
    time: str
    power: float | None


ORACLES = [
    OracleRow("Singletons", lambda m, k: sa.Singletons(), "m", "O(m)", 1),
    OracleRow(
        "LazySingletons",
        lambda m, k: sa.LazySingletons(),
        "as few as it needs",
        "O(m) per batch",
        None,
    ),
    OracleRow(
        "LazyGreedy", lambda m, k: sa.LazyGreedy(), "as few as it needs", "O(k·m) per batch", None
    ),
    OracleRow("Greedy", lambda m, k: sa.Greedy(), "k·m − k(k−1)/2", "O(k²·m)", 1),
    OracleRow(
        "LocalSearch",
        lambda m, k: sa.LocalSearch(),
        "m + (m − k) per arm tried",
        "O(k·m) per arm tried",
        1,
    ),
    OracleRow(
        "GroupTesting, p=1/2", lambda m, k: sa.GroupTesting(delta=0.25), "n = O(log m)", "O(n·m)", 1
    ),
    OracleRow(
        "GroupTesting, p=K/m",
        lambda m, k: sa.GroupTesting(delta=0.25, p=k / m),
        "n = O(log m)",
        "O(m + n·k)",
        1,
    ),
    OracleRow(
        "GroupTesting, regression",
        lambda m, k: sa.GroupTesting(delta=0.25, decoder="regression"),
        "n = O(log m)",
        "O(m + n³)",
        None,
    ),
    OracleRow("RandomSets", lambda m, k: RandomSets(), "0", "O(m)", 1),
]


@dataclass(frozen=True)
class OperationRow:
    """An operation over m arms: ``make(m, rng)`` gives a function that does it once."""

    name: str
    make: Callable[[int, np.random.Generator], Program]
    law: str
    power: float


_N_TESTS, _K = 302, 5


def _tests(m: int, p: float, rng: np.random.Generator) -> sa.Pools:
    return sa.Pools.random(_N_TESTS, m, p, rng=rng)


def _sampled(belief: sa.Belief, rng: np.random.Generator) -> Program:
    return lambda: belief.sample(rng=rng)


def _sampled_top(m: int, rng: np.random.Generator) -> Program:
    belief = sa.BetaBelief(m)
    belief.sample_top(_K, rng=rng)  # the first call draws all
    return lambda: belief.sample_top(_K, rng=rng)


def _updated(m: int, rng: np.random.Generator) -> Program:
    belief, arms, outcomes = sa.BetaBelief(m), np.arange(0, m, m // _K)[:_K], np.ones(_K)
    return lambda: belief.update(arms, outcomes, rng=rng)


def _top(m: int, rng: np.random.Generator) -> Program:
    values = rng.random(m)
    return lambda: top_k(values, _K, rng=rng)


def _summed(m: int, p: float, rng: np.random.Generator) -> Program:
    pools, values = _tests(m, p, rng), rng.random(m)
    return lambda: pools.sum(values)


def _summed_by_arm(m: int, p: float, rng: np.random.Generator) -> Program:
    pools, scores = _tests(m, p, rng), rng.random(_N_TESTS)
    return lambda: pools.sum_by_arm(scores)


def _singly(reward: sa.Reward, rng: np.random.Generator) -> Program:
    pools, theta = (
        sa.Pools.singletons(np.arange(reward.n_arms), reward.n_arms),
        rng.random(reward.n_arms),
    )
    return lambda: reward.batch(pools, theta)


OPERATIONS = [
    OperationRow("`BetaBelief.sample`", lambda m, rng: _sampled(sa.BetaBelief(m), rng), "O(m)", 1),
    OperationRow("`BetaBelief.sample_top`, k arms", _sampled_top, "O(k·m^(1/3))", 1 / 3),
    OperationRow(
        "`GaussianBelief.sample`", lambda m, rng: _sampled(sa.GaussianBelief(m), rng), "O(m)", 1
    ),
    OperationRow("`UCBBelief.sample`", lambda m, rng: _sampled(sa.UCBBelief(m), rng), "O(m)", 1),
    OperationRow(
        "`KLUCBBelief.sample`", lambda m, rng: _sampled(sa.KLUCBBelief(m), rng), "O(m)", 1
    ),
    OperationRow("`BetaBelief.update`, k arms", _updated, "O(k)", 0),
    OperationRow("`top_k`", _top, "O(m)", 1),
    OperationRow("`Pools.random`, p=1/2", lambda m, rng: lambda: _tests(m, 0.5, rng), "O(n·m)", 1),
    OperationRow(
        "`Pools.random`, p=2/3", lambda m, rng: lambda: _tests(m, 2 / 3, rng), "O(n·m)", 1
    ),
    OperationRow(
        "`Pools.random`, p=K/m", lambda m, rng: lambda: _tests(m, _K / m, rng), "O(n·k)", 0
    ),
    OperationRow("`Pools.sum`, p=1/2", lambda m, rng: _summed(m, 0.5, rng), "O(n·m)", 1),
    OperationRow("`Pools.sum`, p=K/m", lambda m, rng: _summed(m, _K / m, rng), "O(n·k)", 0),
    OperationRow(
        "`Pools.sum_by_arm`, p=1/2", lambda m, rng: _summed_by_arm(m, 0.5, rng), "O(n·m)", 1
    ),
    OperationRow(
        "`Pools.sum_by_arm`, p=K/m", lambda m, rng: _summed_by_arm(m, _K / m, rng), "O(m + n·k)", 1
    ),
    OperationRow(
        "`LinearReward.batch`, singletons",
        lambda m, rng: _singly(sa.LinearReward(m), rng),
        "O(m)",
        1,
    ),
    OperationRow(
        "`NetworkReward.batch`, singletons",
        lambda m, rng: _singly(sa.NetworkReward.random(m, rng=rng), rng),
        "O(h·m)",
        1,
    ),
]
