"""The paper's lemmas and theorem as functions (sections 3 and 4, appendices A to C).

All are functions of plain numbers, except `non_repeated` and `estimate_q`, which read tests.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superarm.core import Pools
from superarm.core.arguments import as_count, as_finite, as_flag, as_fraction, as_k, as_positive
from superarm.core.special import gammaln, logsumexp

# Relative to the largest score: differences below this are rounding.
_ROUNDING = 1e-12
# The default epsilon of Theorem 1, as a share of its upper limit.
_SHARE_OF_LIMIT = 0.99
# A number of tests whose root is larger would overflow.
_MOST_ROOT = 1e150


def n_tests(
    *,
    n_arms: int,
    k: int,
    delta: float,
    lipschitz: float,
    upper: float,
    p: float,
    failure: float,
    q: float = 1.0,
) -> int:
    """Lemma 1 as printed: tests to find an optimal set with probability at least 1 - failure.

    This number need not suffice: see `n_tests_repaired`.

    ``8 M² B² / (Delta² p⁴ (1-p)² q²) · ln(K (m-K) / failure)``, rounded up; 0 if the set has all
    arms. Smallest at p = 2/3. ``q`` is the probability that a test is non-repeated; 1 is the most
    favourable.

    Examples
    --------
    >>> n_tests(n_arms=5000, k=5, delta=0.25, lipschitz=1, upper=5, p=2/3, failure=1e-4)
    2819185
    """
    p = as_fraction(p, "p")
    # Multiplied before they are squared, so that small factors do not underflow.
    ratio = (
        as_positive(upper, "upper")
        * as_positive(lipschitz, "lipschitz")
        / (as_positive(delta, "delta") * as_fraction(q, "q", high="]"))
    )
    # p⁴ (1-p)² is the square of p² (1-p), and so is the rest: one root, squared at the end.
    return _whole(8 * _log_pairs(n_arms, k, failure), ratio / p / p / (1 - p))


def n_tests_order(*, n_arms: int, k: int, delta: float, failure: float, q: float = 1.0) -> int:
    """The rule behind the paper's "about 310" tests: ``ln(K (m-K) / failure) / (Delta q)²``.

    Rounded up. Algorithm 2 asks for O(log m / (q² Delta²)) tests. This rule has the logarithm of
    Lemma 1 and the constant 1. With failure = 1 / 10,000 it gives the 310 of section 5.

    Examples
    --------
    >>> n_tests_order(n_arms=5000, k=5, delta=0.25, failure=1e-4)
    310
    """
    return _whole(
        _log_pairs(n_arms, k, failure),
        1 / (as_positive(delta, "delta") * as_fraction(q, "q", high="]")),
    )


def non_repeated(tests: Pools, scores: ArrayLike) -> NDArray[np.bool_]:
    """Which tests are in I_nr: no other test of the same size has the same score. Shape (n_tests,).

    Examples
    --------
    >>> non_repeated(Pools.of([[0], [1], [2], [0, 1]], 3), [0.5, 0.5, 0.25, 0.5])
    array([False, False,  True,  True])
    """
    scores = np.asarray(scores, np.float64)
    if scores.shape != (len(tests),):
        raise ValueError(
            f"scores must have shape ({len(tests)},), one per test, got {scores.shape}"
        )
    sizes = tests.sizes
    # By size, then by score: equal tests are neighbours, and n log n comparisons replace n².
    order = np.lexsort([scores, sizes])
    # Equal scores may differ by rounding. Different levels of a quantizer differ by much more.
    close = np.diff(scores[order]) <= _ROUNDING * np.abs(scores).max(initial=0.0)
    same = close & (np.diff(sizes[order]) == 0)
    is_unique = np.ones(len(tests), bool)
    # Both of two equal neighbours are repeated.
    is_unique[order[1:]] &= ~same
    is_unique[order[:-1]] &= ~same
    return is_unique


def estimate_q(tests: Pools, scores: ArrayLike) -> float:
    """q-hat of section 4: the share of the tests that are non-repeated.

    Examples
    --------
    >>> estimate_q(Pools.of([[0], [1], [2], [0, 1]], 3), [0.5, 0.5, 0.25, 0.5])
    0.5
    """
    if not len(tests):
        raise ValueError("tests must not be empty: q is estimated as a share of them")
    return float(non_repeated(tests, scores).mean())


def q_sample_size(error: float, failure: float) -> int:
    """Appendix A: the number of tests for which P(|q-hat - q| > error) <= failure.

    ``ln(1 / failure) / (2 error²)`` rounded up, as printed. Hoeffding's inequality for both sides
    would have ln(2 / failure).

    Examples
    --------
    >>> q_sample_size(0.1, 0.05)
    150
    """
    return math.ceil(
        -math.log(as_fraction(failure, "failure")) / (2 * as_positive(error, "error") ** 2)
    )


def quantization_level(gap: Callable[[float], float] | ArrayLike, gamma: float) -> float:
    """Lemma 2: Delta = F⁻¹(gamma).

    With this Delta, the quantized optimum is a true optimum with probability at least 1 - 2 gamma
    if B is at least 3/4; for a smaller B, Lemma 2 may fail.
    ``gap`` is the inverse distribution function of the minimum gap, or samples of the gap. For
    samples the empirical quantile is used, which is one of the samples. gamma is in [0, 1/2].

    Examples
    --------
    >>> quantization_level(lambda gamma: 0.5 * gamma, 0.25)
    0.125
    >>> quantization_level([0.4, 0.1, 0.3, 0.2], 0.5)
    0.2
    """
    gamma = as_fraction(gamma, "gamma", low="[", high="]")
    if gamma > 0.5:
        raise ValueError(
            f"gamma must be in [0, 1/2], got {gamma}: beyond it 1 - 2 gamma promises nothing"
        )
    if callable(gap):
        level = float(gap(gamma))
    else:
        samples = as_finite(gap, "gap", ndim=1, least=0.0)
        # "inverted_cdf" is F⁻¹ of the lemma. Interpolation would give a gap that no sample has.
        level = float(np.quantile(samples, gamma, method="inverted_cdf"))
    if not 0 < level < math.inf:
        raise ValueError(
            f"the gap's quantile at gamma must be above 0 to be a quantization level, got {level}"
        )
    return level


def epsilon_limit(*, gap_min: float, k: int, lipschitz: float) -> float:
    """The bound that Theorem 1 sets for its epsilon (eq. varepsilon): ``gap_min / (4 B (K² + 2))``.

    Examples
    --------
    >>> epsilon_limit(gap_min=0.25, k=5, lipschitz=1.0)
    0.0023148148148148147
    """
    k = as_count(k, "k", least=1)
    return as_positive(gap_min, "gap_min") / (4 * as_positive(lipschitz, "lipschitz") * (k**2 + 2))


def regret_bound(
    *,
    n_arms: int,
    k: int,
    horizon: int,
    gap_min: float,
    gap_max: float,
    lipschitz: float,
    gaps: ArrayLike | None = None,
    epsilon: float | None = None,
    alpha: float = 1.0,
    log: bool = False,
) -> float:
    """Theorem 1 as printed: the bound on the regret of GT+QTS after ``horizon`` rounds.

    Its proof relies on Lemma 1, which is false as printed: see `n_tests_repaired`.

    Computed in logarithms, since (4 / epsilon² + 1)^K soon overflows. Then the answer is ``inf``;
    its natural logarithm (``log=True``) is still exact.

    Parameters
    ----------
    n_arms, k, horizon
        m, K and T; the feasible sets are all sets of k arms.
    gap_min, gap_max
        The smallest positive and the largest sub-optimality of a set at the true means.
    lipschitz
        B.
    gaps
        Shape (n_arms,): for each arm the smallest positive sub-optimality of a set that contains
        it. By default ``gap_min`` for all arms, the worst case.
    epsilon
        Below `epsilon_limit`; by default 0.99 of it.
    alpha
        The constant that the theorem leaves open.
    log
        Whether to return the natural logarithm of the bound.

    Examples
    --------
    >>> bound = regret_bound(n_arms=10, k=2, horizon=1000, gap_min=0.25, gap_max=1.0, lipschitz=1.0)
    >>> f"{bound:.3e}"
    '1.362e+16'
    """
    n_arms = as_count(n_arms, "n_arms", least=1)
    k = as_k(k, n_arms)
    horizon, log = as_count(horizon, "horizon", least=1), as_flag(log, "log")
    epsilon = _as_epsilon(epsilon, gap_min=gap_min, k=k, lipschitz=lipschitz)
    if as_positive(gap_max, "gap_max") < gap_min:
        raise ValueError(f"gap_max must be at least gap_min = {gap_min}, got {gap_max}")
    each = np.full(n_arms, gap_min)
    if gaps is not None:
        each = as_finite(gaps, "gaps", ndim=1, least=gap_min)
    if len(each) != n_arms:
        raise ValueError(f"gaps must have shape ({n_arms},), got {each.shape}")
    # The denominators of the first term. They are above 0 because epsilon is below its limit.
    margins = each - gap_min / 2 - (k**2 + 2) * lipschitz * epsilon
    factor = (2 * math.log(k) + 6) * lipschitz**2 * _log_union(n_arms, k, horizon)
    learning = factor * float((1 / margins).sum())
    log_eps2 = 2 * math.log(epsilon)
    # The four terms of eq. theorem1, in its order; 13, 8 and pi²/6 are its constants.
    log_terms = [
        math.log(learning),
        math.log(as_positive(alpha, "alpha") * 13 * 8 * (math.log(k) - log_eps2))
        - log_eps2
        + k * float(np.logaddexp(math.log(4) - log_eps2, 0.0))
        + math.log(gap_max),
        math.log(math.pi**2 / 6 * gap_max),
        math.log(n_arms * gap_max) + float(np.logaddexp(2 * math.log(k) - log_eps2, 0.0)),
    ]
    # The sum of the four terms, without leaving logarithms.
    total = float(logsumexp(log_terms))
    if log:
        return total
    return math.exp(total) if total < math.log(np.finfo(float).max) else math.inf


def _log_union(n_arms: int, k: int, horizon: int) -> float:
    """log(2^m |I| T), where |I| is the number of sets of k arms."""
    # ln C(m, k) by gamma functions, since C(m, k) itself overflows for some thousand arms.
    log_sets = gammaln(n_arms + 1) - gammaln(k + 1) - gammaln(n_arms - k + 1)
    return float(n_arms * math.log(2) + log_sets + math.log(horizon))


def _as_epsilon(epsilon: float | None, *, gap_min: float, k: int, lipschitz: float) -> float:
    limit = epsilon_limit(gap_min=gap_min, k=k, lipschitz=lipschitz)
    epsilon = _SHARE_OF_LIMIT * limit if epsilon is None else as_positive(epsilon, "epsilon")
    if epsilon >= limit:
        raise ValueError(f"epsilon must be below gap_min / (4 B (K² + 2)) = {limit}, got {epsilon}")
    if epsilon**2 >= k:
        raise ValueError(
            f"epsilon must be below the root of k = {k}, where the bound's logarithm is positive, "
            f"got {epsilon}"
        )
    return epsilon


def _log_pairs(n_arms: int, k: int, failure: float) -> float:
    """The logarithm of Lemma 1, ln(K (m-K) / failure)."""
    k = as_k(k, as_count(n_arms, "n_arms", least=1))
    failure = as_fraction(failure, "failure")
    return math.log(k * (n_arms - k) / failure) if k < n_arms else 0.0


def _whole(factor: float, root: float) -> int:
    """factor · root², rounded up."""
    if root >= _MOST_ROOT:
        raise ValueError(
            f"the number of tests must be below {_MOST_ROOT**2:g}, got about {factor:.3g} · "
            f"({root:.3g})²: delta, p or q is tiny"
        )
    return math.ceil(factor * root**2)
