"""Local search: swaps from a good start, until no swap helps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from superarm.core import Choices, Counted, Oracle, Pools, Reward, as_request, top_k
from superarm.core.arguments import IndexArray, as_count
from superarm.oracles._verbs import verb
from superarm.oracles.lazy_singletons import LazySingletons


@dataclass(frozen=True, eq=False)
class LocalSearchReport:
    """How a set was found.

    Attributes
    ----------
    start
        The set that the search began with.
    value
        What the set that it ended with is worth.
    n_swaps
        How many swaps were made.
    evaluations
        How many evaluations it took, those of the start included.
    certified
        Whether no swap of one arm improves the set; False only where a budget ran out. Not that no set is better.
    """

    start: IndexArray
    value: float
    n_swaps: int
    evaluations: int
    certified: bool


class LocalSearch:
    """Takes each arm of a set in turn and swaps it for the best other one, until no swap of one arm helps.

    For rewards that are not separable, where the arms worth most alone are not the best set: it ends with a set that is
    at least as good as its start, and that no swap of one arm improves. Evaluations: those of the start, one for its
    set, and n_arms - k for each arm that is taken in turn, so about k · n_arms where the start is good already.

    Within `Choices` only swaps that lead to another of their sets are looked at; where a set may have fewer arms, one
    more arm without a swap as well. Then a set that no swap improves can be further from the best one: two swaps may
    have to be made at once.

    Parameters
    ----------
    start
        The oracle whose set the search begins with; `LazySingletons` unless given.
    budget
        At most so many evaluations in a round; None for as many as it takes. A ``start`` of your own needs a budget of
        its own.

    Examples
    --------
    >>> import superarm as sa
    >>> reward = sa.CoverageReward([[1, 1, 0], [1, 1, 0], [0, 0, 1]])
    >>> oracle = LocalSearch()
    >>> oracle.select(reward, [0.9, 0.8, 0.5], 2, rng=np.random.default_rng(0))  # the first two overlap
    array([0, 2])
    >>> oracle.report.start, oracle.report.n_swaps
    (array([0, 1]), 2)
    """

    def __init__(self, start: Oracle | None = None, *, budget: int | None = None) -> None:
        self.budget = None if budget is None else as_count(budget, "budget", least=1)
        self.start: Oracle = LazySingletons(budget=self.budget) if start is None else start
        self.report: LocalSearchReport | None = None
        self._counted: Counted | None = None

    def select(
        self, reward: Reward, theta: ArrayLike, k: int | Choices, *, rng: np.random.Generator
    ) -> IndexArray:
        """A set that no swap of one arm improves."""
        theta, k = as_request(reward, theta, k, constraints=True)
        completed_by = None if isinstance(k, int) else verb(self, k, "completed_by")
        if self._counted is None or self._counted.uncounted is not reward:
            self._counted = Counted(
                reward
            )  # the same one in every round: a start that remembers knows it by that
        counted = self._counted
        before = counted.evaluations
        arms = start = self.start.select(counted, theta, k, rng=rng)

        def left() -> int:
            spent = counted.evaluations - before
            return reward.n_arms if self.budget is None else self.budget - spent

        value = counted(arms, theta[arms]) if left() > 0 else float("nan")
        n_swaps, n_settled, place = 0, 0, 0
        n_places = self._n_places(arms, k)
        while n_settled < n_places and left() > 0 and not np.isnan(value):
            stay = np.delete(arms, [place % n_places] if place % n_places < len(arms) else [])
            others = (
                np.arange(reward.n_arms)
                if completed_by is None
                else np.flatnonzero(completed_by(stay))
            )
            others = np.setdiff1d(others, arms)
            n_others = len(others)
            place += 1
            if not n_others:
                n_settled += 1
                continue
            if n_others > left():  # the likeliest ones, by their means
                others = np.sort(others[top_k(theta[others], left(), rng=rng)])
            values = counted.batch(Pools.extensions(stay, others, reward.n_arms), theta)
            best = int(top_k(values, 1, rng=rng)[0])
            # Rounding must not look like progress, or two equal sets would be swapped for ever.
            if values[best] > value + 1e-12 * max(1.0, abs(value)):
                arms, value = np.sort(np.append(stay, others[best])), float(values[best])
                n_swaps, n_settled = n_swaps + 1, 0
                n_places = self._n_places(arms, k)
            else:
                n_settled += len(others) == n_others
        certified = n_settled >= n_places or k == reward.n_arms
        self.report = LocalSearchReport(
            start, value, n_swaps, counted.evaluations - before, certified
        )
        return arms

    @staticmethod
    def _n_places(arms: IndexArray, k: int | Choices) -> int:
        """The places of a set in which something can be tried: its arms, and one that is empty if there is room."""
        return (
            len(arms)
            if isinstance(k, int)
            else len(arms) + (not k.same_size and len(arms) < k.n_most)
        )

    def state(self) -> dict[str, Any]:
        """What the start remembers, where it has a state, as plain JSON."""
        return {
            "oracle": "LocalSearch",
            "start": self.start.state() if hasattr(self.start, "state") else None,
        }

    def load(self, state: dict[str, Any]) -> None:
        """Take over what ``state()`` described."""
        if (
            not isinstance(state, dict)
            or state.get("oracle") != "LocalSearch"
            or "start" not in state
        ):
            raise ValueError(f"state must be that of a LocalSearch, got {state!r:.60}")
        if hasattr(self.start, "load") and state["start"] is not None:
            self.start.load(state["start"])

    def forget(self) -> None:
        """Have the start begin anew."""
        if hasattr(self.start, "forget"):
            self.start.forget()
