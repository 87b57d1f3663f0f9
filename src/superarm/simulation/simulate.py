"""Playing a policy against an environment, once or many times."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import Executor, as_completed
from dataclasses import dataclass
from typing import Literal

import numpy as np

from superarm.core import Environment, Policy, Pools, Reward
from superarm.core.arguments import FloatArray, IndexArray, as_arms, as_count, as_unit

Make = Callable[[np.random.Generator], tuple[Policy, Environment]]
Order = Literal["ascending", "best first"]


@dataclass(frozen=True, eq=False)
class Trace:
    """What happened in T rounds.

    Attributes
    ----------
    arms, outcomes
        Shape (T, k): the sets that were picked, in the order in which they were shown, and what each arm did, NaN
        where that was not seen. Where sets may be smaller than k, the rest of a row is -1 and NaN.
    values
        Shape (T,): r(S(t); mu) at the true means of the round; where the environment has no ``mu``, at the outcomes,
        of the arms that were seen.
    evaluations
        Shape (T,): for how many sets each round asked the reward.
    ask_s
        Shape (T,): seconds that each ``ask`` took. The only field that differs from run to run.
    best_value
        What the best set is worth, where the environment knows (an `Instance` does); NaN otherwise. Shape (T,) where
        the world changes.
    """

    arms: IndexArray
    outcomes: FloatArray
    values: FloatArray
    evaluations: IndexArray
    ask_s: FloatArray
    best_value: float | FloatArray = math.nan

    def regret(self, best_value: float | FloatArray | None = None) -> FloatArray:
        """Cumulative regret (eq. regret), shape (T,): what was lost up to each round against the round's best set."""
        best = self.best_value if best_value is None else best_value
        if np.isnan(best).any():
            raise ValueError(
                "regret needs best_value, the value of the best set: this environment did not know it"
            )
        return np.cumsum(best - self.values)


def simulate(
    policy: Policy,
    environment: Environment,
    *,
    horizon: int,
    rng: np.random.Generator,
    reward: Reward | None = None,
    world_rng: np.random.Generator | None = None,
    order: Order = "ascending",
    progress: Callable[[int], None] | None = None,
) -> Trace:
    """Play ``horizon`` rounds: ask, pull, tell.

    The environment may give NaN for an arm whose outcome is not seen: the policy is told of the others. If it has
    ``observe(arms, *, rng) -> (arms, outcomes)``, this is asked in place of ``pull``, and the policy is told of all
    that was seen, of arms outside the set, too. Where its ``mu`` and ``best_value`` are others from round to round,
    those of the round count.

    Parameters
    ----------
    policy, environment
        Who picks, and what the arms do. The policy learns, so it is another one afterwards.
    horizon
        How many rounds.
    rng
        Where the policy draws from, and the environment too unless it has a stream of its own.
    reward
        What the sets are really worth, if that is not the policy's own reward. Not counted as evaluations.
    world_rng
        The environment's own stream.
    order
        In which order the arms of a set are shown and told. "best first" is by what the policy sampled, for worlds in
        which places differ, such as `CascadingArms` and `PositionBiasedArms`. The value of a set does not depend on it.
    progress
        Called with the number of rounds done, after each.

    Examples
    --------
    >>> import superarm as sa
    >>> rng = np.random.default_rng(0)
    >>> instance = sa.linear_instance(20, 3, 0.2, rng=rng)
    >>> trace = simulate(sa.cts(instance.reward, 3), instance, horizon=500, rng=rng)
    >>> trace.regret()[[0, 99, 499]].round(2)
    array([ 2.6 , 30.57, 40.27])
    >>> int(trace.evaluations.sum())
    10000
    """
    horizon = as_count(horizon, "horizon")
    if order not in ("ascending", "best first"):
        raise ValueError(f"order must be 'ascending' or 'best first', got {order!r}")
    if environment.n_arms != policy.reward.n_arms:
        raise ValueError(
            f"policy and environment must have the same arms, got {policy.reward.n_arms} and {environment.n_arms}"
        )
    world_rng = rng if world_rng is None else world_rng
    n_most = policy.feasible.n_most
    arms = np.full((horizon, n_most), -1, np.intp)
    outcomes = np.full((horizon, n_most), np.nan)
    evaluations = np.empty(horizon, np.intp)
    ask_s = np.empty(horizon)
    judge = _Judge(policy.reward.uncounted if reward is None else reward, arms, outcomes)
    judge.watch(0, environment)
    for t in range(horizon):
        before, start = policy.evaluations, time.perf_counter()
        chosen = policy.ask(rng=rng) if order == "ascending" else _best_first(policy, rng)
        ask_s[t], evaluations[t] = time.perf_counter() - start, policy.evaluations - before
        k = len(chosen)
        judge.watch(t, environment)
        arms[t, :k] = chosen
        outcomes[t, :k], seen, did = _see(environment, chosen, rng=world_rng)
        policy.tell(seen, did, rng=rng)
        if progress is not None:
            progress(t + 1)
    values, best_value = judge.verdict()
    return Trace(arms, outcomes, values, evaluations, ask_s, best_value)


