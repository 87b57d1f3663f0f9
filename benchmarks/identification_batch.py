"""Rules that look for the best k arms, played in many runs at once.

Every rule is a twin of an oracle or of a paper's algorithm, for arrays with one row per run:
``tests/benchmarks/test_identification_batch.py`` compares them.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import betaln, xlogy

from superarm.theory.divergence import kl_lower, kl_upper

Array = np.ndarray
Rng = np.random.Generator
_HALF = 0.5  # as in superarm.theory.evidence
_TINY = 1e-300
_FIRST, _LAST = -1e12, 1e6  # keys of arms without outcomes, and of arms that tell nothing


class Runs:
    """What runs have seen: arrays of shape (n_runs, n_arms), one row per run that is still played.

    Attributes
    ----------
    counts, sums, squares
        The number of outcomes of each arm, their sum, and the sum of their squares.
    mixture, alone
        Logarithms of the mixture and of the largest likelihood of `superarm.theory.evidence`.
        They change only for the arms that are pulled.
    """

    _NAMES = ("counts", "sums", "squares", "mixture", "alone")

    def __init__(self, counts: Array, sums: Array, squares: Array | None = None) -> None:
        self.counts, self.sums = np.array(counts, float), np.array(sums, float)
        self.squares = np.array(sums if squares is None else squares, float)
        self.mixture, self.alone = _terms(self.counts, self.sums)

    def add(self, arms: Array, drawn: Array) -> None:
        """One outcome of each of some arms, shape (n_runs, n)."""
        at = arms + np.arange(len(arms))[:, None] * self.counts.shape[1]
        n, s = self.counts.reshape(-1), self.sums.reshape(-1)
        n[at] += 1
        s[at] += drawn
        self.squares.reshape(-1)[at] += drawn**2
        self.mixture.reshape(-1)[at], self.alone.reshape(-1)[at] = _terms(n[at], s[at])

    def keep(self, rows: Array) -> None:
        """Forget the other runs."""
        for name in self._NAMES:
            setattr(self, name, getattr(self, name)[rows])

    def means(self) -> Array:
        """The means so far, 0 without outcomes."""
        return self.sums / np.maximum(self.counts, 1)

    def ordered(self) -> Array:
        """The arms of each run by their means, the largest first, as in `best_k`."""
        return np.argsort(-np.where(self.counts > 0, self.means(), -1.0), axis=1, kind="stable")


def _terms(n: Array, s: Array) -> tuple[Array, Array]:
    p = s / np.maximum(n, 1)
    mixture = betaln(s + _HALF, n - s + _HALF) - betaln(_HALF, _HALF)
    return mixture, xlogy(s, p) + xlogy(n - s, 1 - p)


def _told(n: Array, s: Array, alone: Array, other: tuple[Array, Array]) -> Array:
    """`information` of arms in their pairs with others."""
    both, total = s + other[1], n + other[0]
    log_all = np.log(np.maximum(total, 1))
    win = np.log(np.maximum(both, _TINY)) - log_all
    lose = np.log(np.maximum(total - both, _TINY)) - log_all
    return np.maximum(alone - s * win - (n - s) * lose, 0.0)


def _share(mine: Array, its: Array) -> Array:
    total = mine + its
    return np.where(total > 0, mine / np.where(total > 0, total, 1.0), 0.5)


def pairs(runs: Runs, k: int) -> tuple[Array, Array, Array, Array, Array]:
    """The order of the arms; the evidence of each pair, and the information of both arms.

    The last element has the counts in the order of the arms. The evidence and the informations have
    the shape (n_runs, k, n_arms - k).
    """
    order = runs.ordered()
    at = order + np.arange(len(order))[:, None] * order.shape[1]
    n, s, mixture, alone = (
        one.reshape(-1)[at] for one in (runs.counts, runs.sums, runs.mixture, runs.alone)
    )
    inside, outside = (slice(None), slice(k), None), (slice(None), None, slice(k, None))
    n_i, n_j, s_i, s_j = n[inside], n[outside], s[inside], s[outside]
    mine = _told(n_i, s_i, alone[inside], (n_j, s_j))
    its = _told(n_j, s_j, alone[outside], (n_i, s_i))
    # How much more likely the two means are than the pooled one, if the first arm is ahead.
    lead = np.where(s_i * n_j > s_j * n_i, mine + its, 0.0)
    price = mixture - alone
    return order, price[inside] + price[outside] + lead, mine, its, n


def errors(runs: Runs, k: int) -> Array:
    """Shape (n_runs,): the error of `superarm.theory.best_k`."""
    return _error(pairs(runs, k)[1])


def _error(evidence: Array) -> Array:
    n_pairs = evidence.shape[1] * evidence.shape[2]
    return np.exp(np.minimum(0.0, math.log(n_pairs) - evidence.min(axis=(1, 2))))


# What to pull: functions of the runs, k, the round and rng, which return arms per run; and which
# runs stop by the rule itself.


def uniform(runs: Runs, k: int, t: int, rng: Rng) -> tuple[Array, Array]:
    """The k arms with the fewest outcomes. Never stops."""
    arms = _least(runs.counts + rng.random(runs.counts.shape) / 2, k)
    return arms, np.zeros(len(arms), bool)


def top_two(
    runs: Runs,
    k: int,
    t: int,
    rng: Rng,
    delta: float = 0.05,
    places: int | None = None,
    n_draws: int = 4,
) -> tuple[Array, Array]:
    """`superarm.oracles.TopTwo`, for flat Beta posteriors; and the verdict.

    ``places`` is how many arms are pulled per round, by default k.
    """
    order, evidence, mine, its, n = pairs(runs, k)
    over = _error(evidence) <= delta
    is_first = rng.random(evidence.shape) < _share(mine, its)
    wanted = np.empty(order.shape)
    keys = np.minimum(closest_first(evidence, mine, its, n, is_first), _LAST)
    np.put_along_axis(wanted, order, keys, 1)
    _add_challengers(wanted, runs, k, rng, n_draws)
    wanted[runs.counts == 0] = _FIRST
    return _least(wanted + 1e-9 * rng.random(wanted.shape), places or k), over


def closest_first(evidence: Array, mine: Array, its: Array, n: Array, is_first: Array) -> Array:
    """Keys of the arms in their order: arms with the least are pulled."""
    k = evidence.shape[1]
    n = np.maximum(n, 1)
    other_i, other_j = its / n[:, None, k:], mine / n[:, :k, None]
    inside = np.where(is_first, evidence, evidence + other_i).min(axis=2)
    outside = np.where(is_first, evidence + other_j, evidence).min(axis=1)
    return np.concatenate([inside, outside], axis=1)


def _add_challengers(wanted: Array, runs: Runs, k: int, rng: Rng, n_draws: int) -> None:
    """Arms by which the best sets of samples differ come first."""
    n_runs, n_arms = wanted.shape
    a, b = 1 + runs.sums, 1 + np.maximum(runs.counts - runs.sums, 0.0)
    theta = rng.beta(a[:, None], b[:, None], (n_runs, 1 + n_draws, n_arms))
    is_in = theta >= -np.partition(-theta, k - 1, axis=2)[:, :, k - 1 : k]
    leader, others = is_in[:, :1], is_in[:, 1:]
    run, draw = np.nonzero((leader != others).any(axis=2))  # challengers are few, later on
    if not len(run):
        return
    lead, other = leader[run, 0], others[run, draw]
    noise = rng.random(lead.shape)
    i = np.where(lead & ~other, noise, -1).argmax(axis=1)
    j = np.where(~lead & other, noise, -1).argmax(axis=1)
    n, s, alone = runs.counts, runs.sums, runs.alone
    of_i, of_j = (n[run, i], s[run, i]), (n[run, j], s[run, j])
    share = _share(_told(*of_i, alone[run, i], of_j), _told(*of_j, alone[run, j], of_i))
    arms = np.where(rng.random(len(run)) < share, i, j)
    back = slice(None, None, -1)  # the first draw comes first, so it is written last
    wanted[run[back], arms[back]] = -1e9 + draw[back]


def clucb(
    runs: Runs, k: int, t: int, rng: Rng, delta: float = 0.05, places: int = 1
) -> tuple[Array, Array]:
    """CLUCB: one arm per run as in the paper, or the ``places`` of the oracle; which runs stop."""
    counts, means = runs.counts, runs.means()
    n_arms, order = counts.shape[1], runs.ordered()
    widths = np.sqrt(math.log(4 * n_arms * max(t, 1) ** 3 / delta) / (2 * np.maximum(counts, 1)))
    is_in = _mask(order[:, :k], n_arms)
    doubt = np.where(is_in, means - widths, means + widths)
    rival = _mask(_least(-doubt, k), n_arms)
    lead = np.where(rival, doubt, 0).sum(axis=1) - np.where(is_in, doubt, 0).sum(axis=1)
    unseen, noise = counts == 0, 1e-9 * rng.random(counts.shape)
    # The widest arms in which the two sets differ, then the widest others.
    keys = np.where(is_in != rival, -widths, 1e3 - widths)
    arms = _least(np.where(unseen, _FIRST, keys) + noise, places)
    return arms, (lead <= 1e-12) & ~unseen.any(axis=1)


def lucb(
    runs: Runs, k: int, t: int, rng: Rng, delta: float = 0.05, kl: bool = True, places: int = 2
) -> tuple[Array, Array]:
    """(KL-)LUCB: two arms per run as in the papers, or the oracle's ``places``; which runs stop."""
    counts, means = runs.counts, np.minimum(runs.means(), 1.0)
    n_arms, t, order = counts.shape[1], max(t, 1), runs.ordered()
    is_in, unseen = _mask(order[:, :k], n_arms), counts == 0
    if kl:
        level = math.log(405.5 * n_arms * t**1.1 / delta)
        levels = (level + math.log(level)) / np.maximum(counts, 1)
        # The bounds on the side of the border; the others decide nothing.
        lower, upper = np.full(counts.shape, np.nan), np.full(counts.shape, np.nan)
        lower[is_in] = kl_lower(means[is_in], levels[is_in])
        upper[~is_in] = kl_upper(means[~is_in], levels[~is_in])
    else:
        widths = np.sqrt(math.log(1.25 * n_arms * t**4 / delta) / (2 * np.maximum(counts, 1)))
        lower, upper = means - widths, means + widths
    lower, upper = np.where(unseen, -1.0, lower), np.where(unseen, 2.0, upper)
    inside = np.where(is_in, lower, np.inf)
    outside = np.where(is_in, -np.inf, upper)
    over = outside.max(axis=1) <= inside.min(axis=1)
    if places == 2:
        return np.stack([inside.argmin(axis=1), outside.argmax(axis=1)], axis=1), over
    return _border(inside, -outside, unseen, places, rng), over


