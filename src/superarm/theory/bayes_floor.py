"""A floor under the regret of every policy, where means are drawn from a known law.

Whittle's relaxation ("Restless bandits: activity allocation in a changing world", 1988), as Brown
and Smith use it for bounds ("Index policies and performance bounds for dynamic selection problems",
2020). Instead of k pulls in each round, k · horizon pulls are allowed in all, on average, each at a
charge. Then the arms no longer compete, and each is a stopping problem that is solved exactly.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from superarm.core.arguments import FloatArray, as_count, as_finite, as_k
from superarm.core.special import bdtrc, betainc, betaln, xlog1py, xlogy

# (weight, a, b) is Beta(a, b) with this weight, (weight, mean) is one mean with this weight.
Component = tuple[float, ...]
Law = Sequence[Sequence[float]]

_N_GRID = 20_000  # points of an integral over [0, 1]
_CHARGE_ACCURACY = 1e-6
_HUGE = 1e300


def bayes_regret_floor(law: Law, n_arms: int, k: int, horizon: int) -> float:
    """No policy has less regret on average, if the means are drawn independently from ``law``.

    For sums of k Bernoulli arms. The average is over the means and the outcomes. The floor holds
    for every policy and every horizon, also for policies that know the law. For any charge c per
    pull, the reward of a policy is at most c · k · horizon + n_arms · V(c): V(c) is what one arm is
    worth to somebody who may pull it up to ``horizon`` times, pays c per pull, and may stop at any
    time. The floor is the mean value of the best set minus the least such bound.

    O(horizon^2) time per charge and memory: a second for 2,000 rounds.

    Parameters
    ----------
    law
        A mixture: (weight, a, b) is Beta(a, b), and (weight, mean) is a single mean. The weights
        have the sum 1.
    n_arms, k, horizon
        How many arms there are, how many are pulled per round, and the number of rounds.

    Examples
    --------
    >>> round(bayes_regret_floor([(1.0, 2.0, 65.0)], n_arms=2000, k=10, horizon=1000))
    548
    """
    from scipy.optimize import minimize_scalar  # takes half a second to import

    law = as_law(law)
    n_arms, horizon = as_count(n_arms, "n_arms", least=1), as_count(horizon, "horizon", least=1)
    k = as_k(k, n_arms)
    means = _posterior_means(law, horizon)

    def bound(charge: float) -> float:
        return charge * k * horizon + n_arms * _value(charge, means)

    # Convex in the charge. Any charge gives a bound, so the search need not be exact.
    found = minimize_scalar(bound, bounds=(0.0, 1.0), options={"xatol": _CHARGE_ACCURACY})
    least = float(found.fun)
    return max(0.0, horizon * best_set_value(law, n_arms, k) - least)


def best_set_value(law: Law, n_arms: int, k: int) -> float:
    """The mean of the sum of the k largest of ``n_arms`` independent means of this law.

    The sum is the integral over x of min(k, the number of means above x), which is binomial.
    """
    x = (np.arange(_N_GRID) + 0.5) / _N_GRID
    above = np.zeros(_N_GRID)
    for weight, *shape in as_law(law):
        above += weight * (1 - betainc(shape[0], shape[1], x) if len(shape) > 1 else x < shape[0])
    at_least = [bdtrc(n - 1, n_arms, np.minimum(above, 1.0)).mean() for n in range(1, k + 1)]
    return float(np.sum(at_least))


def mean_of(law: Law) -> float:
    """The mean of the law."""
    return sum(
        weight * (shape[0] / sum(shape) if len(shape) > 1 else shape[0])
        for weight, *shape in as_law(law)
    )


def as_law(law: Law) -> list[Component]:
    """The law, checked."""
    parts = [tuple(as_finite(part, "a component of law", ndim=1, least=0.0)) for part in law]
    for weight, *shape in parts:
        is_beta, is_mean = len(shape) == 2 and min(shape) > 0, len(shape) == 1 and shape[0] <= 1
        if not weight > 0 or not (is_beta or is_mean):
            raise ValueError(
                "each component of law must be (weight, a, b) with positive numbers, or "
                f"(weight, mean) with a mean in [0, 1], got {(weight, *shape)}"
            )
    if abs(sum(part[0] for part in parts) - 1) > 1e-9:  # rounding of decimal weights
        raise ValueError(f"the weights of law must have the sum 1, got {list(law)}")
    return parts


def _posterior_means(law: list[Component], horizon: int) -> list[FloatArray]:
    """For n = 0, 1, ... pulls of an arm, shape (n + 1,): its mean given 0, 1, ... n successes."""
    means = []
    for n in range(horizon):
        successes = np.arange(n + 1.0)
        logs, given = zip(*(_seen(part, successes, n) for part in law), strict=True)
        # Successes that no component allows must not be NaN, though nothing depends on them.
        likely = np.maximum(logs, -_HUGE)
        weights = np.exp(likely - likely.max(axis=0))
        means.append((weights * np.array(given)).sum(axis=0) / weights.sum(axis=0))
    return means


def _seen(part: Component, successes: FloatArray, n: int) -> tuple[FloatArray, FloatArray]:
    """The log weight of a component after n pulls, up to a constant, and the mean given it."""
    weight, *shape = part
    failures = n - successes
    if len(shape) == 1:
        (mean,) = shape
        likely = xlogy(successes, mean) + xlog1py(failures, -mean)
        return np.log(weight) + likely, np.full(n + 1, mean)
    a, b = shape
    likely = betaln(a + successes, b + failures) - betaln(a, b)
    return np.log(weight) + likely, (a + successes) / (a + b + n)


def _value(charge: float, means: list[FloatArray]) -> float:
    """V(charge): the stopping problem of one arm, backwards from the last pull."""
    value = np.zeros(len(means) + 1)
    for mean in reversed(means):
        # Of a further pull: a success, then the value with one more; else the value with as many.
        go_on = mean - charge + mean * value[1:] + (1 - mean) * value[:-1]
        value = np.maximum(0.0, go_on)
    return float(value[0])
