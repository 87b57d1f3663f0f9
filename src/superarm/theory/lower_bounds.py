"""What regret can't be avoided: a floor to hold measured regret against.

For sums of k of m Bernoulli arms. No other reward or set of feasible sets has a closed form.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from superarm.core.arguments import as_k, as_unit
from superarm.theory.divergence import kl_bernoulli


def regret_constant(mu: ArrayLike, k: int) -> float:
    """The least factor of ln T in the regret of any policy that learns every problem.

    With the means in descending order, arm i > k must be pulled at least ln T / kl(mu_i, mu_k)
    times to be distinguished from the k-th best, and each pull instead of it loses mu_k - mu_i:
    the sum of (mu_k - mu_i) / kl(mu_i, mu_k) over the arms below mu_k (Anantharam, Varaiya,
    Walrand 1987; the Graves-Lai constant of k-of-m sums). It holds in the limit of many rounds:
    at a finite T a policy may have less regret than this constant times ln T.

    Parameters
    ----------
    mu
        The means of the Bernoulli arms, shape (n_arms,).
    k
        How many arms each set has.

    Examples
    --------
    >>> round(regret_constant([0.9, 0.8, 0.5, 0.5], k=2), 2)  # 2 · 0.3 / kl(0.5, 0.8)
    2.69
    """
    means = np.sort(as_unit(mu, "mu", np.shape(mu)))[::-1]
    k = as_k(k, len(means))
    least = means[k - 1]
    below = means[means < least]
    # A best mean of 1 makes the divergence infinite: one failure rules an arm out.
    return float(((least - below) / kl_bernoulli(below, least)).sum())


def first_failure_regret(mu: ArrayLike, k: int) -> float:
    """What it costs to try arms in random order until each has failed once and the best are found.

    Where the best arms hardly ever fail, an arm can't be ruled out before its first failure. Arm i
    takes 1 / (1 - mu_i) pulls until then, each of which loses up to the mean of the k best minus
    mu_i, and is tried before the last of the k best is found with probability k / (k + 1). This is
    the mean regret of a rule that knows that the best arms never fail; it is a floor in practice,
    not a bound that is proved. ``mu`` and ``k`` are those of `regret_constant`.

    Examples
    --------
    >>> first_failure_regret([1.0, 0.5, 0.0], k=1)  # (0.5 / 0.5 + 1 / 1) / 2
    1.0
    """
    means = np.sort(as_unit(mu, "mu", np.shape(mu)))[::-1]
    k = as_k(k, len(means))
    best, others = means[:k].mean(), means[k:]
    # Means of 1 among the others are as good as the best, and lose nothing.
    others = others[others < best]
    return float(k / (k + 1) * ((best - others) / (1 - others)).sum())
