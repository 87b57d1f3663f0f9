"""What the three examples with replayed tables share: policies, runs, the gap that they close, and its picture."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import superarm as sa
from superarm.experiments.figures import label_ends, plain
from superarm.experiments.stats import mean_interval, paired_difference

# Makes a policy from the number of arms and k.
Learner = Callable[[int, int], sa.Policy]
STYLES = {
    "random": ("#000000", "-"),
    "CUCB": ("#999999", "-"),
    "KL-UCB": ("#E69F00", "-"),
    "epsilon-greedy": ("#CC79A7", "-"),
    "CTS": ("#0072B2", "-"),
    "CTS, single seed": ("#0072B2", "--"),
}
OTHERS = [
    ("#009E73", "-"),
    ("#D55E00", "-"),
    ("#56B4E9", "-"),
    ("#882255", "-"),
    ("#AA4499", "--"),
    ("#117733", "--"),
]


def believing(belief: Callable[[int], sa.Belief], n_arms: int, k: int) -> sa.Policy:
    """Whatever believes. All rewards here are sums, so that TopK is exact and costs no evaluation."""
    return sa.Policy(belief(n_arms), sa.TopK(), sa.LinearReward(n_arms), k)


def chance(n_arms: int, k: int) -> sa.Policy:
    return sa.random_sets(sa.LinearReward(n_arms), k)


def epsilon_greedy(n_arms: int, k: int) -> sa.Policy:
    return sa.epsilon_greedy(sa.LinearReward(n_arms), k, oracle=sa.TopK())


LEARNERS: dict[str, Learner] = {
    "random": chance,
    "CUCB": partial(believing, sa.UCBBelief),
    "epsilon-greedy": epsilon_greedy,
    "CTS": partial(believing, sa.BetaBelief),
    "CTS, single seed": partial(believing, sa.SingleSeedBelief),
}


@dataclass(frozen=True)
class Run:
    """One run of one learner in a world of its own; picklable if both functions are."""

    world: Callable[[], sa.ReplayEnvironment]
    learner: Learner
    k: int

    def __call__(self, rng: np.random.Generator) -> tuple[sa.Policy, sa.ReplayEnvironment]:
        world = self.world().fresh()
        return self.learner(world.n_arms, self.k), world


def play(
    world: Callable[[], sa.ReplayEnvironment],
    learners: Mapping[str, Learner],
    k: int,
    *,
    n_runs: int,
    horizon: int,
    executor: Executor | None = None,
) -> dict[str, np.ndarray]:
    """What each learner got in each round of each run, shape (n_runs, horizon); runs are paired."""
    got = {}
    for name, made in learners.items():
        traces = sa.replicate(
            Run(world, made, k), n_runs=n_runs, horizon=horizon, seed=1, executor=executor
        )
        got[name] = np.array([world().rewards(trace.arms, trace.outcomes) for trace in traces])
    return got


def closed(got: np.ndarray, low: float, best: float) -> np.ndarray:
    """The share of the gap from chance to the best fixed set that was closed up to each round, shape (n_runs, T)."""
    so_far = np.cumsum(got, axis=1) / np.arange(1, got.shape[1] + 1)
    return (so_far - low) / (best - low)


def beside(gaps: Mapping[str, np.ndarray], name: str) -> str:
    """A table's cell: by how many points a learner closed more of the gap than CTS, over paired runs."""
    ours, theirs = gaps[name], gaps["CTS"]
    if name == "CTS" or len(ours) != len(theirs):
        return ""
    found = paired_difference(ours, theirs)
    return f"{found.mean:+.1f} ({found.low:+.1f} to {found.high:+.1f})"


def draw(
    axis: Any,
    curves: Mapping[str, np.ndarray],
    x: str,
    y: str,
    *,
    log: bool = False,
    first: int = 1,
) -> None:
    """Mean curves over runs with their bands, from round ``first`` on, at most 200 points of each."""
    ends = {}
    others = iter(OTHERS)
    for name, runs in curves.items():
        colour, dash = STYLES[name] if name in STYLES else next(others)
        n = runs.shape[1]
        at = (
            np.unique(np.geomspace(first, n, 200).astype(int))
            if log
            else np.arange(first, n + 1, max(1, n // 200))
        )
        axis.plot(at, runs[:, at - 1].mean(axis=0), color=colour, linestyle=dash, linewidth=1.7)
        if len(runs) > 1:
            low, high = zip(
                *((i.low, i.high) for i in map(mean_interval, runs[:, at - 1].T)), strict=True
            )
            axis.fill_between(at, low, high, color=colour, alpha=0.18, linewidth=0)
        ends[name] = float(runs[:, -1].mean()), colour
    if log:
        axis.set_xscale("log")
    plain(axis, x, y)
    label_ends(axis, ends)
