"""Programs that are timed as a whole: rounds of Thompson sampling, and of group testing.

A program is a function that plays one round. A row of a table says how to make it. To compare with
another library, add a row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

import superarm as sa
from suite.timing import Program
from superarm.core.arguments import FloatArray, IndexArray

# The outcomes of the picked arms.
Pull = Callable[[Any], FloatArray]


@dataclass(frozen=True)
class Peer:
    """An implementation of Thompson sampling: ``make(n_arms, k, pull)`` gives one round.

    ``needs`` is the module of another library. The peer is left out if it is not installed.
    """

    name: str
    make: Callable[[int, int, Pull], Program]
    needs: str | None = None
    note: str = ""

    @property
    def is_there(self) -> bool:
        """Whether what it needs is installed."""
        return self.needs is None or find_spec(self.needs) is not None


def bernoulli_pull(n_arms: int, seed: int) -> Pull:
    """Outcomes of the picked arms, with means that are drawn once."""
    rng = np.random.default_rng(seed)
    mu = rng.random(n_arms)
    return lambda arms: (rng.random(len(arms)) < mu[arms]).astype(np.float64)


def play(policy: sa.Policy, pull: Pull, *, seed: int = 0) -> Program:
    """A round of a policy: ask, pull, tell."""
    rng = np.random.default_rng(seed)

    def one_round() -> IndexArray:
        arms = policy.ask(rng=rng)
        policy.tell(arms, pull(arms), rng=rng)
        return arms

    return one_round


def top_k_thompson(n_arms: int, k: int, pull: Pull) -> Program:
    """Thompson sampling for additive rewards, as superarm has it."""
    return play(sa.Policy(sa.BetaBelief(n_arms), sa.TopK(), sa.LinearReward(n_arms), k), pull)


def numpy_thompson(n_arms: int, k: int, pull: Pull) -> Program:
    """The ten-line program: Beta draws, the k largest, counts."""
    rng = np.random.default_rng(0)
    a, b = np.ones(n_arms), np.ones(n_arms)

    def one_round() -> IndexArray:
        arms = np.argpartition(rng.beta(a, b), -k)[-k:]
        outcomes = pull(arms)
        a[arms] += outcomes
        b[arms] += 1 - outcomes
        return arms

    return one_round


def pybandits_thompson(n_arms: int, k: int, pull: Pull) -> Program:
    """The scores of pybandits, one per action, and the k largest of them."""
    from pybandits.model import Beta
    from pybandits.smab import SmabBernoulli

    names = [str(i) for i in range(n_arms)]
    bandit = SmabBernoulli(actions={name: Beta() for name in names}, random_seed=0)

    def one_round() -> IndexArray:
        scores = bandit.predict(n_samples=1)[1][0]
        arms = np.argpartition(np.fromiter(map(scores.__getitem__, names), float, n_arms), -k)[-k:]
        bandit.update(actions=[names[i] for i in arms], rewards=[int(x) for x in pull(arms)])
        return arms

    return one_round


def mabwiser_thompson(n_arms: int, k: int, pull: Pull) -> Program:
    """The expectations of mabwiser, one per arm, and the k largest of them."""
    from mabwiser.mab import MAB, LearningPolicy

    bandit = MAB(list(range(n_arms)), LearningPolicy.ThompsonSampling(), seed=0)
    bandit.fit([0], [0])

    def one_round() -> IndexArray:
        expectations = bandit.predict_expectations()
        arms = np.argpartition(
            np.fromiter(map(expectations.__getitem__, range(n_arms)), float, n_arms), -k
        )[-k:]
        bandit.partial_fit(arms, pull(arms).astype(int))
        return arms

    return one_round


def river_thompson(n_arms: int, k: int, pull: Pull) -> Program:
    """The bandit of river pulls one arm at a time, so a set is k pulls from the remaining arms."""
    from river import bandit, proba

    policy = bandit.ThompsonSampling(reward_obj=proba.Beta(), seed=0)

    def one_round() -> list[int]:
        left, arms = list(range(n_arms)), []
        for _ in range(k):
            arms.append(policy.pull(left))
            left.remove(arms[-1])
        for arm, outcome in zip(arms, pull(arms), strict=True):
            policy.update(arm, bool(outcome))
        return arms

    return one_round


PEERS = [
    Peer(
        "superarm",
        top_k_thompson,
        note="`TopK`: exact in law, with no more draws than the k largest need",
    ),
    Peer(
        "superarm, the paper's program",
        lambda m, k, pull: play(sa.cts(sa.LinearReward(m), k), pull),
        note="`cts`: one draw and one evaluation per arm",
    ),
    Peer("plain numpy", numpy_thompson, note="`rng.beta`, `np.argpartition`, two counts"),
    Peer(
        "pybandits",
        pybandits_thompson,
        needs="pybandits",
        note="its scores, the k largest by numpy",
    ),
    Peer(
        "mabwiser",
        mabwiser_thompson,
        needs="mabwiser",
        note="its expectations, the k largest by numpy",
    ),
    Peer("river", river_thompson, needs="river", note="one arm per pull, so k pulls per round"),
]

# The inclusion probabilities of group testing: name, and p for sets of k of m arms.
INCLUSIONS: list[tuple[str, Callable[[int, int], float]]] = [
    ("1/2", lambda m, k: 1 / 2),
    ("2/3", lambda m, k: 2 / 3),
    ("0.05", lambda m, k: 0.05),
    ("K/m", lambda m, k: k / m),
    ("1/m", lambda m, k: 1 / m),
]


def numpy_group_testing(theta: FloatArray, k: int, n_tests: int, p: float, delta: float) -> Program:
    """The straightforward program: floats compared with p, and two matrix products."""
    rng = np.random.default_rng(0)

    def one_round() -> IndexArray:
        A = (rng.random((n_tests, len(theta))) < p).astype(np.float64)
        rho = A @ theta
        width = delta / 2
        rho = np.maximum(width, np.round(rho / width) * width)
        phi = rho @ A
        return np.sort(np.argpartition(phi, -k)[-k:])

    return one_round


def superarm_group_testing(
    theta: FloatArray, k: int, n_tests: int, p: float, delta: float
) -> Program:
    """The same with `GroupTesting`."""
    rng, reward = np.random.default_rng(0), sa.LinearReward(len(theta))
    oracle = sa.GroupTesting(delta=delta, p=p, n_tests=n_tests)
    return lambda: oracle.select(reward, theta, k, rng=rng)
