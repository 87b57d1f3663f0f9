"""What group testing remembers with ``decoder="regression"``: what each arm adds to a set."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy  # its submodules are imported when they are used
from numpy.typing import NDArray

from superarm.core import Pools
from superarm.core.arguments import FloatArray, IndexArray, as_count, as_finite

# How much of what is known of a class's noise is kept per round: it looks back about 50 rounds.
_KEEP = 0.98
# A class of tests is trusted while it tells at least this share of what the best class tells.
_TRUST = 0.3
# Every class gets this share of the tests, trusted or not: the reward may be flat after all.
_WATCH = 0.02
# How fast the intercept of a class that is not learnt from follows the tests of a round.
_FOLLOW = 0.1
# One weight explains a class if the mean of what it misses is below this many standard errors.
_STANDARD_ERRORS = 4
# Tests with fewer members than this share of all cells are multiplied as sparse matrices.
_SPARSE_BELOW = 0.05
# Keep divisions finite: by a count of tests, and by a sum of squares.
_FEW, _TINY = 1e-9, 1e-300

_ARRAYS = ("sizes", "w", "var", "c", "c_var", "noise", "_excess", "_used", "_made")


class Weights:
    """w and c of r(S; theta) ≈ c + sum over S of w_i theta_i, learnt from tests of all rounds.

    A Kalman filter that keeps the variance v_i of each weight and none of their covariances, which
    random tests keep small. With x_ji = theta_i if arm i is in test j and 0 otherwise, and g(j) the
    class of test j, a round with scores y_j does:

    1. e_j = y_j - c_g(j) - sum over i of x_ji w_i               what the test misses
    2. u_j = sum over i of x_ji² v_i + cvar_g(j)                 its variance due to the weights
    3. S = X diag(v) Xᵀ + [g(j) = g(l)] cvar + diag(noise), and S a = e
    4. w_i += v_i sum over j of x_ji a_j;  c_g += cvar_g sum over tests j of class g of a_j
    5. 1/v_i += sum over j of x_ji² / (u_j + noise_g(j) - x_ji² v_i), and the same for cvar

    Step 3 solves one system in the tests of the round (block Kaczmarz with a ridge, where the ridge
    is the noise). In step 5, the other arms of a test are noise. Variances fall like 1/t, and with
    them the steps, so that noise averages out.

    Tests come in classes by their expected size. Each class has its own noise and its own intercept
    c, which begins at the value of the empty set. The noise is measured: the quantizer's, and how
    far the reward is from a sum at that size. A test of a class tells size / noise, times the share
    of tests that can be used at all. Classes that tell little are watched but not learnt from. So a
    reward that saturates is learnt from small tests, and a reward in which a single arm is below
    the quantizer's step is learnt from large tests. A factor common to all weights is known less
    well than their ratios, which alone decide.

    Time per round: O(n_tests² · members per arm + n_tests³) for sparse tests, and
    O(n_tests² · n_arms) for dense tests. Memory: 16 bytes per arm.
    """

    def __init__(self, n_arms: int, sizes: FloatArray, empty: float) -> None:
        self.n_arms, self.sizes = n_arms, np.asarray(sizes, np.float64)
        self.w, self.var = np.zeros(n_arms), np.zeros(n_arms)
        n_classes = len(self.sizes)
        self.c, self.c_var = np.full(n_classes, empty), np.zeros(n_classes)
        self.noise = np.ones(n_classes)
        # Sums over the rounds, per class: squared misses beyond the expected ones, tests used and
        # made.
        self._excess, self._used = np.zeros(n_classes), np.zeros(n_classes)
        self._made = np.zeros(n_classes)
        self.rounds = 0

    @property
    def telling(self) -> FloatArray:
        """Shape (n_classes,): how much a test of each class tells; 0 without trust."""
        telling = self.sizes / self.noise * self._used / np.maximum(self._made, _FEW)
        return np.where(telling >= _TRUST * telling.max(), telling, 0.0)

    def counts(self, n_tests: int) -> IndexArray:
        """Shape (n_classes,): how many of the tests of a round each class gets."""
        n_classes = len(self.sizes)
        if self.rounds == 0:
            share = np.full(n_classes, 1 / n_classes)
        else:
            # The rest of the tests goes to the classes in proportion to what they tell.
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
        """Move towards the scores of a round, as the steps above say. Which tests were learnt from.

        Parameters
        ----------
        tests, classes, scores, use
            The tests, and per test its class, its score, and whether its score can be used.
        theta
            Shape (n_arms,): the means of the round.
        floor
            The least variance of the noise.
        """
        if not use.any():
            return use
        made = _Design(tests, classes, theta)
        if self.rounds == 0:
            self._begin(made.row_sums(made.x), classes, scores, use, floor)
        missed = scores - self.c[classes] - made.row_sums(made.x * self.w[made.arms])  # 1
        unsure = made.row_sums(made.x**2 * self.var[made.arms]) + self.c_var[classes]  # 2
        self._measure_noise(missed, unsure, use, classes, floor)
        learnt = use & (self.telling[classes] > 0)
        step = self._solve(made, missed, unsure, learnt)  # 3
        self.w += self.var * made.column_sums(made.x * step[made.rows])  # 4
        self.c += self.c_var * made.class_sums(step, len(self.c))
        self._sharpen(made, unsure, learnt)  # 5
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
        """Start with one weight for all arms, as uncertain as it is large.

        If one weight explains every class, from the empty set on, the reward looks like a sum. The
        intercepts then stay where they are, since a common error of the weights could hide in them.
        Otherwise the weight is the steepest that a class shows, and the intercepts are free.
        """
        squares = max((sums[use] ** 2).sum(), _TINY)
        weight = float(sums[use] @ (scores - self.c[classes])[use] / squares)
        off = scores - self.c[classes] - weight * sums
        mine = [use & (classes == number) for number in range(len(self.c))]
        if weight > 0 and all(_is_noise(off[each], floor) for each in mine if each.any()):
            self.c_var[:] = floor
        else:
            slopes = [_slope(sums[each], scores[each]) for each in mine]
            weight = max(*slopes, floor**0.5 / self.sizes.max())
            n_used = np.array([max(1, each.sum()) for each in mine])
            self.c = np.array([(scores - weight * sums)[each].sum() for each in mine]) / n_used
            # The floor is width² / 12 for the quantizer, so that this is its whole step, squared.
            self.c_var = 12 * floor + weight**2 * self.sizes
        self.w[:], self.var[:] = weight, weight**2

    def _measure_noise(
        self,
        missed: FloatArray,
        unsure: FloatArray,
        use: NDArray[np.bool_],
        classes: IndexArray,
        floor: float,
    ) -> None:
        """The noise of a class: what its tests miss beyond the uncertainty of the weights."""
        used, n_classes = np.where(use, 1.0, 0.0), len(self.sizes)
        excess = np.bincount(classes, used * (missed**2 - unsure), minlength=n_classes)
        self._excess = _KEEP * self._excess + excess
        self._used = _KEEP * self._used + np.bincount(classes, used, minlength=n_classes)
        self._made = _KEEP * self._made + np.bincount(classes, minlength=n_classes)
        self.noise = np.maximum(floor, self._excess / np.maximum(self._used, _FEW))

    def _solve(
        self, made: _Design, missed: FloatArray, unsure: FloatArray, learnt: NDArray[np.bool_]
    ) -> FloatArray:
        """Step 3: S a = e for the tests that are learnt from, and 0 for the others.

        With infinite noise a test would have no part in the solution. Leaving it out is the same,
        and cheaper.
        """
        mine = made.classes[learnt]
        system = made.gram(self.var)[np.ix_(learnt, learnt)]
        system += np.where(mine[:, None] == mine, self.c_var[mine], 0.0)
        spread = unsure + self.noise[made.classes]
        system[np.diag_indices_from(system)] = spread[learnt]
        step = np.zeros(len(missed))
        factor = scipy.linalg.cho_factor(system, lower=True, overwrite_a=True)
        step[learnt] = scipy.linalg.cho_solve(factor, missed[learnt])
        return step

    def _sharpen(self, made: _Design, unsure: FloatArray, learnt: NDArray[np.bool_]) -> None:
        """Step 5: the precision that a test adds to the weights of its arms and to c."""
        taken, spread = np.where(learnt, 1.0, 0.0), unsure + self.noise[made.classes]
        own = made.x**2 * self.var[made.arms]
        added = made.column_sums(made.x**2 * taken[made.rows] / (spread[made.rows] - own))
        self.var = 1 / (1 / self.var + added)
        per_test = taken / (spread - self.c_var[made.classes])
        self.c_var = 1 / (1 / self.c_var + made.class_sums(per_test, len(self.c)))

    def _follow(self, missed: FloatArray, watched: NDArray[np.bool_], classes: IndexArray) -> None:
        """The intercept of a class that is only watched follows the mean of its tests."""
        count = np.bincount(classes[watched], minlength=len(self.c))
        total = np.bincount(classes[watched], missed[watched], minlength=len(self.c))
        self.c += _FOLLOW * total / np.maximum(count, 1)

    def state(self) -> dict[str, Any]:
        """All of it, as plain JSON."""
        arrays = {name: vars(self)[name].tolist() for name in _ARRAYS}
        return {**arrays, "rounds": self.rounds}

    @classmethod
    def of(cls, state: dict[str, Any]) -> Weights:
        """The weights that ``state()`` described."""
        missing = [name for name in (*_ARRAYS, "rounds") if name not in state]
        if missing:
            raise ValueError(f"state must have {missing[0]!r}, got only {sorted(state)}")
        arrays = {name: as_finite(state[name], f"state[{name!r}]", ndim=1) for name in _ARRAYS}
        weights = cls(len(arrays["w"]), arrays["sizes"], 0.0)
        for name, values in arrays.items():
            n_wanted = len(vars(weights)[name])
            if len(values) != n_wanted:
                raise ValueError(f"state[{name!r}] must have {n_wanted} numbers, got {len(values)}")
        vars(weights).update(arrays)
        weights.rounds = as_count(state["rounds"], "state['rounds']")
        for name in ("sizes", "noise", *(("var", "c_var") if weights.rounds else ())):
            if not arrays[name].min() > 0:
                raise ValueError(f"state[{name!r}] must be above 0, got {arrays[name].min()}")
        return weights


class _Design:
    """The tests of a round as the matrix X, stored by its entries that are not 0.

    ``rows``, ``arms`` and ``x``: the test, the arm and the mean of each entry.
    """

    def __init__(self, tests: Pools, classes: IndexArray, theta: FloatArray) -> None:
        self.tests, self.classes, self.theta = tests, classes, theta
        self.arms, self.rows = tests.members, np.repeat(np.arange(len(tests)), tests.sizes)
        self.x = theta[self.arms]

    def row_sums(self, values: FloatArray) -> FloatArray:
        """Shape (n_tests,): the sums of values of the entries, per test."""
        return _sums(self.rows, values, len(self.tests))

    def column_sums(self, values: FloatArray) -> FloatArray:
        """Shape (n_arms,): the same per arm."""
        return _sums(self.arms, values, self.tests.n_arms)

    def class_sums(self, values: FloatArray, n_classes: int) -> FloatArray:
        """Shape (n_classes,): the sums of values of the tests, per class."""
        return _sums(self.classes, values, n_classes)

    def gram(self, var: FloatArray) -> FloatArray:
        """X diag(var) Xᵀ, shape (n_tests, n_tests)."""
        tests, scaled = self.tests, self.theta * np.sqrt(var)
        if len(self.arms) < _SPARSE_BELOW * len(tests) * tests.n_arms:
            shape = (len(tests), tests.n_arms)
            design = scipy.sparse.csr_array(
                (scaled[self.arms], self.arms, tests.offsets), shape=shape
            )
            return np.asarray((design @ design.T).toarray(), np.float64)
        dense = tests.dense() * scaled
        return dense @ dense.T


def _sums(places: IndexArray, values: FloatArray, n_places: int) -> FloatArray:
    return np.bincount(places, values, minlength=n_places).astype(np.float64, copy=False)


def _is_noise(off: FloatArray, floor: float) -> bool:
    """Whether the mean of what is missed may be 0, by its standard error."""
    error = float(np.sqrt((off.var() + floor) / len(off)))
    return bool(abs(off.mean()) < _STANDARD_ERRORS * error)


def _slope(x: FloatArray, y: FloatArray) -> float:
    """The slope of the straight line that fits best; 0 if there is none."""
    centred = x - x.mean() if len(x) else x
    below = float(centred @ centred)
    return float(centred @ y) / below if below > 0 else 0.0
