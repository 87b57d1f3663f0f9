"""The cell that plays a policy on a problem of the paper."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from superarm.catalog import POLICIES, Task
from superarm.core import Belief, Policy, Pools, Reward
from superarm.core.arguments import FloatArray, as_theta
from superarm.core.k_of_m import kth_largest
from superarm.core.special import expit
from superarm.oracles import Singletons
from superarm.rewards import BlackBox, LinearReward, NetworkReward
from superarm.simulation import (
    Instance,
    linear_instance,
    network_instance,
    planted_instance,
    run_one,
)
from superarm.studies.cell import Cell, Recorded, checkpoints
from superarm.studies.cells.readings import READING, make_reading

Spec = dict[str, Any]

INSTANCES: dict[str, Callable[..., Instance]] = {
    "linear": linear_instance,
    "planted": planted_instance,
    "network": network_instance,
}


def run(cell: Cell) -> Recorded:
    """Play ``settings["policy"]`` on ``settings["problem"]`` for ``settings["horizon"]`` rounds.

    The row has, at the checkpoints, the regret, the evaluations and, for linear rewards, the number
    of rounds in which theta was not C-separable, where C is the gap of the instance. With
    ``"watched": False`` that number is left out, and a belief need not draw all of theta. The times
    have the seconds spent in ``ask``.
    """
    settings = cell.settings
    make = Make(settings)
    watched: list[_Watched] = []
    instances: list[Instance] = []

    def make_watched(rng: np.random.Generator) -> tuple[Policy, Instance]:
        policy, instance = make(rng)
        if isinstance(instance.reward, LinearReward) and settings.get("watched", True):
            watched.append(_Watched(policy.belief, instance))
            # Only linear rewards: elsewhere the separation is not the difference of two means.
            policy.belief = watched[0]
        instances.append(instance)
        return policy, instance

    trace = run_one(make_watched, settings["horizon"], cell.seeds())
    # Checkpoints count rounds from 1, arrays from 0.
    at = checkpoints(settings["horizon"]) - 1
    row = {
        "checkpoints": (at + 1).tolist(),
        "regret": trace.regret()[at].tolist(),
        "evaluations": np.cumsum(trace.evaluations)[at].tolist(),
        "gap": instances[0].gap,
        "gap_max": gap_max(instances[0]),
    }
    if watched:
        row["non_separable"] = np.cumsum(watched[0].non_separable)[at].tolist()
    times = {
        "ask_s": np.cumsum(trace.ask_s)[at].tolist(),
        # The median, because a few slow rounds, such as the first ones, would move a mean.
        "median_ask_s": float(np.median(trace.ask_s)),
    }
    return Recorded(row, times)


@dataclass(frozen=True)
class Make:
    """Draws an instance of the problem and makes a fresh policy for it, as `run_one` needs it."""

    settings: dict[str, Any]

    def __call__(self, rng: np.random.Generator) -> tuple[Policy, Instance]:
        """The policy and the instance."""
        instance = draw(self.settings["problem"], rng=rng)
        spec, horizon = self.settings["policy"], self.settings["horizon"]
        if spec["name"] == READING:
            return make_reading(spec, instance, rng=rng), instance
        calls = self.settings.get("calls", "batch")
        return make_policy(spec, instance, horizon, calls=calls), instance


def draw(problem: dict[str, Any], *, rng: np.random.Generator) -> Instance:
    """An instance of a problem: ``{"family": "linear", "n_arms": ..., "k": ..., "gap": ...}``."""
    options = {name: value for name, value in problem.items() if name != "family"}
    return INSTANCES[problem["family"]](**options, rng=rng)


def make_policy(spec: Spec, instance: Instance, horizon: int, *, calls: str = "batch") -> Policy:
    """A policy of the catalog, with the paper's Oracle+ wherever the policy takes any oracle.

    Parameters
    ----------
    spec
        ``{"name": ...}``, and for group testing ``delta`` and ``n_tests``. With ``"oracle": None``
        the policy has the exact oracle with the fewest evaluations instead of Oracle+.
    instance, horizon
        What the policy will play, and for how many rounds.
    calls
        How the reward is evaluated: "batch", or one call per set, "by size" on the arms of the set,
        "single" on a vector of all arms (networks only).
    """
    if spec["name"] not in POLICIES:
        raise ValueError(f"policy must be one of {', '.join(POLICIES)}, got {spec['name']!r}")
    task = task_of(spec, _called(instance.reward, calls), instance.k, horizon)
    return POLICIES[spec["name"]].make(task)


def task_of(spec: Spec, reward: Reward, k: int, horizon: int) -> Task:
    """What the policy of a specification is made for."""
    # Only group testing looks at delta, and its specs have one.
    options = {"delta": 0.0, "oracle": Singletons, **spec}
    del options["name"]
    return Task(reward, k, horizon, **options)


def _called(reward: Reward, calls: str) -> Reward:
    """The reward of a problem, called in the way that the cell says."""
    if calls == "batch":
        return reward
    if calls == "single" and isinstance(reward, NetworkReward):
        return RowByRow(reward)
    if calls == "by size":
        return BlackBox(
            reward, n_arms=reward.n_arms, lipschitz=reward.lipschitz, upper=reward.upper
        )
    raise ValueError(f"calls must be batch, by size, or single for a network, got {calls!r}")


class RowByRow:
    """A network that is called once per row of the test matrix, on a vector of all arms.

    This is the program that one would write first. Every evaluation costs the same, however large
    its set is.
    """

    def __init__(self, network: NetworkReward) -> None:
        self.network = network
        self.n_arms, self.lipschitz, self.upper = network.n_arms, network.lipschitz, network.upper
        self.monotone, self.zero_is_absent, self.additive = network.monotone, True, False

    def __call__(self, arms: ArrayLike, means: ArrayLike) -> float:
        """The value of one set."""
        return self.network(arms, means)

    def batch(self, pools: Pools, theta: ArrayLike) -> FloatArray:
        """The values of many sets, one after the other."""
        theta = as_theta(theta, self.n_arms, pools)
        return np.array([self._value(row * theta) for row in pools.dense()], np.float64)

    def _value(self, masked: FloatArray) -> float:
        # Written out instead of calling the network, which would skip the absent arms and so make
        # small sets cheaper than large ones.
        return float(self.network.w2 @ expit(self.network.W1 @ masked))


class _Watched:
    """A belief that notes for each theta whether it is C-separable for a linear reward.

    It looks at theta when it learns the outcomes, so that ``ask`` is timed without it.
    """

    def __init__(self, belief: Belief, instance: Instance) -> None:
        self.belief, self.k, self.gap = belief, instance.k, instance.gap
        self.n_arms = belief.n_arms
        self.non_separable: list[bool] = []

    def sample(self, *, rng: np.random.Generator) -> FloatArray:
        self.theta = self.belief.sample(rng=rng)
        return self.theta

    def update(self, arms: ArrayLike, outcomes: ArrayLike, *, rng: np.random.Generator) -> None:
        # theta is C-separable if the worst chosen arm is better than the best other arm by more
        # than C.
        difference = kth_largest(self.theta, self.k) - kth_largest(self.theta, self.k + 1)
        self.non_separable.append(difference <= self.gap)
        self.belief.update(arms, outcomes, rng=rng)

    def state(self) -> dict[str, Any]:
        return self.belief.state()

    def load(self, state: dict[str, Any]) -> None:
        self.belief.load(state)


def gap_max(instance: Instance) -> float | None:
    """What the worst set loses, where that is easy to know: for a linear reward."""
    if not isinstance(instance.reward, LinearReward):
        return None
    return instance.best_value - float(np.sort(instance.mu)[: instance.k].sum())
