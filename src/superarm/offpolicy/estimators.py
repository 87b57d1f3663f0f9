"""Inverse propensities: what a target policy would have earned, from the log of another policy.

Let p_ti be the probability that arm i was in the set of round t, q_ti the probability that the
target has arm i in its set, given the context of the round, and y_ti the outcome. The mean over
rounds of

    ips             sum over the arms i of the set of (q_ti / p_ti) y_ti
    snips           the same, divided by the mean of sum (q_ti / p_ti), times the target's size
    doubly_robust   sum over all arms of q_ti m_ti
                    plus sum over the arms i of the set of (q_ti / p_ti) (y_ti - m_ti)

is the target's value, if the value of a set is the sum of its outcomes and an arm behaves the same
in every set. These estimators weigh arms one by one, so arms need to have been tried, not sets: Li,
Abbasi-Yadkori, Kveton, Muthukrishnan, Vinay, Wen: "Offline evaluation of ranking policies with
click models", KDD 2018. ``set_ips`` and ``set_snips`` weigh whole sets. Use them for any other
value of a set, or if arms depend on each other.

Inverse propensities are due to Horvitz and Thompson: "A generalization of sampling without
replacement from a finite universe", JASA 1952. Self-normalised: Swaminathan, Joachims: "The
self-normalized estimator for counterfactual learning", NIPS 2015. Doubly robust: Dudík, Erhan,
Langford, Li: "Doubly robust policy evaluation and optimization", Statistical Science 2014. On logs
of policies that learn: Hadad, Hirshberg, Zhan, Wager, Athey: "Confidence intervals for policy
evaluation in adaptive experiments", PNAS 2021.
"""

from __future__ import annotations

from typing import Literal

from numpy.typing import ArrayLike

from superarm.core import Belief
from superarm.core.arguments import FloatArray, as_fraction
from superarm.offpolicy.estimate import Estimate, estimate
from superarm.offpolicy.log import Log
from superarm.offpolicy.models import Model, reward_model
from superarm.offpolicy.target import AnyTarget
from superarm.offpolicy.weights import Per, SetTarget, Values, WeightedLog, by_arm, by_set


def evaluate(log: Log, target: AnyTarget, *, per: Per = "set", level: float = 0.95) -> Estimate:
    """The estimate to use if in doubt: `snips` with stabilised weights.

    Its intervals covered the truth most reliably where propensities have enough samples, for logs
    of policies that learn, too (benchmarks/offpolicy.py). Arguments as for `ips`. Look at
    ``warning`` before using it.
    """
    return snips(log, target, per=per, stabilise=True, level=level)


def ips(
    log: Log,
    target: AnyTarget,
    *,
    per: Per = "set",
    clip: float | None = None,
    stabilise: bool = False,
    level: float = 0.95,
) -> Estimate:
    """Inverse-propensity estimate of a target's value: the mean sum of the outcomes of its arms.

    Unbiased, even for logs of a policy that learns, if the propensities are exact, if every arm of
    the target could be picked in every round, if the target does not depend on the log, and without
    ``clip`` and ``stabilise``. The spread grows with the largest weights.

    Parameters
    ----------
    log
        The log. Missing outcomes are refused: see `Log.filled` and `Log.complete`.
    target
        A `Target`, `Propensities` of a policy, or the probabilities of the arms, shape (n_arms,).
        Or a function that gives one of these for a context of the log. Or a policy as it is now,
        which is sampled 50 to 1,000 times in each context, less often if there are many.
    per
        "set" for the sum over a set. "arm" for the same divided by the target's mean size, such as
        a click rate.
    clip
        The largest weight allowed, if given. Clipping means less spread and a bias downwards.
    stabilise
        Whether rounds count less if the logged policy had given up arms of the target: the
        variance-stabilised weights of Hadad et al. (2021), for logs of policies that learn. The
        weights are divided by their mean over all rounds, which depends on the sets of later
        rounds. This gives a bias that shrinks as the log grows.
    level
        The probability with which the interval should cover the true value.

    Examples
    --------
    >>> import numpy as np
    >>> from superarm.offpolicy import Log, Target
    >>> rng = np.random.default_rng(0)
    >>> arms = np.array([rng.choice(4, 2, replace=False) for _ in range(1000)])  # each p is 1/2
    >>> outcomes = rng.random(arms.shape) < np.array([0.8, 0.2, 0.4, 0.1])[arms]
    >>> log = Log(arms, outcomes, np.full(arms.shape, 0.5), n_arms=4)
    >>> print(ips(log, Target.fixed([0, 2], n_arms=4)))  # the true value is 1.2
    1.162 (1.088 to 1.236)
    """
    return _inverse(by_arm(log, target, per, clip, stabilise=stabilise)[0], None, level)


def snips(
    log: Log,
    target: AnyTarget,
    *,
    per: Per = "set",
    clip: float | None = None,
    stabilise: bool = False,
    level: float = 0.95,
) -> Estimate:
    """Self-normalised estimate of the same value: weights are divided by their mean.

    Its bias vanishes as the log grows, and its spread is mostly smaller. Arguments as for `ips`.
    """
    return _self_normalised(by_arm(log, target, per, clip, stabilise=stabilise)[0], level)