def _border(inside: Array, outside: Array, unseen: Array, places: int, rng: Rng) -> Array:
    """The arms closest to the border from both sides in turn; arms without outcomes first."""
    noise = 1e-12 * rng.random(inside.shape)
    ranks = [np.argsort(np.argsort(side + noise, axis=1), axis=1) for side in (inside, outside)]
    is_later = rng.random(len(inside)) < 0.5  # either side may have the place that is left
    ranks = [ranks[0] + is_later[:, None] / 2, ranks[1] + ~is_later[:, None] / 2]
    keys = np.where(np.isfinite(inside), *ranks)
    return _least(np.where(unseen, _FIRST, keys) + noise, places)


def _mask(arms: Array, n_arms: int) -> Array:
    is_in = np.zeros((len(arms), n_arms), bool)
    np.put_along_axis(is_in, arms, True, 1)
    return is_in


def _least(values: Array, k: int) -> Array:
    return np.argpartition(values, k - 1, axis=1)[:, :k]


# When to stop: functions of the runs and k, which say which runs do.


def verdict(runs: Runs, k: int, delta: float = 0.05) -> Array:
    """The rule of `Session.verdict`."""
    return errors(runs, k) <= delta


def habit(runs: Runs, k: int) -> Array:
    """The 95% interval of the difference at the border is above 0, after ten outcomes per arm."""
    order = runs.ordered()[:, k - 1 : k + 1]
    n, s, q = (np.take_along_axis(one, order, 1) for one in (runs.counts, runs.sums, runs.squares))
    means = s / np.maximum(n, 1)
    var = np.maximum(q / np.maximum(n, 1) - means**2, 0.0) / np.maximum(n, 1)
    width = 1.96 * np.sqrt(var.sum(axis=1))
    return (runs.counts.min(axis=1) >= 10) & (means[:, 0] - means[:, 1] > width)


