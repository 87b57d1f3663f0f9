"""What group testing remembers with ``decoder="regression"``: what each arm adds to a set."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy  # its submodules are imported when they are used
from numpy.typing import NDArray

from superarm.core import Pools
from superarm.core.arguments import FloatArray, IndexArray, as_count, as_finite
from superarm.oracles._group_testing.classes import STANDARD_ERRORS, SUMS, Classes
from superarm.oracles._group_testing.design import Design, Grouped, sums_at

# How much of what is known of an intercept is kept per round: it looks back about 50 rounds.
_KEEP_C = 0.98
# How fast the intercept of a class that is not learned from follows the tests of a round.
_FOLLOW = 0.1
# Fewer tests of a class than this do not show in the first round that the reward is no sum.
_ENOUGH = 20
# A reward that is no sum shows it before this round, unless it is close to a sum.
_EARLY = 50
# Keeps a division by a sum of squares finite.
_TINY = 1e-300

_OWN = ("w", "var", "c", "c_var")
_ARRAYS = ("sizes", *_OWN, "noise", *SUMS[:3])
# States of older versions have none of these.
_LATER = ("gain", *SUMS[3:])


class Weights:
    """w and c of r(S; theta) ≈ c + g · sum over S of w_i theta_i, learned from tests of all rounds.

    A Kalman filter that keeps the variance v_i of each weight and none of their covariances, which
    random tests keep small. Tests come in classes by their expected size, and each class has its
    own intercept c, gain g and noise: see `Classes`. So the weights are those of a sum that passes
    through any smooth function. With x_ji = g theta_i if arm i is in test j and 0 otherwise, where
    g, c and the noise are those of the class of test j, a round with scores y_j does:

    1. e_j = y_j - c - sum over i of x_ji w_i                    what the test misses
    2. u_j = sum over i of x_ji² v_i + cvar                      its variance due to the weights
    3. S = X diag(v) Xᵀ + [same class] cvar + diag(noise), and S a = e
    4. w_i += v_i sum over j of x_ji a_j;  c += cvar sum over tests j of the class of a_j
    5. 1/v_i += sum over j of x_ji² / (u_j + noise - x_ji² v_i), and the same for cvar

    Step 3 solves one system in the tests of the round (block Kaczmarz with a ridge, where the ridge
    is the noise). In step 5, the other arms of a test are noise. Variances fall like 1/t, and with
    them the steps, so that noise averages out. Only intercepts go on following the last 50 rounds,
    because the means of the rounds change and a curved reward is another straight line elsewhere.

    Classes that tell little are watched but not learned from. So a reward that saturates is learned
    from small tests, and a reward in which a single arm is below the quantizer's step is learned
    from large tests. A factor common to all weights is known less well than their ratios, which
    alone decide.

    Time per round: O(n_tests² · members per arm + n_tests³) for sparse tests, and
    O(n_tests² · n_arms) for dense tests. Memory: 16 bytes per arm.
    """

    def __init__(self, n_arms: int, sizes: FloatArray, empty: float) -> None:
        self.n_arms, self.classes = n_arms, Classes(sizes)
        self.w, self.var = np.zeros(n_arms), np.zeros(n_arms)
        self.c, self.c_var = np.full(len(self.classes), empty), np.zeros(len(self.classes))
        self.rounds = 0

    def counts(self, n_tests: int) -> IndexArray:
        """Shape (n_classes,): how many of the tests of a round each class gets."""
        return self.classes.counts(n_tests, self.rounds)

    def learn(
        self,
        tests: Pools,
        classes: IndexArray,
        theta: FloatArray,
        scores: FloatArray,
        use: NDArray[np.bool_],
        floor: float,
    ) -> NDArray[np.bool_]:
        """Move towards the scores of a round by the steps above. Which tests were learned from.

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
        made, grouped = Design(tests, classes, theta), Grouped(classes, use, len(self.classes))
        self.classes.age(self.rounds)
        if self.rounds == 0:
            self._begin(made, scores, grouped, floor)
        else:
            self._measure_gain(made, scores, grouped)
        made.scale(self.classes.gain[classes])
        missed = scores - self.c[classes] - made.row_sums(made.x * self.w[made.arms])  # 1
        squares = made.x**2
        own = squares * self.var[made.arms]
        unsure = made.row_sums(own) + self.c_var[classes]  # 2
        self.classes.measure_noise(missed, unsure, grouped, floor)
        learned = use & (self.classes.telling[classes] > 0)
        spread = unsure + self.classes.noise[classes]
        step = self._solve(made, missed, spread, learned)  # 3
        self.w += self.var * made.column_sums(made.x * step[made.rows])  # 4
        self.c += self.c_var * sums_at(classes, step, len(self.c))
        self._sharpen(made, squares, own, spread, learned)  # 5
        self._follow(missed, use & ~learned, classes)
        factor = self.classes.normalise()
        self.w, self.var = self.w * factor, self.var * factor**2
        self.rounds += 1
        return learned

    def _begin(self, made: Design, scores: FloatArray, grouped: Grouped, floor: float) -> None:
        """Start with one weight for all arms, as uncertain as the scores let it be.

        If one weight explains every class, from the empty set on, the reward looks like a sum. The
        intercepts then begin where they are, since a common error of the weights could hide in
        them. Otherwise the weight is the steepest that a class shows, and the intercepts are free.
        """
        sums, classes, known = made.row_sums(made.x), made.classes, self.classes
        mine = [grouped.use & (classes == number) for number in range(len(known))]
        weight = self._weight_of_a_sum(sums, scores, mine, classes, floor)
        is_sum = known.is_sum = weight is not None
        slopes = np.array([_slope(sums[each], scores[each]) for each in mine])
        if weight is None:
            weight = max(*slopes.tolist(), floor**0.5 / known.sizes.max())
        # At first all that a straight line misses counts as noise.
        off = scores - slopes[classes] * sums
        known.noise = spread = np.array([_variance(off[each], floor) for each in mine])
        z = weight * sums
        known.measure_gain(z, grouped.means(z), scores, np.zeros(len(scores)), grouped)
        off = scores - known.gain[classes] * weight * sums
        if is_sum:
            self.c_var[:] = floor
        else:
            self.c = np.array([off[each].mean() if each.any() else 0.0 for each in mine])
            self.c_var = spread / np.array([max(1, each.sum()) for each in mine])
        lengths = known.gain[classes] ** 2 * made.row_sums(made.x**2)
        # Noise and unlike weights are what a class misses, which therefore bounds their variance.
        limits = [
            var * _upper_limit(each.sum() - 2) / lengths[each].mean()
            for var, each in zip(spread, mine, strict=True)
            if each.sum() > 2 and lengths[each].any()
        ]
        self.w[:], self.var[:] = weight, min([weight**2, *limits])

    def _weight_of_a_sum(
        self,
        sums: FloatArray,
        scores: FloatArray,
        mine: list[NDArray[np.bool_]],
        classes: IndexArray,
        floor: float,
    ) -> float | None:
        """The one weight that explains every class from the empty set on; None if there is none."""
        use, added = np.any(mine, axis=0), scores - self.c[classes]
        weight = float(sums[use] @ added[use] / max((sums[use] ** 2).sum(), _TINY))
        off = added - weight * sums
        explains = all(
            _is_noise(off[each], sums[each], floor) for each in mine if each.sum() >= _ENOUGH
        )
        return weight if weight > 0 and explains else None

    def _measure_gain(self, made: Design, scores: FloatArray, grouped: Grouped) -> None:
        """The slopes of the straight lines, which are turned about the middle of their tests."""
        classes, former = made.classes, self.classes.gain
        z = made.row_sums(made.x * self.w[made.arms])
        unsure = made.row_sums(made.x**2 * self.var[made.arms])
        unsure = former[classes] ** 2 * unsure + self.c_var[classes]
        was_sum, middle = self.classes.is_sum, grouped.means(z)
        self.classes.measure_gain(z, middle, scores, unsure, grouped)
        if was_sum and not self.classes.is_sum and self.rounds < _EARLY:
            # Weights that were learned as those of a sum may differ for that reason alone.
            self.var = self.var + self.w.var()
        moved = (self.classes.gain - former) * middle
        # As uncertain as it was moved, but not more than after one test.
        self.c = self.c - moved
        self.c_var = np.maximum(self.c_var, np.minimum(self.c_var + moved**2, self.classes.noise))

    def _solve(
        self, made: Design, missed: FloatArray, spread: FloatArray, learned: NDArray[np.bool_]
    ) -> FloatArray:
        """Step 3: S a = e for the tests that are learned from, and 0 for the others.

        With infinite noise a test would have no part in the solution. Leaving it out is the same,
        and cheaper.
        """
        step = np.zeros(len(missed))
        if not learned.any():
            return step
        mine, system = made.classes[learned], made.gram(self.var)
        if len(mine) < len(learned):
            places = learned.nonzero()[0]
            system = system[places[:, None], places]
        system += np.where(mine[:, None] == mine, self.c_var[mine], 0.0)
        np.fill_diagonal(system, spread[learned])
        step[learned] = _solved(system, missed[learned])
        return step

    def _sharpen(
        self,
        made: Design,
        squares: FloatArray,
        own: FloatArray,
        spread: FloatArray,
        learned: NDArray[np.bool_],
    ) -> None:
        """Step 5: the precision that a test adds to the weights of its arms and to c."""
        taken = learned.astype(np.float64)
        added = made.column_sums(squares * taken[made.rows] / (spread[made.rows] - own))
        self.var = 1 / (1 / self.var + added)
        per_test = taken / (spread - self.c_var[made.classes])
        fresh = sums_at(made.classes, per_test, len(self.c))
        # Only where something new was learned.
        kept = np.where(fresh > 0, _KEEP_C, 1.0)
        self.c_var = 1 / (kept / self.c_var + fresh)

    def _follow(self, missed: FloatArray, watched: NDArray[np.bool_], classes: IndexArray) -> None:
        """The intercept of a class that is only watched follows the mean of its tests."""
        count = np.bincount(classes[watched], minlength=len(self.c))
        total = np.bincount(classes[watched], missed[watched], minlength=len(self.c))
        self.c += _FOLLOW * total / np.maximum(count, 1)

    def state(self) -> dict[str, Any]:
        """All of it, as plain JSON."""
        known = vars(self) | vars(self.classes)
        arrays = {name: known[name].tolist() for name in (*_ARRAYS, *_LATER)}
        return {**arrays, "is_sum": self.classes.is_sum, "rounds": self.rounds}

    @classmethod
    def of(cls, state: dict[str, Any]) -> Weights:
        """The weights that ``state()`` described."""
        missing = [name for name in (*_ARRAYS, "rounds") if name not in state]
        if missing:
            raise ValueError(f"state must have {missing[0]!r}, got only {sorted(state)}")
        names = [name for name in (*_ARRAYS, *_LATER) if name in state]
        arrays = {name: as_finite(state[name], f"state[{name!r}]", ndim=1) for name in names}
        weights = cls(len(arrays["w"]), arrays["sizes"], 0.0)
        for name, values in arrays.items():
            holder = weights if name in _OWN else weights.classes
            n_wanted = len(vars(holder)[name])
            if len(values) != n_wanted:
                raise ValueError(f"state[{name!r}] must have {n_wanted} numbers, got {len(values)}")
            setattr(holder, name, values)
        weights.classes.is_sum = bool(state.get("is_sum", True))
        weights.rounds = as_count(state["rounds"], "state['rounds']")
        for name in ("sizes", "noise", *(("var", "c_var") if weights.rounds else ())):
            if not arrays[name].min() > 0:
                raise ValueError(f"state[{name!r}] must be above 0, got {arrays[name].min()}")
        return weights