def doubly_robust(
    log: Log,
    target: AnyTarget,
    *,
    model: ArrayLike | Belief | Literal["past"] = "past",
    folds: int | None = None,
    per: Per = "set",
    clip: float | None = None,
    stabilise: bool = False,
    level: float = 0.95,
) -> Estimate:
    """Doubly robust estimate of the same value: a model of the means, corrected by the outcomes.

    Unbiased where `ips` is, with any model that does not use the outcomes of the round it is
    applied to. A good model removes most of the spread, a bad one can add some.

    Parameters
    ----------
    log, target, per, clip, stabilise, level
        As for `ips`.
    model
        The means m_i, shape (n_arms,), each in [0, 1], from other data than this log. Or "past":
        in each round the mean of the arm in the rounds before it. Or a belief with ``mean``, such
        as a `LinearBelief` or `LogisticBelief` for contexts: copies of it learn from the log.
    folds
        How a belief learns. None: in each round from the rounds before it, which is unbiased for
        logs of policies that learn, too. A number: in every round from all rounds but one of so
        many equal parts (cross-fitting), which uses more of a log whose policy did not learn.

    Examples
    --------
    >>> import numpy as np
    >>> import superarm as sa
    >>> rng = np.random.default_rng(0)
    >>> visitors, arms = np.eye(2)[rng.integers(2, size=1000)], rng.integers(2, size=(1000, 1))
    >>> means = np.where(visitors[:, :1] == 1, [[0.8, 0.2]], [[0.2, 0.8]])  # in each round
    >>> outcomes = rng.random(arms.shape) < np.take_along_axis(means, arms, axis=1)
    >>> log = Log(arms, outcomes, np.full(arms.shape, 0.5), n_arms=2, contexts=visitors)
    >>> belief = sa.beliefs.LinearBelief(2, context=2)
    >>> print(doubly_robust(log, lambda visitor: visitor, model=belief))  # the true value is 0.8
    0.79 (0.7545 to 0.8255)
    """
    weighted, wanted = by_arm(log, target, per, clip, stabilise=stabilise)
    return _inverse(weighted, reward_model(model, folds, log, weighted, wanted), level)


def set_ips(
    log: Log, target: SetTarget, values: Values, *, clip: float | None = None, level: float = 0.95
) -> Estimate:
    """Inverse-propensity estimate for any value of a set.

    It weighs whole sets, so the target's sets must have been logged.

    Parameters
    ----------
    log
        The log, with ``set_propensities``.
    target
        A `Target` with ``set_probability``, `Propensities` of a policy, a function that gives one
        of these for a context, or a policy.
    values
        Shape (n_rounds,): the value of each logged set; or ``values(arms, outcomes) -> float``.
    clip, level
        As for `ips`.

    Examples
    --------
    >>> import numpy as np
    >>> from superarm.offpolicy import Log, Target
    >>> sets, outcomes = [[0, 1], [1, 2], [0, 2]], [[1, 0], [0, 1], [0, 0]]
    >>> by_arm, by_set = np.full((3, 2), 2 / 3), np.full(3, 1 / 3)
    >>> log = Log(sets, outcomes, by_arm, n_arms=3, set_propensities=by_set)
    >>> set_ips(log, Target.fixed([0, 1], n_arms=3), lambda arms, outcomes: outcomes.max()).value
    1.0
    """
    return _inverse(by_set(log, target, values, clip), None, level)


def set_snips(
    log: Log, target: SetTarget, values: Values, *, clip: float | None = None, level: float = 0.95
) -> Estimate:
    """Self-normalised estimate for any value of a set. Arguments as for `set_ips`."""
    return _self_normalised(by_set(log, target, values, clip), level)


def _inverse(log: WeightedLog, model: Model | None, level: float) -> Estimate:
    """The mean of the weighted outcomes, or of what a model does not explain of them."""
    # Without a model m = 0: ips. With one: sum q m + sum (q / p) (y - m), doubly robust.
    if model is None:
        rows, target_var = log.rows, log.target_var(log.values)
    else:
        off = log.values - model.here
        rows = model.target + (log.weights * off).sum(axis=1)
        target_var = log.target_var(off, model.sampled)
    value = float((log.stable * rows).mean())
    return _finish(log, value, value + log.stable * (rows - value), target_var, level)


def _self_normalised(log: WeightedLog, level: float) -> Estimate:
    """The ratio of two means. Its error is that of the residuals (delta method)."""
    mean = float(log.row_weights.mean())
    value = float((log.stable * log.rows).mean()) / mean
    # ratio - value = mean of w (y - value / size) / mean of w, up to terms of higher order,
    # and the size of the target's sets may differ between contexts.
    each = value / log.size
    off = log.values - each
    rows = value + log.stable * (log.weights * off).sum(axis=1) / mean
    rows += each * (log.sizes - log.size)
    return _finish(log, value, rows, log.target_var(off) / mean**2, level)


def _finish(
    log: WeightedLog, value: float, rows: FloatArray, target_var: float, level: float
) -> Estimate:
    return estimate(
        value / log.per,
        rows / log.per,
        log.row_weights,
        level=as_fraction(level, "level"),
        target_var=target_var / log.per**2,
        bounds=(log.bounds[0] / log.per, log.bounds[1] / log.per),
        **log.warnings,
    )
