"""What the three examples with replayed tables share: policies, runs, the gap closed, a picture."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import superarm as sa
from superarm.beliefs import SingleSeedBelief
from superarm.catalog import POLICIES
from superarm.environments import ReplayEnvironment
from superarm.reporting.figures import Look, band, logarithmic, look, name_curves
from superarm.reporting.palette import GREEN, ORANGE, PINK, RED, SKY
from superarm.reporting.statistics import mean_interval

# Makes a policy from the number of arms and k.
Learner = Callable[[int, int], sa.Policy]
# For curves that are no policy of the catalog.
OTHERS = [
    Look(GREEN),
    Look(RED),
    Look(SKY),
    Look(PINK, ":"),
    Look(ORANGE, ":"),
    Look(GREEN, "--"),
]
LABELS = {part.label for part in POLICIES.values()}


def believing(belief: Callable[[int], sa.Belief], n_arms: int, k: int) -> sa.Policy:
    """A policy with this belief. All rewards here are sums, for which TopK is exact and free."""
    return sa.Policy(belief(n_arms), sa.TopK(), sa.LinearReward(n_arms), k)


def random_baseline(n_arms: int, k: int) -> sa.Policy:
    return sa.random_sets(sa.LinearReward(n_arms), k)


def epsilon_greedy(n_arms: int, k: int) -> sa.Policy:
    return sa.epsilon_greedy(sa.LinearReward(n_arms), k, oracle=sa.TopK())


LEARNERS: dict[str, Learner] = {
    "random": random_baseline,
    "CUCB": partial(believing, sa.UCBBelief),
    "epsilon-greedy": epsilon_greedy,
    "CTS": partial(believing, sa.BetaBelief),
    "CTS, single seed": partial(believing, SingleSeedBelief),
}


@dataclass(frozen=True)
class Run:
    """One run of one learner in an environment of its own; picklable if both functions are."""

    world: Callable[[], ReplayEnvironment]
    learner: Learner
    k: int

    def __call__(self, rng: np.random.Generator) -> tuple[sa.Policy, ReplayEnvironment]:
        world = self.world().fresh()
        return self.learner(world.n_arms, self.k), world


def play(
    world: Callable[[], ReplayEnvironment],
    learners: Mapping[str, Learner],
    k: int,
    *,
    n_runs: int,
    horizon: int,
    executor: Executor | None = None,
) -> dict[str, np.ndarray]:
    """The rewards of each learner per round and run, shape (n_runs, horizon); runs are paired."""
    got = {}
    for name, made in learners.items():
        traces = sa.replicate(
            Run(world, made, k), n_runs=n_runs, horizon=horizon, seed=1, executor=executor
        )
        got[name] = np.array([world().rewards(trace.arms, trace.outcomes) for trace in traces])
    return got


def closed(got: np.ndarray, low: float, best: float) -> np.ndarray:
    """The share of the gap to the best fixed set closed up to each round, shape (n_runs, T)."""
    so_far = np.cumsum(got, axis=1) / np.arange(1, got.shape[1] + 1)
    return (so_far - low) / (best - low)


def beside(gaps: Mapping[str, np.ndarray], name: str) -> str:
    """A cell of a table: by how many points a learner closed more of the gap than CTS."""
    ours, theirs = gaps[name], gaps["CTS"]
    if name == "CTS" or len(ours) != len(theirs):
        return ""
    found = mean_interval(np.subtract(ours, theirs))
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
    """Mean curves over runs with their bands, from round ``first`` on, at most 200 points each."""
    ends = {}
    others = iter(OTHERS)
    for name, runs in curves.items():
        style = look(name) if name in LABELS else next(others)
        n = runs.shape[1]
        at = (
            np.unique(np.geomspace(first, n, 200).astype(int))
            if log
            else np.arange(first, n + 1, max(1, n // 200))
        )
        band(axis, at, runs[:, at - 1], style, least=-np.inf)
        ends[name] = float(runs[:, -1].mean()), style
    if log:
        logarithmic(axis, y=False)
    axis.set(xlabel=x, ylabel=y)
    name_curves(axis, ends)