def _solved(system: FloatArray, right: FloatArray) -> FloatArray:
    """The solution of a positive definite system, which is overwritten.

    Straight from LAPACK: for a few tests, `scipy.linalg.cho_factor` spends more time on its
    arguments than on the system.
    """
    factor, failed = scipy.linalg.lapack.dpotrf(system, lower=True, clean=False, overwrite_a=True)
    if failed:
        raise np.linalg.LinAlgError(f"the tests of a round are not independent, at test {failed}")
    return np.asarray(scipy.linalg.lapack.dpotrs(factor, right, lower=True)[0])


def _is_noise(off: FloatArray, sums: FloatArray, floor: float) -> bool:
    """Whether what is missed may be 0 on average and at every sum, by standard errors."""
    var, centred = float(off.var() + floor), sums - sums.mean()
    mean, squares = float(off.mean()), float(centred @ centred)
    is_level = abs(mean) < STANDARD_ERRORS * np.sqrt(var / len(off))
    return bool(is_level and abs(centred @ off) <= STANDARD_ERRORS * np.sqrt(var * squares))


def _variance(values: FloatArray, floor: float) -> float:
    """The variance of what a straight line misses, which has two numbers of its own."""
    n = len(values)
    return float(values.var() * n / max(1, n - 2) + floor) if n else floor


def _upper_limit(n_free: int) -> float:
    """The 99% upper limit of a variance over its estimate, for given degrees of freedom."""
    return float(n_free / scipy.special.chdtri(n_free, 0.99))


def _slope(x: FloatArray, y: FloatArray) -> float:
    """The slope of the straight line that fits best; 0 if there is none."""
    centred = x - x.mean() if len(x) else x
    below = float(centred @ centred)
    return float(centred @ y) / below if below > 0 else 0.0
