"""Columns of features and contexts on one scale, so that one prior fits all of them.

Gelman ("Scaling regression inputs by dividing by two standard deviations", 2008): a column of
numbers then counts about as much as a column of 0 and 1, which is only centred.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from superarm.core.arguments import FloatArray, as_finite
from superarm.core.states import as_saved_array


@dataclass(frozen=True, eq=False)
class Scaling:
    """``(values - center) / width``, column by column.

    Attributes
    ----------
    center, width
        Shape (n_columns,).
    """

    center: FloatArray
    width: FloatArray

    @classmethod
    def of(cls, values: FloatArray) -> Scaling:
        """The scaling for a matrix that is known as a whole."""
        moments = Moments.empty(values.shape[1])
        moments.add(values)
        return moments.scaling()

    @classmethod
    def of_state(cls, state: dict[str, Any], name: str, n: int | None = None) -> Scaling:
        """The center and the width of this name in a state, of n columns if that is known."""
        center, width = (as_saved_array(one, name) for one in state[name])
        wanted = len(center) if n is None else n
        if not len(center) == len(width) == wanted or not (width > 0).all():
            raise ValueError(f"state[{name!r}] must have {wanted} centers, and widths above 0")
        return cls(center, width)

    def __call__(self, values: FloatArray) -> FloatArray:
        """Scaled values, of the same shape."""
        return (values - self.center) / self.width

    def after(self, old: Scaling) -> FloatArray:
        """The matrix that turns rows (1, old values) into rows (1, new values)."""
        change = np.diag(np.append(1.0, old.width / self.width))
        change[1:, 0] = (old.center - self.center) / self.width
        return change


@dataclass
class Moments:
    """Running mean and variance of each column, and whether it has held 0 and 1 only.

    Attributes
    ----------
    n_rows
        How many rows were seen.
    mean, squares, is_coin
        Shape (n_columns,): means, sums of squares about the means, and whether all values were 0
        or 1.
    """

    n_rows: int
    mean: FloatArray
    squares: FloatArray
    is_coin: FloatArray

    @classmethod
    def empty(cls, n_columns: int) -> Moments:
        """Before the first row."""
        return cls(0, np.zeros(n_columns), np.zeros(n_columns), np.ones(n_columns))

    def add(self, rows: FloatArray) -> None:
        """Some more rows, shape (n, n_columns)."""
        n_new = len(rows)
        if not n_new:
            return
        mean = rows.mean(axis=0)
        apart, self.n_rows = mean - self.mean, self.n_rows + n_new
        # Chan, Golub, LeVeque 1979: the moments of two parts together.
        share = n_new / self.n_rows
        self.mean = self.mean + share * apart
        within = ((rows - mean) ** 2).sum(axis=0)
        self.squares = self.squares + within + apart**2 * share * (self.n_rows - n_new)
        self.is_coin = self.is_coin * ((rows == 0) | (rows == 1)).all(axis=0)

    def scaling(self) -> Scaling:
        """Centred at the mean, and divided by two standard deviations where not 0 or 1."""
        std = np.sqrt(self.squares / max(1, self.n_rows))
        # The deviation of a constant column is rounding, and its scale does not matter.
        varies = std > 1e-12 * np.abs(self.mean)
        return Scaling(self.mean, np.where(varies & (self.is_coin == 0), 2 * std, 1.0))

    def state(self) -> dict[str, Any]:
        """The scales as plain JSON."""
        columns = {name: getattr(self, name).tolist() for name in ("mean", "squares", "is_coin")}
        return {"n_rows": self.n_rows, **columns}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Moments:
        """What ``state()`` described."""
        names = ("mean", "squares", "is_coin")
        return cls(int(state["n_rows"]), *(as_finite(state[name], name, ndim=1) for name in names))
