"""What every oracle would cost: evaluations and time a round and over a horizon, and break-even costs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from superarm.core import Counted, Oracle, Pools, Reward
from superarm.core.arguments import FloatArray, as_count, as_finite, as_k
from superarm.environments import BernoulliArms
from superarm.oracles import (
    Exhaustive,
    Greedy,
    GroupTesting,
    LazyGreedy,
    LazySingletons,
    LocalSearch,
    RandomSets,
    Singletons,
    TopK,
)
from superarm.policies import cts
from superarm.rewards import LinearReward, NetworkReward
from superarm.theory import n_tests_order

# Larger problems are measured at this size, and scaled.
_MOST_ARMS, _MOST_K = 2000, 20


class _Entry(NamedTuple):
    """An oracle: what its set stands for, its evaluations a round if there is a formula, and the rounds to measure."""

    make: Callable[[], Oracle]
    picks: str
    evaluations: Callable[[int, int], int] | None
    rounds: int
    overhead: Callable[[int, int], float]  # how the time besides evaluations grows, up to a factor


ENTRIES: dict[str, _Entry] = {
    "RandomSets": _Entry(RandomSets, "chance", lambda m, k: 0, 20, lambda m, k: m),
    "TopK": _Entry(
        TopK,
        "the best set of an additive reward",
        lambda m, k: 0,
        200,
        lambda m, k: k * m ** (1 / 3),
    ),
    "Singletons": _Entry(Singletons, "Oracle+'s set", lambda m, k: m, 20, lambda m, k: m),
    "LazySingletons": _Entry(LazySingletons, "Oracle+'s set", None, 1000, lambda m, k: m),
    "Greedy": _Entry(
        Greedy, "greedy's set", lambda m, k: k * m - k * (k - 1) // 2, 3, lambda m, k: m * k**2
    ),
    "LazyGreedy": _Entry(LazyGreedy, "greedy's set", None, 100, lambda m, k: m * k),
    "LocalSearch": _Entry(LocalSearch, "no swap helps", None, 10, lambda m, k: m * k**2),
    "GroupTesting": _Entry(
        lambda: GroupTesting(delta=0.25),
        "the paper's set",
        lambda m, k: n_tests_order(n_arms=m, k=k, delta=0.25, failure=1e-4),
        10,
        lambda m, k: m,
    ),
    "Exhaustive": _Entry(
        Exhaustive, "the best set", math.comb, 1, lambda m, k: k * math.comb(m, k)
    ),
}


@dataclass(frozen=True)
class PlanRow:
    """What one oracle costs.

    Attributes
    ----------
    oracle, picks
        Its name, and what its set stands for.
    evaluations
        Evaluations a round, the mean over the horizon.
    evaluations_are
        "exact", "measured" or "extrapolated".
    overhead_s
        Seconds a round besides evaluations: the oracle's own and those of drawing theta.
    overhead_is
        "measured" or "extrapolated".
    round_s, total_s
        Seconds a round and over the horizon, evaluations included.
    total_evaluations
        Evaluations over the horizon.
    """

    oracle: str
    picks: str
    evaluations: float
    evaluations_are: str
    overhead_s: float
    overhead_is: str
    round_s: float
    total_s: float
    total_evaluations: float


@dataclass(frozen=True)
class Plan:
    """What every oracle costs on one problem.

    Attributes
    ----------
    n_arms, k, cost_s, horizon
        The problem: an evaluation takes ``cost_s`` seconds.
    rows
        A `PlanRow` for each oracle, the fastest first.
    break_even
        ``break_even[a][b]`` for oracles a and b where a makes fewer evaluations: the seconds of an evaluation from
        which on a is faster than b; 0 where it always is.
    measured_on
        What was simulated to measure.
    """

    n_arms: int
    k: int
    cost_s: float
    horizon: int
    rows: tuple[PlanRow, ...]
    break_even: dict[str, dict[str, float]]
    measured_on: str

    def __getitem__(self, oracle: str) -> PlanRow:
        """The row of an oracle."""
        for row in self.rows:
            if row.oracle == oracle:
                return row
        raise KeyError(
            f"there is no row {oracle!r}; there are {', '.join(row.oracle for row in self.rows)}"
        )

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain JSON."""
        return asdict(self)


