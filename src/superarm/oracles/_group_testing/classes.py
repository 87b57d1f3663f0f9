"""What the tests of each size tell: their gain, their noise, and how many of them to make."""

from __future__ import annotations

import numpy as np

from superarm.core.arguments import FloatArray, IndexArray
from superarm.oracles._group_testing.design import Grouped

# How much of what is known of a class is kept per round: it looks back about 50 rounds at most,
# and at first a quarter of the rounds, because what the first rounds miss is no noise.
_KEEP, _QUARTER = 0.98, 4
# A class of tests is trusted while it tells at least this share of what the best class tells.
_TRUST = 0.3
# Every class gets this share of the tests, trusted or not: the reward may be flat after all.
_WATCH = 0.02
# Fewer tests than this do not contradict that the reward is a sum.
_MANY = 50
# Keeps divisions by a count of tests finite.
_FEW = 1e-9

# One weight explains a class if what it misses is below this many standard errors.
STANDARD_ERRORS = 4

SUMS = ("_excess", "_used", "_made", "_zz", "_zy", "_yy", "_ee")


class Classes:
    """The classes of tests by their expected size, each with a gain and a noise.

    A reward that is a function h of a weighted sum z is close to a straight line, c + gain · z,
    among tests of about one size. The gain is the slope of h there. It is measured as the slope of
    the scores y on what the weights predict, z, within the rounds. The noise is what the straight
    line misses beyond the uncertainty of the weights: the quantizer's noise, and how far the reward
    is from a straight line at that size.

    In the units of z, a test of a class has the noise noise / gain². It tells size · gain² / noise
    about the weights, times the share of tests that can be used at all.

    Parameters
    ----------
    sizes
        Shape (n_classes,): the expected sizes.
    """

    def __init__(self, sizes: FloatArray) -> None:
        self.sizes = np.asarray(sizes, np.float64)
        self._keep = _KEEP
        # Whether one weight per arm still explains the tests of all sizes: all gains are then 1.
        self.is_sum = True
        self.gain, self.noise = np.ones(len(self.sizes)), np.ones(len(self.sizes))
        # Sums over the rounds, per class: squared misses beyond the expected ones, tests used and
        # made, products of z and y within the rounds, and squared misses within the rounds.
        self._excess, self._used, self._made = np.zeros((3, len(self.sizes)))
        self._zz, self._zy, self._yy, self._ee = np.zeros((4, len(self.sizes)))

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def telling(self) -> FloatArray:
        """Shape (n_classes,): how much a test of each class tells; 0 without trust."""
        telling = self._telling()
        return np.where(telling >= _TRUST * telling.max(), telling, 0.0)

    @property
    def _best(self) -> int:
        """The class that tells most."""
        return int(self._telling().argmax())

    def _telling(self) -> FloatArray:
        used = self._used / np.maximum(self._made, _FEW)
        return self.sizes * self.gain**2 / self.noise * used

    @property
    def explained(self) -> float | None:
        """The share of the variance of scores that the weights predicted, in the best class."""
        best = self._best
        return float(1 - self._ee[best] / self._yy[best]) if self._yy[best] > 0 else None

    def age(self, n_rounds: int) -> None:
        """Set how much is kept from here on, after this many rounds."""
        self._keep = min(_KEEP, 1 - _QUARTER / (n_rounds + 2 * _QUARTER))

    def counts(self, n_tests: int, t: int) -> IndexArray:
        """Shape (n_classes,): how many of the tests of round t = 0, 1, ... each class gets."""
        telling = self.telling if t else np.zeros(len(self))
        if not telling.any():
            telling = np.ones(len(self))
        watched = self._watched(n_tests, t) if t else np.zeros(len(self), np.intp)
        # The rest of the tests goes to the classes in proportion to what they tell.
        share = telling / telling.sum() * (n_tests - watched.sum())
        counts = watched + np.floor(share).astype(np.intp)
        counts[share.argmax()] += n_tests - counts.sum()
        return counts

    def _watched(self, n_tests: int, t: int) -> IndexArray:
        """The tests that each class gets in any case: pairs, since one test shows no slope.

        With few tests per round, one class after the other gets a pair, not in every round.
        """
        pairs = _WATCH * n_tests / 2
        turns = np.arange(len(self)) / len(self)
        watched = 2 * (np.floor((t + 1) * pairs + turns) - np.floor(t * pairs + turns))
        return np.where(watched.sum() <= n_tests / 2, watched, 0).astype(np.intp)

    def measure_gain(
        self,
        z: FloatArray,
        middle: FloatArray,
        scores: FloatArray,
        unsure: FloatArray,
        grouped: Grouped,
    ) -> None:
        """The gain of a class: the slope of its scores on the predictions, and 0 if it falls.

        Gains stay 1 until the slope of a class contradicts that the reward is a sum. ``middle``
        has the means of the predictions, per class.
        """
        z, y = grouped.within(z, middle), grouped.within(scores)
        self._zz = self._keep * self._zz + grouped.sums(z * z)
        self._zy = self._keep * self._zy + grouped.sums(z * y)
        self._yy = self._keep * self._yy + grouped.sums(y * y)
        seen = self._zz > 0
        slope = np.where(seen, self._zy / np.where(seen, self._zz, 1.0), self.gain)
        # The variance of a slope is that of a score over zz.
        off = np.where(self._used >= _MANY, (slope - self.gain) ** 2 * self._zz, 0.0)
        var = grouped.means(unsure) + self.noise
        self.is_sum = self.is_sum and not (off > STANDARD_ERRORS**2 * var).any()
        if not self.is_sum and (slope > 0).any():
            self.gain = np.maximum(0.0, slope)

    def normalise(self) -> float:
        """Make 1 the gain of the class that tells most.

        The answer is the factor that all weights, and so z, must be multiplied by.
        """
        factor = float(self.gain[self._best])
        if factor == 0:
            return 1.0
        self.gain = self.gain / factor
        self._zz, self._zy = self._zz * factor**2, self._zy * factor
        return factor

    def measure_noise(
        self,
        missed: FloatArray,
        unsure: FloatArray,
        grouped: Grouped,
        floor: float,
    ) -> None:
        """The noise of a class: what its tests miss beyond the uncertainty of the weights.

        The weights may be more alike than their variances say. That is no evidence against noise,
        so a negative sum is not remembered.
        """
        excess = grouped.sums(grouped.used * (missed**2 - unsure))
        self._excess = np.maximum(0.0, self._keep * self._excess + excess)
        self._used = self._keep * self._used + grouped.n_used
        self._made = self._keep * self._made + np.bincount(grouped.classes, minlength=len(self))
        self._ee = self._keep * self._ee + grouped.sums(grouped.within(missed) ** 2)
        self.noise = np.maximum(floor, self._excess / np.maximum(self._used, _FEW))
