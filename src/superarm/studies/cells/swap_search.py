"""The cell that looks for violations of separability in random networks (Theorem 2)."""

from __future__ import annotations

import numpy as np

from superarm.core import Pools, Reward
from superarm.core.arguments import FloatArray, IndexArray
from superarm.oracles import Singletons
from superarm.rewards import NetworkReward
from superarm.studies.cell import Cell, Recorded

BETTER = 1e-9  # differences of values up to this are rounding errors


def run(cell: Cell) -> Recorded:
    """By how much swaps of one arm improve on Oracle+'s set, for random networks and theta.

    With a separable reward no swap improves on it.
    """
    s = cell.settings
    rng = np.random.default_rng(cell.seeds())
    losses = []
    for _ in range(s["n_thetas"]):
        # |N(0, 1)| is drawn before it is scaled: all steepnesses get the same network.
        reward = NetworkReward.random(s["n_arms"], n_hidden=s["n_hidden"], std=s["std"], rng=rng)
        theta = rng.random(s["n_arms"])
        arms = Singletons().select(reward, theta, s["k"], rng=rng)
        losses.append(climb(reward, theta, arms) - reward(arms, theta[arms]))
    return Recorded({"losses": losses}, {})


def climb(reward: Reward, theta: FloatArray, arms: IndexArray) -> float:
    """The value that the best swaps of one arm lead to, one after the other."""
    value = reward(arms, theta[arms])
    while True:
        others = np.setdiff1d(np.arange(reward.n_arms), arms)
        best, best_arms = value, arms
        for out in range(len(arms)):
            # One batch per arm that leaves the set: the network multiplies matrices.
            stay = np.delete(arms, out)
            values = reward.batch(Pools.extensions(stay, others, reward.n_arms), theta)
            if values.max() > best + BETTER:
                best = float(values.max())
                best_arms = np.sort(np.append(stay, others[values.argmax()]))
        # The value rises in every step, and there are finitely many sets, so that the search ends.
        if best <= value:
            return value
        value, arms = best, best_arms