def plan(
    *,
    n_arms: int,
    k: int,
    cost_s: float,
    horizon: int,
    reward: Reward | None = None,
    mu: ArrayLike | None = None,
    rng: np.random.Generator | None = None,
) -> Plan:
    """What every oracle would cost: evaluations and seconds a round, over the horizon, and break-even costs.

    Evaluations follow a formula where there is one. Those of `LazySingletons` and `LocalSearch` depend on the problem
    and are measured: Thompson sampling is played for some rounds. Later rounds are taken to cost what the last third
    of these cost; since `LazySingletons` needs fewer and fewer, that is rather too much. A problem of more than 2,000
    arms or sets of more than 20 is measured at that size, and scaled in proportion. The time besides evaluations is
    measured on this machine. Takes some seconds. `Exhaustive` has a row only where it accepts the problem.

    Parameters
    ----------
    n_arms, k, horizon
        The size of the problem, and how many rounds it is played.
    cost_s
        Seconds of one evaluation, made one after the other; divide by the number of workers if you have several.
    reward
        The reward to measure with, of ``n_arms`` arms, at its full size; random networks of 20 neurons unless given.
        What it takes itself is not counted: ``cost_s`` stands for that.
    mu
        Shape (n_arms,): the true means to measure with. Unless given, k arms have means in [0.9, 1] and the others in
        [0, 0.5]; with uniform means for all `LazySingletons` makes fewer evaluations.
    rng
        Where the measured problem is drawn from; the same one each time unless given. Times differ from run to run.

    Examples
    --------
    >>> found = plan(n_arms=50, k=3, cost_s=0.1, horizon=300)
    >>> found["Singletons"].evaluations, found["Greedy"].evaluations, found["Exhaustive"].evaluations
    (50.0, 147.0, 19600.0)
    >>> found["LazySingletons"].evaluations < 10, found["LazySingletons"].evaluations_are
    (True, 'measured')
    """
    k = as_k(k, as_count(n_arms, "n_arms", least=1))
    horizon = as_count(horizon, "horizon", least=1)
    cost_s = float(as_finite([cost_s], "cost_s", ndim=1, least=0.0)[0])
    rng = np.random.default_rng(0) if rng is None else rng
    if reward is not None and reward.n_arms != n_arms:
        raise ValueError(f"reward must have n_arms = {n_arms} arms, got {reward.n_arms}")
    whole = reward is not None or mu is not None
    sizes = (n_arms, k) if whole else (min(n_arms, max(_MOST_ARMS, 2 * k)), min(k, _MOST_K))
    problem = NetworkReward.random(sizes[0], rng=rng) if reward is None else reward
    world = BernoulliArms(_few_good(*sizes, rng=rng) if mu is None else mu)
    if world.n_arms != n_arms and whole:
        raise ValueError(f"mu must have shape ({n_arms},), got ({world.n_arms},)")
    seed = int(rng.integers(2**63))
    problems: dict[str, Reward] = dict.fromkeys(ENTRIES, problem)
    if math.comb(n_arms, k) > Exhaustive().limit:
        del problems["Exhaustive"]
    if reward is None:
        problems["TopK"] = LinearReward(sizes[0])  # the only kind of reward that it is for
    elif not reward.additive:
        del problems["TopK"]
    rows = [
        _row(name, (n_arms, k), cost_s, horizon, one, world, sizes[1], np.random.default_rng(seed))
        for name, one in problems.items()
    ]
    on = f"{type(problem).__name__}, {sizes[1]} of {sizes[0]:,} arms"
    rows.sort(key=lambda row: row.round_s)
    return Plan(n_arms, k, cost_s, horizon, tuple(rows), _break_even(rows), on)


def _few_good(n_arms: int, k: int, *, rng: np.random.Generator) -> FloatArray:
    mu = rng.uniform(0.0, 0.5, n_arms)
    mu[rng.choice(n_arms, k, replace=False)] = rng.uniform(0.9, 1.0, k)
    return mu


def _row(
    name: str,
    asked: tuple[int, int],
    cost_s: float,
    horizon: int,
    reward: Reward,
    world: BernoulliArms,
    k: int,
    rng: np.random.Generator,
) -> PlanRow:
    entry, size = ENTRIES[name], (reward.n_arms, k)
    rounds = min(entry.rounds, horizon)
    spent, besides_s = _measure(entry, reward, world, k, rounds, rng)
    overhead_s = float(besides_s.mean()) * entry.overhead(*asked) / entry.overhead(*size)
    if entry.evaluations is not None:
        evaluations, evaluations_are = float(entry.evaluations(*asked)), "exact"
    else:
        later = float(spent[-max(1, rounds // 3) :].mean()) * (horizon - rounds)
        evaluations = (float(spent.sum()) + later) / horizon * math.prod(asked) / math.prod(size)
        evaluations_are = "measured" if size == asked and rounds == horizon else "extrapolated"
    round_s = evaluations * cost_s + overhead_s
    return PlanRow(
        oracle=name,
        picks=entry.picks,
        evaluations=evaluations,
        evaluations_are=evaluations_are,
        overhead_s=overhead_s,
        overhead_is="measured" if size == asked else "extrapolated",
        round_s=round_s,
        total_s=round_s * horizon,
        total_evaluations=evaluations * horizon,
    )


def _measure(
    entry: _Entry,
    reward: Reward,
    world: BernoulliArms,
    k: int,
    rounds: int,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """Evaluations, and seconds besides them, in each of some rounds of Thompson sampling."""
    timed = Timed(reward)
    policy = cts(timed, k, oracle=entry.make())
    spent, besides_s = np.empty(rounds), np.empty(rounds)
    for t in range(rounds):
        before, took_s, start = policy.evaluations, timed.took_s, time.perf_counter()
        arms = policy.ask(rng=rng)
        ask_s = time.perf_counter() - start
        spent[t], besides_s[t] = (
            policy.evaluations - before,
            max(0.0, ask_s - (timed.took_s - took_s)),
        )
        policy.tell(arms, world.pull(arms, rng=rng), rng=rng)
    return spent, besides_s


class Timed(Counted):
    """A reward that adds up the seconds that it takes, by a clock of your choice."""

    def __init__(self, reward: Reward, clock: Callable[[], float] = time.perf_counter) -> None:
        super().__init__(reward)
        self.took_s, self._clock = 0.0, clock

    def __call__(self, arms: ArrayLike, means: ArrayLike) -> float:
        """The value of one set; times it."""
        start = self._clock()
        value = super().__call__(arms, means)
        self.took_s += self._clock() - start
        return value

    def batch(self, pools: Pools, theta: ArrayLike) -> FloatArray:
        """The values of many sets; times them."""
        start = self._clock()
        values = super().batch(pools, theta)
        self.took_s += self._clock() - start
        return values


def _break_even(rows: list[PlanRow]) -> dict[str, dict[str, float]]:
    """Where evaluations_a · cost + overhead_a = evaluations_b · cost + overhead_b, for a with fewer evaluations."""
    return {
        a.oracle: {
            b.oracle: max(0.0, (a.overhead_s - b.overhead_s) / (b.evaluations - a.evaluations))
            for b in rows
            if a.evaluations < b.evaluations
        }
        for a in rows
    }
