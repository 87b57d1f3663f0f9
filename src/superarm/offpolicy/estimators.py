"""Inverse propensities: what a target policy would have got, from a log of what another one did.

With p_ti the probability that arm i was in the set of round t, q_i the one that the target has it in its set, and y_ti
the outcome, the mean over rounds of

    ips             sum over the arms i of the set of (q_i / p_ti) y_ti
    snips           the same, over the mean of sum (q_i / p_ti), times the target's size
    doubly_robust   sum over all arms of q_i m_ti, plus sum over the set of (q_i / p_ti) (y_ti - m_ti)

is the target's value, if a set is worth the sum of its outcomes and an arm does the same in every set. They weigh arms
one by one, so that arms need to have been tried, not sets: Li, Abbasi-Yadkori, Kveton, Muthukrishnan, Vinay, Wen:
"Offline evaluation of ranking policies with click models", KDD 2018. For any other value of a set, or arms that depend
on each other, ``set_ips`` and ``set_snips`` weigh whole sets.

Inverse propensities are Horvitz and Thompson's: "A generalization of sampling without replacement from a finite
universe", JASA 1952. Self-normalised: Swaminathan, Joachims: "The self-normalized estimator for counterfactual
learning", NIPS 2015. Doubly robust: Dudík, Erhan, Langford, Li: "Doubly robust policy evaluation and optimization",
Statistical Science 2014. On logs of policies that learn: Hadad, Hirshberg, Zhan, Wager, Athey: "Confidence intervals
for policy evaluation in adaptive experiments", PNAS 2021.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from superarm.core.arguments import FloatArray, IndexArray, as_fraction, as_unit
from superarm.offpolicy.estimate import Estimate, estimate
from superarm.offpolicy.log import Log
from superarm.offpolicy.problem import Problem, by_arm, by_set
from superarm.offpolicy.propensities import Propensities
from superarm.offpolicy.target import Target


def ips(
    log: Log,
    target: Target | Propensities | ArrayLike,
    *,
    per: Literal["set", "arm"] = "set",
    clip: float | None = None,
    level: float = 0.95,
) -> Estimate:
    """Inverse-propensity estimate of a target's value, which is the mean of the sum of its arms' outcomes.

    Unbiased, also for logs of a policy that learns. Its spread grows with the largest weights.

    Parameters
    ----------
    log
        What was done. Missing outcomes are refused: see `Log.filled` and `Log.complete`.
    target
        A `Target`, `Propensities` of a policy, or the probabilities of the arms, shape (n_arms,).
    per
        "set" for the sum over a set, "arm" for the same over the target's mean size: a click rate, say.
    clip
        No weight is larger than this, if given. Less spread, and a bias downwards.
    level
        With which probability the interval should cover the truth.

    Examples
    --------
    >>> from superarm.offpolicy import Log
    >>> rng = np.random.default_rng(0)
    >>> arms = np.array([rng.choice(4, 2, replace=False) for _ in range(1000)])  # every arm with probability 1/2
    >>> outcomes = rng.random(arms.shape) < np.array([0.8, 0.2, 0.4, 0.1])[arms]
    >>> log = Log(arms, outcomes, np.full(arms.shape, 0.5), n_arms=4)
    >>> print(ips(log, Target.fixed([0, 2], n_arms=4)))  # the truth is 1.2
    1.162 (1.088 to 1.236)
    """
    return _inverse(by_arm(log, target, per, clip), None, level)


def snips(
    log: Log,
    target: Target | Propensities | ArrayLike,
    *,
    per: Literal["set", "arm"] = "set",
    clip: float | None = None,
    level: float = 0.95,
) -> Estimate:
    """Self-normalised estimate of the same: weights are divided by their mean, which should be 1.

    A bias that vanishes with the rounds, and mostly less spread. Arguments as for `ips`.
    """
    return _self_normalised(by_arm(log, target, per, clip), level)


def doubly_robust(
    log: Log,
    target: Target | Propensities | ArrayLike,
    *,
    model: ArrayLike | Literal["past"] = "past",
    per: Literal["set", "arm"] = "set",
    clip: float | None = None,
    level: float = 0.95,
) -> Estimate:
    """Doubly robust estimate of the same: a model of the arms' means, corrected by inverse propensities.

    Unbiased with any model, if it was made without the outcomes of the round that it is used in; a good one takes most
    of the spread away, a bad one can add some.

    Parameters
    ----------
    log, target, per, clip, level
        As for `ips`.
    model
        The means m_i, shape (n_arms,), each in [0, 1], from other data than this log; or "past": in each round the
        mean of the arm in the rounds before it.
    """
    problem = by_arm(log, target, per, clip)
    if isinstance(model, str):
        if model != "past":
            raise ValueError(f'model must be "past" or the means of the arms, got {model!r}')
        return _inverse(problem, _past(problem), level)
    means = as_unit(model, "model", (log.n_arms,))
    return _inverse(problem, _fixed(problem, means), level)


def set_ips(
    log: Log,
    target: Target | Propensities,
    values: ArrayLike | Callable[[IndexArray, FloatArray], float],
    *,
    clip: float | None = None,
    level: float = 0.95,
) -> Estimate:
    """Inverse-propensity estimate for any value of a set: whole sets are weighed, so they must have been logged.

    Parameters
    ----------
    log
        What was done, with ``set_propensities``.
    target
        A `Target` with ``set_probability``, or `Propensities` of a policy.
    values
        Shape (n_rounds,): what each logged set was worth; or ``values(arms, outcomes) -> float``.
    clip, level
        As for `ips`.

    Examples
    --------
    >>> from superarm.offpolicy import Log
    >>> sets, outcomes = [[0, 1], [1, 2], [0, 2]], [[1, 0], [0, 1], [0, 0]]
    >>> log = Log(sets, outcomes, np.full((3, 2), 2 / 3), n_arms=3, set_propensities=np.full(3, 1 / 3))
    >>> set_ips(log, Target.fixed([0, 1], n_arms=3), lambda arms, outcomes: outcomes.max()).value
    1.0
    """
    return _inverse(by_set(log, target, values, clip), None, level)


def set_snips(
    log: Log,
    target: Target | Propensities,
    values: ArrayLike | Callable[[IndexArray, FloatArray], float],
    *,
    clip: float | None = None,
    level: float = 0.95,
) -> Estimate:
    """Self-normalised estimate for any value of a set. Arguments as for `set_ips`."""
    return _self_normalised(by_set(log, target, values, clip), level)


@dataclass(frozen=True, eq=False)
class _Model:
    """``here``: the means of the logged arms; ``target``, shape (n_rounds,): of the target; ``mean``: over rounds."""

    here: FloatArray
    target: FloatArray
    mean: FloatArray


def _inverse(problem: Problem, model: _Model | None, level: float) -> Estimate:
    if model is None:
        rows, of_units = problem.rows, problem.by_unit(problem.values)
    else:
        off = problem.values - model.here
        rows = model.target + (problem.weights * off).sum(axis=1)
        of_units = model.mean + problem.by_unit(off)
    return _finish(problem, float(rows.mean()), rows, of_units, level)


def _self_normalised(problem: Problem, level: float) -> Estimate:
    """The ratio of two means; its error by the delta method, from the residuals of the rounds."""
    mean = float(problem.row_weights.mean())
    value = float(problem.rows.mean()) / mean
    off = problem.values - value / problem.size
    rows = value + (problem.weights * off).sum(axis=1) / mean
    return _finish(problem, value, rows, problem.by_unit(off) / mean, level)


def _finish(
    problem: Problem, value: float, rows: FloatArray, of_units: FloatArray, level: float
) -> Estimate:
    return estimate(
        value / problem.per,
        rows / problem.per,
        problem.row_weights,
        level=as_fraction(level, "level"),
        target_var=problem.target_var(of_units) / problem.per**2,
        bounds=(problem.bounds[0] / problem.per, problem.bounds[1] / problem.per),
        clipped=problem.clipped,
        mean_weight=problem.mean_weight,
    )


def _fixed(problem: Problem, means: FloatArray) -> _Model:
    here = np.where(problem.inverse > 0, means[problem.units], 0.0)
    return _Model(here, np.full(len(here), float(problem.chances @ means)), means)


def _past(problem: Problem) -> _Model:
    """In each round the mean of an arm so far, with the mean of all arms so far as one observation more."""
    n_units, there = len(problem.chances), problem.inverse > 0
    here, target = np.zeros(problem.units.shape), np.zeros(len(problem.units))
    won, seen, total = np.zeros(n_units), np.zeros(n_units), np.zeros(n_units)
    all_won, all_seen = 0.5, 1.0
    for t, row in enumerate(problem.units):
        means = (won + all_won / all_seen) / (seen + 1)
        total += means
        arms, outcomes = row[there[t]], problem.values[t, there[t]]
        here[t, there[t]] = means[arms]
        target[t] = problem.chances @ means
        won[arms] += outcomes
        seen[arms] += 1
        all_won += outcomes.sum()
        all_seen += len(arms)
    return _Model(here, target, total / len(target))
