"""What the group-testing decoder can tell apart: Lemma 1 by enumeration, and signal over noise.

Lemma 1 bounds from below the expected difference of the grades of a best arm s and another arm t,

    E[Z] = p (1 - p) E[Q(r(S + s)) - Q(r(S + t))],   S random without s and t     (eq. tests1)

by the probability q that a test is non-repeated. That step does not follow, and it is false: a test
may share its score with no test of the same size while S + s and S + t share theirs for every S.
Let q(s, t) be the probability that the scores of S + s and S + t differ. Under separability they
differ in one direction only, by one quantization step w or more, so

    E[Z] >= w p (1 - p) q(s, t)                                                   (repaired)

and Hoeffding's inequality gives `n_tests_repaired` with the least q(s, t) over all pairs. Where
q(s, t) = 0, the grades of s and t have the same law, and no number of tests tells them apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superarm.core import Pools, Reward
from superarm.core.arguments import (
    FloatArray,
    as_arms,
    as_count,
    as_finite,
    as_fraction,
    as_k,
    as_positive,
    as_unit,
)
from superarm.core.special import logsumexp
from superarm.theory.bounds import non_repeated

_MOST_ARMS = 16
# Scores this close, relative to the largest, are equal: quantization levels differ by more.
_SAME = 1e-12


@dataclass(frozen=True)
class Decodability:
    """How well tests tell the best arms from the others, at one theta.

    Attributes
    ----------
    difference
        The least expected difference of two grades per test, E[Z], over all pairs of a best arm and
        another one.
    q_pair
        The least probability that the scores of S + s and S + t differ, over the same pairs.
    q
        The paper's q: the probability that a random test is non-repeated.
    """

    difference: float
    q_pair: float
    q: float


def decodability(
    reward: Reward,
    theta: ArrayLike,
    k: int,
    *,
    p: float,
    score: Callable[[FloatArray], FloatArray] | None = None,
) -> Decodability:
    """Lemma 1's quantities, exactly, by enumeration of all 2^n_arms tests.

    Parameters
    ----------
    reward, theta, k
        A problem of at most 16 arms with one best set of k arms.
    p
        The probability that an arm is in a test.
    score
        What becomes of a reward before it is decoded: a `Quantizer`, or None for the reward itself.

    Examples
    --------
    The counter-example to Lemma 1: separable and q = 1/2, yet the two best arms look alike.

    >>> import superarm as sa
    >>> quantizer = sa.Quantizer(delta=0.25, lipschitz=1.0, upper=3.0)
    >>> decodability(sa.LinearReward(3), [0.501, 0.5, 0.0], 1, p=0.5, score=quantizer)
    Decodability(difference=0.0, q_pair=0.0, q=0.5)
    """
    n_arms = reward.n_arms
    if n_arms > _MOST_ARMS:
        raise ValueError(f"every test is looked at: n_arms must be at most 16, got {n_arms}")
    if as_k(k, n_arms) == n_arms:
        raise ValueError(f"k must be below n_arms = {n_arms}: no other arm is to be told apart")
    theta, p = as_unit(theta, "theta", (n_arms,)), as_fraction(p, "p")
    inside = (np.arange(2**n_arms)[:, None] >> np.arange(n_arms) & 1).astype(bool)
    sizes = inside.sum(axis=1)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    tests = Pools(np.nonzero(inside)[1], offsets, n_arms)
    values = reward.batch(tests, theta)
    scores = values if score is None else score(values)
    probability = p**sizes * (1 - p) ** (n_arms - sizes)
    q = float(probability[non_repeated(tests, scores)].sum())
    pairs = [_pair(scores, probability, inside, s, t, p) for s, t in _pairs(values, inside, k)]
    return Decodability(min(z for z, _ in pairs), min(differ for _, differ in pairs), q)


def n_tests_repaired(
    *, n_arms: int, k: int, step: float, upper: float, p: float, failure: float, q: float
) -> int:
    """Lemma 1, repaired: tests after which every best arm outgrades every other arm.

    ``2 M² / (w p (1-p) q)² · ln(K (m-K) / failure)``, rounded up. ``step`` is w, the least
    difference of two quantization levels: Delta / 2B, or less where the last interval is shorter.
    ``q`` is the least q(s, t), see `decodability`. With probability at least 1 - failure.

    Examples
    --------
    >>> n_tests_repaired(n_arms=3, k=1, step=0.125, upper=3.0, p=0.5, failure=0.1, q=0.5)
    220870
    """
    k = as_k(k, as_count(n_arms, "n_arms", least=1))
    if k == n_arms:
        return 0
    p = as_fraction(p, "p")
    shift = as_positive(step, "step") * p * (1 - p) * as_fraction(q, "q", high="]")
    pairs = math.log(k * (n_arms - k) / as_fraction(failure, "failure"))
    return math.ceil(2 * (as_positive(upper, "upper") / shift) ** 2 * pairs)


def log10_q_limit(*, n_arms: int, n_levels: int, p: float) -> float:
    """The decimal logarithm of an upper bound on the paper's q.

    A quantizer has ``n_levels`` scores, so at most that many tests of one size can be non-repeated.
    A test of size s has probability p^s (1-p)^(m-s), hence q <= L · sum over s of p^s (1-p)^(m-s).

    Examples
    --------
    >>> round(log10_q_limit(n_arms=5000, n_levels=40_000, p=0.5))
    -1497
    """
    n_arms, p = as_count(n_arms, "n_arms", least=1), as_fraction(p, "p")
    sizes = np.arange(n_arms + 1)
    log_sum = float(logsumexp(sizes * math.log(p) + (n_arms - sizes) * math.log1p(-p)))
    log_levels = math.log(as_count(n_levels, "n_levels", least=1))
    return min(0.0, (log_levels + log_sum) / math.log(10))


def signal_to_noise(
    theta: ArrayLike,
    arm: int,
    other: int,
    *,
    p: ArrayLike,
    n_tests: int,
    decoder: Literal["sum", "centred"] = "sum",
) -> FloatArray:
    """Mean over standard deviation of the difference of two arms' grades, for the plain sum.

    Unquantized, exact for the sum decoder; the centred decoder subtracts the expected score, which
    is the limit of many tests. With R the score without the two arms, and per test

        E[Z]  = p (1 - p) (theta_s - theta_t)
        E[Z²] = p (1 - p) (E[(R + theta_s - c)²] + E[(R + theta_t - c)²]),

    where c is 0 or the expected score. Four of these are a reliable decision. Shape of ``p``.

    Examples
    --------
    >>> theta = np.array([0.9, 0.5, 0.5, 0.5])
    >>> signal_to_noise(theta, 0, 1, p=[0.1, 0.5], n_tests=100).round(2)
    array([1.  , 1.12])
    """
    theta = as_finite(theta, "theta", ndim=1)
    as_arms([arm, other], len(theta))
    p = np.reshape([as_fraction(each, "p") for each in np.ravel(p).tolist()], np.shape(p))
    if decoder not in ("sum", "centred"):
        raise ValueError(f'decoder must be "sum" or "centred", got {decoder!r}')
    both = theta[arm] + theta[other]
    rest, squares = theta.sum() - both, (theta**2).sum() - theta[arm] ** 2 - theta[other] ** 2
    shift = p * theta.sum() if decoder == "centred" else 0.0
    spread = p * (1 - p) * squares
    second = sum(
        spread + (p * rest + theta[one] - shift) ** 2  # E[(R + theta - c)²]
        for one in (arm, other)
    )
    mean = p * (1 - p) * (theta[arm] - theta[other])
    variance = p * (1 - p) * second - mean**2
    n_tests = as_count(n_tests, "n_tests", least=1)
    return np.asarray(math.sqrt(n_tests) * mean / np.sqrt(variance))


def _pairs(values: FloatArray, inside: NDArray[np.bool_], k: int) -> list[tuple[int, int]]:
    """All pairs of an arm of the best set of k arms and an arm outside it."""
    sized = np.flatnonzero(inside.sum(axis=1) == k)
    best = inside[sized[np.argmax(values[sized])]]
    return [(s, t) for s in np.flatnonzero(best).tolist() for t in np.flatnonzero(~best).tolist()]


def _pair(
    scores: FloatArray,
    probability: FloatArray,
    inside: NDArray[np.bool_],
    s: int,
    t: int,
    p: float,
) -> tuple[float, float]:
    """E[Z] and q(s, t)."""
    rest = np.flatnonzero(~inside[:, s] & ~inside[:, t])
    gains = scores[rest | 1 << s] - scores[rest | 1 << t]
    weight = probability[rest] / (1 - p) ** 2  # the law of S alone
    differ = np.abs(gains) > _SAME * np.abs(scores).max(initial=0.0)
    return p * (1 - p) * float(weight @ gains), float(weight[differ].sum())
