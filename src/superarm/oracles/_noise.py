"""How far averages of noisy answers may be off, at any time, for three kinds of knowledge of noise.

The noise of an answer has mean 0 given all that happened before. Let S be the sum of the noise of a
group of n answers, where a rule says before each answer whether it belongs to the group.

`Known`: the noise is sub-Gaussian with a known standard deviation. With probability 1 - alpha, at
all n (Robbins 1970, a mixture of normals; Howard, Ramdas, McAuliffe, Sekhon, "Time-uniform,
nonparametric, nonasymptotic confidence sequences", Annals of Statistics 2021),

    |S| < root((V + rho) · log((V + rho) / (rho · alpha²))),    V = n · std².

`Symmetric`: the noise has the same law as its negative, given the past. Then exp(l S - l² V / 2)
with V = the sum of the squared noise is a supermartingale for every l (de la Peña, "A general class
of exponential inequalities for martingales and ratios", Annals of Probability 1999). So the same
boundary holds with this V: nothing else is assumed, not even a variance. rho may depend on answers
before the group. V depends on the unknown mean, so the inequality is solved for the mean.

`Bounded`: all answers are in [low, high]. For any guesses g of answers that use earlier answers
only, V = the sum of (answer - g)² has a sub-exponential boundary of scale high - low (Howard and
others 2021, Theorem 4). The stitched boundary of their Theorem 1 is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from superarm.core.arguments import FloatArray, as_positive
from superarm.core.special import ndtr

# At about this many answers times 10 the boundary of a mixture is the tightest.
_RHO = 8.0
# The variance counts as this share of the squared upper bound, if the first answers are all equal.
_LEAST_VARIANCE = 1e-12
N_WARM_UP = 8  # answers that only guess the variance, for rho
_NEWTON_STEPS = 12
_UP = 1 + 1e-9  # Newton's method comes from below: this outweighs its rounding
# Stitching: epochs of V grow by _ETA, and the j-th one has a share of 1 / j^_POWER.
_ETA, _POWER, _ZETA = 2.0, 1.4, 3.10555  # the last one is a little more than zeta(1.4)


class Noise(Protocol):
    """What is known about noise, as bounds on averages of answers.

    V of a group is what its boundary grows with, besides the number of answers.
    """

    def grown(self, v: FloatArray, n: FloatArray, sum_y: FloatArray, new: FloatArray) -> FloatArray:
        """V of groups that all get the answers ``new``; v, n and sum_y are from before."""

    def off(
        self, n: FloatArray, v: FloatArray, alpha: FloatArray | float, reach: FloatArray, slope: Any
    ) -> FloatArray:
        """How far averages of n answers may be off, at any time, except with probability alpha.

        ``reach`` is how far they can be off at all. The means of the answers of a group differ from
        each other by up to ``slope``.
        """

    def off_pairs(self, answers: FloatArray, place: int, alpha: float, upper: float) -> FloatArray:
        """By how much each column of answers may seem too low next to the column ``place``.

        Shape (n_columns,), from shape (n, n_columns). The average of a column minus that of the
        column ``place`` is below the true difference by more than this, at any time, with
        probability alpha per column. The same bounds the opposite error, with its own alpha.
        """

    def warm_up(self, answers: FloatArray, upper: float) -> None:
        """Learn a scale from answers that belong to no group."""

    def n_first(self, alpha: float) -> int:
        """How many answers to get before bounds are looked at."""

    @property
    def is_cold(self) -> bool:
        """Whether `warm_up` has to come first."""


def radius(n: FloatArray, alpha: FloatArray | float, std: float) -> FloatArray:
    """How far the mean of n answers may be off, at any n, except with probability alpha.

    Examples
    --------
    >>> radius(np.array([1.0, 100.0, 10_000.0]), 0.05, std=1.0).round(3)
    array([7.415, 0.305, 0.036])
    """
    with np.errstate(divide="ignore"):
        return std * np.sqrt((n + _RHO) * (np.log((n + _RHO) / _RHO) - 2 * np.log(alpha))) / n


def one_sided(alpha: float) -> float:
    """The alpha of a two-sided mixture that crosses upwards with this probability.

    The one-sided mixture is the two-sided one times 2 Phi(S / root(V + rho)), and at its boundary
    S / root(V + rho) is at least root(-2 log(2 alpha)).
    """
    return 2 * alpha * float(ndtr(np.sqrt(max(0.0, -2 * np.log(2 * alpha)))))


@dataclass
class Known:
    """Sub-Gaussian noise with a known standard deviation."""

    std: float
    is_cold = False

    def grown(self, v: FloatArray, n: FloatArray, sum_y: FloatArray, new: FloatArray) -> FloatArray:
        """Not needed: n says it all."""
        return v

    def off(
        self, n: FloatArray, v: FloatArray, alpha: FloatArray | float, reach: FloatArray, slope: Any
    ) -> FloatArray:
        """The boundary of Robbins."""
        return radius(n, alpha, self.std)

    def off_pairs(self, answers: FloatArray, place: int, alpha: float, upper: float) -> FloatArray:
        """The same for differences, whose variance is twice as large."""
        n = np.full(answers.shape[1], float(len(answers)))
        return radius(n, one_sided(alpha), np.sqrt(2) * self.std)

    def warm_up(self, answers: FloatArray, upper: float) -> None:
        """Nothing is to be learned."""

    def n_first(self, alpha: float) -> int:
        """One answer has bounds already."""
        return 1


@dataclass
class Symmetric:
    """Noise that is symmetric given the past, with an unknown spread that may change.

    For differences of two answers it is enough if their noise has the same law, symmetric or not.
    ``variance`` is a guess. It is right to take any number known before the group began.
    """

    variance: float | None = None

    @property
    def is_cold(self) -> bool:
        """Whether there is no guess yet."""
        return self.variance is None

    def grown(self, v: FloatArray, n: FloatArray, sum_y: FloatArray, new: FloatArray) -> FloatArray:
        """The sum of the squared distances from the mean of the group."""
        middle = new.mean()
        apart = np.where(n > 0, middle - sum_y / np.maximum(n, 1), 0.0)
        between = apart**2 * n * len(new) / (n + len(new))
        return v + ((new - middle) ** 2).sum() + between

    def off(
        self, n: FloatArray, v: FloatArray, alpha: FloatArray | float, reach: FloatArray, slope: Any
    ) -> FloatArray:
        """The boundary, solved for the mean."""
        if self.variance is None:
            return np.full(np.shape(n), np.inf)
        return _solved(n, v, _RHO * self.variance, alpha, reach, np.sqrt(n) * slope)

    def off_pairs(self, answers: FloatArray, place: int, alpha: float, upper: float) -> FloatArray:
        """The same for differences, which may have less noise than two answers by themselves."""
        if self.variance is None:
            return np.full(answers.shape[1], np.inf)
        differences = answers - answers[:, [place]]
        middle = differences.mean(axis=0)
        v, n = ((differences - middle) ** 2).sum(axis=0), np.full(len(middle), float(len(answers)))
        rho = 2 * _RHO * self.variance
        return _solved(n, v, rho, one_sided(alpha), np.abs(middle) + upper, np.zeros(len(middle)))

    def warm_up(self, answers: FloatArray, upper: float) -> None:
        """Guess the variance."""
        self.variance = max(float(answers.var(ddof=1)), _LEAST_VARIANCE * upper**2)

    def n_first(self, alpha: float) -> int:
        """n answers of one sign have V >= S² / n, so that fewer never cross the boundary."""
        return int(np.ceil(-2 * np.log(one_sided(alpha)))) + 1


@dataclass
class Bounded:
    """Answers that are in [low, high]; their noise may have any law."""

    low: float
    high: float
    is_cold = False

    def grown(self, v: FloatArray, n: FloatArray, sum_y: FloatArray, new: FloatArray) -> FloatArray:
        """The sum of squared distances from the mean of the answers before, and of the middle."""
        self._check(new)
        before = np.append(0.0, new.cumsum()[:-1])
        middle, sum_y, n = (self.low + self.high) / 2, np.asarray(sum_y), np.asarray(n)
        guess = (middle + sum_y[..., None] + before) / (1 + n[..., None] + np.arange(len(new)))
        return v + ((new - guess) ** 2).sum(axis=-1)

    def off(
        self, n: FloatArray, v: FloatArray, alpha: FloatArray | float, reach: FloatArray, slope: Any
    ) -> FloatArray:
        """The stitched boundary, half of alpha for each side."""
        return _stitched(v, np.asarray(alpha) / 2, self.high - self.low) / n

    def off_pairs(self, answers: FloatArray, place: int, alpha: float, upper: float) -> FloatArray:
        """The same for differences, whose range is twice as wide."""
        self._check(answers)
        differences = answers - answers[:, [place]]
        before = np.vstack([np.zeros_like(differences[:1]), differences.cumsum(axis=0)[:-1]])
        guess = before / (1 + np.arange(len(answers)))[:, None]
        v = ((differences - guess) ** 2).sum(axis=0)
        return _stitched(v, alpha, 2 * (self.high - self.low)) / len(answers)

    def warm_up(self, answers: FloatArray, upper: float) -> None:
        """Nothing is to be learned before."""

    def n_first(self, alpha: float) -> int:
        """One answer has bounds already."""
        return 1

    def _check(self, answers: FloatArray) -> None:
        worst = answers[(answers < self.low) | (answers > self.high)]
        if len(worst):
            raise ValueError(
                f"answers must be in [{self.low:g}, {self.high:g}] (answers_in), "
                f"got {worst[0]:g}; widen answers_in"
            )


def as_noise(noise_std: float | None, answers_in: tuple[float, float] | None) -> Noise:
    """What the settings of an oracle say about the noise."""
    if answers_in is None:
        return Symmetric() if noise_std is None else Known(as_positive(noise_std, "noise_std"))
    if noise_std is not None:
        raise ValueError(
            f"give noise_std or answers_in, not both, got {noise_std} and {answers_in}"
        )
    wanted = "answers_in must be two numbers, (low, high) with low < high, such as (0, 1)"
    try:
        low, high = (float(end) for end in answers_in)
    except (TypeError, ValueError):
        raise ValueError(f"{wanted}, got {answers_in!r}") from None
    if not -np.inf < low < high < np.inf:
        raise ValueError(f"{wanted}, got {answers_in!r}")
    return Bounded(low, high)


def _solved(
    n: FloatArray,
    v: FloatArray,
    rho: float,
    alpha: FloatArray | float,
    reach: FloatArray,
    apart: FloatArray,
) -> FloatArray:
    """The largest d that the boundary of symmetric noise does not exclude; inf if there is none.

    With the mean off by d, the sum of squares is v + n d². Answers with different means add up to
    ``apart`` to its root, so W = V + rho is at most a + (1 + eta) n d² for any eta > 0. With
    d² = W (log(W / rho) - 2 log alpha) / n² at the boundary, W solves f(W) = 0 below. f is concave,
    and d is not excluded where f < 0: up to the smaller root, and again far out. Where that is
    within reach, nothing is known.
    """
    apart = np.broadcast_to(apart, np.shape(v))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        eta = np.where(apart > 0, np.minimum(1.0, apart / np.sqrt(v)), 0.0)
        a = (1 + eta) * v + np.where(apart > 0, (1 + 1 / eta) * apart**2, 0.0) + rho
        size, price = n / (1 + eta), -2 * np.log(alpha)

        def f(w: FloatArray) -> FloatArray:
            return size * (w - a) - w * (np.log(w / rho) + price)

        w = a
        for _ in range(_NEWTON_STEPS):
            # A tangent lies above f, so that Newton's method never passes the smaller root.
            slope = size - np.log(w / rho) - price - 1
            w = np.where(slope > 0, w - f(w) / slope, np.inf)
        w = w * _UP
        most = a + (1 + eta) * n * np.asarray(reach) ** 2
        sure = (f(w) >= 0) & ((f(most) >= 0) | (most <= w))
        return np.where(sure, np.sqrt(w * (np.log(w / rho) + price)) / n, np.inf)


def _stitched(v: FloatArray, alpha: FloatArray | float, scale: float) -> FloatArray:
    """Theorem 1 of Howard and others 2021, from V = scale² on."""
    v = np.maximum(v, scale**2)
    root = _ETA**0.25
    k1, k2 = (root + 1 / root) / np.sqrt(2), (np.sqrt(_ETA) + 1) / 2
    epoch = np.log(v / scale**2) / np.log(_ETA)
    price = _POWER * np.log(epoch + 1) + np.log(_ZETA) - np.log(alpha)
    off = k2 * scale * price
    return np.sqrt(k1**2 * v * price + off**2) + off
