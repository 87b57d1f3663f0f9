"""The instances of all runs as stacked arrays, written once for numpy and for torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from superarm.core import lipschitz_constant
from superarm.rewards import LinearReward, NetworkReward
from superarm.simulation.instances import Instance

Array = Any  # of numpy or of torch


class RunStack:
    """The true means and the rewards of all runs.

    A reward is ``sum over the neurons of w2 · f(sum over the set of layer · theta)``. For a network
    f is the sigmoid. A linear reward has one neuron, and f is the identity. ``layer`` has shape
    (n_runs, n_hidden, n_arms), or (1, n_hidden, n_arms) if all runs share one reward. It is None if
    all weights are 1.

    Parameters
    ----------
    instances
        One per run, all of the same kind and size.
    engine
        `NumpyEngine` or `TorchEngine`.
    """

    def __init__(self, instances: Sequence[Instance], engine: Any) -> None:
        first = instances[0]
        self.n_runs, self.n_arms, self.k = len(instances), first.n_arms, first.k
        _check(instances)
        self.engine = engine
        self.rows = engine.put(np.arange(self.n_runs)[:, None])
        self.mu = engine.put(np.stack([engine.narrow(instance.mu) for instance in instances]))
        rewards: list[Any] = [instance.reward for instance in instances]
        # A reward that all runs share is kept once.
        self.rewards = rewards[:1] if all(reward is rewards[0] for reward in rewards) else rewards
        self.network = isinstance(first.reward, NetworkReward)
        self.layer: Array
        self.w2: Array
        self.layer, self.w2 = self._network() if self.network else (self._weights(), None)
        self.n_hidden = 1 if self.layer is None else self.layer.shape[1]
        self.largest = 1.0 if self.layer is None else float(abs(self.layer).max())
        self._neurons = engine.put(np.arange(self.n_hidden)[:, None])
        best_arms = np.stack([instance.best_arms for instance in instances])
        self.best = self.true_values(engine.put(best_arms))

    def _network(self) -> tuple[Array, Array]:
        """The weights of both layers: (rewards, n_hidden, n_arms) and (rewards, n_hidden, 1)."""
        inputs = np.stack([self.engine.narrow(reward.W1) for reward in self.rewards])
        outputs = np.stack([reward.w2 for reward in self.rewards])[:, :, None]
        return self.engine.put(inputs), self.engine.put(outputs)

    def _weights(self) -> Array | None:
        """The weights of linear rewards, (rewards, 1, n_arms); None if all are 1."""
        if all(reward.weights is None for reward in self.rewards):
            return None
        ones = np.ones(self.n_arms)
        weights = [ones if one.weights is None else one.weights for one in self.rewards]
        return self.engine.put(np.stack([self.engine.narrow(each) for each in weights])[:, None])

    def singleton_values(self, theta: Array) -> Array:
        """The value of each arm alone, (n_runs, n_arms), up to a constant per run."""
        if self.layer is None:
            return theta
        if self.w2 is None:
            return theta * self.layer[:, 0]
        # What the neurons give without input is the same for all arms, and is left out. The loop
        # over the neurons avoids an array with a third axis.
        values = 0.0 * theta
        weights = self.engine.like(self.w2, theta)
        for neuron in range(self.n_hidden):
            values += weights[:, neuron] * self.engine.sigmoid(theta * self.layer[:, neuron])
        return values

    def columns(self, theta: Array, rows: slice) -> Array:
        """The input of each arm to each neuron, for some runs: (runs, n_hidden, n_arms)."""
        if self.layer is None:
            return theta[rows, None]
        return theta[rows, None] * self.of_runs(self.layer, rows)

    def values(self, sums: Array, rows: slice) -> Array:
        """The values of sets, (runs, n), from their inputs, (runs, n_hidden, n), in float64."""
        if self.w2 is None:
            return sums[:, 0]
        return (self.of_runs(self.w2, rows) * self.engine.sigmoid(sums)).sum(1)

    def true_values(self, arms: Array) -> Array:
        """The values at the true means of one set per run, (n_runs,), in float64."""
        means = self.engine.double(self.mu[self.rows, arms])
        if self.layer is None:
            return means.sum(1)
        rows = self.rows if len(self.layer) > 1 else 0 * self.rows
        weights = self.engine.double(self.layer[rows[:, :, None], self._neurons, arms[:, None, :]])
        sums = (weights * means[:, None, :]).sum(2)
        return self.values(sums[:, :, None], slice(None))[:, 0]

    def bounds(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """B and M of the rewards, (n_runs, 1) or (1, 1) each, as arrays of numpy."""
        lipschitz = [[lipschitz_constant(reward)] for reward in self.rewards]
        return np.array(lipschitz), np.array([[reward.upper] for reward in self.rewards])

    def of_runs(self, stacked: Array, rows: slice) -> Array:
        """Some runs' part of an array that has one entry per run, or one entry for all runs."""
        return stacked[rows] if len(stacked) > 1 else stacked


def _check(instances: Sequence[Instance]) -> None:
    """Refuse rewards that can't be stacked, and instances of different sizes."""
    first = instances[0]
    for instance in instances:
        kind = type(instance.reward).__name__
        if not isinstance(instance.reward, LinearReward | NetworkReward):
            raise TypeError(
                f"simulate_batch plays linear and network rewards, got a {kind}; "
                f"replicate plays any reward"
            )
        if _shape(instance) != _shape(first):
            raise ValueError(
                f"draw must return instances of one kind and size, got a {kind} of "
                f"{instance.n_arms} arms and k={instance.k} after one of {first.n_arms} arms and "
                f"k={first.k}"
            )


def _shape(instance: Instance) -> tuple[Any, ...]:
    n_hidden = instance.reward.n_hidden if isinstance(instance.reward, NetworkReward) else 1
    return type(instance.reward), instance.n_arms, instance.k, n_hidden
