"""`plan`: what every oracle would cost, in evaluations and in time, before you choose one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from superarm.advice.oracle_costs import ORACLE_COSTS, measure, refuses
from superarm.advice.text import aligned, row_of, shown_s
from superarm.core import Reward, notebook
from superarm.core.arguments import FloatArray, as_count, as_finite, as_k
from superarm.core.declarations import evaluations_per_value
from superarm.environments import BernoulliArms
from superarm.oracles import Exhaustive
from superarm.rewards import LinearReward, NetworkReward

# Larger problems are measured at this size, and scaled.
_MOST_ARMS, _MOST_K = 2000, 20
_HEAD = ("oracle", "picks", "evaluations", "", "besides", "per round", "in all")


@dataclass(frozen=True)
class PlanRow:
    """What one oracle costs.

    Attributes
    ----------
    oracle, picks
        Its name, and what its set is.
    evaluations
        Evaluations per round, the mean over the horizon.
    evaluations_are
        "exact", "measured" or "extrapolated".
    overhead_s
        Seconds per round besides evaluations: the oracle itself and drawing theta.
    overhead_is
        "measured" or "extrapolated".
    round_s, total_s
        Seconds per round and over the horizon, with evaluations.
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
    """What every oracle costs on one problem: print it, or read its ``rows``.

    Attributes
    ----------
    n_arms, k, cost_s, horizon
        The problem. An evaluation takes ``cost_s`` seconds.
    rows
        One `PlanRow` per oracle, the fastest first.
    break_even
        ``break_even[a][b]`` for oracles a and b where a makes fewer evaluations: a is faster than b
        if an evaluation takes more seconds than this. 0 if a is always faster.
    measured_on
        The problem that was simulated for measuring.
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
        return row_of({row.oracle: row for row in self.rows}, oracle)

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain JSON."""
        return asdict(self)

    def summary(self) -> str:
        """One line about the problem."""
        return (
            f"{self.k} of {self.n_arms:,} arms, {shown_s(self.cost_s)} per evaluation, "
            f"{self.horizon:,} rounds"
        )

    def table(self) -> list[tuple[str, str, str, str, str, str, str]]:
        """The rows as text: oracle, set, evaluations, their kind, overhead, per round, in all."""
        return [
            (
                row.oracle,
                row.picks,
                f"{row.evaluations:,.4g}" if row.evaluations < 1000 else f"{row.evaluations:,.0f}",
                row.evaluations_are,
                shown_s(row.overhead_s) + ("*" if row.overhead_is == "extrapolated" else ""),
                shown_s(row.round_s),
                shown_s(row.total_s),
            )
            for row in self.rows
        ]

    def break_even_table(self) -> list[list[str]]:
        """``break_even`` as text: a row and a column per oracle, in the order of ``rows``."""
        names = [row.oracle for row in self.rows]
        cells = [[self.break_even[a].get(b) for b in names] for a in names]
        text = [["" if s is None else "0" if s == 0 else shown_s(s) for s in row] for row in cells]
        return [[name, *row] for name, row in zip(names, text, strict=True)]

    def __repr__(self) -> str:
        return f"Plan({self.summary()}; {len(self.rows)} oracles)"

    def _repr_html_(self) -> str:
        return notebook.table(_HEAD, self.table(), title=self.summary(), note=self._note(), left=2)

    def _note(self) -> str:
        is_starred = any(row.overhead_is == "extrapolated" for row in self.rows)
        return f"measured on: {self.measured_on}{'; * extrapolated' if is_starred else ''}"

    def __str__(self) -> str:
        names = [row.oracle for row in self.rows]
        return "\n".join(
            [
                self.summary(),
                "",
                *aligned([_HEAD, *self.table()], right=2),
                self._note(),
                "",
                "Row is faster than column if an evaluation takes longer than",
                *aligned([["", *names], *self.break_even_table()], right=1),
            ]
        )


