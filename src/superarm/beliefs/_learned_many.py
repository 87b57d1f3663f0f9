"""`LearnedBetaBelief` for many rounds at a time: samples while nothing is learned, and feedback."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from superarm.beliefs._equal_arms import EqualArms
from superarm.beliefs._many_rounds import MOST_ARMS, Rounds, one_by_one
from superarm.beliefs._many_tops import ManyTops
from superarm.beliefs._next_of_groups import next_of_groups
from superarm.beliefs._scores import MixedPosteriors
from superarm.beliefs._tails import LargeValues
from superarm.beliefs._top_of_groups import TopOfGroups, whole_is_faster
from superarm.beliefs.learned_prior import N_PARTS, next_fit
from superarm.core.arguments import FloatArray, IndexArray, as_count, as_k

_FEWEST = 4  # samples that take less time at once than one by one
# A place of a set takes about as long as this many arms of a whole sample, also in many samples.
ARMS_PER_PLACE, _ARMS_PER_PLACE_AT_ONCE = 8, 4
# Up to this many changed arms, and changes per arm, take less time than new groups.
_MOVES, _MOVES_PER_ARM = 50, 0.04

if TYPE_CHECKING:
    from superarm.beliefs.learned_beta import LearnedBetaBelief


def sample_top_many(
    self: LearnedBetaBelief, n: int, k: int, *, rng: np.random.Generator
) -> tuple[IndexArray, FloatArray]:
    """The same as ``sample_top`` for n independent samples, at once: shape (n, k) each."""
    n, k, counts = as_count(n, "n", least=1), as_k(k, self.n_arms), self.outcomes.counts
    if self.n_arms > MOST_ARMS:
        return one_by_one(self, n, k, rng=rng)
    posteriors = self._mixed(counts, self.outcomes.sums)
    tops = ManyTops(posteriors, self._optimism(counts), self._is_held(), self.scores.law)
    return tops.draw(n, k, rng=rng)


def tops_of(self: LearnedBetaBelief) -> TopOfGroups:
    """What draws samples of a belief while nothing is learned."""
    if self._groups is None:
        self._groups = EqualArms(*self._columns(slice(None)), n_derived=N_PARTS)
    groups, learned = self._groups, self._learned()
    held = groups.columns()[2] > 0
    fixed = groups.derived(learned, learned.of_groups, learned.of_group)
    a, b, wide_a, wide_b, weight, *more = fixed[:9]
    optimism, optimism_wide = self._rise(fixed[9:])
    bounds = MixedPosteriors(a, b, wide_a, wide_b, weight, optimism_wide - optimism)
    law, own = self.scores.law, None if self._in_steps else self._mixed_of
    return TopOfGroups(bounds, optimism, held, groups, law, own, LargeValues(bounds, *more))


def sample_tops(
    self: LearnedBetaBelief, n: int, k: int, *, rng: np.random.Generator
) -> tuple[IndexArray, FloatArray]:
    """The same as n calls of ``sample_top`` in law, in less time: shape (n, k) each.

    Up to three samples are those of as many calls.
    """
    n, k = as_count(n, "n", least=1), as_k(k, self.n_arms)
    per_place = ARMS_PER_PLACE if n < _FEWEST else _ARMS_PER_PLACE_AT_ONCE
    if whole_is_faster(k, self.n_arms, per_place):
        return one_by_one(self, n, k, rng=rng)
    tops = tops_of(self)
    if n >= _FEWEST and tops.large is not None:
        return next_of_groups(tops, tops.large, n, k, rng=rng)
    rows = [tops.draw(k, rng=rng) for _ in range(n)]
    return np.array([arms for arms, _ in rows]), np.array([values for _, values in rows])


def update_many(
    self: LearnedBetaBelief,
    arms: Sequence[ArrayLike],
    outcomes: Sequence[ArrayLike],
    *,
    rng: np.random.Generator,
) -> None:
    """The same as one ``update`` per round, bit for bit; faster if all outcomes are 0 or 1."""
    if len(arms) == len(outcomes) == 1:
        self.update(arms[0], outcomes[0], rng=rng)
        return
    rounds = Rounds.of(arms, outcomes, self.n_arms)
    if rounds.is_certain:
        touched = np.unique(rounds.arms)
        # Groups follow from the counts. If few arms change, these are moved between groups.
        few = len(touched) <= _MOVES + _MOVES_PER_ARM * self.n_arms
        keeps = self._groups is not None and few
        before = self._keys(touched) if keeps else []
        _learn_rounds(self, rounds)
        if keeps and self._groups is not None:
            self._groups.move(touched.tolist(), before, self._keys(touched))
        else:
            self._groups = None
        return
    for one in zip(arms, outcomes, strict=True):
        self.update(*one, rng=rng)


def _learn_rounds(belief: LearnedBetaBelief, rounds: Rounds) -> None:
    """What one ``update`` per round does, bit for bit, for outcomes of 0 and 1.

    Sums of zeros and ones have no rounding, so plain numbers and arrays give the same.
    """
    arms, outcomes = rounds.arms.tolist(), rounds.outcomes.tolist()
    start, sizes = 0, rounds.sizes.tolist()
    while sizes:
        n_rounds = _n_until_fit(belief, sizes)
        n = sum(sizes[:n_rounds])
        _learn(belief, arms[start : start + n], outcomes[start : start + n])
        belief.outcomes.rounds += sum(size > 0 for size in sizes[:n_rounds])
        belief._n_outcomes += n
        start, sizes = start + n, sizes[n_rounds:]
        if belief._n_outcomes >= next_fit(belief._n_fitted):
            belief._fit()
            belief._n_fitted = belief._n_outcomes


def _n_until_fit(belief: LearnedBetaBelief, sizes: list[int]) -> int:
    """How many rounds come before the next fit, with the one that causes it."""
    n_wanted = next_fit(belief._n_fitted) - belief._n_outcomes
    for n_rounds, size in enumerate(sizes, start=1):
        n_wanted -= size
        if n_wanted <= 0:
            return n_rounds
    return len(sizes)


def _learn(belief: LearnedBetaBelief, arms: list[int], outcomes: list[float]) -> None:
    """Count outcomes while the prior stays as it is."""
    touched = np.unique(np.array(arms, np.intp))
    known = belief.outcomes
    columns = (known.counts[touched], known.sums[touched], belief._streaks[touched])
    state = {
        arm: list(values)
        for arm, *values in zip(
            touched.tolist(), *(column.tolist() for column in columns), strict=True
        )
    }
    (a, b), d, longest = belief.prior, belief.dispersion, belief.stay_after
    for arm, outcome in zip(arms, outcomes, strict=True):
        of_arm = state[arm]
        count, total, streak = of_arm
        above, below = a + total / d, b + max(count - total, 0.0) / d
        of_arm[2] = min(streak + 1, longest) if outcome >= above / (above + below) else 0
        of_arm[0], of_arm[1] = count + 1, total + outcome
    table = np.array(list(state.values())).reshape(-1, 3)
    known.counts[touched], known.sums[touched] = table[:, 0], table[:, 1]
    belief._streaks[touched] = table[:, 2]
    belief._squares += sum(outcomes)
