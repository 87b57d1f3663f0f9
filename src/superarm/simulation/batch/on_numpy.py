"""The numpy engine: float64, and eight tests per byte as in `superarm.core._bits`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from superarm.beliefs._scores import BoolArray, beta_at
from superarm.core import _bits
from superarm.core._cells import SPARSE_BELOW, random_cells
from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.special import expit, gammaln, ndtr, ndtri
from superarm.simulation.batch.grading import TIE_BITS, Grading

Scores = Callable[[FloatArray], FloatArray]
Step = Callable[[], None]

# Runs are decoded together until their arrays have this many numbers: more would leave the cache.
_AT_ONCE = 1 << 16
_BYTE_VALUES = 256


class Quantiles:
    """Beta posteriors, runs × arms, which change in place. Their quantiles are computed anew."""

    def __init__(self, a: FloatArray, b: FloatArray) -> None:
        self.a, self.b = a, b

    def at(self, scores: FloatArray, where: BoolArray | None = None) -> FloatArray:
        """The quantiles at Phi(scores); 0 where they are not needed."""
        if where is None:
            return beta_at(self.a, self.b, scores)
        values = np.zeros(scores.shape)
        values[where] = beta_at(self.a[where], self.b[where], scores[where])
        return values

    def renew(self, rows: IndexArray | None = None, arms: IndexArray | None = None) -> None:
        """The posteriors of some arms have changed: here nothing is kept that depends on them."""


class NumpyEngine:
    """The operations of a round, with numpy."""

    xp = np
    sigmoid, ndtr, ndtri = staticmethod(expit), staticmethod(ndtr), staticmethod(ndtri)
    gammaln = staticmethod(gammaln)

    def __init__(self, seeds: np.random.SeedSequence) -> None:
        self.rng = np.random.default_rng(seeds)
        self.clock = np.zeros(1, np.intp)

    # numpy arrays are arrays of this engine: the conversions exist for torch alone.
    def put(self, values: NDArray[Any]) -> NDArray[Any]:
        """A numpy array as an array of this engine."""
        return values

    def get(self, values: NDArray[Any]) -> NDArray[Any]:
        """An array of this engine as a numpy array."""
        return values

    def narrow(self, values: FloatArray) -> FloatArray:
        """Means or weights in the precision in which they are kept."""
        return values

    def double(self, values: FloatArray) -> FloatArray:
        """In float64."""
        return values

    def like(self, values: FloatArray, other: FloatArray) -> FloatArray:
        """In the precision of another array."""
        return values

    def whole_numbers(self, values: FloatArray) -> IndexArray:
        """Whole numbers as indices."""
        return values.astype(np.intp)

    def full(self, shape: tuple[int, int], value: float) -> FloatArray:
        """The same number for all arms, in the precision in which counts are kept."""
        return np.full(shape, value)

    def steps(self, first: int, last: int, size: float) -> FloatArray:
        """From ``first`` to ``last`` steps of a size."""
        return size * np.arange(first, last + 1.0)

    def join(self, parts: list[FloatArray]) -> FloatArray:
        """Slices of runs, concatenated."""
        return np.concatenate(parts)

    def beta(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """One draw from every posterior."""
        return self.rng.beta(a, b)

    def quantiles(self, a: FloatArray, b: FloatArray, reach: float) -> Quantiles:
        """The quantiles of posteriors that change in place, at scores up to ``reach``."""
        return Quantiles(a, b)

    def normal(self, shape: tuple[int, ...]) -> FloatArray:
        """Standard normal draws."""
        return self.rng.standard_normal(shape)

    def uniform(self, shape: tuple[int, ...]) -> FloatArray:
        """Draws from [0, 1)."""
        return self.rng.random(shape)

    def top_k(self, values: FloatArray, k: int) -> IndexArray:
        """The k largest of each row, in any order."""
        # Draws of continuous values have no ties, so that nothing has to be broken at random.
        return np.argpartition(values, -k, axis=1)[:, -k:]

    def top_k_ties(self, values: FloatArray, k: int) -> IndexArray:
        """The k largest of each row; ties are broken at random."""
        return np.lexsort((self.rng.random(values.shape), values), axis=1)[:, -k:]

    def top_k_whole(self, grades: FloatArray, k: int) -> IndexArray:
        """The k largest whole numbers of each row; ties are broken at random."""
        # The grade is in the high bits, a random number in the low ones: one partition orders by
        # both.
        keys = grades.astype(np.int64) << TIE_BITS
        keys |= self.rng.integers(0, 1 << TIE_BITS, keys.shape)
        return np.argpartition(keys, -k, axis=1)[:, -k:]

    def repeat(
        self, one_round: Step, horizon: int, pauses: Collection[int] = (), pause: Step | None = None
    ) -> None:
        """Play all rounds; after some of them comes a pause."""
        for played in range(1, horizon + 1):
            one_round()
            if pause is not None and played in pauses:
                pause()

    def slices(self, n_runs: int, size: int) -> Iterator[slice]:
        """Runs to decode together, for ``size`` numbers per run."""
        # At least one run, even if a single run is larger than the cache.
        step = max(1, _AT_ONCE // size)
        return (slice(start, min(start + step, n_runs)) for start in range(0, n_runs, step))

    def decode(
        self, columns: FloatArray, scores: Scores, first: int, grading: Grading
    ) -> FloatArray:
        """The grades of some runs, from the arms' inputs, shape (runs, n_hidden, n_arms)."""
        by = self._by_members if grading.p < SPARSE_BELOW else self._by_bytes
        sums, counts, total = by(columns, scores, grading)
        return grading.n_tests * sums - counts * total[:, None] if grading.centred else sums

    def _by_members(
        self, columns: FloatArray, scores: Scores, grading: Grading
    ) -> tuple[FloatArray, ...]:
        """For small p: the tests of these runs as one list of the cells that are 1."""
        (n_runs, n_hidden, n_arms), n_tests = columns.shape, grading.n_tests
        cells = random_cells(n_runs * n_tests * n_arms, grading.p, rng=self.rng)
        tests, arms = np.divmod(cells, n_arms)
        runs = tests // n_tests
        inputs = np.empty((n_runs, n_hidden, n_tests))
        for neuron in range(n_hidden):
            into = np.bincount(tests, columns[runs, neuron, arms], n_runs * n_tests)
            inputs[:, neuron] = into.reshape(n_runs, n_tests)
        weights = scores(inputs)
        places = runs * n_arms + arms
        # Without members bincount returns whole numbers.
        sums = np.bincount(places, weights.ravel()[tests], n_runs * n_arms).astype(np.float64)
        counts = np.bincount(places, minlength=n_runs * n_arms).astype(np.float64)
        return sums.reshape(n_runs, n_arms), counts.reshape(n_runs, n_arms), weights.sum(1)

    def _by_bytes(
        self, columns: FloatArray, scores: Scores, grading: Grading
    ) -> tuple[FloatArray, ...]:
        """Eight tests at a time: draw, score and decode them before the next eight."""
        (n_runs, n_hidden, n_arms), n_tests = columns.shape, grading.n_tests
        sums, counts = np.zeros((n_runs, n_arms)), np.zeros((n_runs, n_arms))
        total = np.zeros(n_runs)
        runs = np.arange(n_runs)[:, None]
        for start in range(0, n_tests, 8):
            n_now = min(8, n_tests - start)
            bits_of_byte = _bits.BITS_OF_BYTE[:, :n_now]
            drawn = _bits.draw(n_now, n_runs * n_arms, grading.p, rng=self.rng)
            tests = drawn.reshape(n_runs, n_arms)
            # Each run has one sum per value of a byte; an arm adds to the sum of its byte.
            places = _BYTE_VALUES * runs + tests
            inputs = np.empty((n_runs, n_hidden, n_now))
            for neuron in range(n_hidden):
                inputs_of_arms = columns[:, neuron].ravel()
                by_byte = np.bincount(places.ravel(), inputs_of_arms, _BYTE_VALUES * n_runs)
                inputs[:, neuron] = by_byte.reshape(n_runs, _BYTE_VALUES) @ bits_of_byte
            weights = scores(inputs)
            sums += (weights @ bits_of_byte.T).take(places)
            if grading.centred:
                counts += bits_of_byte.sum(axis=1).take(tests)
                total += weights.sum(1)
        return sums, counts, total
