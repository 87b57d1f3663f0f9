"""How many outcomes it takes to find out which k arms are the best: what no rule can avoid.

Kaufmann, Cappé, Garivier: "On the complexity of best-arm identification in multi-armed bandit
models", JMLR 2016; Garivier, Kaufmann: "Optimal best arm identification with fixed confidence",
COLT 2016. For k of m coins.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from superarm.core.arguments import FloatArray, IndexArray, as_flag, as_fraction, as_k, as_unit
from superarm.core.special import rel_entr
from superarm.theory.divergence import kl_bernoulli

# A share below this is none: a pair of such arms could not be pooled.
_NONE = 1e-12


def optimal_shares(mu: ArrayLike, k: int, *, in_sets: bool = True) -> tuple[FloatArray, float]:
    """How often each arm should be pulled to find the k best, and what one outcome then tells.

    The shares w maximise the least of w_i kl(mu_i, p) + w_j kl(mu_j, p) over the pairs of an arm i
    of the k best and an arm j outside, where p is the mean of mu_i and mu_j with the weights w_i
    and w_j. This is a concave function. It is 0 if the k best are not unique, and infinite if k is
    the number of arms.

    Parameters
    ----------
    mu
        The means of the Bernoulli arms, shape (n_arms,).
    k
        How many arms are looked for.
    in_sets
        Whether k different arms are pulled per round, so that no share exceeds 1/k. Otherwise one
        arm is pulled at a time.

    Examples
    --------
    >>> shares, value = optimal_shares([0.6, 0.5, 0.5], k=1)
    >>> shares.round(2), round(value, 5)
    (array([0.42, 0.29, 0.29]), 0.00348)
    """
    means = as_unit(mu, "mu", np.shape(mu))
    k, in_sets = as_k(k, len(means)), as_flag(in_sets, "in_sets")
    order = np.argsort(-means, kind="stable")
    inside, outside = order[:k], order[k:]
    if not len(outside) or means[inside[-1]] <= means[outside[0]]:
        # Without arms outside there is nothing to find out.
        return np.full(len(means), 1 / len(means)), 0.0 if len(outside) else math.inf
    # Arms with equal means on the same side have equal shares: there is one variable for each.
    kinds, kind = np.unique(
        np.stack([means, np.isin(np.arange(len(means)), inside)]), axis=1, return_inverse=True
    )
    kind = np.asarray(kind).reshape(-1)
    n_each = np.bincount(kind).astype(float)
    pairs = np.meshgrid(np.flatnonzero(kinds[1]), np.flatnonzero(kinds[1] == 0), indexing="ij")
    most = 1 / k if in_sets else 1.0
    shares, value = _best_shares(kinds[0], n_each, pairs[0].ravel(), pairs[1].ravel(), most)
    return shares[kind], value


def identification_floor(
    mu: ArrayLike, k: int, delta: float = 0.05, *, in_sets: bool = True
) -> float:
    """The least mean number of outcomes of a rule that names a wrong set with probability delta.

    It is kl(delta, 1 - delta) divided by the value of `optimal_shares`. It holds for all rules that
    are right with probability 1 - delta for every mu, and they reach it in the limit of small
    delta. Infinite if the k best are not unique. The other arguments are those of `optimal_shares`.

    Examples
    --------
    >>> round(identification_floor([0.6, 0.5, 0.5], k=1, delta=0.05))
    762
    """
    delta = min(as_fraction(delta, "delta"), 0.5)  # above it, the inequality says nothing
    value = optimal_shares(mu, k, in_sets=in_sets)[1]
    needed = float(rel_entr(delta, 1 - delta) + rel_entr(1 - delta, delta))
    return needed / value if value > 0 else math.inf


def _best_shares(
    means: FloatArray, n_each: FloatArray, i: IndexArray, j: IndexArray, most: float
) -> tuple[FloatArray, float]:
    """The shares of kinds of arms, and the value, by sequential quadratic programming."""
    from scipy.optimize import minimize  # slow to import, and few programs need it

    rows = np.arange(len(i))

    def values(x: FloatArray) -> tuple[FloatArray, FloatArray]:
        w = np.maximum(x[:-1], _NONE)
        pooled = (w[i] * means[i] + w[j] * means[j]) / (w[i] + w[j])
        mine, its = kl_bernoulli(means[i], pooled), kl_bernoulli(means[j], pooled)
        # The derivative by pooled is 0, since pooled minimises the sum.
        slopes = np.zeros((len(i), len(x)))
        slopes[rows, i], slopes[rows, j], slopes[:, -1] = mine, its, -scale
        return w[i] * mine + w[j] * its - scale * x[-1], slopes

    start = np.append(np.full(len(means), 1 / n_each.sum()), 0.0)
    scale = 1.0
    scale = float(values(start)[0].min())  # so that the last variable is about 1
    start[-1] = 1.0
    up, total = np.append(np.zeros(len(means)), -1.0), np.append(n_each, 0.0)
    constraints = [
        {
            "type": "ineq",
            "fun": lambda x: values(x)[0] / scale,
            "jac": lambda x: values(x)[1] / scale,
        },
        {"type": "eq", "fun": lambda x: total @ x - 1, "jac": lambda x: total},
    ]
    settings: Any = {
        "jac": lambda x: up,
        "method": "SLSQP",
        "bounds": [*[(_NONE, most)] * len(means), (0.0, None)],
        "constraints": constraints,
        "options": {"maxiter": 1000, "ftol": 1e-12},
    }

    def cost(x: FloatArray) -> float:
        return float(up @ x)

    found = minimize(cost, start, **settings)
    shares = np.clip(found.x[:-1], _NONE, most)
    x = np.append(shares, 0.0)
    return shares, float(values(x)[0].min())
