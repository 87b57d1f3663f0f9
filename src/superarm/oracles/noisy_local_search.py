"""Local search when answers are noisy: swaps that surely help, until surely none does."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from superarm.core import Counted, FeasibleSets, KOrSets, Oracle, Reward, as_selection
from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.declarations import evaluations_per_value
from superarm.core.optional import check_sets
from superarm.core.progress import one_round
from superarm.core.showing import one_line
from superarm.oracles._contests import Sweeps, better_than_first
from superarm.oracles._noisy_settings import ContestSettings
from superarm.oracles._sets import completable
from superarm.oracles._state import check_state, forget_inner, inner_state, load_inner
from superarm.oracles.local_search import LocalSearchReport
from superarm.oracles.noisy_greedy import NoisyGreedy

# The start is a guess: how often it is wrong costs swaps, not certainty.
_DELTA_START = 0.5
# A start that is nearly as good takes a quarter of the answers where arms are nearly equal.
_TOLERANCE_START = 2.0


@dataclass(frozen=True, eq=False)
class NoisyLocalSearchReport(LocalSearchReport):
    """How a set was found, and what is certain about it.

    ``start``, ``n_swaps`` and ``evaluations`` are those of `LocalSearchReport`. Each swap improved
    the set, with the oracle's probability.

    Attributes
    ----------
    value
        The average answer about the set that it ended with, in the last step. NaN without an
        answer.
    certified
        Whether no swap of one arm improves the set by more than the tolerance. False only if the
        budget was used up. It does not mean that no set is better.
    slack
        By how much a swap of one arm may still improve the set; inf if the budget did not suffice
        for any bound.
    """

    slack: float = np.inf

    __repr__ = one_line


@dataclass(eq=False, repr=False, kw_only=True)
class NoisyLocalSearch(ContestSettings):
    """Swaps arms of a set while a swap surely improves it, from noisy answers.

    For noisy rewards whose arms interact. In each step the set and all sets that differ from it by
    one swap get the same number of answers. As soon as one of them is surely better than the set,
    that swap is made. A set that cannot be better by more than ``tolerance`` gets no further
    answers. If none is left, the search ends.

    **With probability 1 - delta**, for all steps of a run together, every swap improved the set,
    and no swap improves the final set by more than the slack in the report. The slack is at most
    ``tolerance`` if the set is certified. What this needs of the noise is the same as for
    `NoisyGreedy`. Proof: a contest is right with probability 1 - d (see
    ``superarm.oracles._contests``). The s-th step of round t has
    d = delta · 6 / (pi² t²) · 6 / (pi² s²), and these add up to delta.

    **Guarantee.** For monotone submodular rewards and sets of k arms, a certified set is worth at
    least half of the best set minus k · tolerance / 2.

    Evaluations: those of the start, and about k (n_arms - k) sets per step. With noise of standard
    deviation s, a set that is worse by g takes about 4 s² / (g + tolerance)² ·
    log(k n_arms t² / delta) answers. Nothing is remembered from round to round but how large the
    noise is, about.

    Other feasible sets must be `Completable`. If a set may have fewer arms, adding one is tried,
    too.

    Parameters
    ----------
    delta
        The probability that any swap of the run did not improve the set, or that a final set can be
        improved by more than its slack.
    start
        The oracle whose set the search begins with. It needs a budget of its own. By default
        `NoisyGreedy` with half of the budget, twice the tolerance, and an error probability of 0.5:
        a bad start costs swaps, but no certainty.
    noise_std, answers_in
        What is known about the noise, as for `NoisyGreedy`. By default it is learned.
    tolerance
        By how much a swap may still improve a certified set. With 0, equal sets use up the budget.
    budget
        The largest number of evaluations per round. When it is used up, the set is the last one
        that was surely an improvement.
    per
        "run" if ``delta`` is for all rounds together, "round" if it is for each round.

    Examples
    --------
    Two arms that are worth something together only, which greedy does not find:

    >>> import superarm as sa
    >>> rng = np.random.default_rng(0)
    >>> def simulator(arms, means):
    ...     return means.sum() + 3 * {1, 2}.issubset(arms) + rng.normal(0, 0.1)
    >>> noisy = sa.BlackBox(simulator, n_arms=4, lipschitz=3.0, upper=7.0, noisy=True)
    >>> oracle = NoisyLocalSearch(start=sa.oracles.RandomSets(), tolerance=0.1)
    >>> oracle.select(noisy, [0.9, 0.2, 0.1, 0.8], 3, rng=rng)
    array([0, 1, 2])
    >>> oracle.report.certified
    True
    """

    start: Oracle | None = None
    report: NoisyLocalSearchReport | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.start is None:
            self.start = NoisyGreedy(
                _DELTA_START,
                noise_std=self.noise_std,
                answers_in=self.answers_in,
                tolerance=_TOLERANCE_START * self.tolerance,
                budget=max(1, self.budget // 2),
                per="round",
            )
        self._counted: Counted | None = None

    def select(self, reward: Reward, theta: ArrayLike, k: KOrSets, *, rng: Generator) -> IndexArray:
        """A set that surely no swap of one arm improves by more than the tolerance."""
        theta, feasible = as_selection(reward, theta, k)
        feasible = completable(self, feasible)
        if self._counted is None or self._counted.uncounted is not reward:
            # The same one in every round: a start may know its reward by identity.
            self._counted = Counted(reward)
        with one_round() as shown:
            shown.budget(self.budget)
            arms, self.report = self._search(self._counted, theta, feasible, rng)
        return arms

    def check_sets(self, feasible: FeasibleSets) -> None:
        """Refuse sets that cannot exchange an arm, and what the start refuses."""
        completable(self, feasible)
        check_sets(self.start, feasible)

    def state(self) -> dict[str, Any]:
        """The rounds so far, how large the noise is, and the state of the start, as plain JSON."""
        return {
            "oracle": "NoisyLocalSearch",
            **self._memory(),
            "start": inner_state(self.start),
        }

    def load(self, state: dict[str, Any]) -> None:
        """Become what ``state()`` described."""
        check_state(state, "NoisyLocalSearch", "n_rounds", "variance", "start")
        self._remember(state, lambda: load_inner(self.start, state["start"]))

    def forget(self) -> None:
        """Forget how large the noise is. Rounds are counted on: delta is for all of them."""
        super().forget()
        forget_inner(self.start)

    def _search(
        self, reward: Counted, theta: FloatArray, feasible: Any, rng: Generator
    ) -> tuple[IndexArray, NoisyLocalSearchReport]:
        before = reward.evaluations
        # No longer None: see __post_init__.
        start = cast(Oracle, self.start).select(reward, theta, feasible, rng=rng)
        delta = self._share_of_next_round()
        arms, value, slack, n_swaps = start, np.nan, 0.0, 0
        while True:
            sets = [arms, *_neighbours(arms, feasible)]
            if len(sets) == 1:
                slack = 0.0
                break
            most = self.budget - (reward.evaluations - before)
            if most < len(sets) * evaluations_per_value(reward):
                slack = np.inf
                break
            sweeps = Sweeps(reward, theta, sets, self._noise, most, f"swap {n_swaps + 1}")
            share = delta * 6 / (np.pi * (n_swaps + 1)) ** 2
            found = better_than_first(sweeps, share, self.tolerance)
            arms, value, slack = sets[found.place], found.value, found.slack
            if found.place == 0:
                break
            n_swaps += 1
        spent, certified = reward.evaluations - before, slack <= self.tolerance
        return arms, NoisyLocalSearchReport(start, value, n_swaps, spent, certified, slack)


def _neighbours(arms: IndexArray, feasible: Any) -> list[IndexArray]:
    """The feasible sets with one arm exchanged, and with one more if a set may grow."""
    may_grow = not feasible.same_size and len(arms) < feasible.n_most
    stays = [np.delete(arms, place) for place in range(len(arms))] + [arms] * may_grow
    found: list[IndexArray] = []
    for stay in stays:
        completing = np.array(feasible.completed_by(stay), bool)
        completing[arms] = False
        found += [np.sort(np.append(stay, arm)) for arm in completing.nonzero()[0]]
    return found
