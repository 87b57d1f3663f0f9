"""Group testing for all runs: scores as whole numbers of a small unit, so that sums are exact in any order."""

from __future__ import annotations

from typing import Any

import numpy as np

from superarm.oracles import GroupTesting
from superarm.simulation.batch.problem import Array, Problem
from superarm.theory.quantizer import Quantizer

# Keys that are sorted have 63 bits: these are for the draw that breaks ties, the others for the grade.
TIE_BITS = 21
_GRADE_BITS = 42


class Grading:
    """What a `GroupTesting` oracle does with the sums of its tests.

    Scores are counted in a unit, a power of 2 below the width of the quantizer's levels, and grades are sums of whole
    numbers: equal grades are equal, on any device and in any order of adding. Only the quantizer's last level, which
    is the reward's upper bound and no multiple of the width, and scores that are not quantized are rounded to it.
    """

    def __init__(self, oracle: GroupTesting, problem: Problem, engine: Any) -> None:
        self.engine, self.problem, self.p = engine, problem, _check(oracle)
        self.centred = oracle.decoder == "centred"
        counts = {oracle._resolve(reward, problem.k, float(oracle.q)) for reward in problem.rewards}
        if len(counts) > 1:
            raise ValueError(
                f"n_tests={oracle.n_tests!r} gives from {min(counts)} to {max(counts)} tests for these rewards; "
                f"give a number, so that all runs have equally many"
            )
        self.n_tests = counts.pop()
        bits = _GRADE_BITS - (self.n_tests.bit_length() if self.centred else 0)
        lipschitz, upper = problem.bounds()
        self.quantize = oracle.quantize
        if self.quantize:
            quantizers = [
                Quantizer(oracle.delta, max(0.5, b), m)
                for b, m in zip(lipschitz.flat, upper.flat, strict=True)
            ]
            width = np.array([[quantizer.width] for quantizer in quantizers])
            n_levels = np.array([[float(quantizer.n_levels)] for quantizer in quantizers])
            largest = self.n_tests * float(n_levels.max())
            # Where sums of whole levels fit into 31 bits with some to spare, they are kept there.
            self.narrow = largest < 2.0**27
            spare = int(np.floor(np.log2(2.0 ** (31 if self.narrow else bits) / largest)))
            if spare < 0:
                raise ValueError(
                    f"delta={oracle.delta:g} gives too many levels to be summed exactly; use a larger one"
                )
            self.unit = width * 2.0**-spare
            self._width, self._n_levels = engine.put(width), engine.put(n_levels)
        else:
            self.narrow = False
            self.unit = upper * self.n_tests * 2.0**-bits
        self._upper, self._unit = engine.put(upper), engine.put(self.unit)

    def __call__(self, theta: Array) -> Array:
        """The arms of the k largest grades, (n_runs, k), ties broken by chance."""
        return self.engine.top_k_whole(self.grades(theta), self.problem.k)

    def grades(self, theta: Array) -> Array:
        """The grades as whole numbers, (n_runs, n_arms); times n_tests where they are centred."""
        parts = []
        for rows in self.engine.slices(
            self.problem.n_runs, self.problem.n_hidden * self.problem.n_arms
        ):

            def scores(sums: Array, rows: slice = rows) -> Array:
                return self.whole(self.problem.values(sums, rows), rows)

            columns = self.problem.columns(theta, rows)
            parts.append(self.engine.decode(columns, scores, rows.start, self))
        return parts[0] if len(parts) == 1 else self.engine.join(parts)

    def whole(self, values: Array, rows: slice) -> Array:
        """Scores in whole units, as float64, from what tests are worth, (runs, n)."""
        xp = self.engine.xp
        unit = self.problem._of(self._unit, rows)
        if not self.quantize:
            return xp.round(values / unit)
        width, last = self.problem._of(self._width, rows), self.problem._of(self._n_levels, rows)
        upper = self.problem._of(self._upper, rows)
        # As Quantizer does it, for a width of each run's own.
        below = xp.minimum(xp.clip(xp.floor(values / width), 1, None), last)
        below = below - 1.0 * ((below > 1) & (_level(xp, below, width, last, upper) > values))
        above = xp.minimum(below + 1, last)
        low, high = (_level(xp, index, width, last, upper) for index in (below, above))
        return xp.round(xp.where(xp.abs(values - high) < xp.abs(values - low), high, low) / unit)


def _level(xp: Any, index: Array, width: Array, last: Array, upper: Array) -> Array:
    return xp.where(index < last, index * width, upper)


def _check(oracle: GroupTesting) -> float:
    """The oracle's p, if all runs can have it at once."""
    if oracle.decoder == "regression" or oracle.p is None:
        raise ValueError(
            'simulate_batch plays GroupTesting with decoder "sum" or "centred", got "regression"'
        )
    if oracle.tests != "all" or oracle.q == "estimate" or oracle.pools is not None:
        raise ValueError(
            'simulate_batch plays GroupTesting with tests="all", a number for q and no fixed pools, got '
            f"tests={oracle.tests!r}, q={oracle.q!r} and {'fixed' if oracle.pools is not None else 'no'} pools"
        )
    return oracle.p
