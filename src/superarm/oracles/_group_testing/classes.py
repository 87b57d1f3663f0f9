"""What the tests of each size tell: their gain, their noise, and how many of them to make."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from superarm.core.arguments import FloatArray, IndexArray
from superarm.oracles._group_testing.design import sums_at

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
        used = self._used / np.maximum(self._made, _FEW)
        telling = self.sizes * self.gain**2 / self.noise * used
        return np.where(telling >= _TRUST * telling.max(), telling, 0.0)

    @property
    def explained(self) -> float | None:
        """The share of the variance of scores that the weights predicted, in the best class."""
        best = int(np.argmax(self.telling))
        return float(1 - self._ee[best] / self._yy[best]) if self._yy[best] > 0 else None

    def age(self, n_rounds: int) -> None:
        """Set how much is kept from here on, after so many rounds."""
        self._keep = min(_KEEP, 1 - _QUARTER / (n_rounds + 2 * _QUARTER))

    def counts(self, n_tests: int, t: int) -> IndexArray:
        """Shape (n_classes,): how many of the tests of round t = 0, 1, ... each class gets."""
        telling = self.telling if t and self.telling.any() else np.ones(len(self))
        watched = self._watched(n_tests, t) if t else np.zeros(len(self), np.intp)
        # The rest of the tests goes to the classes in proportion to what they tell.
        share = telling / telling.sum() * (n_tests - watched.sum())
        counts = watched + np.floor(share).astype(np.intp)
        counts[int(np.argmax(share))] += n_tests - counts.sum()
        return counts

    def _watched(self, n_tests: int, t: int) -> IndexArray:
        """The tests that each class gets in any case: pairs, since one test shows no slope.

        Few tests per round leave a pair to every so many rounds, for one class after the other.
        """
        pairs = _WATCH * n_tests / 2
        first = np.floor(t * pairs + np.arange(len(self)) / len(self))
        watched = 2 * (np.floor((t + 1) * pairs + np.arange(len(self)) / len(self)) - first)
        return np.where(watched.sum() <= n_tests / 2, watched, 0).astype(np.intp)

    def measure_gain(
        self,
        z: FloatArray,
        scores: FloatArray,
        unsure: FloatArray,
        use: NDArray[np.bool_],
        classes: IndexArray,
    ) -> None:
        """The gain of a class: the slope of its scores on the predictions, and 0 if it falls.

        Gains stay 1 until the slope of a class contradicts that the reward is a sum.
        """
        z, y = self._within(z, use, classes), self._within(scores, use, classes)
        self._zz = self._keep * self._zz + sums_at(classes, z * z, len(self))
        self._zy = self._keep * self._zy + sums_at(classes, z * y, len(self))
        self._yy = self._keep * self._yy + sums_at(classes, y * y, len(self))
        seen = self._zz > 0
        slope = np.where(seen, self._zy / np.where(seen, self._zz, 1.0), self.gain)
        # The variance of a slope is that of a score over zz.
        off = np.where(self._used >= _MANY, (slope - self.gain) ** 2 * self._zz, 0.0)
        var = self.means(unsure, use, classes) + self.noise
        self.is_sum = self.is_sum and not (off > STANDARD_ERRORS**2 * var).any()
        if not self.is_sum and (slope > 0).any():
            self.gain = np.maximum(0.0, slope)

    def normalise(self) -> float:
        """Make 1 the gain of the class that tells most.

        The answer is the factor that all weights, and so z, must be multiplied by.
        """
        factor = float(self.gain[int(np.argmax(self.telling))])
        if factor == 0:
            return 1.0
        self.gain = self.gain / factor
        self._zz, self._zy = self._zz * factor**2, self._zy * factor
        return factor

    def measure_noise(
        self,
        missed: FloatArray,
        unsure: FloatArray,
        use: NDArray[np.bool_],
        classes: IndexArray,
        floor: float,
    ) -> None:
        """The noise of a class: what its tests miss beyond the uncertainty of the weights.

        The weights may be more alike than their variances say. That is no evidence against noise,
        so a negative sum is not remembered.
        """
        used, n_classes = np.where(use, 1.0, 0.0), len(self)
        excess = sums_at(classes, used * (missed**2 - unsure), n_classes)
        self._excess = np.maximum(0.0, self._keep * self._excess + excess)
        self._used = self._keep * self._used + sums_at(classes, used, n_classes)
        self._made = self._keep * self._made + np.bincount(classes, minlength=n_classes)
        self._ee = self._keep * self._ee + sums_at(
            classes, self._within(missed, use, classes) ** 2, n_classes
        )
        self.noise = np.maximum(floor, self._excess / np.maximum(self._used, _FEW))

    def means(self, values: FloatArray, use: NDArray[np.bool_], classes: IndexArray) -> FloatArray:
        """Shape (n_classes,): the means of the values of used tests; 0 for a class without any."""
        n_used = sums_at(classes, np.where(use, 1.0, 0.0), len(self))
        return sums_at(classes, np.where(use, values, 0.0), len(self)) / np.maximum(n_used, 1.0)

    def _within(
        self, values: FloatArray, use: NDArray[np.bool_], classes: IndexArray
    ) -> FloatArray:
        """The values minus their mean in the class; 0 for tests that are not used."""
        return np.where(use, values - self.means(values, use, classes)[classes], 0.0)
