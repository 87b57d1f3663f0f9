"""`Trace`: what happened in a simulated run, and the recorder that `simulate` fills it with."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from superarm.core import Environment, Policy, Reward
from superarm.core.arguments import FloatArray, IndexArray
from superarm.simulation.true_values import TrueValues


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

    def regret(self, best_value: float | FloatArray | None = None) -> FloatArray:
        """Cumulative regret (eq. regret), shape (T,): the loss so far against the best set."""
        best = self.best_value if best_value is None else best_value
        if np.isnan(best).any():
            raise ValueError(
                "regret needs best_value, the value of the best set: this environment did not "
                "know it"
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
        self.true_values = TrueValues(environment, reward, self.arms, self.outcomes)
        self.true_values.before_round(0)

    def asked(self, t: int, arms: IndexArray, *, ask_s: float, evaluations: int) -> None:
        """In round t the policy chose these arms."""
        self.arms[t, : len(arms)] = arms
        self.ask_s[t], self.evaluations[t] = ask_s, evaluations
        self.true_values.before_round(t)

    def pulled(self, t: int, outcomes: FloatArray) -> None:
        """In round t the arms had these outcomes, NaN where an outcome was not seen."""
        self.outcomes[t, : len(outcomes)] = outcomes

    def trace(self) -> Trace:
        """The finished trace."""
        values, best_value = self.true_values.result()
        return Trace(self.arms, self.outcomes, values, self.evaluations, self.ask_s, best_value)
