"""Models of the means of arms, for the doubly robust estimate.

A model must not use the outcomes of the round it is applied to. If the logged policy learned from
outcomes, later rounds depend on them, and only the rounds before may be used.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from superarm.core import Belief
from superarm.core.arguments import FloatArray, IndexArray, as_count, as_unit
from superarm.core.contexts import uses_contexts
from superarm.core.optional import HasMean
from superarm.core.policy import belief_at
from superarm.offpolicy.log import Log
from superarm.offpolicy.target import Targets
from superarm.offpolicy.weights import WeightedLog

_BLOCK = 1 << 18  # how many means are computed at a time, to bound the memory


@dataclass(frozen=True, eq=False)
class Model:
    """What a model of the means, which may change from round to round, says about a log."""

    here: FloatArray  # (n_rounds, most): the means of the logged arms
    target: FloatArray  # (n_rounds,): the mean of the target's value
    sampled: list[FloatArray]  # per entry of WeightedLog.samples: sum of h_t m_t / n_rounds


def reward_model(
    model: ArrayLike | Belief | Literal["past"],
    folds: int | None,
    log: Log,
    weighted: WeightedLog,
    wanted: Targets,
) -> Model:
    """The model that `doubly_robust` was given, applied to its log."""
    applied = _Applied(log, weighted, wanted)
    if isinstance(model, Belief):
        return _of_belief(model, folds, applied)
    if folds is not None:
        raise ValueError(
            f"folds are for a belief as a model, got {folds} with another model; "
            f"give model=LinearBelief(...), or no folds"
        )
    if isinstance(model, str):
        if model != "past":
            raise ValueError(
                f'model must be "past", the means of the arms, or a belief, got {model!r}'
            )
        return _past(applied)
    means = as_unit(model, "model", (log.n_arms,))
    for rounds in wanted.rounds:
        applied.add(rounds, means)
    return applied.model()


class _Applied:
    """A model that is applied round by round."""

    def __init__(self, log: Log, weighted: WeightedLog, wanted: Targets) -> None:
        self.log, self.weighted, self.wanted = log, weighted, wanted
        self.here, self.target = np.zeros(weighted.units.shape), np.zeros(len(log))
        # Sums of means are needed only in contexts in which the target was sampled.
        self.sums = {
            int(wanted.which[rounds[0]]): np.zeros(log.n_arms) for rounds, _ in weighted.samples
        }

    def add(self, rounds: IndexArray, means: FloatArray) -> None:
        """The means of all arms in some rounds, in all of which the target is the same."""
        there = self.weighted.inverse[rounds] > 0
        # Padding has no outcome and must not get a mean either.
        self.here[rounds] = np.where(there, means[self.weighted.units[rounds]], 0.0)
        place = int(self.wanted.which[rounds[0]])
        self.target[rounds] = self.wanted.arms[place] @ means
        if place in self.sums:
            self.sums[place] += means * (self.weighted.stable[rounds].sum() / len(self.log))

    def add_each(self, start: int, means: FloatArray) -> None:
        """The means of all arms in consecutive rounds, shape (n, n_arms)."""
        rounds = slice(start, start + len(means))
        there, which = self.weighted.inverse[rounds] > 0, self.wanted.which[rounds]
        of_logged = np.take_along_axis(means, self.weighted.units[rounds], axis=1)
        self.here[rounds] = np.where(there, of_logged, 0.0)
        self.target[rounds] = np.einsum("ti,ti->t", self.wanted.arms[which], means)
        for place, sums in self.sums.items():
            here = which == place
            sums += self.weighted.stable[rounds][here] @ means[here] / len(self.log)

    def model(self) -> Model:
        """What was applied."""
        return Model(self.here, self.target, list(self.sums.values()))

    def outcomes(self, t: int) -> tuple[IndexArray, FloatArray]:
        """The arms of a round and their outcomes."""
        there = self.log.there[t]
        return self.log.arms[t, there], self.log.outcomes[t, there]


def _past(applied: _Applied) -> Model:
    """In each round, the mean of an arm so far, with the mean of all arms as one more outcome."""
    log, weighted = applied.log, applied.weighted
    n, m = len(log), log.n_arms
    # Before the first round, every mean is 1/2. Values are 0 where there is no arm.
    all_won = 0.5 + np.cumsum(weighted.values.sum(axis=1)) - weighted.values.sum(axis=1)
    all_seen = 1.0 + np.cumsum(log.there.sum(axis=1)) - log.there.sum(axis=1)
    won, seen = np.zeros(m), np.zeros(m)
    size = max(1, _BLOCK // m)
    for start in range(0, n, size):
        rounds = slice(start, min(n, start + size))
        rows, places = np.nonzero(log.there[rounds])
        arms = log.arms[rounds][rows, places]
        now_won, now_seen = np.zeros((2, rounds.stop - start, m))
        now_won[rows, arms] = weighted.values[rounds][rows, places]
        now_seen[rows, arms] = 1.0
        after_won, after_seen = won + now_won.cumsum(axis=0), seen + now_seen.cumsum(axis=0)
        # Round t uses the outcomes before t only, so the estimate stays unbiased.
        of_all = (all_won[rounds] / all_seen[rounds])[:, None]
        means = (after_won - now_won + of_all) / (after_seen - now_seen + 1)
        applied.add_each(start, means)
        won, seen = after_won[-1], after_seen[-1]
    return applied.model()


def _of_belief(belief: Belief, folds: int | None, applied: _Applied) -> Model:
    """In each round, the posterior means of a belief that learned from other rounds."""
    if belief.n_arms != applied.log.n_arms:
        raise ValueError(
            f"the model must be of the log's {applied.log.n_arms} arms, got one of {belief.n_arms}"
        )
    if folds is None:
        learner = _Learner(belief, applied)
        for t in range(len(applied.log)):
            applied.add(np.array([t]), learner.means(t))
            learner.learn([t])
        return applied.model()
    n_folds = as_count(folds, "folds", least=2)
    # Every n-th round is in the same part, so that all parts have rounds of all times.
    part = np.arange(len(applied.log)) % n_folds
    for fold in range(n_folds):
        learner = _Learner(belief, applied)
        learner.learn(np.flatnonzero(part != fold).tolist())
        for rounds in learner.same_contexts(np.flatnonzero(part == fold)):
            applied.add(rounds, learner.means(int(rounds[0])))
    return applied.model()


class _Learner:
    """A copy of a belief that learns from rounds of a log."""

    def __init__(self, belief: Belief, applied: _Applied) -> None:
        self.belief, self.applied = copy.deepcopy(belief), applied
        self.rng = np.random.default_rng(0)  # for beliefs that toss coins for outcomes
        self.contexts = applied.log.contexts if uses_contexts(belief) else None

    def means(self, t: int) -> FloatArray:
        """The means of all arms in a round."""
        now = self._at(t)
        if not isinstance(now, HasMean):
            raise TypeError(
                f"a belief as a model must have mean(), got a {type(self.belief).__name__}; "
                f"use a LinearBelief, a LogisticBelief or a BetaBelief"
            )
        return as_unit(now.mean(), "the model's means", (self.applied.log.n_arms,))

    def learn(self, rounds: Iterable[int]) -> None:
        """Learn the outcomes of rounds."""
        for t in rounds:
            self._at(t).update(*self.applied.outcomes(t), rng=self.rng)

    def same_contexts(self, rounds: IndexArray) -> list[IndexArray]:
        """The rounds, those with the same context together."""
        log, wanted = self.applied.log, self.applied.wanted
        which = wanted.which if self.contexts is None else log.distinct_contexts[1]
        ordered = rounds[np.argsort(which[rounds], kind="stable")]
        return np.split(ordered, np.flatnonzero(np.diff(which[ordered])) + 1)

    def _at(self, t: int) -> Any:
        return belief_at(self.belief, None if self.contexts is None else self.contexts[t])