def play(
    mu: Array,
    k: int,
    n_runs: int,
    rng: Rng,
    pull: Callable[..., tuple[Array, Array]],
    *,
    stop: Callable[..., Array] | None = None,
    outcomes: Callable[[Array, Rng], Array],
    most: int = 10**9,
) -> tuple[Array, Array, Array]:
    """Samples until each run stops, whether it has stopped, and whether its k arms are wrong.

    ``stop`` takes the place of the rule's own way to stop. It is asked after every round.
    """
    runs, running = Runs(*np.zeros((2, n_runs, len(mu)))), np.arange(n_runs)
    samples, stopped, wrong = np.zeros(n_runs), np.zeros(n_runs, bool), np.zeros(n_runs, bool)
    worst = np.sort(mu)[-k]
    for t in range(most + 1):
        arms, over = pull(runs, k, t, rng)
        if stop is not None:
            over = stop(runs, k)
        is_last = over | (t == most)
        if is_last.any():
            rows = running[is_last]
            stopped[rows] = over[is_last]
            wrong[rows] = (mu[runs.ordered()[is_last, :k]] < worst).any(axis=1)
            samples[rows] = runs.counts[is_last].sum(axis=1)
            running, arms = running[~is_last], arms[~is_last]
            runs.keep(~is_last)
        if not len(running):
            break
        runs.add(arms, outcomes(mu[arms], rng))
    return samples, stopped, wrong
