r"""Evidence that k arms are the best, valid whenever one looks and however arms were picked.

Let arm i have n_i outcomes in [0, 1] with the sum s_i, and let L_i(p) = p^s_i (1 - p)^(n_i - s_i).
For any weights of p the mixture M_i = E[L_i(p)] divided by L_i(mu_i), with the true mean mu_i, is a
supermartingale that starts at 1, also if a policy that learns chooses when the arm is pulled: for
an outcome x the factor (p / mu)^x ((1 - p) / (1 - mu))^(1 - x) is convex in x, so its mean is at
most that of a coin, which is 1. Here p is Beta(1/2, 1/2), so that

    M_i = B(s_i + 1/2, n_i - s_i + 1/2) / B(1/2, 1/2).

For two arms i and j, the product of both, divided by the largest L_i(p) L_j(q) with p <= q, is
therefore at most a supermartingale if mu_i <= mu_j. By Ville's inequality it ever exceeds 1 / d
with probability at most d. If a set is not the best one, an arm of it is not better than one
outside of the best. There are k (m - k) pairs of an arm outside of the best set and one of it, so

    error = k (m - k) / (the least evidence of a pair)

is the probability at most delta: the rule "stop when error <= delta" names a wrong set with
probability at most delta, at any stopping time.

What the proof needs, and what it does not:

- The mean of the next outcome of an arm is mu_i, whatever was seen before. It is not if the means
  drift, or depend on a context, on the place in a list or on the other arms of the set.
- The outcomes of two arms in one round are independent. If they are not, such as clicks that
  exclude each other, the square root of each factor has a mean of at most 1 for both arms together,
  by the inequality of Cauchy and Schwarz. That is the same evidence with counts / 2 and sums / 2.
- Outcomes may come late, and good ones sooner than bad ones. Let the rounds be in the order of the
  decisions, and give every outcome that is awaited its least favourable value: 0 for arms of the
  set, 1 for the others. The evidence of all outcomes is not less than that (see `best_k`), so that
  the error of the rule is at most delta. Outcomes that never come must be lost regardless of what
  they are.
- If the arms that are compared were chosen because of their outcomes, as when bad arms are retired,
  every one of the m (m - 1) / 2 pairs may be the wrong one, and this number replaces k (m - k). For
  arms that are added later see `n_pairs_of`.
- If the best set is not unique, no set of largest means is wrong, and the rule may never stop.

The idea of such mixtures is due to Robbins,
"Statistical methods related to the law of the iterated logarithm", Annals of Mathematical
Statistics 1970; for the largest likelihood in the denominator see Wasserman, Ramdas, Balakrishnan:
"Universal inference", PNAS 2020.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.special import betaln, xlog1py, xlogy

_HALF = 0.5  # the parameters of the mixture: those of Jeffreys


def log_evidence(
    counts: ArrayLike, sums: ArrayLike, rivals: tuple[ArrayLike, ArrayLike]
) -> FloatArray:
    """The logarithm of the evidence that arm i is better than arm j, for pairs (i, j).

    Parameters
    ----------
    counts, sums
        Shape (n_arms,): how many outcomes each arm has, and their sum.
    rivals
        The arms i and j; arrays of shapes that fit together.

    Examples
    --------
    >>> log_evidence([100, 100], [70, 30], ([0], [1])).round(2)
    array([11.39])
    """
    n, s = np.asarray(counts, np.float64), np.asarray(sums, np.float64)
    i, j = (np.asarray(arms, np.intp) for arms in rivals)

    def mixture(arms: IndexArray) -> FloatArray:
        return betaln(s[arms] + _HALF, n[arms] - s[arms] + _HALF) - betaln(_HALF, _HALF)

    def alone(arms: IndexArray) -> FloatArray:
        return _log_likelihood(n[arms], s[arms], _mean(n[arms], s[arms]))

    # If i was not better so far, the largest likelihood of "not better" is that of both means.
    n_both, s_both = n[i] + n[j], s[i] + s[j]
    pooled = _log_likelihood(n_both, s_both, _mean(n_both, s_both))
    is_ahead = s[i] * n[j] > s[j] * n[i]
    null = np.where(is_ahead, pooled, alone(i) + alone(j))
    return np.asarray(mixture(i) + mixture(j) - null, np.float64)


def _mean(n: FloatArray, s: FloatArray) -> FloatArray:
    """0 without outcomes. The counts of outcomes that depend on each other are halves."""
    return np.asarray(s / np.where(n > 0, n, 1.0), np.float64)


def _log_likelihood(n: FloatArray, s: FloatArray, p: FloatArray) -> FloatArray:
    return np.asarray(xlogy(s, p) + xlog1py(n - s, -p), np.float64)


def information(
    counts: ArrayLike, sums: ArrayLike, rivals: tuple[ArrayLike, ArrayLike]
) -> tuple[FloatArray, FloatArray]:
    """n_i kl(mean_i, p) and n_j kl(mean_j, p), with the mean p of the outcomes of both arms.

    What each arm of a pair adds to telling them apart. To pull arm i with the probability that is
    its share of the sum balances the pair: Qin, You, "Dual-directed algorithm design for efficient
    pure exploration", 2023.
    """
    n, s = np.asarray(counts, np.float64), np.asarray(sums, np.float64)
    i, j = (np.asarray(arms, np.intp) for arms in rivals)
    pooled = _mean(n[i] + n[j], s[i] + s[j])

    def of(arms: IndexArray) -> FloatArray:
        own = _log_likelihood(n[arms], s[arms], _mean(n[arms], s[arms]))
        # Below 0 only by rounding.
        return np.maximum(own - _log_likelihood(n[arms], s[arms], pooled), 0.0)

    return of(i), of(j)


def closest_pair(counts: ArrayLike, sums: ArrayLike, best: IndexArray) -> tuple[int, int, float]:
    """The arm of a set and the arm outside of it with the least evidence, and its logarithm."""
    n, s = np.asarray(counts, np.float64), np.asarray(sums, np.float64)
    others = np.ones(len(n), bool)
    others[best] = False
    outside = np.flatnonzero(others)
    # Among many arms most have equal counts and sums, such as none: one of each is enough.
    outside = outside[np.unique(n[outside] + 1j * s[outside], return_index=True)[1]]
    found = log_evidence(n, s, (best[:, None], outside[None, :]))
    place = np.unravel_index(int(found.argmin()), found.shape)
    return int(best[place[0]]), int(outside[place[1]]), float(found[place])


def best_k(
    counts: ArrayLike,
    sums: ArrayLike,
    k: int,
    *,
    awaited: ArrayLike | None = None,
    n_pairs: int | None = None,
) -> tuple[IndexArray, tuple[int, int], float]:
    """The k arms with the largest means so far, the closest pair, and the error of naming them.

    The error is a probability: naming the set as soon as it is at most delta is wrong with
    probability at most delta. O(k · n_arms).

    Parameters
    ----------
    counts, sums
        Shape (n_arms,): how many outcomes each arm has, and their sum.
    k
        How many arms are looked for.
    awaited
        Shape (n_arms,): how many outcomes of each arm are not known yet. They count as 0 for the k
        arms and as 1 for the others. Where the evidence is above 1, a better outcome of an arm of
        the set, or a worse one of another arm, adds to it.
    n_pairs
        How many pairs may be wrong, if not the k (n_arms - k) of arms that were there from the
        start and are still there: see `n_pairs_of`.

    Examples
    --------
    >>> arms, closest, error = best_k([200, 200, 200], [150, 60, 50], k=1)
    >>> arms, closest, error < 0.001
    (array([0]), (0, 1), True)
    >>> best_k([200, 200, 200], [150, 60, 50], k=2)[2]
    1.0
    >>> best_k([200, 200, 200], [150, 60, 50], k=1, awaited=[100, 100, 0])[2]
    1.0
    """
    n, s = np.array(counts, np.float64), np.array(sums, np.float64)
    if not 1 <= k < len(n):
        raise ValueError(f"k must be between 1 and {len(n) - 1}, got {k}")
    means = np.where(n > 0, _mean(n, s), -1.0)
    arms = np.sort(np.argsort(-means, kind="stable")[:k])
    if awaited is not None:
        late = np.array(awaited, np.float64)
        n += late
        late[arms] = 0.0
        s += late
    inside, outside, evidence = closest_pair(n, s, arms)
    pairs = k * (len(n) - k) if n_pairs is None else n_pairs
    error = np.exp(min(0.0, np.log(pairs) - evidence))
    return arms, (inside, outside), float(error)


def n_pairs_of(n_arms: int, n_added: int = 0) -> int:
    """How many pairs may be wrong if arms were retired or added because of what was seen.

    All pairs of arms if none were added. Otherwise the first arms have a half of the error, and the
    r-th arm that was added has 1 / (r (r + 1)) of the other half, for its pairs with all earlier
    arms. So all verdicts together are wrong with probability at most delta, for any number of
    changes. Here every pair has the number of the last one, which is the largest.

    Examples
    --------
    >>> n_pairs_of(10), n_pairs_of(10, n_added=1), n_pairs_of(10, n_added=2)
    (45, 72, 108)
    """
    n_first = n_arms - n_added
    if n_added == 0:
        return n_arms * (n_arms - 1) // 2
    return max(n_first * (n_first - 1), 2 * n_added * (n_added + 1) * (n_arms - 1))
