"""What the runs of a batch know: arrays of posteriors, runs × arms, or one belief per run."""

from __future__ import annotations

import copy
from typing import Any, Protocol, runtime_checkable

import numpy as np

from superarm.beliefs import (
    BetaBelief,
    FlatGaussianBelief,
    GaussianBelief,
    LearnedBetaBelief,
    SharedSeedBelief,
    SingleSeedBelief,
)
from superarm.core import Belief
from superarm.core.arguments import FloatArray, IndexArray
from superarm.simulation.batch.beta_quantiles import LARGEST_NORMAL
from superarm.simulation.batch.gaussian_runs import FlatGaussianRuns, GaussianRuns, shared_scores
from superarm.simulation.batch.learned_runs import LearnedRuns
from superarm.simulation.batch.on_numpy import NumpyEngine
from superarm.simulation.batch.run_stack import Array, RunStack

# From this many arms on, it is faster to draw the few values that decide, run by run, than all:
# benchmarks/torch_engine.py --beliefs.
_MANY_ARMS = 500


class Knowledge(Protocol):
    """The beliefs of all runs."""

    @property
    def has_ties(self) -> bool:
        """Whether different arms may have equal values."""

    def draw(self) -> Array:
        """One sample per run, (n_runs, n_arms)."""

    def learn(self, arms: Array, outcomes: Array) -> None:
        """One outcome of 0 or 1 for each of the arms, (n_runs, k)."""


@runtime_checkable
class LearnsInPauses(Protocol):
    """What the runs know changes after some rounds in a way that no GPU replays."""

    def pauses(self, horizon: int) -> set[int]:
        """The rounds after which there is a pause, counted from 1."""

    def pause(self) -> None:
        """Learn."""


class BetaRuns:
    """Beta posteriors whose seed is shared in part, as arrays of runs × arms.

    The arrays change in place, so that a GPU can replay a round.
    """

    def __init__(
        self, runs: RunStack, engine: Any, prior: BetaBelief | None = None, shared: float = 0.0
    ) -> None:
        self.runs, self.engine, self.shared = runs, engine, shared
        # With a single seed, equal posteriors have equal values.
        self.has_ties = shared == 1
        shape = runs.n_runs, runs.n_arms
        self.a, self.b = engine.full(shape, 1.0), engine.full(shape, 1.0)
        if prior is not None:
            self.a[:] = engine.put(engine.narrow(prior.a))
            self.b[:] = engine.put(engine.narrow(prior.b))
        if shared > 0:
            self._quantiles = engine.quantiles(self.a, self.b, LARGEST_NORMAL)

    def draw(self) -> Array:
        """One draw from every posterior."""
        if self.shared == 0:
            return self.engine.beta(self.a, self.b)
        return self._quantiles.at(shared_scores(self.runs, self.engine, self.shared))

    def learn(self, arms: Array, outcomes: Array) -> None:
        """Count successes and failures."""
        rows, like = self.runs.rows, self.engine.like
        self.a[rows, arms] += like(outcomes, self.a)
        self.b[rows, arms] += like(1.0 - outcomes, self.b)
        if self.shared > 0:
            self._quantiles.renew(rows, arms)


class OneBeliefPerRun:
    """A copy of a belief for every run: any belief, at the cost of its own ``sample``."""

    has_ties = True

    def __init__(self, runs: RunStack, engine: NumpyEngine, belief: Belief) -> None:
        self.rng = engine.rng
        self.beliefs = [copy.deepcopy(belief) for _ in range(runs.n_runs)]

    def draw(self) -> FloatArray:
        """One sample of every belief."""
        return np.stack([belief.sample(rng=self.rng) for belief in self.beliefs])

    def learn(self, arms: IndexArray, outcomes: FloatArray) -> None:
        """Update every belief; arms ascend, as `Policy` tells them."""
        order = np.argsort(arms, axis=1)
        for belief, mine, seen, places in zip(self.beliefs, arms, outcomes, order, strict=True):
            belief.update(mine[places], seen[places], rng=self.rng)


class TopsPerRun(OneBeliefPerRun):
    """A copy of `LearnedBetaBelief` for every run, of which only the k largest values are drawn."""

    def top(self, k: int) -> IndexArray:
        """The k arms of the largest values of one sample of every belief, (n_runs, k)."""
        beliefs: list[Any] = self.beliefs
        return np.stack([belief.sample_top(k, rng=self.rng)[0] for belief in beliefs])


def knowledge(
    belief: Belief | None, runs: RunStack, engine: Any, *, only_top: bool = False
) -> Knowledge:
    """What runs know that begin with a belief; None is `BetaBelief` with its default prior.

    With ``only_top``, nothing but the arms of the largest values is needed.
    """
    if belief is not None and belief.n_arms != runs.n_arms:
        raise ValueError(
            f"belief must be about the {runs.n_arms} arms of the instances, got {belief.n_arms}"
        )
    # Only these classes: a subclass may have another law of a sample.
    if belief is None or type(belief) is BetaBelief:
        return BetaRuns(runs, engine, belief)
    if type(belief) is SharedSeedBelief:
        return BetaRuns(runs, engine, belief.posteriors, belief.shared)
    if type(belief) is SingleSeedBelief:
        return BetaRuns(runs, engine, belief.posteriors, 1.0)
    if type(belief) is LearnedBetaBelief:
        if only_top and isinstance(engine, NumpyEngine) and runs.n_arms >= _MANY_ARMS:
            return TopsPerRun(runs, engine, belief)
        return LearnedRuns(runs, engine, belief)
    if type(belief) is GaussianBelief:
        return GaussianRuns(runs, engine, belief)
    if type(belief) is FlatGaussianBelief:
        return FlatGaussianRuns(runs, engine, belief)
    if isinstance(engine, NumpyEngine):
        return OneBeliefPerRun(runs, engine, belief)
    raise TypeError(
        f'engine="torch" has no arrays for a {type(belief).__name__}; use engine="numpy", which '
        "plays any belief"
    )
