"""`GaussianBelief` and `FlatGaussianBelief` for all runs of a batch, as arrays of runs × arms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from superarm.beliefs import GaussianBelief
from superarm.beliefs.flat_gaussian import BELOW_UNSEEN, FlatGaussianBelief
from superarm.beliefs.outcome_counts import OutcomeCounts
from superarm.simulation.batch.run_stack import Array, RunStack


def shared_scores(runs: RunStack, engine: Any, shared: float) -> Array:
    """Normal scores, runs × arms, of which the arms of a run share a part."""
    common = engine.normal((runs.n_runs, 1))
    own = engine.normal((runs.n_runs, runs.n_arms))
    return math.sqrt(shared) * common + math.sqrt(1 - shared) * own


class CountedRuns:
    """The number of outcomes of each arm, and their sums, in float64."""

    def __init__(self, runs: RunStack, engine: Any, outcomes: OutcomeCounts) -> None:
        self.runs, self.engine, self.first_round = runs, engine, outcomes.rounds
        shape = runs.n_runs, 1
        self.counts = engine.put(np.tile(outcomes.counts, shape))
        self.sums = engine.put(np.tile(outcomes.sums, shape))

    def add(self, arms: Array, outcomes: Array) -> None:
        """One more outcome for each of the arms, (n_runs, k)."""
        self.counts[self.runs.rows, arms] += 1
        self.sums[self.runs.rows, arms] += outcomes


class GaussianRuns:
    """Gaussian posteriors restricted to [0, 1]."""

    # Values that are rounded to 0 or 1 are equal.
    has_ties = True

    def __init__(self, runs: RunStack, engine: Any, belief: GaussianBelief) -> None:
        self.engine, self.belief = engine, belief
        self.counted = CountedRuns(runs, engine, belief.outcomes)
        self.learn = self.counted.add

    def draw(self) -> Array:
        """One draw from every posterior, by inverting its distribution function."""
        engine, belief, counted = self.engine, self.belief, self.counted
        var = 1 / (1 / belief.prior_var + counted.counts / belief.noise_var)
        center = var * (belief.prior_mean / belief.prior_var + counted.sums / belief.noise_var)
        std = engine.xp.sqrt(var)
        low, high = engine.ndtr(-center / std), engine.ndtr((1 - center) / std)
        scores = shared_scores(counted.runs, engine, belief.shared)
        level = low + (high - low) * engine.ndtr(scores)
        drawn = engine.xp.clip(center + std * engine.ndtri(level), 0.0, 1.0)
        return engine.like(drawn, counted.runs.mu)


class FlatGaussianRuns:
    """Gaussian posteriors with a flat prior, scaled to [0, 1] in each run."""

    # Arms without outcomes have the same value.
    has_ties = True

    def __init__(self, runs: RunStack, engine: Any, belief: FlatGaussianBelief) -> None:
        self.engine, self.belief = engine, belief
        self.counted = CountedRuns(runs, engine, belief.outcomes)
        self.learn = self.counted.add

    def draw(self) -> Array:
        """One draw per arm, scaled to [0, 1]."""
        xp, belief, counted = self.engine.xp, self.belief, self.counted
        seen, n_known = counted.counts > 0, xp.clip(counted.counts, 1, None)
        std = xp.sqrt(self._factor() * belief.noise_var / n_known)
        scores = shared_scores(counted.runs, self.engine, belief.shared)
        values = counted.sums / n_known + std * scores
        # Masks are factors here: with numbers in `where`, a GPU could not replay the round.
        known = seen * values
        low = xp.clip(xp.amin(known, 1), None, 0.0)[:, None]
        high = xp.clip(xp.amax(known, 1), 1.0, None)[:, None]
        top = 1.0 - (1 - BELOW_UNSEEN) * (known.shape[1] > seen.sum(1))[:, None]
        scaled = top * xp.clip((values - low) / (high - low), 0.0, 1.0)
        return self.engine.like(seen * scaled + 1.0 * ~seen, counted.runs.mu)

    def _factor(self) -> Any:
        """The factor of the variances in this round."""
        belief, xp = self.belief, self.engine.xp
        if belief.set_size is None:
            return belief.boost
        rounds = self.counted.first_round + self.engine.double(self.engine.clock)
        log_t = xp.clip(xp.log(rounds + 1), 1.0, None)
        f = log_t + (belief.set_size + 2) * xp.log(log_t) + belief.constant
        return 2 * belief.boost * f / log_t