def plan(
    *,
    n_arms: int,
    k: int,
    cost_s: float,
    horizon: int,
    reward: Reward | None = None,
    mu: ArrayLike | None = None,
    oracles: Sequence[str] | None = None,
    rng: np.random.Generator | None = None,
) -> Plan:
    """What every oracle would cost: evaluations and seconds per round and over the horizon.

    Evaluations follow a formula where there is one. Those of `LazySingletons`, `LazyGreedy` and
    `LocalSearch` depend on the problem, so they are measured: Thompson sampling is played for some
    rounds. Later rounds are assumed to cost as much as the last third of the measured rounds. That
    is rather too much for oracles that remember answers, which need fewer and fewer evaluations.
    A problem of more than 2,000 arms, or of sets of more than 20 arms, is measured at that size and
    scaled in proportion. The time besides evaluations is measured on this machine. All this takes
    some seconds.

    Parameters
    ----------
    n_arms, k, horizon
        The size of the problem, and the number of rounds.
    cost_s
        Seconds per evaluation, made one after the other. Divide by the number of workers if you
        have several.
    reward
        The reward to measure with, of ``n_arms`` arms, at its full size. The default is a random
        network of 20 neurons. Its own time is not counted, because ``cost_s`` stands for it.
    mu
        Shape (n_arms,): the true means to measure with. By default, k arms have means in [0.9, 1]
        and the others in [0, 0.5]. `LazySingletons` makes fewer evaluations with uniform means.
    oracles
        The names of the oracles. The default is all that can solve the problem: `TopK` only for an
        additive reward, and `Exhaustive` only if there are few enough sets.
    rng
        The generator for the measured problem. The default gives the same problem every time, but
        times differ from run to run.

    Examples
    --------
    >>> found = plan(n_arms=50, k=3, cost_s=0.1, horizon=300)
    >>> [found[name].evaluations for name in ("Singletons", "Greedy", "Exhaustive")]
    [50.0, 147.0, 19600.0]
    >>> found["LazySingletons"].evaluations < 10, found["LazySingletons"].evaluations_are
    (True, 'measured')
    """
    k = as_k(k, as_count(n_arms, "n_arms", least=1))
    horizon = as_count(horizon, "horizon", least=1)
    cost_s = float(as_finite([cost_s], "cost_s", ndim=1, least=0.0)[0])
    rng = np.random.default_rng(0) if rng is None else rng
    if reward is not None and reward.n_arms != n_arms:
        raise ValueError(f"reward must have n_arms = {n_arms} arms, got {reward.n_arms}")
    # A reward or means of the user have one size. Only our own problem can be made smaller.
    given = reward is not None or mu is not None  # then nothing is scaled
    size = (n_arms, k) if given else (min(n_arms, max(_MOST_ARMS, 2 * k)), min(k, _MOST_K))
    measured = NetworkReward.random(size[0], rng=rng) if reward is None else reward
    arms = BernoulliArms(_few_good(*size, rng=rng) if mu is None else mu)
    if arms.n_arms != n_arms and given:
        raise ValueError(f"mu must have shape ({n_arms},), got ({arms.n_arms},)")
    # Every oracle is measured with the same seed, so that adding one changes no other row.
    seed = int(rng.integers(2**63))
    rewards = _rewards(reward, measured, n_arms, k)
    rows = [
        _row(name, (n_arms, k), size, cost_s, horizon, rewards[name], arms, seed)
        for name in _chosen(oracles, rewards)
    ]
    # The fastest first. Which oracle that is depends on cost_s.
    rows.sort(key=lambda row: row.round_s)
    on = f"{type(measured).__name__}, {size[1]} of {size[0]:,} arms"
    return Plan(n_arms, k, cost_s, horizon, tuple(rows), _break_even(rows), on)


def _rewards(reward: Reward | None, measured: Reward, n_arms: int, k: int) -> dict[str, Reward]:
    """The reward to measure each oracle with, for the oracles that can solve the problem."""
    rewards: dict[str, Reward] = dict.fromkeys(ORACLE_COSTS, measured)
    # It would refuse the problem, so that it has no row.
    if math.comb(n_arms, k) > Exhaustive().limit:
        del rewards["Exhaustive"]
    if reward is None:
        rewards["TopK"] = LinearReward(measured.n_arms)  # the only kind of reward that it is for
        return rewards
    return {name: own for name, own in rewards.items() if not refuses(name, reward)}


def _chosen(oracles: Sequence[str] | None, able: dict[str, Reward]) -> list[str]:
    if oracles is None:
        return list(able)
    unable = [name for name in oracles if name not in able]
    if unable:
        raise ValueError(
            f"oracles must be able to solve the problem, got {unable[0]!r}; {', '.join(able)} are"
        )
    return list(oracles)


def _few_good(n_arms: int, k: int, *, rng: np.random.Generator) -> FloatArray:
    # A clear gap, so that Thompson sampling settles within the measured rounds.
    mu = rng.uniform(0.0, 0.5, n_arms)
    mu[rng.choice(n_arms, k, replace=False)] = rng.uniform(0.9, 1.0, k)
    return mu


def _row(
    name: str,
    asked: tuple[int, int],
    size: tuple[int, int],
    cost_s: float,
    horizon: int,
    reward: Reward,
    arms: BernoulliArms,
    seed: int,
) -> PlanRow:
    """The row of one oracle; ``asked`` is the size of the problem, ``size`` the measured one."""
    cost = ORACLE_COSTS[name]
    rounds = min(cost.rounds, horizon)
    spent, besides_s = measure(name, reward, arms, size[1], rounds, np.random.default_rng(seed))
    # Overhead is measured at `size` and scaled by how it grows: overhead(asked) / overhead(size).
    overhead_s = float(besides_s.mean()) * cost.overhead(*asked) / cost.overhead(*size)
    if cost.exact:
        evaluations = float(cost.most(*asked) * evaluations_per_value(reward))
        evaluations_are = "exact"
    else:
        # Remembered answers make rounds cheaper over time, so the last third stands for the rest.
        later = float(spent[-max(1, rounds // 3) :].mean()) * (horizon - rounds)
        per_round = (float(spent.sum()) + later) / horizon
        evaluations = per_round * math.prod(asked) / math.prod(size)
        evaluations_are = "measured" if size == asked and rounds == horizon else "extrapolated"
    round_s = evaluations * cost_s + overhead_s
    return PlanRow(
        oracle=name,
        picks=cost.picks,
        evaluations=evaluations,
        evaluations_are=evaluations_are,
        overhead_s=overhead_s,
        overhead_is="measured" if size == asked else "extrapolated",
        round_s=round_s,
        total_s=round_s * horizon,
        total_evaluations=evaluations * horizon,
    )


def _break_even(rows: list[PlanRow]) -> dict[str, dict[str, float]]:
    """The cost c at which evaluations_a c + overhead_a = evaluations_b c + overhead_b."""
    return {
        a.oracle: {
            b.oracle: max(0.0, (a.overhead_s - b.overhead_s) / (b.evaluations - a.evaluations))
            for b in rows
            if a.evaluations < b.evaluations
        }
        for a in rows
    }
