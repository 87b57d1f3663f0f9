"""The runs' instances as stacked arrays, written once for numpy and for torch: ``xp`` is either module."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from superarm.core import lipschitz_constant
from superarm.rewards import LinearReward, NetworkReward
from superarm.simulation.instances import Instance

Array = Any  # of numpy or of torch


class Problem:
    """The means and rewards of all runs.

    A reward is ``sum over the neurons of w2 · f(sum over the set of layer · theta)``, with f the sigmoid for a network
    and one neuron, f the identity, for a linear reward. ``layer`` has shape (n_runs, n_hidden, n_arms), or
    (1, n_hidden, n_arms) where all runs share one reward, and is None where all its weights are 1.
    """

    def __init__(self, instances: Sequence[Instance], engine: Any) -> None:
        first = instances[0]
        self.n_runs, self.n_arms, self.k = len(instances), first.n_arms, first.k
        self._check(instances)
        self.engine = engine
        self.rows = engine.put(np.arange(self.n_runs)[:, None])
        self.mu = engine.put(np.stack([engine.narrow(instance.mu) for instance in instances]))
        rewards: list[Any] = [instance.reward for instance in instances]
        self.rewards = rewards[:1] if all(reward is rewards[0] for reward in rewards) else rewards
        self.network = isinstance(first.reward, NetworkReward)
        self.layer, self.w2 = None, None
        if self.network:
            self.layer = engine.put(np.stack([engine.narrow(reward.W1) for reward in self.rewards]))
            self.w2 = engine.put(np.stack([reward.w2 for reward in self.rewards])[:, :, None])
        elif any(reward.weights is not None for reward in self.rewards):
            weights = [
                np.ones(self.n_arms) if r.weights is None else r.weights for r in self.rewards
            ]
            self.layer = engine.put(np.stack([engine.narrow(each) for each in weights])[:, None])
        self.n_hidden = 1 if self.layer is None else self.layer.shape[1]
        self.largest = 1.0 if self.layer is None else float(abs(self.layer).max())
        self._neurons = engine.put(np.arange(self.n_hidden)[:, None])
        self.best = self.worth(engine.put(np.stack([instance.best_arms for instance in instances])))

    def _check(self, instances: Sequence[Instance]) -> None:
        for instance in instances:
            if not isinstance(instance.reward, LinearReward | NetworkReward):
                raise TypeError(
                    f"simulate_batch plays linear and network rewards, got a {type(instance.reward).__name__}; "
                    f"replicate plays any"
                )
            same = (
                instance.n_arms == self.n_arms
                and instance.k == self.k
                and type(instance.reward) is type(instances[0].reward)
                and getattr(instance.reward, "n_hidden", 1)
                == getattr(instances[0].reward, "n_hidden", 1)
            )
            if not same:
                raise ValueError(
                    f"draw must return instances of one kind and size, got a {type(instance.reward).__name__} of "
                    f"{instance.n_arms} arms and k={instance.k} after one of {self.n_arms} arms and k={self.k}"
                )

    def singles(self, theta: Array) -> Array:
        """What each arm is worth alone, (n_runs, n_arms): neuron by neuron, so that there is no third axis."""
        if self.layer is None:
            return theta
        if self.w2 is None:
            return theta * self.layer[:, 0]
        # The same constant, what an idle neuron gives, is left out for all arms: it orders nothing.
        values = 0.0 * theta
        weights = self.engine.like(self.w2, theta)
        for neuron in range(self.n_hidden):
            values += weights[:, neuron] * self.engine.sigmoid(theta * self.layer[:, neuron])
        return values

    def columns(self, theta: Array, rows: slice) -> Array:
        """What the arms of some runs put into each neuron, (runs, n_hidden, n_arms)."""
        if self.layer is None:
            return theta[rows, None]
        return theta[rows, None] * self._of(self.layer, rows)

    def values(self, sums: Array, rows: slice) -> Array:
        """What sets are worth, (runs, n), from what they put into each neuron, (runs, n_hidden, n), in float64."""
        if self.w2 is None:
            return sums[:, 0]
        return (self._of(self.w2, rows) * self.engine.sigmoid(sums)).sum(1)

    def worth(self, arms: Array) -> Array:
        """What the runs' sets are worth at the true means, (n_runs,), in float64."""
        means = self.engine.double(self.mu[self.rows, arms])
        if self.layer is None:
            return means.sum(1)
        rows = self.rows if len(self.layer) > 1 else 0 * self.rows
        weights = self.engine.double(self.layer[rows[:, :, None], self._neurons, arms[:, None, :]])
        sums = (weights * means[:, None, :]).sum(2)
        return self.values(sums[:, :, None], slice(None))[:, 0]

    def bounds(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """B and M of every run's reward, (n_runs, 1) or (1, 1) each, on the host."""
        lipschitz = [[lipschitz_constant(reward)] for reward in self.rewards]
        return np.array(lipschitz), np.array([[reward.upper] for reward in self.rewards])

    def _of(self, stacked: Array, rows: slice) -> Array:
        return stacked[rows] if len(stacked) > 1 else stacked
