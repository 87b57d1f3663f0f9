"""`Trace`: what happened in a simulated run, and the recorder that `simulate` fills it with."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from superarm.core import Environment, Policy, Pools, Reward, frames, notebook
from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.environments import KnownBest, KnownMeans


@dataclass(frozen=True, eq=False)
class Trace:
    """What happened in T rounds.

    Attributes
    ----------
    arms, outcomes
        Shape (T, k): the chosen sets, in the order in which their arms were shown, and the outcome
        of each arm; NaN for an outcome that was not seen. If a set has fewer than k arms, the rest
        of its row is -1 and NaN.
    values
        Shape (T,): r(S(t); mu) at the true means of the round. For an environment without ``mu``,
        the value at the outcomes of the arms that were seen.
    evaluations
        Shape (T,): the number of sets that each round evaluated.
    ask_s
        Shape (T,): the seconds that each ``ask`` took. The only field that differs from run to run.
    best_value
        The value of the best set if the environment knows it, as an `Instance` does; otherwise NaN.
        Shape (T,) if it changes from round to round.

    Examples
    --------
    >>> import superarm as sa
    >>> rng = np.random.default_rng(0)
    >>> instance = sa.linear_instance(20, 3, 0.2, rng=rng)
    >>> trace = sa.simulate(sa.cts(instance.reward, 3), instance, horizon=4, rng=rng)
    >>> trace.arms.shape, trace.regret().round(2)
    ((4, 3), array([2.6 , 3.53, 5.09, 5.99]))
    """

    arms: IndexArray
    outcomes: FloatArray
    values: FloatArray
    evaluations: IndexArray
    ask_s: FloatArray
    best_value: float | FloatArray = math.nan

    def __repr__(self) -> str:
        n_rounds, k = self.arms.shape
        known = n_rounds and not np.isnan(self.best_value).any()
        regret = f", regret {self.regret()[-1]:.4g}" if known else ""
        spent = int(self.evaluations.sum())
        return f"Trace({n_rounds:,} rounds of {k} arms{regret}, {spent:,} evaluations)"

    def _repr_html_(self) -> str:
        known = len(self.arms) and not np.isnan(self.best_value).any()
        title = "cumulative regret" if known else "cumulative value"
        values = self.regret() if known else np.cumsum(self.values)
        last = f"{title}: {values[-1]:,.4g} after {len(values):,} rounds" if len(values) else title
        return (
            f"<div><strong>{escape(repr(self))}</strong></div>{notebook.curve(values, title=last)}"
        )

    def to_pandas(self) -> Any:
        """A DataFrame with one row per arm of each round, in the order in which it was shown."""
        return frames.to_pandas(self._columns())

    def to_arrow(self) -> Any:
        """The same as `to_pandas`, as a ``pyarrow.Table``."""
        return frames.to_arrow(self._columns())

    def _columns(self) -> dict[str, Any]:
        rounds, places = np.nonzero(self.arms >= 0)
        return {
            "round": rounds + 1,
            "place": places,
            "arm": self.arms[rounds, places],
            "outcome": self.outcomes[rounds, places],
            "value": self.values[rounds],
            "evaluations": self.evaluations[rounds],
        }

    def regret(self, best_value: float | FloatArray | None = None) -> FloatArray:
        """Cumulative regret (eq. regret), shape (T,): the loss so far against the best set."""
        best = self.best_value if best_value is None else best_value
        if np.isnan(best).any():
            raise ValueError(
                "regret needs best_value, the value of the best set, and this environment did not "
                "know it; pass it, or simulate with superarm.simulation.ChangingInstance("
                "environment, reward, k), which finds the best set"
            )
        # Sum over t of r(S*; mu) - r(S_t; mu): by values at the true means, not by outcomes, so
        # that the noise of the outcomes is not part of it.
        return np.cumsum(best - self.values)


class Recorder:
    """Collects the rounds of one run.

    Parameters
    ----------
    policy, environment
        The policy and the environment of the run.
    reward
        The reward that sets are valued with; these evaluations are not counted.
    horizon
        How many rounds there will be.

    Attributes
    ----------
    outcomes
        Shape (horizon, k): `simulate` writes the outcomes of each round here.
    """

    def __init__(
        self, policy: Policy, environment: Environment, reward: Reward, horizon: int
    ) -> None:
        shape = horizon, policy.feasible.n_most
        # Sets may be smaller than n_most: -1 and NaN fill the rest, which no arm and no outcome can
        # be.
        self.arms = np.full(shape, -1, np.intp)
        self.outcomes = np.full(shape, np.nan)
        self.evaluations = np.empty(horizon, np.intp)
        self.ask_s = np.empty(horizon)
        self._counted = policy.reward
        self.true_values = TrueValues(environment, reward, self.arms, self.outcomes)
        self.true_values.before_round(0)
        # Without known means or best values there is nothing to note in a round.
        self._notes = isinstance(environment, KnownMeans | KnownBest)

    def ask(self, t: int, ask: Callable[..., IndexArray], **asked: Any) -> IndexArray:
        """The arms that the policy chooses in round t. Only this is timed and counted."""
        before, start = self._counted.evaluations, time.perf_counter()
        arms = ask(**asked)
        self.ask_s[t] = time.perf_counter() - start
        self.evaluations[t] = self._counted.evaluations - before
        self.arms[t, : len(arms)] = arms
        # Before the pull, since a pull may change the means that this round is valued with.
        if self._notes:
            self.true_values.before_round(t)
        return arms

    def trace(self) -> Trace:
        """The finished trace."""
        values, best_value = self.true_values.result()
        return Trace(self.arms, self.outcomes, values, self.evaluations, self.ask_s, best_value)


class TrueValues:
    """The value of each round's set, and the best value, at the true means of that round.

    Rounds with the same means are valued together once the means change, so memory does not grow
    with the number of changes.

    Parameters
    ----------
    environment, reward
        The environment, and the reward of the sets.
    arms, outcomes
        Shape (T, k): the arrays that `simulate` fills round by round.
    """

    def __init__(
        self, environment: Environment, reward: Reward, arms: IndexArray, outcomes: FloatArray
    ) -> None:
        # Checked once: these checks take microseconds, and `before_round` is called in each round.
        self._with_mu = environment if isinstance(environment, KnownMeans) else None
        self._with_best = environment if isinstance(environment, KnownBest) else None
        self.reward, self.arms, self.outcomes = reward, arms, outcomes
        self.values, self.best = np.empty(len(arms)), np.empty(len(arms))
        self._start = 0
        self._mu: FloatArray | None = None
        self._copy: FloatArray | None = None  # of mu, to find out whether it was written into
        self._best_value = math.nan

    def before_round(self, t: int) -> None:
        """Note the true means and the best value that round t is played with."""
        mu = None if self._with_mu is None else self._with_mu.mu
        best_value = math.nan if self._with_best is None else self._with_best.best_value
        # The same object in almost every round, which is quicker to see than equality.
        is_same_best = best_value is self._best_value or np.array_equal(
            best_value, self._best_value, equal_nan=True
        )
        if mu is not self._mu or not is_same_best:
            self._finish(t)
            if mu is not self._mu:
                self._mu = mu
                self._copy = None if mu is None else np.array(mu)
                self._check_shape()
            self._best_value = best_value
        elif isinstance(mu, np.ndarray):
            self._check(self.arms[t])  # of this round only: there may be a million arms

    def result(self) -> tuple[FloatArray, float | FloatArray]:
        """The values, shape (T,), and the best value: one number if it never changed."""
        self._finish(len(self.arms))
        constant = np.full(len(self.best), self._best_value)
        is_constant = np.array_equal(self.best, constant, equal_nan=True)
        return self.values, self._best_value if is_constant else self.best

    def _check_shape(self) -> None:
        expected = (self.reward.n_arms,)
        if self._copy is not None and self._copy.shape != expected:
            raise ValueError(
                f"mu of the environment must have shape {expected}, one mean per arm, "
                f"got {self._copy.shape}"
            )

    def _check(self, arms: IndexArray | slice) -> None:
        """Refuse means that changed in the same array: the rounds before cannot be valued."""
        if self._mu is None or self._copy is None:
            return
        now, then = np.asarray(self._mu)[arms], self._copy[arms]
        # NaN is a mean that nobody knows, and not equal to itself.
        # Counted, because `any` takes longer, and this runs in each round.
        changed = now != then
        if np.count_nonzero(changed) and (changed & ((now == now) | (then == then))).any():
            raise ValueError(
                "mu of the environment must be a new array when the means change, but the array "
                "was written into; write environment.mu = environment.mu + step, for example, and "
                "not environment.mu += step"
            )

    def _finish(self, stop: int) -> None:
        """Value the rounds since the last change, up to but not including ``stop``."""
        self._check(slice(None))
        rounds = slice(self._start, stop)
        if self._start < stop:
            self.values[rounds] = _values(
                self.reward, self._mu, self.arms[rounds], self.outcomes[rounds]
            )
            self.best[rounds] = self._best_value
        self._start = stop


def _values(
    reward: Reward, mu: FloatArray | None, arms: IndexArray, outcomes: FloatArray
) -> FloatArray:
    """The values of sets at the means mu; without mu, at the outcomes that were seen."""
    # The same sets return again and again; an expensive reward is evaluated once for each of them.
    if mu is None:
        is_seen = ~np.isnan(outcomes)
        # Arms are whole numbers, which floats hold. Sets are not sorted: the order of a sum counts.
        both = np.column_stack([arms, np.where(is_seen, outcomes, -1.0)])
        _, first, which = np.unique(both, axis=0, return_index=True, return_inverse=True)
        found = [reward(arms[t, is_seen[t]], outcomes[t, is_seen[t]]) for t in first.tolist()]
        return np.array(found, np.float64)[which.ravel()]
    distinct, which = np.unique(np.sort(arms, axis=1), axis=0, return_inverse=True)
    is_arm = distinct >= 0
    offsets = np.append(0, np.cumsum(is_arm.sum(axis=1)))
    return reward.batch(Pools(distinct[is_arm], offsets, reward.n_arms), mu)[which.ravel()]
