"""The first impression: a small linear and a small network problem, a few policies, a table and a picture."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np

from superarm._checks import FloatArray
from superarm.core import Policy
from superarm.instances import Instance, linear_instance, network_instance
from superarm.oracles import Greedy
from superarm.policies import cts, cucb, gt_qts, random_sets
from superarm.simulate import replicate


@dataclass(frozen=True)
class Problem:
    """A family of instances, and the names of the policies that play it."""

    title: str
    family: str
    n_arms: int
    k: int
    gap: float
    policies: tuple[str, ...]

    def draw(self, rng: np.random.Generator) -> Instance:
        """One instance."""
        make = {"linear": linear_instance, "network": network_instance}[self.family]
        return make(self.n_arms, self.k, self.gap, rng=rng)


# What each name stands for, given an instance and the quantization level. A new policy is a line here.
POLICIES: dict[str, Callable[[Instance, float], Policy]] = {
    "random": lambda it, delta: random_sets(it.reward, it.k),
    "CTS, Oracle+": lambda it, delta: cts(it.reward, it.k),
    "CTS, greedy": lambda it, delta: cts(it.reward, it.k, oracle=Greedy()),
    "CUCB, Oracle+": lambda it, delta: cucb(it.reward, it.k),
    "GT+QTS, p=1/2": lambda it, delta: gt_qts(it.reward, it.k, delta=delta),
    "GT+QTS, p=K/m": lambda it, delta: gt_qts(it.reward, it.k, delta=delta, p=it.k / it.n_arms),
    "GT+QTS, p=K/m, centred": lambda it, delta: gt_qts(
        it.reward, it.k, delta=delta, p=it.k / it.n_arms, decoder="centred"
    ),
}

_COMMON = ("random", "CUCB, Oracle+", "GT+QTS, p=1/2", "GT+QTS, p=K/m", "GT+QTS, p=K/m, centred", "CTS, Oracle+")
PROBLEMS = (
    Problem("linear reward, 3 of 100 arms", "linear", 100, 3, 0.25, _COMMON),
    Problem("network reward, 3 of 100 arms", "network", 100, 3, 0.2, (*_COMMON, "CTS, greedy")),
)


@dataclass(frozen=True)
class Make:
    """``make`` of `replicate` for one policy of one problem; picklable."""

    problem: Problem
    policy: str

    def __call__(self, rng: np.random.Generator) -> tuple[Policy, Instance]:
        """A fresh instance and a fresh policy for it."""
        instance = self.problem.draw(rng)
        return POLICIES[self.policy](instance, self.problem.gap), instance


@dataclass(frozen=True)
class Result:
    """All runs of one policy on one problem.

    Attributes
    ----------
    regret
        Shape (n_runs, horizon): cumulative regret.
    evaluations
        Evaluations of the reward a round, on average.
    ask_ms
        Median milliseconds of one ``ask``.
    """

    problem: Problem
    policy: str
    regret: FloatArray
    evaluations: float
    ask_ms: float

    @property
    def mean(self) -> float:
        """The mean over the runs of the regret at the horizon."""
        return float(self.regret[:, -1].mean())

    @property
    def standard_error(self) -> float:
        """Of that mean."""
        return float(self.regret[:, -1].std(ddof=1) / np.sqrt(len(self.regret)))


def run(
    *,
    n_runs: int,
    horizon: int,
    seed: int,
    executor: Executor | None = None,
    progress: Callable[[str], None] | None = None,
) -> list[Result]:
    """Play every policy of every problem, on the same instances; ``progress`` hears the name of each finished run."""
    results = []
    for problem in PROBLEMS:
        for policy in problem.policies:
            traces = replicate(
                Make(problem, policy),
                n_runs=n_runs,
                horizon=horizon,
                seed=seed,
                executor=executor,
                progress=None if progress is None else lambda done, name=policy: progress(name),  # type: ignore[misc]
            )
            regret = np.array([trace.regret() for trace in traces])
            evaluations = float(np.mean([trace.evaluations for trace in traces]))
            ask_ms = 1000 * float(np.median([trace.ask_s for trace in traces]))
            results.append(Result(problem, policy, regret, evaluations, ask_ms))
    return results


def count_runs(n_runs: int) -> int:
    """How many runs `run` makes in all."""
    return n_runs * sum(len(problem.policies) for problem in PROBLEMS)
