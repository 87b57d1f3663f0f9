"""The numpy engine: float64, tests eight to a byte as in `superarm.core._bits`, here for many runs side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from superarm.core import _bits
from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.pools import _SPARSE_BELOW, _random_cells
from superarm.simulation.batch.grading import TIE_BITS, Grading

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

    def decode(
        self, columns: FloatArray, scores: Scores, first: int, grading: Grading
    ) -> FloatArray:
        """The grades of some runs' arms, from what the arms put into each neuron, (runs, n_hidden, n_arms)."""
        by = self._by_members if grading.p < _SPARSE_BELOW else self._by_bytes
        sums, counts, total = by(columns, scores, grading)
        return grading.n_tests * sums - counts * total[:, None] if grading.centred else sums

    def _by_members(
        self, columns: FloatArray, scores: Scores, grading: Grading
    ) -> tuple[FloatArray, ...]:
        """Few members: the tests of all these runs as one list of their cells."""
        (n_runs, n_hidden, n_arms), n_tests = columns.shape, grading.n_tests
        cells = _random_cells(n_runs * n_tests * n_arms, grading.p, rng=self.rng)
        tests, arms = np.divmod(cells, n_arms)
        runs = tests // n_tests
        inputs = np.empty((n_runs, n_hidden, n_tests))
        for neuron in range(n_hidden):
            into = np.bincount(tests, columns[runs, neuron, arms], n_runs * n_tests)
            inputs[:, neuron] = into.reshape(n_runs, n_tests)
        weights = scores(inputs)
        places = runs * n_arms + arms
        sums: FloatArray = np.bincount(places, weights.ravel()[tests], n_runs * n_arms).astype(
            np.float64
        )
        counts: FloatArray = np.bincount(places, minlength=n_runs * n_arms).astype(np.float64)
        return sums.reshape(n_runs, n_arms), counts.reshape(n_runs, n_arms), weights.sum(1)

    def _by_bytes(
        self, columns: FloatArray, scores: Scores, grading: Grading
    ) -> tuple[FloatArray, ...]:
        """Eight tests at a time: drawn, scored and decoded while they are there."""
        (n_runs, n_hidden, n_arms), n_tests = columns.shape, grading.n_tests
        sums, counts, total = (
            np.zeros((n_runs, n_arms)),
            np.zeros((n_runs, n_arms)),
            np.zeros(n_runs),
        )
        runs = np.arange(n_runs)[:, None]
        for start in range(0, n_tests, 8):
            n_now = min(8, n_tests - start)
            bits_of_byte = _bits._BITS_OF_BYTE[:, :n_now]
            tests = _bits.draw(n_now, n_runs * n_arms, grading.p, rng=self.rng).reshape(
                n_runs, n_arms
            )
            # An arm has a part in one of its run's 256 sums, one for each byte.
            places = 256 * runs + tests
            inputs = np.empty((n_runs, n_hidden, n_now))
            for neuron in range(n_hidden):
                by_byte = np.bincount(places.ravel(), columns[:, neuron].ravel(), 256 * n_runs)
                inputs[:, neuron] = by_byte.reshape(n_runs, 256) @ bits_of_byte
            weights = scores(inputs)
            sums += (weights @ bits_of_byte.T).take(places)
            if grading.centred:
                counts += bits_of_byte.sum(axis=1).take(tests)
                total += weights.sum(1)
        return sums, counts, total