def replicate(
    make: Make,
    *,
    n_runs: int,
    horizon: int,
    seed: int,
    executor: Executor | None = None,
    order: Order = "ascending",
    progress: Callable[[int], None] | None = None,
) -> list[Trace]:
    """Play the same problem ``n_runs`` times with independent seeds; run j is the same for any executor.

    Each run's seed gives three streams: one for ``make``, one for the policy and one for the world. So two policies
    replicated with the same seed meet the same instances and worlds that draw alike: their runs are pairs.

    Parameters
    ----------
    make
        ``make(rng) -> (policy, environment)``, called once for each run, both fresh; picklable if the executor needs
        it. Return the `Instance` as the environment, and the traces know their regret.
    n_runs, horizon
        How many runs, of how many rounds.
    seed
        Everything follows from it.
    executor
        Any ``concurrent.futures.Executor``; in this process, one after the other, without one.
    order
        In which order sets are shown: see `simulate`.
    progress
        Called with the number of runs done, after each.

    Examples
    --------
    >>> import superarm as sa
    >>> def make(rng):
    ...     instance = sa.linear_instance(20, 3, 0.2, rng=rng)
    ...     return sa.cts(instance.reward, 3), instance
    >>> np.array([trace.regret()[-1] for trace in replicate(make, n_runs=3, horizon=200, seed=1)]).round(2)
    array([51.29, 66.04, 50.29])
    """
    seeds = np.random.SeedSequence(seed).spawn(as_count(n_runs, "n_runs"))
    if executor is None:
        traces = []
        for done, one in enumerate(seeds, start=1):
            traces.append(run_one(make, horizon, one, order))
            if progress is not None:
                progress(done)
        return traces
    futures = [executor.submit(run_one, make, horizon, one, order) for one in seeds]
    try:
        for done, future in enumerate(as_completed(futures), start=1):
            future.result()  # the first failure ends the wait
            if progress is not None:
                progress(done)
    except BaseException:
        for future in futures:
            future.cancel()
        raise
    return [future.result() for future in futures]


def run_one(
    make: Make, horizon: int, seed: np.random.SeedSequence, order: Order = "ascending"
) -> Trace:
    """One run of `replicate`, from its own seed."""
    # Children are named by their keys, not spawned: spawning twice from one SeedSequence gives other streams.
    making, policy_rng, world_rng = (
        np.random.default_rng(np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, i)))
        for i in range(3)
    )
    policy, environment = make(making)
    if policy.evaluations:
        raise ValueError(
            "make must return a fresh policy for each run, got one that has made evaluations already"
        )
    return simulate(
        policy, environment, horizon=horizon, rng=policy_rng, world_rng=world_rng, order=order
    )


def _best_first(policy: Policy, rng: np.random.Generator) -> IndexArray:
    """What the policy asks for, the arms of the largest sampled means first; ascending where none were sampled."""
    chosen, theta = policy.decide(rng=rng)
    values = theta.drawn(chosen)
    return chosen if values is None else chosen[np.argsort(-values, kind="stable")]


def _see(
    environment: Environment, chosen: IndexArray, *, rng: np.random.Generator
) -> tuple[FloatArray, IndexArray, FloatArray]:
    """What the chosen arms did, NaN where that was not seen; and all that was seen: arms, and an outcome for each."""
    if not hasattr(environment, "observe"):
        outcomes = np.asarray(environment.pull(chosen, rng=rng))
        is_seen = np.equal(outcomes, outcomes)
        shown = as_unit(
            np.where(is_seen, outcomes, 0.0), "what environment.pull returned", chosen.shape
        )
        shown[~is_seen] = np.nan
        return shown, chosen[is_seen], shown[is_seen]
    given, did = environment.observe(chosen, rng=rng)
    seen = as_arms(given, environment.n_arms)
    did = as_unit(did, "the outcomes that environment.observe returned", seen.shape)
    of_all = np.full(environment.n_arms, np.nan)
    of_all[seen] = did
    return of_all[chosen], seen, did


class _Judge:
    """What the sets of each round are worth and what the best would be, by the world that the round was played in.

    Rounds in the same world are judged together when it ends: nothing is kept but values, however often it changes.
    """

    def __init__(self, reward: Reward, arms: IndexArray, outcomes: FloatArray) -> None:
        self.reward, self.arms, self.outcomes = reward, arms, outcomes
        self.values, self.best = np.empty(len(arms)), np.empty(len(arms))
        self._since, self._mu, self._best_value = 0, None, math.nan

    def watch(self, t: int, environment: Environment) -> None:
        """Round t is about to be played."""
        mu, best_value = (
            getattr(environment, "mu", None),
            getattr(environment, "best_value", math.nan),
        )
        if mu is not self._mu or not np.array_equal(best_value, self._best_value, equal_nan=True):
            self._settle(t)
            self._mu, self._best_value = mu, best_value

    def verdict(self) -> tuple[FloatArray, float | FloatArray]:
        """The values, shape (T,), and the best value: a number where it was always the same."""
        self._settle(len(self.arms))
        same = np.full(len(self.best), self._best_value)
        alike = np.array_equal(self.best, same, equal_nan=True)
        return self.values, self._best_value if alike else self.best

    def _settle(self, stop: int) -> None:
        rounds = slice(self._since, stop)
        if self._since < stop:
            self.values[rounds] = _values(
                self.reward, self._mu, self.arms[rounds], self.outcomes[rounds]
            )
            self.best[rounds] = self._best_value
        self._since = stop


def _values(
    reward: Reward, mu: FloatArray | None, arms: IndexArray, outcomes: FloatArray
) -> FloatArray:
    if mu is None:
        rows = zip(arms, outcomes, strict=True)
        return np.array([reward(row[did == did], did[did == did]) for row, did in rows])
    # The same set comes up again and again; a dear reward is asked about each only once.
    distinct, which = np.unique(np.sort(arms, axis=1), axis=0, return_inverse=True)
    there = distinct >= 0
    pools = Pools(distinct[there], np.append(0, np.cumsum(there.sum(axis=1))), reward.n_arms)
    return reward.batch(pools, mu)[which.ravel()]
