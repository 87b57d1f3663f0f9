"""A linear model with an own deviation per arm: the exact posterior of a mixed model.

An outcome of arm i in a round is x·w + u_i + noise, with the row x of the arm in that round, a
vector w of coefficients for all arms, and the deviation u_i of the arm. Wen, Kveton, Ashkan
("Efficient learning in large-scale combinatorial semi-bandits", 2015) have the model without u_i;
Wan, Ge, Song ("Towards scalable and robust structured bandits", 2022) have it with u_i.

All outcomes are about 1/2, so that the prior of the intercept has mean 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from superarm.beliefs._variances import BLOCKS, INTERCEPT_VAR, Squares, Variances
from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.states import as_saved_array, as_saved_number

_NAMES = ("counts", "sums", "gram", "cross", "precision", "shift")


class MixedModel:
    """w ~ N(0, weights) except for the intercept, u_i ~ N(0, own), outcomes ~ N(x·w + u_i, noise).

    Blocks of coefficients have different variances: see `Variances`.

    With u_i integrated out, an arm with n outcomes, whose rows sum to s and outcomes to y, adds

        (sum x x^T - q s s^T) / noise   to the precision of w, and
        (sum x outcome - q s y) / noise to the precision times the mean, q = own / (noise + n own).

    Given w, u_i is N(q (y - s·w), q noise), independently of the others. So the mean of arm i at
    the row x is (x - q s)·w + q y and a normal number. ``add`` costs O(arms updated · d²), the
    factor of the precision O(d³) per round, and ``refit`` O(arms with outcomes · d²).

    Parameters
    ----------
    rows
        Shape (n_arms, d) if the rows are the same in every round, with 1 in the first column; else
        None.
    n_arms
        How many arms there are.
    blocks
        Shape (d - 1,): the block of each column but the first.
    """

    def __init__(self, rows: FloatArray | None, n_arms: int, blocks: IndexArray) -> None:
        d = len(blocks) + 1
        self.rows, self.d, self.blocks = rows, d, blocks
        self.counts, self.sums = np.zeros(n_arms), np.zeros(n_arms)
        self.row_sums = None if rows is not None else np.zeros((n_arms, d))
        self.gram, self.cross, self.squares = np.zeros((d, d)), np.zeros(d), 0.0
        self.variances = Variances.at_first(blocks)
        self.seen = np.empty(0, np.intp)  # the arms with outcomes, ascending
        self.rebuild()

    _factored: tuple[FloatArray, FloatArray] | None

    @property
    def n_arms(self) -> int:
        """How many arms there are."""
        return len(self.counts)

    def add(self, arms: IndexArray, rows: FloatArray, outcomes: FloatArray) -> None:
        """One outcome for each of some distinct arms, whose rows are given; O(len(arms) · d²)."""
        before, shift_before = self._taken(arms)
        new = arms[self.counts[arms] == 0]
        if len(new):
            self.seen = np.union1d(self.seen, new)
        self.counts[arms] += 1
        self.sums[arms] += outcomes
        if self.row_sums is not None:
            self.row_sums[arms] += rows
        gram, cross = rows.T @ rows, rows.T @ outcomes
        self.gram, self.cross = self.gram + gram, self.cross + cross
        self.squares += float(outcomes @ outcomes)
        after, shift_after = self._taken(arms)
        self.precision += (gram - after + before) / self.variances.noise
        self.shift += (cross - shift_after + shift_before) / self.variances.noise
        self._factored = None

    def refit(self, n_steps: int) -> None:
        """Learn the variances, and compute everything anew with them."""
        for _ in range(n_steps):
            self.rebuild()
            self.variances = self.variances.learned(self._squares())
        self.rebuild()

    def rebuild(self) -> None:
        """The precision of w from the sums of all arms, so that roundings do not add up."""
        taken, shift = self._taken(self.seen)
        prior = np.append(1 / INTERCEPT_VAR, 1 / self.variances.of(self.blocks))
        self.precision = (self.gram - taken) / self.variances.noise + np.diag(prior)
        self.shift = (self.cross - shift) / self.variances.noise
        self._factored = None

    def factor(self) -> tuple[FloatArray, FloatArray]:
        """The inverse R of the Cholesky factor of the precision of w, and the mean of w.

        The covariance of w is R^T R.
        """
        if self._factored is None:
            root = np.linalg.inv(np.linalg.cholesky(self.precision))
            self._factored = root, root.T @ (root @ self.shift)
        return self._factored

    def draw_weights(
        self, spread: float, n: int | None = None, *, rng: np.random.Generator
    ) -> FloatArray:
        """The mean of w plus ``spread`` deviations in a random direction; or n such, (n, d)."""
        root, mean = self.factor()
        size = self.d if n is None else (n, self.d)
        return mean + spread * (rng.standard_normal(size) @ root)

    def given(self, rows: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The means of all arms given w, and the deviations of u_i about them.

        For n draws of w, shape (n, d), the means have shape (n, n_arms).
        """
        return self.completed((rows @ weights.T).T, weights)

    def completed(self, values: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What `given` returns. ``values``, the products of the rows with w, are changed."""
        seen = self.seen
        # Without contexts the same as below, without a product.
        expected = (
            self.counts[seen] * values[..., seen]
            if self.row_sums is None
            else self.expected(weights)
        )
        values[..., seen] += self._ratio(self.counts[seen]) * (self.sums[seen] - expected)
        return values, np.sqrt(self.own_var(self.counts))

    def expected(self, weights: FloatArray) -> FloatArray:
        """The sums of outcomes that w alone expects of the arms with outcomes, in contexts."""
        assert self.row_sums is not None
        return (self.row_sums[self.seen] @ weights.T).T

    def own_var(self, counts: FloatArray) -> FloatArray:
        """The variances of u_i given w, for arms with these numbers of outcomes."""
        return self._ratio(counts) * self.variances.noise

    def moments(self, arms: IndexArray, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The means and variances of some arms at their rows."""
        root, mean = self.factor()
        ratio = self._ratio(self.counts[arms])
        left = rows - ratio[:, None] * self._row_sums(arms)
        var = ((left @ root.T) ** 2).sum(axis=1) + ratio * self.variances.noise
        return left @ mean + ratio * self.sums[arms], var

    def parts(self, arms: IndexArray, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What the columns, and what the deviations of some arms, add to their means."""
        mean = self.factor()[1]
        own = self.sums[arms] - self._row_sums(arms) @ mean
        return rows * mean, self._ratio(self.counts[arms]) * own

    def recode(self, change: FloatArray) -> None:
        """The columns mean something else from now on: rows are ``change @ row``."""
        self.gram, self.cross = change @ self.gram @ change.T, change @ self.cross
        if self.row_sums is not None:
            self.row_sums[self.seen] = self.row_sums[self.seen] @ change.T

    def forget(self, discount: float) -> None:
        """All outcomes so far count for less."""
        self.counts *= discount
        self.sums *= discount
        if self.row_sums is not None:
            self.row_sums *= discount
        self.gram, self.cross = discount * self.gram, discount * self.cross
        self.squares *= discount
        self.rebuild()

    def add_arms(self, rows: FloatArray | None, n: int) -> None:
        """Append n arms without outcomes; ``rows`` are then those of all arms."""
        self.counts = np.append(self.counts, np.zeros(n))
        self.sums = np.append(self.sums, np.zeros(n))
        if self.row_sums is not None:
            self.row_sums = np.vstack([self.row_sums, np.zeros((n, self.d))])
        if self.rows is not None:
            self.rows = rows

    def state(self) -> dict[str, Any]:
        """All it knows but the rows, as plain JSON."""
        state = {name: getattr(self, name).tolist() for name in _NAMES}
        if self.row_sums is not None:
            state["row_sums"] = self.row_sums.tolist()
        return {**state, "squares": self.squares, "variances": dict(vars(self.variances))}

    def load(self, state: dict[str, Any]) -> None:
        """Become what ``state()`` described."""
        for name in (*_NAMES, *(() if self.row_sums is None else ("row_sums",))):
            least = 0.0 if name == "counts" else -np.inf
            setattr(self, name, as_saved_array(state[name], name, self._shape(name), least=least))
        self.squares = as_saved_number(state["squares"], "squares")
        self.seen, self.variances = np.flatnonzero(self.counts), Variances.of_state(state)
        self._factored = None
        self.factor()  # refuses a precision that is not positive definite

    def _shape(self, name: str) -> tuple[int, ...]:
        return np.shape(getattr(self, name))

    def _ratio(self, counts: FloatArray) -> FloatArray:
        return self.variances.own / (self.variances.noise + counts * self.variances.own)

    def _row_sums(self, arms: IndexArray) -> FloatArray:
        if self.rows is None:
            assert self.row_sums is not None
            return self.row_sums[arms]
        return self.counts[arms, None] * self.rows[arms]

    def _taken(self, arms: IndexArray) -> tuple[FloatArray, FloatArray]:
        """What the deviations of some arms take from ``gram`` and ``cross``."""
        sums, ratio = self._row_sums(arms), self._ratio(self.counts[arms])
        weighted = ratio[:, None] * sums
        return weighted.T @ sums, weighted.T @ self.sums[arms]

    def _squares(self) -> Squares:
        root, mean = self.factor()
        seen, inverse = self.seen, root.T @ root
        sums, ratio = self._row_sums(seen), self._ratio(self.counts[seen])
        left = self.sums[seen] - sums @ mean
        own = ratio * left
        own_var = ratio * self.variances.noise + ratio**2 * ((sums @ root.T) ** 2).sum(axis=1)
        fitted = mean @ self.gram @ mean - 2 * mean @ self.cross
        determined = 1 - np.diag(inverse)[1:] / self.variances.of(self.blocks)
        return Squares(
            weights=self._by_block(mean[1:] ** 2),
            n_weights=self._by_block(determined),
            n_columns=np.bincount(self.blocks, minlength=len(BLOCKS)),
            own=float((own**2).sum()),
            n_own=float((1 - own_var / self.variances.own).sum()),
            n_means=float(1 - inverse[0, 0] / INTERCEPT_VAR),
            residuals=float(self.squares + fitted - 2 * own @ left + self.counts[seen] @ own**2),
            n_outcomes=float(self.counts.sum()),
        )

    def _by_block(self, values: FloatArray) -> FloatArray:
        """The sum of the values of the columns in each block."""
        return np.bincount(self.blocks, values, len(BLOCKS)).astype(np.float64)
