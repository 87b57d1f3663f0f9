"""Group testing for all runs at once, with scores as whole numbers so that sums are exact."""

from __future__ import annotations

from typing import Any

import numpy as np

from superarm.oracles import GroupTesting
from superarm.simulation.batch.run_stack import Array, RunStack
from superarm.theory.quantizer import Quantizer

# Sorted keys have 63 bits: these for the random number that breaks ties, the rest for the grade.
TIE_BITS = 21
_GRADE_BITS = 42
# Sums that fit into 31 bits are kept in 32-bit integers, unless fewer than 4 bits would be left for
# fractions of a level.
_NARROW_BITS = 31
_MOST_NARROW = 2.0**27
# As in Lemma 2's proof, and in `GroupTesting`: B below 1/2 counts as 1/2.
_LEAST_LIPSCHITZ = 0.5


class Grading:
    """The grades that a `GroupTesting` oracle gives, for all runs.

    Scores are counted in a unit: a power of 2 times the width of the quantizer's levels. Grades are
    sums of whole numbers, so equal grades are equal on any device and in any order of summation.
    Two kinds of scores are rounded to the unit: the quantizer's last level, which is the reward's
    upper bound and not a multiple of the width, and scores that are not quantized.

    Parameters
    ----------
    oracle
        The oracle that is played; it is only read.
    runs
        The instances of all runs.
    engine
        `NumpyEngine` or `TorchEngine`.
    """

    def __init__(self, oracle: GroupTesting, runs: RunStack, engine: Any) -> None:
        self.engine, self.runs, self.p = engine, runs, _check(oracle)
        self.centred, self.quantize = oracle.decoder == "centred", oracle.quantize
        self.n_tests = _n_tests(oracle, runs)
        # A centred grade is multiplied by n_tests, which takes bits from the unit.
        bits = _GRADE_BITS - (self.n_tests.bit_length() if self.centred else 0)
        lipschitz, upper = runs.bounds()
        if self.quantize:
            self._set_levels(oracle.delta, lipschitz, upper, bits)
        else:
            self.narrow = False
            self.unit = upper * self.n_tests * 2.0**-bits
        self._upper, self._unit = engine.put(upper), engine.put(self.unit)

    def __call__(self, theta: Array) -> Array:
        """The arms of the k largest grades, (n_runs, k); ties are broken at random."""
        return self.engine.top_k_whole(self.grades(theta), self.runs.k)

    def grades(self, theta: Array) -> Array:
        """The grades as whole numbers, (n_runs, n_arms); centred grades are times n_tests."""
        parts = []
        for rows in self.engine.slices(self.runs.n_runs, self.runs.n_hidden * self.runs.n_arms):

            def scores(sums: Array, rows: slice = rows) -> Array:
                return self.whole(self.runs.values(sums, rows), rows)

            columns = self.runs.columns(theta, rows)
            parts.append(self.engine.decode(columns, scores, rows.start, self))
        return parts[0] if len(parts) == 1 else self.engine.join(parts)

    def whole(self, values: Array, rows: slice) -> Array:
        """Scores in whole units, as float64, from the values of tests, (runs, n)."""
        xp, of_runs = self.engine.xp, self.runs.of_runs
        unit = of_runs(self._unit, rows)
        if not self.quantize:
            return xp.round(values / unit)
        width, last = of_runs(self._width, rows), of_runs(self._n_levels, rows)
        upper = of_runs(self._upper, rows)
        # The same as `Quantizer`, with a width per run.
        below = xp.minimum(xp.clip(xp.floor(values / width), 1, None), last)
        below = below - 1.0 * ((below > 1) & (_level(xp, below, width, last, upper) > values))
        above = xp.minimum(below + 1, last)
        low, high = (_level(xp, index, width, last, upper) for index in (below, above))
        return xp.round(xp.where(xp.abs(values - high) < xp.abs(values - low), high, low) / unit)

    def _set_levels(self, delta: float, lipschitz: Any, upper: Any, bits: int) -> None:
        """The quantizer of every run, and a unit with which no sum of levels overflows."""
        quantizers = [
            Quantizer(delta, max(_LEAST_LIPSCHITZ, b), m)
            for b, m in zip(lipschitz.flat, upper.flat, strict=True)
        ]
        width = np.array([[quantizer.width] for quantizer in quantizers])
        n_levels = np.array([[float(quantizer.n_levels)] for quantizer in quantizers])
        largest = self.n_tests * float(n_levels.max())
        self.narrow = largest < _MOST_NARROW
        spare = int(np.floor(np.log2(2.0 ** (_NARROW_BITS if self.narrow else bits) / largest)))
        if spare < 0:
            raise ValueError(
                f"delta={delta:g} gives too many levels to be summed exactly; use a larger delta"
            )
        self.unit = width * 2.0**-spare
        self._width, self._n_levels = self.engine.put(width), self.engine.put(n_levels)


def _level(xp: Any, index: Array, width: Array, last: Array, upper: Array) -> Array:
    return xp.where(index < last, index * width, upper)


def _n_tests(oracle: GroupTesting, runs: RunStack) -> int:
    """The number of tests per round, which must be the same for all runs."""
    counts = {oracle.resolve_n_tests(reward, runs.k) for reward in runs.rewards}
    if len(counts) > 1:
        raise ValueError(
            f"n_tests={oracle.n_tests!r} gives from {min(counts)} to {max(counts)} tests for these "
            f"rewards; give a number, so that all runs have the same number of tests"
        )
    return counts.pop()


def _check(oracle: GroupTesting) -> float:
    """The oracle's p, if all runs can be played at once."""
    if oracle.decoder == "regression" or oracle.p is None:
        raise ValueError(
            'simulate_batch plays GroupTesting with decoder "sum" or "centred", got "regression"'
        )
    if oracle.tests != "all" or oracle.q == "estimate" or oracle.pools is not None:
        pools = "no" if oracle.pools is None else "fixed"
        raise ValueError(
            'simulate_batch plays GroupTesting with tests="all", a number for q and no fixed '
            f"pools, got tests={oracle.tests!r}, q={oracle.q!r} and {pools} pools"
        )
    if oracle.failure == "round":
        raise ValueError(
            "simulate_batch makes as many tests in every round: failure must be a number, "
            "got 'round'"
        )
    return oracle.p
