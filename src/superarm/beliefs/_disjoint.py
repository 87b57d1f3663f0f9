"""One linear model per arm over the context of the round, with a common prior that is learned.

An outcome of arm i in a round with the row x is x·w_i + noise. The arms have nothing in common but
their prior: w_i ~ N(center, (own, weights, ...)). Li, Chu, Langford, Schapire ("A contextual-bandit
approach to personalized news article recommendation", 2010) call such models disjoint. The center
says what a context does to all arms: without it, the variance of the arms would have to.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from superarm.beliefs._variances import INTERCEPT_VAR, Squares, Variances
from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.states import as_saved_array, as_saved_number


class DisjointModel:
    """w_i ~ N(center, (own, weights, ...)), outcomes ~ N(x·w_i, noise), for each arm.

    ``add`` costs O(d²) per arm, a draw O(n_arms · d²), and ``refit`` O(n_arms · d³). Takes 16 d²
    bytes per arm.

    Parameters
    ----------
    n_arms, d
        How many arms and columns there are. The first column is 1.
    """

    def __init__(self, n_arms: int, d: int) -> None:
        self.d, self.counts = d, np.zeros(n_arms)
        self.grams, self.crosses = np.zeros((n_arms, d, d)), np.zeros((n_arms, d))
        self.squares = 0.0
        self.center: FloatArray = np.zeros(d)
        self.variances = Variances.at_first(np.repeat([0, 1], d - 1))
        self.rebuild()

    @property
    def n_arms(self) -> int:
        """How many arms there are."""
        return len(self.counts)

    def add(self, arms: IndexArray, rows: FloatArray, outcomes: FloatArray) -> None:
        """One outcome for each of some distinct arms, whose rows are given."""
        self.counts[arms] += 1
        self.squares += float(outcomes @ outcomes)
        for arm, row, outcome in zip(arms.tolist(), rows, outcomes.tolist(), strict=True):
            self.grams[arm] += row[:, None] * row
            self.crosses[arm] += outcome * row
            # Sherman, Morrison: one more outcome changes the covariance by a matrix of rank one.
            along = self.covariances[arm] @ row
            scaled = along / np.sqrt(self.variances.noise + row @ along)
            self.covariances[arm] -= scaled[:, None] * scaled
        self._find_means(arms)

    def refit(self, n_steps: int) -> None:
        """Learn the variances and the center."""
        for _ in range(n_steps):
            self.rebuild()
            center_var = self._find_center()
            self.variances = self.variances.learned(self._squares(center_var))
        self.rebuild()

    def rebuild(self) -> None:
        """Covariances and means from the sums of all arms, so that roundings do not add up."""
        prior = self._precision()
        self.covariances, self.means = np.zeros_like(self.grams), np.zeros((self.n_arms, self.d))
        self.covariances[:] = np.diag(1 / prior)
        for arm in np.flatnonzero(self.counts).tolist():
            inverse = np.linalg.inv(self.grams[arm] / self.variances.noise + np.diag(prior))
            self.covariances[arm] = (inverse + inverse.T) / 2
        self._find_means()

    def _precision(self) -> FloatArray:
        """Shape (d,): the prior precisions of the coefficients of an arm about the center."""
        prior = np.full(self.d, 1 / self.variances.weights)
        prior[0] = 1 / self.variances.own
        return prior

    def _find_center(self) -> FloatArray:
        """The posterior mean of the center with w_i integrated out; returns its variances."""
        prior, seen = self._precision(), np.flatnonzero(self.counts)
        # An arm with covariance C and prior precision P says P - P C P about the center.
        taken = prior[:, None] * self.covariances[seen].sum(axis=0) * prior
        total = np.diag(len(seen) * prior) - taken
        own = np.full(self.d, 1 / self.variances.context)
        own[0] = 1 / INTERCEPT_VAR
        shifts = self.crosses[seen] / self.variances.noise
        pull = prior * np.einsum("ijk,ik->j", self.covariances[seen], shifts)
        inverse = np.linalg.inv((total + total.T) / 2 + np.diag(own))
        self.center = inverse @ pull
        self._find_means()
        return np.diag(inverse)

    def _find_means(self, arms: IndexArray | slice = slice(None)) -> None:
        """The posterior means of some arms, by default of all."""
        shifts = self.crosses[arms] / self.variances.noise + self._precision() * self.center
        self.means[arms] = np.matmul(self.covariances[arms], shifts[:, :, None])[:, :, 0]

    def moments(self, arms: IndexArray | slice, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The means and variances of some arms at their rows; a slice copies no matrices."""
        along = np.matmul(self.covariances[arms], rows[:, :, None])[:, :, 0]
        return (self.means[arms] * rows).sum(axis=1), (along * rows).sum(axis=1)

    def parts(self, arms: IndexArray, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What the columns add to the means, and how far intercepts are from the center."""
        parts = self.means[arms] * rows
        own = parts[:, 0] - self.center[0]
        parts[:, 0] = self.center[0]
        return parts, own

    def recode(self, change: FloatArray) -> None:
        """The columns mean something else from now on: rows are ``change @ row``."""
        grams = change @ self.grams @ change.T
        self.grams = (grams + np.swapaxes(grams, 1, 2)) / 2
        self.crosses = self.crosses @ change.T
        # w · x stays the same.
        self.center = np.asarray(np.linalg.solve(change.T, self.center), np.float64)

    def forget(self, discount: float) -> None:
        """All outcomes so far count for less."""
        self.counts *= discount
        self.grams *= discount
        self.crosses *= discount
        self.squares *= discount
        self.rebuild()

    def add_arms(self, rows: FloatArray | None, n: int) -> None:
        """Append n arms without outcomes, which have no rows of their own."""
        new = DisjointModel(n, self.d)
        new.variances, new.center = self.variances, self.center
        new.rebuild()
        for name in ("counts", "grams", "crosses", "covariances", "means"):
            setattr(self, name, np.concatenate([getattr(self, name), getattr(new, name)]))

    def state(self) -> dict[str, Any]:
        """All it knows, as plain JSON; of symmetric matrices the lower triangles."""
        lower = np.tril_indices(self.d)
        return {
            "counts": self.counts.tolist(),
            "crosses": self.crosses.tolist(),
            "grams": [gram[lower].tolist() for gram in self.grams],
            "covariances": [covariance[lower].tolist() for covariance in self.covariances],
            "squares": self.squares,
            "center": self.center.tolist(),
            "variances": dict(vars(self.variances)),
        }

    def load(self, state: dict[str, Any]) -> None:
        """Become what ``state()`` described."""
        lower = np.tril_indices(self.d)
        self.counts = as_saved_array(state["counts"], "counts", self.counts.shape, least=0.0)
        self.crosses = as_saved_array(state["crosses"], "crosses", self.crosses.shape)
        self.squares = as_saved_number(state["squares"], "squares")
        # Older files have the center of the intercepts alone; that of the others was 0.
        center = as_saved_array(np.ravel(state["center"]), "center")
        self.center = np.append(center, np.zeros(0 if len(center) > 1 else self.d - 1))
        self.center = self.center.reshape(self.d)
        self.variances = Variances.of_state(state)
        for name in ("grams", "covariances"):
            matrices = np.zeros_like(self.grams)
            known = as_saved_array(state[name], name, (self.n_arms, len(lower[0])))
            matrices[:, lower[0], lower[1]] = known
            matrices[:, lower[1], lower[0]] = known
            setattr(self, name, matrices)
        self._find_means()

    def _squares(self, center_var: FloatArray) -> Squares:
        """Sums over the arms; the center is the second block, and has these variances."""
        seen, variances = np.flatnonzero(self.counts), self.variances
        means, var = self.means[seen], np.diagonal(self.covariances[seen], axis1=1, axis2=2)
        squares, center = (means - self.center) ** 2, self.center**2
        determined = 1 - var * self._precision()
        fitted = np.einsum("ij,ijk,ik->", means, self.grams[seen], means)
        n_center = self.d - 1 - center_var[1:].sum() / variances.context
        return Squares(
            weights=np.array([squares[:, 1:].sum(), center[1:].sum(), 0.0]),
            n_weights=np.array([determined[:, 1:].sum(), n_center, 0.0]),
            n_columns=np.array([self.d - 1, self.d - 1, 0]),
            own=float(squares[:, 0].sum()),
            n_own=float(determined[:, 0].sum()),
            n_means=0.0,
            residuals=float(self.squares + fitted - 2 * (means * self.crosses[seen]).sum()),
            n_outcomes=float(self.counts.sum()),
        )
