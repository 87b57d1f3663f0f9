"""Rules that look for the best k arms, played in many runs at once.

Every rule is a twin of an oracle or of a paper's algorithm, for arrays with one row per run:
``tests/benchmarks/test_identification.py`` compares them. ``counts`` and ``sums`` have the shape
(n_runs, n_arms).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import betaln, xlogy

from superarm.theory.divergence import kl_lower, kl_upper

Array = np.ndarray
_HALF = 0.5  # as in superarm.theory.evidence


def ordered(counts: Array, sums: Array) -> Array:
    """The arms of each run by their means, the largest first, as in `best_k`."""
    means = np.where(counts > 0, sums / np.maximum(counts, 1), -1.0)
    return np.argsort(-means, axis=1, kind="stable")


def pairs(counts: Array, sums: Array, k: int) -> tuple[Array, Array, Array]:
    """The order of the arms; and the evidence and the share of the first arm of each pair.

    The last two have the shape (n_runs, k, n_arms - k).
    """
    order = ordered(counts, sums)
    n, s = (np.take_along_axis(one, order, 1) for one in (counts, sums))
    mixture = betaln(s + _HALF, n - s + _HALF) - betaln(_HALF, _HALF)
    alone = _likelihood(n, s, s / np.maximum(n, 1))
    inside, outside = (slice(None), slice(k), None), (slice(None), None, slice(k, None))
    n_i, n_j, s_i, s_j = n[inside], n[outside], s[inside], s[outside]
    pooled = (s_i + s_j) / np.maximum(n_i + n_j, 1)
    null = _likelihood(n_i, s_i, pooled), _likelihood(n_j, s_j, pooled)
    mine = np.maximum(alone[inside] - null[0], 0.0)
    its = np.maximum(alone[outside] - null[1], 0.0)
    is_ahead = s_i * n_j > s_j * n_i
    least = np.where(is_ahead, null[0] + null[1], alone[inside] + alone[outside])
    total = mine + its
    share = np.where(total > 0, mine / np.where(total > 0, total, 1.0), 0.5)
    return order, mixture[inside] + mixture[outside] - least, share


def errors(counts: Array, sums: Array, k: int) -> Array:
    """Shape (n_runs,): the error of `superarm.theory.best_k`."""
    return _error(pairs(counts, sums, k)[1])


def _error(evidence: Array) -> Array:
    n_pairs = evidence.shape[1] * evidence.shape[2]
    return np.exp(np.minimum(0.0, math.log(n_pairs) - evidence.min(axis=(1, 2))))


def _likelihood(n: Array, s: Array, p: Array) -> Array:
    return xlogy(s, p) + xlogy(n - s, 1 - p)


# What to pull: functions of counts, sums, k, the round and rng, which return arms per run. Some
# also say which runs stop.


def uniform(counts: Array, sums: Array, k: int, t: int, rng: np.random.Generator) -> Array:
    """The k arms with the fewest outcomes."""
    return _least(counts + rng.random(counts.shape) / 2, k)


def top_two(
    counts: Array, sums: Array, k: int, t: int, rng: np.random.Generator, delta: float = 0.05
) -> tuple[Array, Array]:
    """`superarm.oracles.TopTwo` with n_draws=4, for flat Beta posteriors; and the verdict."""
    order, evidence, share = pairs(counts, sums, k)
    over = _error(evidence) <= delta
    is_inside = rng.random(evidence.shape) < share
    closest = np.concatenate(
        [
            np.where(is_inside, evidence, np.inf).min(axis=2),
            np.where(is_inside, np.inf, evidence).min(axis=1),
        ],
        axis=1,
    )
    wanted = np.empty(counts.shape)
    np.put_along_axis(wanted, order, np.minimum(closest, 1e6), 1)
    _add_challengers(wanted, counts, sums, k, rng)
    wanted[counts == 0] = -1e12  # first of all
    return _least(wanted + 1e-9 * rng.random(counts.shape), k), over


def _add_challengers(
    wanted: Array, counts: Array, sums: Array, k: int, rng: np.random.Generator, n_draws: int = 4
) -> None:
    """Arms by which the best sets of samples differ come first."""
    n_runs = len(counts)
    a, b = 1 + sums, 1 + np.maximum(counts - sums, 0.0)
    theta = rng.beta(a[:, None], b[:, None], (n_runs, 1 + n_draws, counts.shape[1]))
    is_in = theta >= -np.partition(-theta, k - 1, axis=2)[:, :, k - 1 : k]
    leader, others = is_in[:, :1], is_in[:, 1:]
    noise, rows = rng.random(others.shape), np.arange(n_runs)[:, None]
    i = np.where(leader & ~others, noise, -1).argmax(axis=2)
    j = np.where(~leader & others, noise, -1).argmax(axis=2)
    n_i, n_j, s_i, s_j = counts[rows, i], counts[rows, j], sums[rows, i], sums[rows, j]
    pooled = (s_i + s_j) / np.maximum(n_i + n_j, 1)
    mine, its = (
        np.maximum(_likelihood(n, s, s / np.maximum(n, 1)) - _likelihood(n, s, pooled), 0.0)
        for n, s in ((n_i, s_i), (n_j, s_j))
    )
    total = mine + its
    share = np.where(total > 0, mine / np.where(total > 0, total, 1.0), 0.5)
    arms = np.where(rng.random(share.shape) < share, i, j)
    differs = (leader != others).any(axis=2)
    for draw in reversed(range(n_draws)):  # the first comes first
        runs = np.flatnonzero(differs[:, draw])
        wanted[runs, arms[runs, draw]] = -1e9 + draw


def clucb(
    counts: Array, sums: Array, k: int, t: int, rng: np.random.Generator, delta: float = 0.05
) -> tuple[Array, Array]:
    """CLUCB as in the paper: one arm per run, shape (n_runs, 1); and which runs stop."""
    n_arms = counts.shape[1]
    order, means = ordered(counts, sums), sums / np.maximum(counts, 1)
    widths = np.sqrt(math.log(4 * n_arms * max(t, 1) ** 3 / delta) / (2 * np.maximum(counts, 1)))
    is_in = np.zeros(counts.shape, bool)
    np.put_along_axis(is_in, order[:, :k], True, 1)
    doubt = np.where(is_in, means - widths, means + widths)
    rival = np.zeros(counts.shape, bool)
    np.put_along_axis(rival, np.argpartition(-doubt, k - 1, axis=1)[:, :k], True, 1)
    lead = np.where(rival, doubt, 0).sum(axis=1) - np.where(is_in, doubt, 0).sum(axis=1)
    unseen = counts == 0
    noise = 1e-9 * rng.random(counts.shape)
    arms = np.where(unseen, np.inf, np.where(is_in != rival, widths + noise, -1.0)).argmax(axis=1)
    return arms[:, None], (lead <= 1e-12) & ~unseen.any(axis=1)


def lucb(
    counts: Array,
    sums: Array,
    k: int,
    t: int,
    rng: np.random.Generator,
    delta: float = 0.05,
    kl: bool = True,
) -> tuple[Array, Array]:
    """(KL-)LUCB as in the papers: two arms per run, shape (n_runs, 2); and which runs stop."""
    n_arms, t = counts.shape[1], max(t, 1)
    order, means = ordered(counts, sums), np.minimum(sums / np.maximum(counts, 1), 1.0)
    if kl:
        level = math.log(405.5 * n_arms * t**1.1 / delta)
        levels = ((level + math.log(level)) / np.maximum(counts, 1)).ravel()
        lower, upper = (f(means.ravel(), levels).reshape(means.shape) for f in (kl_lower, kl_upper))
    else:
        widths = np.sqrt(math.log(1.25 * n_arms * t**4 / delta) / (2 * np.maximum(counts, 1)))
        lower, upper = means - widths, means + widths
    is_in = np.zeros(counts.shape, bool)
    np.put_along_axis(is_in, order[:, :k], True, 1)
    unseen = counts == 0
    lower, upper = np.where(unseen, -1.0, lower), np.where(unseen, 2.0, upper)
    inside = np.where(is_in, lower, np.inf)
    outside = np.where(is_in, -np.inf, upper)
    arms = np.stack([inside.argmin(axis=1), outside.argmax(axis=1)], axis=1)
    return arms, outside.max(axis=1) <= inside.min(axis=1)


def _least(values: Array, k: int) -> Array:
    return np.argpartition(values, k - 1, axis=1)[:, :k]


# When to stop: functions of counts, sums, squares and k, which say which runs do.


def verdict(counts: Array, sums: Array, squares: Array, k: int, delta: float = 0.05) -> Array:
    """The rule of `Session.verdict`."""
    return errors(counts, sums, k) <= delta


def habit(counts: Array, sums: Array, squares: Array, k: int) -> Array:
    """The 95% interval of the difference at the border is above 0, after ten outcomes per arm."""
    order = ordered(counts, sums)[:, k - 1 : k + 1]
    n, s, q = (np.take_along_axis(one, order, 1) for one in (counts, sums, squares))
    means = s / np.maximum(n, 1)
    var = np.maximum(q / np.maximum(n, 1) - means**2, 0.0) / np.maximum(n, 1)
    width = 1.96 * np.sqrt(var.sum(axis=1))
    return (counts.min(axis=1) >= 10) & (means[:, 0] - means[:, 1] > width)


def play(
    mu: Array,
    k: int,
    n_runs: int,
    rng: np.random.Generator,
    *,
    pull: Callable[..., Array] | None = None,
    stop: Callable[..., Array] | None = None,
    both: Callable[..., tuple[Array, Array]] | None = None,
    outcomes: Callable[[Array, np.random.Generator], Array],
    most: int = 10**9,
) -> tuple[Array, Array, Array]:
    """Samples until each run stops, whether it has stopped, and whether its k arms are wrong.

    Either ``pull`` and ``stop``, or a rule that does both; or ``both`` and a ``stop`` in place of
    its own. The rule to stop is asked after every round.
    """
    counts, sums, squares = np.zeros((3, n_runs, len(mu)))
    samples, stopped = np.zeros(n_runs), np.zeros(n_runs, bool)
    running, t = np.arange(n_runs), 0
    while len(running) and t < most:
        n, s, q = counts[running], sums[running], squares[running]
        if both is not None:
            arms, over = both(n, s, k, t, rng)
        else:
            arms = pull(n, s, k, t, rng)
        if stop is not None:
            over = stop(n, s, q, k)
        stopped[running[over]] = True
        running, arms = running[~over], arms[~over]
        drawn, rows = outcomes(mu[arms], rng), running[:, None]
        counts[rows, arms] += 1
        sums[rows, arms] += drawn
        squares[rows, arms] += drawn**2
        samples[running] += arms.shape[1]
        t += 1
    named = mu[ordered(counts, sums)[:, :k]]
    return samples, stopped, (named < np.sort(mu)[-k]).any(axis=1)
