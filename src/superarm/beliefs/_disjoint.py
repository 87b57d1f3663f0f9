"""One linear model per arm over the context of the round, with a common prior that is learned.

An outcome of arm i in a round with the row x is x·w_i + noise. The arms have nothing in common but
their prior: intercepts ~ N(center, own), other coefficients ~ N(0, weights). Li, Chu, Langford,
Schapire ("A contextual-bandit approach to personalized news article recommendation", 2010) call
such models disjoint.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from superarm.beliefs._variances import INTERCEPT_VAR, Squares, Variances
from superarm.core.arguments import FloatArray, IndexArray


class DisjointModel:
    """w_i ~ N((center, 0, ...), (own, weights, ...)), outcomes ~ N(x·w_i, noise), for each arm.

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
        self.squares, self.center = 0.0, 0.0
        self.variances = Variances.at_first(d - 1)
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
            self._find_mean(arm)

    def refit(self, n_steps: int) -> None:
        """Learn the variances and the center."""
        for _ in range(n_steps):
            self.rebuild()
            found = self._squares()
            self.variances = self.variances.learned(found, self.d - 1)
            seen = self.counts > 0
            # The posterior mean of the center, given the intercepts.
            weak = self.variances.own / INTERCEPT_VAR
            self.center = float(self.means[seen, 0].sum() / (seen.sum() + weak))
        self.rebuild()

    def rebuild(self) -> None:
        """Covariances and means from the sums of all arms, so that roundings do not add up."""
        prior = np.full(self.d, 1 / self.variances.weights)
        prior[0] = 1 / self.variances.own
        self.covariances, self.means = np.zeros_like(self.grams), np.zeros((self.n_arms, self.d))
        self.covariances[:] = np.diag(1 / prior)
        for arm in np.flatnonzero(self.counts).tolist():
            inverse = np.linalg.inv(self.grams[arm] / self.variances.noise + np.diag(prior))
            self.covariances[arm] = (inverse + inverse.T) / 2
        for arm in range(self.n_arms):
            self._find_mean(arm)

    def _find_mean(self, arm: int) -> None:
        shift = self.crosses[arm] / self.variances.noise
        shift[0] += self.center / self.variances.own
        self.means[arm] = self.covariances[arm] @ shift

    def draw(
        self, rows: FloatArray, spread: float, *, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """The means of all arms, and their deviations; nothing is drawn that arms share."""
        location, var = self.moments(np.arange(self.n_arms), rows)
        return location, np.sqrt(var)

    def moments(self, arms: IndexArray, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The means and variances of some arms at their rows."""
        covariances, means = self.covariances, self.means
        # One matrix at a time: a copy of those of all arms would take longer than the products.
        var = [row @ (covariances[arm] @ row) for arm, row in zip(arms.tolist(), rows, strict=True)]
        return (means[arms] * rows).sum(axis=1), np.array(var, np.float64)

    def parts(self, arms: IndexArray, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What the columns add to the means, and how far intercepts are from the center."""
        parts = self.means[arms] * rows
        own = parts[:, 0] - self.center
        parts[:, 0] = self.center
        return parts, own

    def recode(self, change: FloatArray) -> None:
        """The columns mean something else from now on: rows are ``change @ row``."""
        grams = change @ self.grams @ change.T
        self.grams = (grams + np.swapaxes(grams, 1, 2)) / 2
        self.crosses = self.crosses @ change.T

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
            "center": self.center,
            "variances": dict(vars(self.variances)),
        }

    def load(self, state: dict[str, Any]) -> None:
        """Become what ``state()`` described."""
        lower = np.tril_indices(self.d)
        self.counts = np.array(state["counts"], np.float64).reshape(self.counts.shape)
        self.crosses = np.array(state["crosses"], np.float64).reshape(self.crosses.shape)
        self.squares, self.center = float(state["squares"]), float(state["center"])
        self.variances = Variances(**state["variances"])
        for name in ("grams", "covariances"):
            matrices = np.zeros_like(self.grams)
            matrices[:, lower[0], lower[1]] = state[name]
            matrices[:, lower[1], lower[0]] = state[name]
            setattr(self, name, matrices)
        for arm in range(self.n_arms):
            self._find_mean(arm)

    def _squares(self) -> Squares:
        covariances, means = self.covariances, self.means
        total = {"weights": 0.0, "n_weights": 0.0, "own": 0.0, "n_own": 0.0}
        residuals = self.squares
        for arm in np.flatnonzero(self.counts):
            mean = means[arm]
            var = np.diag(covariances[arm])
            total["weights"] += mean[1:] @ mean[1:]
            total["n_weights"] += self.d - 1 - var[1:].sum() / self.variances.weights
            total["own"] += (mean[0] - self.center) ** 2
            total["n_own"] += 1 - var[0] / self.variances.own
            residuals += mean @ self.grams[arm] @ mean - 2 * mean @ self.crosses[arm]
        found = {name: float(value) for name, value in total.items()}
        n_outcomes = float(self.counts.sum())
        return Squares(**found, n_means=0.0, residuals=float(residuals), n_outcomes=n_outcomes)
