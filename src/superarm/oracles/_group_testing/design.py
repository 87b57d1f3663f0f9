"""The tests of a round as a matrix, for the regression decoder."""

from __future__ import annotations

import numpy as np
import scipy  # its submodules are imported when they are used

from superarm.core import Pools
from superarm.core.arguments import FloatArray, IndexArray

# Tests with fewer members than this share of all cells are multiplied as sparse matrices.
_SPARSE_BELOW = 0.05


class Design:
    """The tests of a round as the matrix X, stored by its entries that are not 0.

    ``rows``, ``arms`` and ``x``: the test, the arm and the mean of each entry.
    """

    def __init__(self, tests: Pools, classes: IndexArray, theta: FloatArray) -> None:
        self.tests, self.classes, self.theta = tests, classes, theta
        self.arms, self.rows = tests.members, np.repeat(np.arange(len(tests)), tests.sizes)
        self.x = theta[self.arms]
        self.factors: FloatArray | None = None

    def scale(self, factors: FloatArray) -> None:
        """Multiply each test by its factor."""
        self.factors = factors
        self.x = self.x * factors[self.rows]

    def row_sums(self, values: FloatArray) -> FloatArray:
        """Shape (n_tests,): the sums of values of the entries, per test."""
        return sums_at(self.rows, values, len(self.tests))

    def column_sums(self, values: FloatArray) -> FloatArray:
        """Shape (n_arms,): the same per arm."""
        return sums_at(self.arms, values, self.tests.n_arms)

    def gram(self, var: FloatArray) -> FloatArray:
        """X diag(var) Xᵀ, shape (n_tests, n_tests)."""
        unscaled = self._gram(var)
        if self.factors is None:
            return unscaled
        return unscaled * self.factors * self.factors[:, None]

    def _gram(self, var: FloatArray) -> FloatArray:
        tests, scaled = self.tests, self.theta * np.sqrt(var)
        if len(self.arms) < _SPARSE_BELOW * len(tests) * tests.n_arms:
            shape = (len(tests), tests.n_arms)
            design = scipy.sparse.csr_array(
                (scaled[self.arms], self.arms, tests.offsets), shape=shape
            )
            return np.asarray((design @ design.T).toarray(), np.float64)
        dense = tests.dense() * scaled
        return dense @ dense.T


def sums_at(places: IndexArray, values: FloatArray, n_places: int) -> FloatArray:
    """Shape (n_places,): the sums of the values by their places."""
    return np.bincount(places, values, minlength=n_places).astype(np.float64, copy=False)
