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

Two groups whose answers come in any order: the product of their mixtures is a supermartingale,
too, in the first two cases. With W = V + rho, S_i² / W_i + S_j² / W_j is therefore less than
log(W_i / rho) + log(W_j / rho) - 2 log alpha, at all times, with probability 1 - alpha. By the
inequality of Cauchy and Schwarz the difference of the averages is off by less than

    root((W_i / n_i² + W_j / n_j²) (log(W_i / rho) + log(W_j / rho) - 2 log alpha)).

This is less than the sum of two bounds. For symmetric noise W depends on the unknown mean. Twice
the logarithm of a mixture is at least -log(W / rho) at the average itself, which bounds the other
one, and so its W.

`Bounded`: all answers are in [low, high]. For any guesses g of answers that use earlier answers
only, V = the sum of (answer - g)² has a sub-exponential boundary of scale high - low (Howard and
others 2021, Theorem 4). The boundary is the least of some lines in V.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from superarm.core.arguments import FloatArray, as_positive
from superarm.oracles._boundaries import RHO, largest_w, lines, one_sided, radius, solved

# The variance counts as this share of the squared upper bound, if the first answers are all equal.
_LEAST_VARIANCE = 1e-12
N_WARM_UP = 8  # answers that only guess the variance, for rho


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

    def parts(
        self, n: FloatArray, v: FloatArray, alpha: float, reach: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """(s, l): how far the difference of two averages may be off, from one part per group.

        The difference of groups i and j is off by less than root((s_i + s_j) (l_i + l_j)), at any
        time, except with probability alpha; inf if nothing is known. All means of the answers of a
        group are the same. The groups may have different sizes.
        """

    def warm_up(self, answers: FloatArray, upper: float) -> None:
        """Learn a scale from answers that belong to no group."""

    def n_first(self, alpha: float) -> int:
        """How many answers to get before bounds are looked at."""

    def n_least(self, alpha: float, upper: float) -> int:
        """How many answers an average needs before its bounds can be narrower than [0, upper]."""

    @property
    def is_cold(self) -> bool:
        """Whether `warm_up` has to come first."""


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
        """The boundary for differences, whose variance is twice as large."""
        n = np.full(answers.shape[1], float(len(answers)))
        return radius(n, one_sided(alpha), np.sqrt(2) * self.std)

    def parts(
        self, n: FloatArray, v: FloatArray, alpha: float, reach: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """From the product of two mixtures."""
        return self.std**2 * (n + RHO) / n**2, np.log((n + RHO) / RHO) - np.log(alpha)

    def warm_up(self, answers: FloatArray, upper: float) -> None:
        """Nothing is to be learned."""

    def n_first(self, alpha: float) -> int:
        """One answer has bounds already."""
        return 1

    def n_least(self, alpha: float, upper: float) -> int:
        """One answer."""
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
        return solved(n, v, RHO * self.variance, alpha, reach, np.sqrt(n) * slope)

    def off_pairs(self, answers: FloatArray, place: int, alpha: float, upper: float) -> FloatArray:
        """The boundary for differences, which may have less noise than two single answers."""
        if self.variance is None:
            return np.full(answers.shape[1], np.inf)
        differences = answers - answers[:, [place]]
        middle = differences.mean(axis=0)
        v, n = ((differences - middle) ** 2).sum(axis=0), np.full(len(middle), float(len(answers)))
        rho = 2 * RHO * self.variance
        return solved(n, v, rho, one_sided(alpha), np.abs(middle) + upper, np.zeros(len(middle)))

    def parts(
        self, n: FloatArray, v: FloatArray, alpha: float, reach: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """From the product of two mixtures, whose W is bounded for each group by itself."""
        if self.variance is None or not len(n):
            return np.full(np.shape(n), np.inf), np.full(np.shape(n), np.inf)
        rho = RHO * self.variance
        # The logarithm of the other mixture, twice, is at least -log of this.
        other = float(np.log((v + rho) / rho).max())
        w = largest_w(n, v, rho, other - 2 * np.log(alpha), reach, np.zeros(len(n)))
        return w / n**2, np.log(w / rho) - np.log(alpha)

    def warm_up(self, answers: FloatArray, upper: float) -> None:
        """Guess the variance."""
        self.variance = max(float(answers.var(ddof=1)), _LEAST_VARIANCE * upper**2)

    def n_first(self, alpha: float) -> int:
        """n answers of one sign have V >= S² / n, so that fewer never cross the boundary."""
        return int(np.ceil(-2 * np.log(one_sided(alpha)))) + 1

    def n_least(self, alpha: float, upper: float) -> int:
        """As many as are needed to cross the boundary."""
        return self.n_first(alpha)


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
        """The least line, half of alpha for each side."""
        return lines(v, np.asarray(alpha) / 2, self.high - self.low) / n

    def off_pairs(self, answers: FloatArray, place: int, alpha: float, upper: float) -> FloatArray:
        """The least line for differences, whose range is twice as wide."""
        self._check(answers)
        differences = answers - answers[:, [place]]
        before = np.vstack([np.zeros_like(differences[:1]), differences.cumsum(axis=0)[:-1]])
        guess = before / (1 + np.arange(len(answers)))[:, None]
        v = ((differences - guess) ** 2).sum(axis=0)
        return lines(v, alpha, 2 * (self.high - self.low)) / len(answers)

    def parts(
        self, n: FloatArray, v: FloatArray, alpha: float, reach: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Nothing: the least of some lines is no mixture."""
        return np.full(np.shape(n), np.inf), np.full(np.shape(n), np.inf)

    def warm_up(self, answers: FloatArray, upper: float) -> None:
        """Nothing is to be learned before."""

    def n_first(self, alpha: float) -> int:
        """One answer has bounds already."""
        return 1

    def n_least(self, alpha: float, upper: float) -> int:
        """Even without noise, a bound is this wide."""
        no_noise = np.zeros(1)
        return int(np.ceil(2 * self.off(no_noise + 1, no_noise, alpha, no_noise, 0.0)[0] / upper))

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
