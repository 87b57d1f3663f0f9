"""The world of a table: what the arms did in rounds that are over."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superarm.core.arguments import FloatArray, IndexArray, as_arms, as_k


class ReplayEnvironment:
    """Exact replay: round t gives the cells of row t, for whichever arms were picked.

    That is what needs no model: the table knows what every arm did in every round, or says that it does not. A policy
    is told of the cells of its own set that are there, so each row can be played by each policy.

    Sets are judged as sums. A cell that is missing counts as the mean of its arm's cells: so a fixed set is worth the
    sum of its arms' means whatever is missing, and the k largest means are the best fixed set in hindsight.

    Parameters
    ----------
    table
        Shape (n_rounds, n_arms): outcomes in [0, 1], NaN (or None) where they are missing; an array or a DataFrame of
        pandas or polars. Kept as it is, uint8 and float32 too, and not copied unless it has to be: don't write to it.
    names
        The names of the arms; those of a DataFrame's columns unless given, and else "0", "1" and so on.
    order
        "given", or "shuffled": a permutation of the rows drawn at the first pull from the world's generator. With
        `replicate` every run has another one, and policies that are paired meet the same.
    repeat
        Begin again after the last row, shuffled anew if at all. Otherwise a pull beyond it is refused.

    Attributes
    ----------
    means
        Shape (n_arms,): the mean of the cells that each arm has.
    n_missing
        Shape (n_arms,): how many it has not.

    Examples
    --------
    >>> world = ReplayEnvironment([[1, 0, 0], [1, None, 1], [0, 0, 1]], names=["ham", "egg", "tea"])
    >>> rng = np.random.default_rng(0)
    >>> [world.pull([0, 1], rng=rng).tolist() for _ in range(3)]
    [[1.0, 0.0], [1.0, nan], [0.0, 0.0]]
    >>> [world.names[arm] for arm in world.best_arms(2)], world.best_fixed(2), world.random_set(2)
    (['ham', 'tea'], 1.3333333333333333, 0.8888888888888888)
    """

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
        self.names = _as_names(
            getattr(table, "columns", None) if names is None else names, self.n_arms
        )
        self.means, self.n_missing = _means(self.table, self.names)
        self.order, self.repeat = order, repeat
        self._played, self._rows = 0, None

    _rows: IndexArray | None

    @property
    def n_played(self) -> int:
        """How many rounds have been pulled."""
        return self._played

    @property
    def rows(self) -> IndexArray:
        """Shape (n_rounds,): in which order the rows come; of a shuffled table, known from the first pull on."""
        if self._rows is None and self.order == "shuffled":
            raise ValueError(
                "the order of a shuffled table is drawn at the first pull: pull before you ask for rows"
            )
        return np.arange(self.n_rounds) if self._rows is None else self._rows

    def fresh(self) -> ReplayEnvironment:
        """The same at its beginning, with the same table in memory and nothing checked again: one for each run."""
        other = copy.copy(self)
        other._played, other._rows = 0, None
        return other

    def pull(self, arms: ArrayLike, *, rng: np.random.Generator) -> FloatArray:
        """The next row's cells of the arms; NaN where they are missing. Draws nothing unless an order has to be."""
        arms = as_arms(arms, self.n_arms)
        row = self._played % self.n_rounds
        if self._played >= self.n_rounds and not self.repeat:
            raise ValueError(
                f"the table has {self.n_rounds:,} rows and all of them were played; "
                f"ask for a horizon of at most {self.n_rounds:,}, or pass repeat=True to begin again"
            )
        if row == 0 and self.order == "shuffled":
            self._rows = rng.permutation(self.n_rounds)
        self._played += 1
        return self.table[row if self._rows is None else self._rows[row], arms].astype(np.float64)

    def best_arms(self, k: int) -> IndexArray:
        """The best fixed set in hindsight for sums: the k largest means, the first of equal ones; ascending."""
        return np.sort(np.argsort(-self.means, kind="stable")[: as_k(k, self.n_arms)])

    def best_fixed(self, k: int) -> float:
        """What the best fixed set gives in a round, on average."""
        return float(self.means[self.best_arms(k)].sum())

    def random_set(self, k: int) -> float:
        """What a set of k arms by chance gives in a round, on average."""
        return as_k(k, self.n_arms) * float(self.means.mean())

    def rewards(self, arms: IndexArray, outcomes: FloatArray) -> FloatArray:
        """What sets gave, shape (T,): their sums, with the arm's mean where an outcome is missing.

        ``arms`` and ``outcomes`` are those of a `Trace`, shape (T, k).
        """
        there = arms >= 0
        filled = np.where(np.isnan(outcomes), self.means[np.where(there, arms, 0)], outcomes)
        return np.where(there, filled, 0.0).sum(axis=1)

    def gap_closed(self, arms: IndexArray, outcomes: FloatArray) -> float:
        """Where the reward stands between a random set's, 0, and the best fixed set's, 1; NaN where these are equal.

        Above 1 is possible: where arms get better and worse, a set that changes can beat every fixed one. Both ends
        are those of the whole table, so play the whole table.
        """
        k = arms.shape[1]
        chance, best = self.random_set(k), self.best_fixed(k)
        got = float(self.rewards(arms, outcomes).mean())
        return (got - chance) / (best - chance) if best > chance else float("nan")


def _as_table(table: Any) -> NDArray[Any]:
    """The cells as a read-only array of numbers, NaN where missing; the caller's own memory where that can be."""
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
            f"table must have a row a round and a column an arm, got shape {given.shape}"
        )
    low, high = (
        np.fmin.reduce(given, axis=None),
        np.fmax.reduce(given, axis=None),
    )  # the NaNs left aside
    if low < 0 or high > 1:
        row, arm = np.argwhere((given < 0) | (given > 1))[0]
        raise ValueError(
            f"outcomes must be in [0, 1], got {given[row, arm]} in row {row}, arm {arm}; rescale them: "
            f"they are from {low:g} to {high:g}"
        )
    kept = given.view()
    kept.flags.writeable = False
    return kept


def _as_names(names: Any, n_arms: int) -> tuple[str, ...]:
    known = tuple(str(name) for name in (range(n_arms) if names is None else names))
    if len(known) != n_arms or len(set(known)) != n_arms:
        raise ValueError(
            f"names must be {n_arms} different names, one an arm, got {len(set(known))} in {len(known)}"
        )
    return known


def _means(table: NDArray[Any], names: tuple[str, ...]) -> tuple[FloatArray, IndexArray]:
    """The mean of each arm's cells, and how many are missing; in strips of rows, so that no second table is made."""
    totals, n_seen = np.zeros(table.shape[1]), np.zeros(table.shape[1], np.intp)
    step = max(1, 2**20 // table.shape[1])
    for start in range(0, len(table), step):
        strip = table[start : start + step]
        seen = strip == strip
        totals += strip.sum(axis=0, dtype=np.float64, where=seen)
        n_seen += seen.sum(axis=0)
    if not n_seen.all():
        raise ValueError(
            f"every arm needs an outcome, got none for {names[int(np.argmin(n_seen))]!r}; leave it out"
        )
    means = totals / n_seen
    means.flags.writeable = False
    return means, len(table) - n_seen
