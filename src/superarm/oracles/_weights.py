"""What group testing remembers with ``decoder="regression"``: what each arm adds to a set."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy  # its submodules are imported when they are used
from numpy.typing import NDArray

from superarm.core import Pools
from superarm.core.arguments import FloatArray, IndexArray, as_count, as_finite

# How much of what is known of a class's noise is kept from round to round: it looks back about 50 rounds.
_KEEP = 0.98
# A class of tests is trusted while it tells at least this share of what the best class tells.
_TRUST = 0.3
# So much of the tests goes to every class, trusted or not: the reward may be flat after all.
_WATCH = 0.02
_SPARSE_BELOW = 0.05


class Weights:
    """w and c of r(S; theta) ≈ c + sum over S of w_i theta_i, learnt from noisy tests, round after round.

    A Kalman filter that keeps the variance of each weight and none of their covariances, which random tests keep
    small: each round solves one system in the tests of that round (block Kaczmarz with a ridge, where the ridge is
    the noise). Variances fall like 1/t, and with them the steps, so noise averages out.

    Tests come in classes by their expected size, each with a noise and an intercept c of its own, which begins at the
    value of the empty set. The noise is measured: the quantizer's, and how far the reward is from a sum at that size.
    A class tells size / noise, times the share of its tests that can be used at all. Those that tell little are
    watched but not learnt from, so that a reward that saturates is learnt from small tests, and one in which a single
    arm is lost below the quantizer's step from large ones. A factor common to all weights is known less well than
    their ratios, which alone decide.

    Time a round: O(n_tests² · members of an arm + n_tests³) for sparse tests, O(n_tests² · n_arms) for dense ones.
    Memory: 16 bytes an arm.
    """

    def __init__(self, n_arms: int, sizes: FloatArray, empty: float) -> None:
        self.n_arms, self.sizes = n_arms, np.asarray(sizes, np.float64)
        self.w, self.var = np.zeros(n_arms), np.zeros(n_arms)
        n_classes = len(self.sizes)
        self.c, self.c_var = np.full(n_classes, empty), np.zeros(n_classes)
        self.noise = np.ones(n_classes)
        self._excess, self._used, self._made = (
            np.zeros(n_classes),
            np.zeros(n_classes),
            np.zeros(n_classes),
        )
        self.rounds = 0

    @property
    def telling(self) -> FloatArray:
        """Shape (n_classes,): how much a test of each class tells about the weights; 0 where it is not trusted."""
        telling = self.sizes / self.noise * self._used / np.maximum(self._made, 1e-9)
        return np.where(telling >= _TRUST * telling.max(), telling, 0.0)

    def counts(self, n_tests: int) -> IndexArray:
        """Shape (n_classes,): how many of the tests of a round each class gets."""
        n_classes = len(self.sizes)
        if self.rounds == 0:
            share = np.full(n_classes, 1 / n_classes)
        else:
            share = (1 - n_classes * _WATCH) * self.telling / self.telling.sum() + _WATCH
        counts = np.floor(share * n_tests).astype(np.intp)
        counts[int(np.argmax(share))] += n_tests - counts.sum()
        return counts

    def learn(
        self,
        tests: Pools,
        classes: IndexArray,
        theta: FloatArray,
        scores: FloatArray,
        use: NDArray[np.bool_],
        floor: float,
    ) -> NDArray[np.bool_]:
        """Move towards the scores of those tests of a round that may be used; says which were.

        ``classes``, shape (n_tests,): the class of each test. ``floor``: the variance that the noise has at least.
        """
        if not use.any():
            return use
        arms, rows = tests.members, np.repeat(np.arange(len(tests)), tests.sizes)
        x = theta[arms]

        def over(values: FloatArray) -> FloatArray:
            return np.bincount(rows, values, minlength=len(tests)).astype(np.float64, copy=False)

        if self.rounds == 0:
            self._begin(over(x), classes, scores, use, floor)
        unsure = over(x * x * self.var[arms]) + self.c_var[classes]
        missed = scores - self.c[classes] - over(x * self.w[arms])
        self._measure_noise(missed, unsure, np.where(use, 1.0, 0.0), classes, floor)
        learnt = use & (self.telling[classes] > 0)
        # With infinite noise a test would have no part in the solution; leaving it out is the same and cheaper.
        system = _gram(tests, theta * np.sqrt(self.var))[np.ix_(learnt, learnt)]
        system += np.where(
            classes[learnt][:, None] == classes[learnt], self.c_var[classes[learnt]], 0.0
        )
        spread = (unsure + self.noise[classes])[learnt]
        system[np.diag_indices_from(system)] = spread
        gain = np.zeros(len(tests))
        gain[learnt] = scipy.linalg.cho_solve(
            scipy.linalg.cho_factor(system, lower=True, overwrite_a=True), missed[learnt]
        )
        self.w += self.var * np.bincount(arms, x * gain[rows], minlength=self.n_arms)
        self.c += self.c_var * np.bincount(classes, gain, minlength=len(self.c))
        # The precision that each test adds for one arm, the other arms of the test being noise.
        precision = np.where(learnt, 1.0, 0.0)
        per_test = (unsure + self.noise[classes])[rows] - x * x * self.var[arms]
        self.var = 1 / (
            1 / self.var
            + np.bincount(arms, x * x * precision[rows] / per_test, minlength=self.n_arms)
        )
        per_class = unsure + self.noise[classes] - self.c_var[classes]
        self.c_var = 1 / (
            1 / self.c_var + np.bincount(classes, precision / per_class, minlength=len(self.c))
        )
        self._follow(missed, use & ~learnt, classes)
        self.rounds += 1
        return learnt

    def _begin(
        self,
        sums: FloatArray,
        classes: IndexArray,
        scores: FloatArray,
        use: NDArray[np.bool_],
        floor: float,
    ) -> None:
        """One weight for all arms, as uncertain as it is large.

        If one weight explains every class, from the empty set on, the reward looks like a sum: the intercepts stay
        where they are, since a common error of the weights could hide in them. Otherwise it is the steepest weight
        that a class shows, and the intercepts are free.
        """
        weight = float(
            sums[use] @ (scores - self.c[classes])[use] / max((sums[use] ** 2).sum(), 1e-300)
        )
        off = scores - self.c[classes] - weight * sums
        mine = [use & (classes == number) for number in range(len(self.c))]
        if weight > 0 and all(
            abs(off[each].mean()) < 4 * _error_of_mean(off[each], floor)
            for each in mine
            if each.any()
        ):
            self.c_var[:] = floor
        else:
            slopes = [_slope(sums[each], scores[each]) for each in mine]
            weight = max(*slopes, floor**0.5 / self.sizes.max())
            n_used = np.array([max(1, each.sum()) for each in mine])
            self.c = np.array([(scores - weight * sums)[each].sum() for each in mine]) / n_used
            self.c_var = 12 * floor + weight**2 * self.sizes
        self.w[:], self.var[:] = weight, weight**2

    def _measure_noise(
        self,
        missed: FloatArray,
        unsure: FloatArray,
        used: FloatArray,
        classes: IndexArray,
        floor: float,
    ) -> None:
        """The noise of a class is what its tests miss by more than they may for the uncertainty of the weights."""
        n_classes = len(self.sizes)
        self._excess = _KEEP * self._excess + np.bincount(
            classes, used * (missed**2 - unsure), minlength=n_classes
        )
        self._used = _KEEP * self._used + np.bincount(classes, used, minlength=n_classes)
        self._made = _KEEP * self._made + np.bincount(classes, minlength=n_classes)
        self.noise = np.maximum(floor, self._excess / np.maximum(self._used, 1e-9))

    def _follow(self, missed: FloatArray, watched: NDArray[np.bool_], classes: IndexArray) -> None:
        """The intercept of a class that is only watched follows what its tests say on average."""
        count = np.bincount(classes[watched], minlength=len(self.c))
        total = np.bincount(classes[watched], missed[watched], minlength=len(self.c))
        self.c += 0.1 * total / np.maximum(count, 1)

    def state(self) -> dict[str, Any]:
        """All of it, as plain JSON."""
        return {name: getattr(self, name).tolist() for name in _ARRAYS} | {"rounds": self.rounds}

    @classmethod
    def of(cls, state: dict[str, Any]) -> Weights:
        """The weights that ``state()`` described."""
        missing = [name for name in (*_ARRAYS, "rounds") if name not in state]
        if missing:
            raise ValueError(f"state must have {missing[0]!r}, got only {sorted(state)}")
        arrays = {name: as_finite(state[name], f"state[{name!r}]", ndim=1) for name in _ARRAYS}
        weights = cls(len(arrays["w"]), arrays["sizes"], 0.0)
        for name, values in arrays.items():
            if values.shape != getattr(weights, name).shape:
                raise ValueError(
                    f"state[{name!r}] must have {len(getattr(weights, name))} numbers, got {len(values)}"
                )
            setattr(weights, name, values)
        weights.rounds = as_count(state["rounds"], "state['rounds']")
        for name in ("sizes", "noise", *(("var", "c_var") if weights.rounds else ())):
            if not getattr(weights, name).min() > 0:
                raise ValueError(
                    f"state[{name!r}] must be above 0, got {getattr(weights, name).min()}"
                )
        return weights


_ARRAYS = ("sizes", "w", "var", "c", "c_var", "noise", "_excess", "_used", "_made")


def _error_of_mean(values: FloatArray, floor: float) -> float:
    return float(np.sqrt((values.var() + floor) / len(values)))


def _slope(x: FloatArray, y: FloatArray) -> float:
    """That of the straight line which fits best; 0 where there is none."""
    centred = x - x.mean() if len(x) else x
    below = float(centred @ centred)
    return float(centred @ y) / below if below > 0 else 0.0


def _gram(tests: Pools, scaled: FloatArray) -> FloatArray:
    """A diag(scaled²) A^T, shape (n_tests, n_tests)."""
    if len(tests.members) < _SPARSE_BELOW * len(tests) * tests.n_arms:
        shape = (len(tests), tests.n_arms)
        design = scipy.sparse.csr_array(
            (scaled[tests.members], tests.members, tests.offsets), shape=shape
        )
        return np.asarray((design @ design.T).toarray(), np.float64)
    dense = tests.dense() * scaled
    return dense @ dense.T
