"""The numpy engine: float64, tests eight to a byte as in `superarm._bits`, here for many runs side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from superarm import _bits
from superarm.batch.grading import TIE_BITS, Grading
from superarm.checks import FloatArray, IndexArray
from superarm.pools import _SPARSE_BELOW, _random_cells

Scores = Callable[[FloatArray], FloatArray]

# Runs are taken together until their arrays have so many numbers: more would leave the cache.
_AT_ONCE = 1 << 16


class NumpyEngine:
    """What the rounds need, with numpy."""

    xp = np
    sigmoid = staticmethod(expit)

    def __init__(self, seeds: np.random.SeedSequence) -> None:
        self.rng = np.random.default_rng(seeds)
        self.clock = np.zeros(1, np.intp)

    def put(self, values: NDArray[Any]) -> NDArray[Any]:
        """An array of the host on the device."""
        return values

    def get(self, values: NDArray[Any]) -> NDArray[Any]:
        """An array of the device on the host."""
        return values

    def narrow(self, values: FloatArray) -> FloatArray:
        """In the precision in which means and weights are kept."""
        return values

    def double(self, values: FloatArray) -> FloatArray:
        """In float64."""
        return values

    def like(self, values: FloatArray, other: FloatArray) -> FloatArray:
        """In the precision of another array."""
        return values

    def whole_numbers(self, values: FloatArray) -> IndexArray:
        """As indices."""
        return values.astype(np.intp)

    def ones(self, shape: tuple[int, int]) -> FloatArray:
        """Where a belief begins."""
        return np.ones(shape)

    def join(self, parts: list[FloatArray]) -> FloatArray:
        """Slices of runs, one below the other."""
        return np.concatenate(parts)

    def beta(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """A draw from every posterior."""
        return self.rng.beta(a, b)

    def uniform(self, shape: tuple[int, ...]) -> FloatArray:
        """Draws from [0, 1)."""
        return self.rng.random(shape)

    def top_k(self, values: FloatArray, k: int) -> IndexArray:
        """The k largest of each row, in any order."""
        return np.argpartition(values, -k, axis=1)[:, -k:]

    def top_k_whole(self, grades: FloatArray, k: int) -> IndexArray:
        """The k largest whole numbers of each row, ties broken by chance."""
        keys = grades.astype(np.int64) << TIE_BITS
        keys |= self.rng.integers(0, 1 << TIE_BITS, keys.shape)
        return np.argpartition(keys, -k, axis=1)[:, -k:]

    def repeat(self, one_round: Callable[[], None], horizon: int) -> None:
        """All rounds."""
        for _ in range(horizon):
            one_round()

    def slices(self, n_runs: int, size: int) -> Iterator[slice]:
        """Runs to be decoded together, for so many numbers a run."""
        step = max(1, _AT_ONCE // size)
        return (slice(start, min(start + step, n_runs)) for start in range(0, n_runs, step))

    def decode(self, columns: FloatArray, scores: Scores, first: int, grading: Grading) -> FloatArray:
        """The grades of some runs' arms, from what the arms put into each neuron, (runs, n_hidden, n_arms)."""
        p, n_tests = grading.p, grading.n_tests
        by = self._by_members if p < _SPARSE_BELOW else self._by_bytes
        sums, counts, total = by(columns, scores, n_tests, p)
        return n_tests * sums - counts * total[:, None] if grading.centred else sums

    def _by_members(
        self, columns: FloatArray, scores: Scores, n_tests: int, p: float
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Few members: the tests of all these runs as one list of their cells."""
        n_runs, n_hidden, n_arms = columns.shape
        cells = _random_cells(n_runs * n_tests * n_arms, p, rng=self.rng)
        tests, arms = np.divmod(cells, n_arms)
        runs = tests // n_tests
        flat = runs * n_arms + arms
        inputs = np.empty((n_runs, n_hidden, n_tests))
        for neuron in range(n_hidden):
            into = np.bincount(tests, columns[runs, neuron, arms], minlength=n_runs * n_tests)
            inputs[:, neuron] = into.reshape(n_runs, n_tests)
        weights = scores(inputs)
        sums = np.bincount(flat, weights.ravel()[tests], minlength=n_runs * n_arms).reshape(n_runs, n_arms)
        counts = np.bincount(flat, minlength=n_runs * n_arms).reshape(n_runs, n_arms)
        return sums.astype(np.float64), counts.astype(np.float64), weights.sum(1)

    def _by_bytes(
        self, columns: FloatArray, scores: Scores, n_tests: int, p: float
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Eight tests at a time: drawn, scored and decoded while they are there."""
        n_runs, n_hidden, n_arms = columns.shape
        sums, counts = np.zeros((n_runs, n_arms)), np.zeros((n_runs, n_arms))
        total = np.zeros(n_runs)
        runs = np.arange(n_runs)[:, None]
        ones = _bits._BITS_OF_BYTE.sum(axis=1)
        for start in range(0, n_tests, 8):
            n_now = min(8, n_tests - start)
            tests = _bits.draw(n_now, n_runs * n_arms, p, rng=self.rng).reshape(n_runs, n_arms)
            # Which of its run's 256 sums an arm has a part in.
            places = 256 * runs + tests
            inputs = np.empty((n_runs, n_hidden, n_now))
            for neuron in range(n_hidden):
                sums_of_byte = np.bincount(places.ravel(), columns[:, neuron].ravel(), 256 * n_runs)
                inputs[:, neuron] = (sums_of_byte.reshape(n_runs, 256) @ _bits._BITS_OF_BYTE)[:, :n_now]
            weights = scores(inputs)
            table = weights @ _bits._BITS_OF_BYTE[:, :n_now].T
            sums += table.ravel().take(places)
            counts += ones.take(tests)
            total += weights.sum(1)
        return sums, counts, total
