"""The tests of a round as a matrix, for the regression decoder."""

from __future__ import annotations

import numpy as np
import scipy  # its submodules are imported when they are used
from numpy.typing import NDArray

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
        dense = np.zeros((len(tests), tests.n_arms))
        dense[self.rows, self.arms] = scaled[self.arms]
        return dense @ dense.T


class Grouped:
    """The tests of a round by their class. Only tests that are used count.

    ``used`` is 1.0 for a test that is used and 0.0 otherwise, and ``n_used`` the number per class.
    """

    def __init__(self, classes: IndexArray, use: NDArray[np.bool_], n_classes: int) -> None:
        self.classes, self.use, self.n_classes = classes, use, n_classes
        self.used = use.astype(np.float64)
        self.n_used = self.sums(self.used)
        self._all = bool(use.all())
        self._below = np.maximum(self.n_used, 1.0)

    def sums(self, values: FloatArray) -> FloatArray:
        """Shape (n_classes,): the sums of the values of all tests, used or not."""
        return sums_at(self.classes, values, self.n_classes)

    def means(self, values: FloatArray) -> FloatArray:
        """Shape (n_classes,): the means of the values of used tests; 0 for a class without any."""
        return self.sums(self._or_zero(values)) / self._below

    def within(self, values: FloatArray, means: FloatArray | None = None) -> FloatArray:
        """The values minus their mean in the class; 0 for tests that are not used."""
        means = self.means(values) if means is None else means
        return self._or_zero(values - means[self.classes])

    def _or_zero(self, values: FloatArray) -> FloatArray:
        return values if self._all else np.where(self.use, values, 0.0)


def sums_at(places: IndexArray, values: FloatArray, n_places: int) -> FloatArray:
    """Shape (n_places,): the sums of the values by their places."""
    return np.bincount(places, values, minlength=n_places).astype(np.float64, copy=False)
