"""The policies of the comparison: label, what it is, and how it is made for a problem."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from superarm.beliefs import DiscountedBetaBelief, GaussianBelief, KLUCBBelief, SlidingBetaBelief
from superarm.core import Belief, Oracle, Policy, Reward
from superarm.oracles import LazySingletons, TopK
from superarm.oracles.epsilon_random import decaying
from superarm.policies import (
    cts,
    cucb,
    epsilon_greedy,
    escb,
    exp3,
    explore_then_commit,
    gt_qts,
    random_sets,
    single_seed_ts,
)

N_TESTS = 100


@dataclass(frozen=True)
class Task:
    """What a policy is made for."""

    reward: Reward
    k: int
    horizon: int
    delta: float

    def oracle(self) -> Oracle:
        """The best set for given means: without an evaluation for a sum, with few otherwise."""
        return TopK() if self.reward.additive else LazySingletons()


@dataclass(frozen=True)
class Contestant:
    """A policy: ``about`` says what it is, ``make`` makes it; ``additive``: for sums only."""

    about: str
    make: Callable[[Task], Policy]
    additive: bool = False


def n_explore(task: Task) -> int:
    """How often explore-then-commit tries each arm: the two-thirds rule for as many plays as an arm can have."""
    return math.ceil((task.horizon * task.k / task.reward.n_arms) ** (2 / 3))


def discount(task: Task) -> float:
    """How much is left of evidence after a round: 1 - sqrt(c / T) / 4, for c = 1 change in T rounds.

    Garivier, Moulines: "On upper-confidence bound policies for switching bandit problems", ALT 2011, section 3.
    """
    return 1 - math.sqrt(1 / task.horizon) / 4


def window(task: Task) -> int:
    """How many rounds count: 2 sqrt(T ln(T) / c), for c = 1 change in T rounds; from the same paper."""
    return max(1, math.ceil(2 * math.sqrt(task.horizon * math.log(task.horizon))))


def _believing(belief: Belief, task: Task) -> Policy:
    return Policy(belief, task.oracle(), task.reward, task.k)


CHANCE, REFERENCE, ADVERSARIAL = "chance", "CTS", "Exp3.M"
FORGETFUL = ("CTS, discounted", "CTS, sliding")

CONTESTANTS = {
    CHANCE: Contestant("`random_sets`", lambda task: random_sets(task.reward, task.k)),
    REFERENCE: Contestant(
        "`cts`: Thompson sampling, Beta posteriors, one draw per arm",
        lambda task: cts(task.reward, task.k, oracle=task.oracle()),
    ),
    "CTS, single seed": Contestant(
        "`single_seed_ts`: the same posteriors, one uniform for all arms",
        lambda task: single_seed_ts(task.reward, task.k, oracle=task.oracle()),
    ),
    "CTS, Gaussian": Contestant(
        "Thompson sampling with `GaussianBelief`",
        lambda task: _believing(GaussianBelief(task.reward.n_arms), task),
    ),
    "CTS, discounted": Contestant(
        "Thompson sampling with `DiscountedBetaBelief`, discount = 1 - sqrt(1/T)/4",
        lambda task: _believing(DiscountedBetaBelief(task.reward.n_arms, discount(task)), task),
    ),
    "CTS, sliding": Contestant(
        "Thompson sampling with `SlidingBetaBelief`, window = ceil(2 sqrt(T ln T))",
        lambda task: _believing(SlidingBetaBelief(task.reward.n_arms, window(task)), task),
    ),
    "CUCB": Contestant(
        "`cucb`: upper confidence bounds",
        lambda task: cucb(task.reward, task.k, oracle=task.oracle()),
    ),
    "KL-UCB": Contestant(
        "the bounds of `KLUCBBelief`",
        lambda task: _believing(KLUCBBelief(task.reward.n_arms), task),
    ),
    "ESCB": Contestant(
        "`escb`: one confidence width for the set, c = 0; for sums only",
        lambda task: escb(task.reward, task.k, limit=1000),
        additive=True,
    ),
    "epsilon-greedy": Contestant(
        "`epsilon_greedy`, epsilon = 0.1",
        lambda task: epsilon_greedy(task.reward, task.k, oracle=task.oracle()),
    ),
    "epsilon-greedy, c/t": Contestant(
        "`epsilon_greedy`, epsilon = min(1, c/t), c = m/k",
        lambda task: epsilon_greedy(
            task.reward, task.k, epsilon=decaying(task.reward.n_arms / task.k), oracle=task.oracle()
        ),
    ),
    "explore, commit": Contestant(
        "`explore_then_commit`, every arm ceil((T k/m)^(2/3)) times",
        lambda task: explore_then_commit(
            task.reward, task.k, n_explore=n_explore(task), oracle=task.oracle()
        ),
    ),
    ADVERSARIAL: Contestant(
        "`exp3`, gamma for the horizon",
        lambda task: exp3(task.reward, task.k, horizon=task.horizon),
    ),
    "GT+QTS": Contestant(
        f"`gt_qts`, the paper's literal algorithm: {N_TESTS} tests per round, p = 1/2",
        lambda task: gt_qts(task.reward, task.k, delta=task.delta, n_tests=N_TESTS),
    ),
    "GT+QTS, regression": Contestant(
        f'`gt_qts` with `decoder="regression"`: {N_TESTS} tests per round, remembered',
        lambda task: gt_qts(
            task.reward, task.k, delta=task.delta, n_tests=N_TESTS, decoder="regression"
        ),
    ),
}
