"""A log as people have it: one row per item that was shown, such as a click log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from superarm.core.arguments import FloatArray, IndexArray, as_fraction
from superarm.core.policy import Policy
from superarm.features.tables import as_arrays
from superarm.offpolicy.log import Log
from superarm.offpolicy.shown_columns import (
    number_items,
    number_rounds,
    read_outcomes,
    read_positions,
    read_propensities,
    refuse_repeated,
    refuse_unknown,
)


@dataclass(frozen=True, eq=False)
class ShownLog:
    """Rows of items that were shown, sorted by rounds.

    Attributes
    ----------
    rounds
        Shape (n_rows,), ascending: the round of each row, 0, 1, 2, ... in the order in which rounds
        come first in the table.
    arms
        Shape (n_rows,): the number of the item.
    outcomes
        Shape (n_rows,): in [0, 1]; NaN where it is missing.
    names
        The items, in the order of their values.
    positions
        Shape (n_rows,): the place of the item in its round, from 1; None if it is not known.
    propensities
        Shape (n_rows,): the probability that the item was shown in its round; None if not known.

    Examples
    --------
    >>> items = ["tea", "jam", "jam", "pie"]
    >>> rows = {"request": [7, 7, 8, 8], "item": items, "click": [1, 0, 0, 1]}
    >>> log = ShownLog.of(rows, item="item", outcome="click", round="request")
    >>> log
    ShownLog(2 rounds, 3 items, 4 rows)
    >>> log.names, log.counts()[1].tolist()
    (('jam', 'pie', 'tea'), [2.0, 1.0, 1.0])
    """

    rounds: IndexArray
    arms: IndexArray
    outcomes: FloatArray
    names: tuple[Any, ...]
    positions: IndexArray | None = None
    propensities: FloatArray | None = None

    @classmethod
    def of(
        cls,
        table: Any,
        *,
        item: str,
        outcome: str,
        round: str | Sequence[str],
        position: str | None = None,
        propensity: str | None = None,
    ) -> ShownLog:
        """The log in a DataFrame, an Arrow table, a query of DuckDB, a dict of columns or dicts.

        Parameters
        ----------
        table
            One row per item that was shown.
        item, outcome
            The columns with the item, and with what it did, from 0 to 1 or true and false.
        round
            The column that rows of one round have in common, such as a request; or several columns.
        position, propensity
            The columns with the place of the item, from 1, and with the probability that it was
            shown.
        """
        by = [round] if isinstance(round, str) else list(round)
        wanted = [item, outcome, *by, *(name for name in (position, propensity) if name)]
        # Of Arrow, and of a DataFrame or DuckDB, which calls the second column of a name otherwise.
        refuse_repeated(wanted, list(getattr(table, "column_names", getattr(table, "columns", ()))))
        columns = as_arrays(table)
        refuse_unknown(wanted, columns)
        rounds = number_rounds({name: columns[name] for name in by})
        names, arms = number_items(columns[item], item)
        order = np.argsort(rounds, kind="stable")
        propensities = None
        if propensity is not None:
            propensities = read_propensities(columns[propensity], propensity)[order]
        log = cls(
            rounds[order],
            arms[order],
            read_outcomes(columns[outcome], outcome)[order],
            names,
            None if position is None else read_positions(columns[position], position)[order],
            propensities,
        )
        log._refuse_repeats(item)
        return log

    @property
    def n_rounds(self) -> int:
        """How many rounds there are."""
        return int(self.rounds[-1]) + 1

    @property
    def n_arms(self) -> int:
        """How many items there are."""
        return len(self.names)

    @property
    def share_shown(self) -> float:
        """The share of all items that a round shows on average; 1 if each shows every item."""
        return len(self.arms) / (self.n_rounds * self.n_arms)

    @property
    def is_whole(self) -> bool:
        """Whether the outcome of every item is known in every round."""
        return self.share_shown == 1.0 and not np.isnan(self.outcomes).any()

    def __len__(self) -> int:
        return len(self.arms)

    def __repr__(self) -> str:
        return f"ShownLog({self.n_rounds:,} rounds, {self.n_arms:,} items, {len(self):,} rows)"

    def counts(self) -> tuple[FloatArray, FloatArray]:
        """The sum of the outcomes of each item, and how many outcomes it has: shape (n_arms,)."""
        known = ~np.isnan(self.outcomes)
        arms = self.arms[known]
        sums: FloatArray = np.bincount(arms, self.outcomes[known], self.n_arms).astype(np.float64)
        return sums, np.bincount(arms, minlength=self.n_arms).astype(np.float64)

    def table(self) -> FloatArray:
        """Shape (n_rounds, n_arms): the outcomes, NaN where an item was not shown."""
        cells = np.full((self.n_rounds, self.n_arms), np.nan)
        cells[self.rounds, self.arms] = self.outcomes
        return cells

    def log(self) -> Log:
        """The rows as a `Log`, for estimates of other policies, which need propensities."""
        if self.propensities is None:
            raise ValueError(
                "estimates of other policies need the probability that each item was shown, got "
                "none; name the column with it: propensity=..."
            )
        sizes = np.bincount(self.rounds)
        # The place of each row in its round: rows of a round are neighbours.
        places = np.arange(len(self)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        shape = self.n_rounds, int(sizes.max())
        arms = np.full(shape, -1, np.intp)
        outcomes, propensities = np.full(shape, np.nan), np.full(shape, np.nan)
        here = self.rounds, places
        arms[here], outcomes[here] = self.arms, self.outcomes
        propensities[here] = self.propensities
        return Log(arms, outcomes, propensities, n_arms=self.n_arms, names=self.names)

    def halves(self) -> tuple[ShownLog, ShownLog]:
        """The rounds with even and with odd numbers, both with all items.

        Neighbours are alike, so the halves are alike, too. A set that is chosen on one half can be
        valued on the other.
        """
        odd = self.rounds % 2 == 1
        return self._rows(~odd), self._rows(odd)

    def teach(self, policy: Policy, *, strength: float = 1.0, rng: np.random.Generator) -> None:
        """A warm start: tell a policy the outcomes, round by round.

        Parameters
        ----------
        policy
            A policy over the items, as arms in the order of ``names``.
        strength
            The share of the rounds that count, drawn at random: less than 1 if the log is old or
            was made under other conditions.
        rng
            For that draw, and for beliefs that need one.
        """
        n_arms = policy.reward.n_arms
        if n_arms != self.n_arms:
            raise ValueError(f"the policy must have the log's {self.n_arms} items, got {n_arms}")
        share = as_fraction(strength, "strength", low="(", high="]")
        known = ~np.isnan(self.outcomes)
        if share < 1:
            known &= (rng.random(self.n_rounds) < share)[self.rounds]
        arms, outcomes = self.arms[known], self.outcomes[known]
        # A belief that learns from places gets them; the log counts from 1.
        places = None if self.positions is None else self.positions[known] - 1
        starts = np.flatnonzero(np.diff(self.rounds[known], prepend=-1))
        for here in np.split(np.arange(len(arms)), starts[1:]):
            if len(here):
                shown = None if places is None else places[here]
                policy.tell(arms[here], outcomes[here], rng=rng, places=shown)

    def _rows(self, chosen: NDArray[np.bool_]) -> ShownLog:
        kept = self.rounds[chosen]
        if not len(kept):
            raise ValueError(f"a log must have at least 2 rounds to be halved, got {self.n_rounds}")
        return replace(
            self,
            rounds=np.unique(kept, return_inverse=True)[1],
            arms=self.arms[chosen],
            outcomes=self.outcomes[chosen],
            positions=None if self.positions is None else self.positions[chosen],
            propensities=None if self.propensities is None else self.propensities[chosen],
        )

    def _refuse_repeats(self, item: str) -> None:
        cells = self.rounds * self.n_arms + self.arms
        found, first, n = np.unique(cells, return_index=True, return_counts=True)
        if len(found) < len(cells):
            row = first[n > 1][0]
            raise ValueError(
                f"an item must be in a round once, but {self.names[self.arms[row]]!r} of {item!r} "
                f"is {n.max()} times in one; do the columns of the round tell all rounds apart?"
            )
