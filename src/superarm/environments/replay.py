"""Exact replay of a table of recorded outcomes."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superarm.core.arguments import FloatArray, IndexArray, as_arms, as_flag, as_k
from superarm.core.showing import one_line

_CELLS_AT_ONCE = 2**20


class ReplayEnvironment:
    """Exact replay: round t gives the cells of row t, for the arms that were chosen.

    Exact replay needs no model, because the table has the outcome of every arm in every round, or
    marks it as missing. A policy gets the cells of its own set that are not missing, so every
    policy can play every row.

    The reward of a set is the sum of its outcomes. A missing cell counts as the mean of its arm's
    cells. So the value of a fixed set is the sum of its arms' means, whatever is missing, and the
    arms with the k largest means are the best fixed set in hindsight.

    Parameters
    ----------
    table
        Shape (n_rounds, n_arms): outcomes in [0, 1], NaN (or None) where missing; an array or a
        DataFrame of pandas or polars. Its dtype is kept, also uint8 and float32. The table is not
        copied if possible: do not write to it.
    names
        The names of the arms; by default the column names of a DataFrame, or "0", "1" and so on.
    order
        "given", or "shuffled": a random order of the rows, drawn at the first pull. With
        `replicate` every run has an order of its own, and paired policies have the same order.
    repeat
        Start again after the last row, in a new random order if shuffled. By default a pull after
        the last row is refused.

    Attributes
    ----------
    means
        Shape (n_arms,): the mean of each arm's cells that are not missing.
    n_missing
        Shape (n_arms,): how many cells of each arm are missing.

    Examples
    --------
    >>> table = [[1, 0, 0], [1, None, 1], [0, 0, 1]]
    >>> environment = ReplayEnvironment(table, names=["ham", "egg", "tea"])
    >>> rng = np.random.default_rng(0)
    >>> [environment.pull([0, 1], rng=rng).tolist() for _ in range(3)]
    [[1.0, 0.0], [1.0, nan], [0.0, 0.0]]
    >>> [environment.names[arm] for arm in environment.best_arms(2)]
    ['ham', 'tea']
    >>> round(environment.best_fixed(2), 3), round(environment.random_set(2), 3)
    (1.333, 0.889)
    """

    __repr__ = one_line

    def __init__(
        self,
        table: Any,
        *,
        names: Sequence[str] | None = None,
        order: Literal["given", "shuffled"] = "given",
        repeat: bool = False,
    ) -> None:
        if order not in ("given", "shuffled"):
            raise ValueError(f"order must be 'given' or 'shuffled', got {order!r}")
        self.table = _as_table(table)
        self.n_rounds, self.n_arms = self.table.shape
        # DataFrames have columns; arrays and lists do not.
        columns = getattr(table, "columns", None)
        self.names = _as_names(columns if names is None else names, self.n_arms)
        self.means, self.n_missing = _means(self.table, self.names)
        self.order, self.repeat = order, as_flag(repeat, "repeat")
        self._played, self._n_orders, self._rows = 0, 0, None

    _rows: IndexArray | None

    @property
    def n_played(self) -> int:
        """The number of pulls so far."""
        return self._played

    @property
    def rows(self) -> IndexArray:
        """Shape (n_rounds,): the order of the rows; if shuffled, known after the first pull."""
        if self._rows is None and self.order == "shuffled":
            raise ValueError(
                "the order of a shuffled table is drawn at the first pull: "
                "pull before you ask for rows"
            )
        return np.arange(self.n_rounds) if self._rows is None else self._rows

    def fresh(self) -> ReplayEnvironment:
        """A copy before its first pull, sharing the table; use one per run."""
        # A shallow copy: the table is shared, and its checks are not repeated.
        other = copy.copy(self)
        other._played, other._n_orders, other._rows = 0, 0, None
        return other

    def pull(self, arms: ArrayLike, *, rng: np.random.Generator) -> FloatArray:
        """The cells of these arms in the next row, NaN where missing.

        Draws only the order of a shuffled table.
        """
        arms = as_arms(arms, self.n_arms)
        row = self.next_row(rng=rng)
        self._played += 1
        return self.table[row, arms].astype(np.float64)

    def next_row(self, *, rng: np.random.Generator) -> int:
        """The row of the next pull. The order of a shuffled table is drawn here."""
        if self._played >= self.n_rounds and not self.repeat:
            raise ValueError(
                f"the table has {self.n_rounds:,} rows and all of them were played; use a "
                f"horizon of at most {self.n_rounds:,}, or pass repeat=True to start again"
            )
        n_before, row = divmod(self._played, self.n_rounds)
        if self._n_orders == n_before and self.order == "shuffled":
            self._rows, self._n_orders = rng.permutation(self.n_rounds), n_before + 1
        return row if self._rows is None else int(self._rows[row])

    def best_arms(self, k: int) -> IndexArray:
        """The best fixed set in hindsight, ascending: the k largest means, the first of equals."""
        return np.sort(np.argsort(-self.means, kind="stable")[: as_k(k, self.n_arms)])

    def best_fixed(self, k: int) -> float:
        """The mean reward per round of the best fixed set."""
        return float(self.means[self.best_arms(k)].sum())

    def random_set(self, k: int) -> float:
        """The mean reward per round of a random set of k arms."""
        return as_k(k, self.n_arms) * float(self.means.mean())

    def rewards(self, arms: IndexArray, outcomes: FloatArray) -> FloatArray:
        """The rewards of sets, shape (T,): sums, with the arm's mean for a missing outcome.

        ``arms`` and ``outcomes`` are those of a `Trace`, shape (T, k).
        """
        # Rows of sets with fewer arms are filled up with -1.
        there = arms >= 0
        filled = np.where(np.isnan(outcomes), self.means[np.where(there, arms, 0)], outcomes)
        return np.where(there, filled, 0.0).sum(axis=1)

    def gap_closed(self, arms: IndexArray, outcomes: FloatArray) -> float:
        """The reward on a scale where random sets have 0 and the best fixed set has 1.

        NaN if both have the same reward. Values above 1 are possible: if the arms change over time,
        changing sets can beat every fixed set. Both ends are computed from the whole table, so play
        the whole table.
        """
        k = arms.shape[1]
        baseline, best = self.random_set(k), self.best_fixed(k)
        reward = float(self.rewards(arms, outcomes).mean())
        return (reward - baseline) / (best - baseline) if best > baseline else float("nan")


def _as_table(table: Any) -> NDArray[Any]:
    """The cells as a read-only array, NaN where missing; without a copy if possible."""
    if isinstance(table, np.ma.MaskedArray):
        # np.asarray would use the masked numbers. Whole numbers and texts have no NaN.
        kind = np.float64 if table.dtype.kind in "biuf" else object
        table = np.ma.filled(table.astype(kind), np.nan)
    given = np.asarray(table.to_numpy() if hasattr(table, "to_numpy") else table)
    if given.dtype == object and not any(isinstance(cell, str | bytes) for cell in given.flat):
        with suppress(TypeError, ValueError):  # refused below
            given = given.astype(np.float64)  # None becomes NaN
    if given.dtype.kind not in "biuf":
        raise TypeError(
            f"table must hold numbers, NaN or None where missing, got dtype {given.dtype}; "
            f"leave out columns of text, and with pandas try table.astype(float)"
        )
    if given.ndim != 2 or not given.size:
        raise ValueError(
            f"table must have one row per round and one column per arm, got shape {given.shape}"
        )
    # fmin and fmax ignore NaN.
    low, high = np.fmin.reduce(given, axis=None), np.fmax.reduce(given, axis=None)
    if low < 0 or high > 1:
        row, arm = np.argwhere((given < 0) | (given > 1))[0]
        raise ValueError(
            f"outcomes must be in [0, 1], got {given[row, arm]} in row {row}, arm {arm}; "
            f"rescale them: they are from {low:g} to {high:g}"
        )
    kept = given.view()
    kept.flags.writeable = False
    return kept


def _as_names(names: Any, n_arms: int) -> tuple[str, ...]:
    # Names of any type are kept as text, so that columns 0 and "0" clash.
    known = tuple(str(name) for name in (range(n_arms) if names is None else names))
    if len(known) != n_arms or len(set(known)) != n_arms:
        raise ValueError(
            f"names must be {n_arms} different names, one per arm, "
            f"got {len(set(known))} in {len(known)}"
        )
    return known


def _means(table: NDArray[Any], names: tuple[str, ...]) -> tuple[FloatArray, IndexArray]:
    """The mean of each arm's cells, and how many are missing."""
    totals, n_seen = np.zeros(table.shape[1]), np.zeros(table.shape[1], np.intp)
    # Strips of rows, so that temporary arrays stay small.
    step = max(1, _CELLS_AT_ONCE // table.shape[1])
    for start in range(0, len(table), step):
        strip = table[start : start + step]
        seen = strip == strip
        totals += strip.sum(axis=0, dtype=np.float64, where=seen)
        n_seen += seen.sum(axis=0)
    if not n_seen.all():
        raise ValueError(
            f"every arm needs an outcome, got none for {names[int(np.argmin(n_seen))]!r}; "
            f"leave it out"
        )
    means = totals / n_seen
    means.flags.writeable = False
    return means, len(table) - n_seen
