"""The cell that plays a policy on a problem, and the names by which sweeps call policies and problems."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from superarm.core import Belief, Policy, Pools, Reward
from superarm.core._top_k import kth_largest
from superarm.core.arguments import FloatArray, IndexArray, as_theta
from superarm.experiments.cell import Cell, Recorded
from superarm.oracles import Greedy, LazyGreedy, LazySingletons, LocalSearch, Rarely
from superarm.oracles.scheduled import growing
from superarm.policies import cts, cucb, gt_qts, random_sets
from superarm.rewards import BlackBox, LinearReward, NetworkReward
from superarm.simulation.instances import Instance, linear_instance, network_instance
from superarm.simulation import run_one

INSTANCES = {"linear": linear_instance, "network": network_instance}


def play(cell: Cell) -> Recorded:
    """Play ``settings["policy"]`` on ``settings["problem"]`` for ``settings["horizon"]`` rounds.

    Recorded at the checkpoints: regret, evaluations, and for linear rewards in how many rounds theta was not
    C-separable, C being the instance's own gap. Apart from these, the seconds spent in ``ask``.
    """
    settings = cell.settings
    watch: list[_Watched] = []
    found: list[Instance] = []

    def make(rng: np.random.Generator) -> tuple[Policy, Instance]:
        instance = draw(settings["problem"], rng=rng)
        policy = make_policy(settings["policy"], instance, calls=settings.get("calls", "batch"))
        if isinstance(instance.reward, LinearReward):
            watch.append(_Watched(policy.belief, instance))
            policy.belief = watch[0]
        found.append(instance)
        return policy, instance

    trace = run_one(make, settings["horizon"], cell.seeds())
    at = checkpoints(settings["horizon"]) - 1
    instance = found[0]
    row = {
        "checkpoints": (at + 1).tolist(),
        "regret": trace.regret()[at].tolist(),
        "evaluations": np.cumsum(trace.evaluations)[at].tolist(),
        "gap": instance.gap,
        "gap_max": gap_max(instance),
    }
    if watch:
        row["non_separable"] = np.cumsum(watch[0].non_separable)[at].tolist()
    return Recorded(row, {"ask_s": np.cumsum(trace.ask_s)[at].tolist()})


def draw(problem: dict[str, Any], *, rng: np.random.Generator) -> Instance:
    """An instance of a problem: ``{"family": "linear", "n_arms": ..., "k": ..., "gap": ...}``."""
    options = {name: value for name, value in problem.items() if name != "family"}
    return INSTANCES[problem["family"]](**options, rng=rng)


def make_policy(spec: dict[str, Any], instance: Instance, *, calls: str = "batch") -> Policy:
    """A policy by name; ``p`` may be "K/m" or "1/m".

    ``calls`` is "batch", or how every evaluation is made a call of its own: "single" on a vector of all arms (for
    networks), "by size" on the arms of the set.
    """
    reward: Reward = instance.reward
    if calls == "single" and isinstance(reward, NetworkReward):
        reward = RowByRow(reward)
    elif calls == "by size":
        reward = BlackBox(
            reward, n_arms=reward.n_arms, lipschitz=reward.lipschitz, upper=reward.upper
        )
    elif calls != "batch":
        raise ValueError(f"calls must be batch, by size, or single for a network, got {calls!r}")
    options = options_of(spec, instance.k, instance.n_arms)
    policies: dict[str, Callable[..., Policy]] = {
        "random": random_sets,
        "cts": cts,
        "cts greedy": lambda reward, k: cts(reward, k, oracle=Greedy()),
        "cts lazy": lambda reward, k: cts(reward, k, oracle=LazySingletons()),
        "cts lazy greedy": lambda reward, k: cts(reward, k, oracle=LazyGreedy()),
        "cts local search": lambda reward, k, budget: cts(
            reward, k, oracle=LocalSearch(LazySingletons(), budget=budget)
        ),
        "cts rarely": lambda reward, k: cts(
            reward, k, oracle=Rarely(LazySingletons(), when=growing())
        ),
        "cucb": cucb,
        "gt_qts": gt_qts,
    }
    if spec["name"] not in policies:
        raise ValueError(f"policy must be one of {', '.join(policies)}, got {spec['name']!r}")
    return policies[spec["name"]](reward, instance.k, **options)


def options_of(spec: dict[str, Any], k: int, n_arms: int) -> dict[str, Any]:
    """The options of a policy, with ``p`` as a number."""
    options = {name: value for name, value in spec.items() if name != "name"}
    if isinstance(options.get("p"), str):
        options["p"] = {"K/m": k, "1/m": 1}[options["p"]] / n_arms
    return options


class RowByRow:
    """A network whose batch is one call for each row of the test matrix, on a vector of all arms.

    The program that one would write first. Every evaluation costs the same, however large its set is.
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
        return float(self.network.w2 @ expit(self.network.W1 @ masked))


def checkpoints(horizon: int) -> IndexArray:
    """The rounds that are recorded: about 60 spread evenly and 60 by their logarithm; the last one is the horizon."""
    even = np.linspace(1, horizon, 61)
    logarithmic = np.geomspace(1, horizon, 61)
    return np.unique(np.round(np.concatenate([even, logarithmic]))).astype(np.intp)


class _Watched:
    """A belief that notes, of each theta that it draws, whether it is C-separable for a linear reward.

    It looks at theta when it is told the outcomes, so that ``ask`` is timed without it.
    """

    def __init__(self, belief: Belief, instance: Instance) -> None:
        self.belief, self.k, self.gap = belief, instance.k, instance.gap
        self.n_arms = belief.n_arms
        self.non_separable: list[bool] = []

    def sample(self, *, rng: np.random.Generator) -> FloatArray:
        self.theta = self.belief.sample(rng=rng)
        return self.theta

    def update(self, arms: ArrayLike, outcomes: ArrayLike, *, rng: np.random.Generator) -> None:
        difference = kth_largest(self.theta, self.k) - kth_largest(self.theta, self.k + 1)
        self.non_separable.append(difference <= self.gap)
        self.belief.update(arms, outcomes, rng=rng)

    def state(self) -> dict[str, Any]:
        return self.belief.state()

    def load(self, state: dict[str, Any]) -> None:
        self.belief.load(state)


def gap_max(instance: Instance) -> float | None:
    """What the worst set loses, where that is easily known: for a linear reward."""
    if not isinstance(instance.reward, LinearReward):
        return None
    return instance.best_value - float(np.sort(instance.mu)[: instance.k].sum())
