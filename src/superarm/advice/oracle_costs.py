"""What the oracles of the catalog cost: formulas, and how to measure where there is none."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from superarm.catalog import ORACLES
from superarm.core import Oracle, Pools, Reward
from superarm.core.arguments import FloatArray
from superarm.core.declarations import evaluations_per_value, is_concave, is_diminishing, is_noisy
from superarm.environments import BernoulliArms
from superarm.oracles import LocalSearch
from superarm.policies import cts
from superarm.theory import n_tests_order

_DELTA, _FAILURE = 0.25, 1e-4  # the settings with which group testing is planned


@dataclass(frozen=True)
class OracleCost:
    """What one oracle costs for n_arms arms and sets of k.

    Attributes
    ----------
    picks
        What its set is, in words.
    most
        The evaluations per round: exact if ``exact``, else the most it makes, or what it makes
        without a single swap (`LocalSearch`).
    exact
        Whether it always makes ``most`` evaluations. If not, they are measured.
    rounds
        How many rounds are measured.
    overhead
        How the time besides evaluations grows, up to a factor.
    settings
        The parameters it is made with.
    """

    picks: str
    most: Callable[[int, int], int]
    exact: bool
    rounds: int
    overhead: Callable[[int, int], float]
    settings: dict[str, Any] = field(default_factory=dict)


def _greedy(m: int, k: int) -> int:
    """m candidates for the first arm, m - 1 for the second, and so on."""
    return k * m - k * (k - 1) // 2


def _tests(m: int, k: int) -> int:
    return n_tests_order(n_arms=m, k=k, delta=_DELTA, failure=_FAILURE)


# Rounds to measure: many where the evaluations change over time, few where a round is expensive.
_COSTS = {
    "random_sets": OracleCost("random baseline", lambda m, k: 0, True, 20, lambda m, k: m),
    "top_k": OracleCost(
        "the best set of an additive reward",
        lambda m, k: 0,
        True,
        200,
        lambda m, k: k * m ** (1 / 3),
    ),
    "singletons": OracleCost("Oracle+'s set", lambda m, k: m, True, 20, lambda m, k: m),
    "lazy_singletons": OracleCost("Oracle+'s set", lambda m, k: m, False, 1000, lambda m, k: m),
    "greedy": OracleCost("greedy's set", _greedy, True, 3, lambda m, k: m * k**2),
    "lazy_greedy": OracleCost("greedy's set", _greedy, False, 100, lambda m, k: m * k),
    "local_search": OracleCost(
        "no swap helps", lambda m, k: k * (m - k) + 1, False, 10, lambda m, k: m * k**2
    ),
    "group_testing": OracleCost(
        "the paper's set", _tests, True, 10, lambda m, k: m, {"delta": _DELTA}
    ),
    "exhaustive": OracleCost("the best set", math.comb, True, 1, lambda m, k: k * math.comb(m, k)),
}

# By label, in the order of the catalog. Oracles that wrap another oracle, or that work with one
# belief only, are not planned: their cost is that of the other oracle.
ORACLE_COSTS: dict[str, OracleCost] = {
    part.label: _COSTS[name] for name, part in ORACLES.items() if name in _COSTS
}
_NAMES = {part.label: name for name, part in ORACLES.items()}


def make_oracle(label: str, **settings: Any) -> Oracle:
    """A new oracle, with the settings that are planned, or with these.

    Examples
    --------
    >>> make_oracle("GroupTesting").delta
    0.25
    """
    planned = ORACLE_COSTS[label].settings if label in ORACLE_COSTS else {}
    # The catalog has only the settings of LocalSearch that fit into a form.
    make = LocalSearch if label == "LocalSearch" else ORACLES[_NAMES[label]].make
    oracle: Oracle = make(**{**planned, **settings})
    return oracle


def refuses(label: str, reward: Reward) -> bool:
    """Whether an oracle refuses a reward for what it declares."""
    if label == "TopK":
        return not reward.additive
    return label in ("LazySingletons", "LazyGreedy", "LocalSearch") and is_noisy(reward)


class Timed:
    """A reward that adds up the seconds that it takes, by a clock of your choice.

    Not a `Counted`, which a policy would replace by its own, so that nothing would be timed.
    """

    def __init__(self, reward: Reward, clock: Callable[[], float] = time.perf_counter) -> None:
        self.n_arms, self.lipschitz, self.upper = reward.n_arms, reward.lipschitz, reward.upper
        self.monotone, self.additive = reward.monotone, reward.additive
        self.zero_is_absent = reward.zero_is_absent
        self.concave, self.diminishing = is_concave(reward), is_diminishing(reward)
        self.noisy, self.repeats = is_noisy(reward), evaluations_per_value(reward)
        self.took_s, self._reward, self._clock = 0.0, reward, clock

    def __call__(self, arms: ArrayLike, means: ArrayLike) -> float:
        """The value of one set; timed."""
        start = self._clock()
        value = self._reward(arms, means)
        self.took_s += self._clock() - start
        return value

    def batch(self, pools: Pools, theta: ArrayLike) -> FloatArray:
        """The values of many sets; timed."""
        start = self._clock()
        values = self._reward.batch(pools, theta)
        self.took_s += self._clock() - start
        return values


def measure(
    oracle: str,
    reward: Reward,
    arms: BernoulliArms,
    k: int,
    rounds: int,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """Evaluations, and seconds besides evaluations, per round of Thompson sampling."""
    timed = Timed(reward)
    policy = cts(timed, k, oracle=make_oracle(oracle))
    spent, besides_s = np.empty(rounds), np.empty(rounds)
    for t in range(rounds):
        evaluations, took_s, start = policy.evaluations, timed.took_s, time.perf_counter()
        picked = policy.ask(rng=rng)
        ask_s = time.perf_counter() - start
        spent[t] = policy.evaluations - evaluations
        # Two clocks are compared, so the difference can be slightly negative.
        besides_s[t] = max(0.0, ask_s - (timed.took_s - took_s))
        policy.tell(picked, arms.pull(picked, rng=rng), rng=rng)
    return spent, besides_s
