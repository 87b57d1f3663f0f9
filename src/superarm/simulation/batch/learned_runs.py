"""`LearnedBetaBelief` for all runs of a batch, as arrays of runs × arms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from superarm.beliefs import LearnedBetaBelief
from superarm.beliefs._score_settings import LOOK_AHEAD
from superarm.beliefs._scores import largest_score, wide_scores
from superarm.beliefs.learned_prior import PER_OUTCOME, WIDE, LearnedPrior, next_fit
from superarm.core.special import logit
from superarm.simulation.batch.beta_quantiles import LARGEST_NORMAL
from superarm.simulation.batch.run_stack import Array, RunStack

# The scores of more rounds than this are cut, at values that hardly any arm has.
_MOST_ROUNDS = 1e6
# The least a + b of a fitted prior, about.
_LEAST_STRENGTH = 0.05
_LARGEST_SCORE = 37.0  # beyond it Phi is 0 in float64
_ALL = slice(None)


class LearnedRuns:
    """The values of `LearnedBetaBelief` at the scores of all runs.

    A prior per run is fitted on the CPU, by the functions of the belief, after the same rounds in
    all runs, since all have as many outcomes. Between the fits, what a posterior depends on is
    computed for the k arms with new outcomes only.

    Parameters
    ----------
    runs
        The instances of all runs.
    engine
        `NumpyEngine` or `TorchEngine`.
    belief
        What every run starts with; it is only read.
    """

    # Arms that the belief stays with have the same score.
    has_ties = True

    def __init__(self, runs: RunStack, engine: Any, belief: LearnedBetaBelief) -> None:
        self.runs, self.engine, self.settings, state = runs, engine, belief.scores, belief.state()
        self._first_round, self._stay_after, self._wide = (
            state["rounds"], state["stay_after"], state["wide"],
        )  # fmt: skip
        *learned, self._squares, self._n_fitted = state["learned"]
        self._first_outcomes = float(belief.outcomes.counts.sum())
        self._first_sum = float(belief.outcomes.sums.sum())
        self.priors = [LearnedPrior(belief.prior, *learned)] * runs.n_runs

        def filled(values: Any) -> Array:
            empty = engine.full((runs.n_runs, runs.n_arms), 0.0)
            empty[:] = engine.put(engine.narrow(np.asarray(values, np.float64)))
            return empty

        self.counts, self.sums = filled(belief.outcomes.counts), filled(belief.outcomes.sums)
        self.streaks = filled(state["streaks"])
        self.a, self.b, self.wide_a, self.wide_b, self.weight = (filled(1.0) for _ in range(5))
        # Per run: a and b of the prior, the dispersion, and the log-odds of the wide prior.
        self._learned = engine.put(np.zeros((4, runs.n_runs, 1)))
        self._set()
        reach = self._reach()
        self._quantiles = engine.quantiles(self.a, self.b, reach)
        self._wide_quantiles = engine.quantiles(self.wide_a, self.wide_b, reach)

    def draw(self) -> Array:
        """One sample per run, at the scores of its arms."""
        engine, xp, law = self.engine, self.engine.xp, self.settings.law
        common = law.common_std * engine.normal((self.runs.n_runs, 1))
        own = engine.normal((self.runs.n_runs, self.runs.n_arms))
        if self._stay_after:
            # Masks are factors here: with numbers in `where`, a GPU could not replay the round.
            held = 1.0 * (self.streaks >= self._stay_after)
            own = (1 - held) * own + held * largest_score(self.runs.n_arms)
        prior_a, prior_b, dispersion, _ = self._learned
        counts = engine.double(self.counts)
        rise = self._rise(counts + dispersion * (prior_a + prior_b))
        scores = common + law.own_std * own
        values = self._quantiles.at(rise + scores)
        if not self._wide:
            return values
        # As in `MixedPosteriors`: the wide part can raise a value.
        tail = engine.ndtr(-(self._rise(counts + sum(WIDE) * dispersion) + scores))
        there = tail < self.weight
        within = -engine.ndtri(tail / (self.weight + 1.0 * ~there))
        raised = self._wide_quantiles.at(wide_scores(within, xp), where=there)
        return xp.where(there, xp.maximum(values, raised), values)

    def learn(self, arms: Array, outcomes: Array) -> None:
        """Count the outcomes."""
        rows, like = self.runs.rows, self.engine.like
        a, b = self.a[rows, arms], self.b[rows, arms]
        good = like(outcomes >= a / (a + b), a)
        # A streak that is longer than needed changes nothing.
        self.streaks[rows, arms] = good * (self.streaks[rows, arms] + 1)
        self.counts[rows, arms] += 1
        self.sums[rows, arms] += like(outcomes, a)
        self._set(rows, arms)
        self._quantiles.renew(rows, arms)
        self._wide_quantiles.renew(rows, arms)

    def pauses(self, horizon: int) -> set[int]:
        """The rounds after which the priors are fitted."""
        found, fitted = set(), self._n_fitted
        for played in range(1, horizon + 1):
            n_outcomes = self._first_outcomes + self.runs.k * played
            if n_outcomes >= next_fit(fitted):
                found.add(played)
                fitted = n_outcomes
        return found

    def pause(self) -> None:
        """Fit the prior of every run to its outcomes."""
        counts, sums = (
            np.asarray(self.engine.get(each), np.float64) for each in (self.counts, self.sums)
        )
        # Outcomes are 0 or 1, and so are their squares.
        squares = self._squares + sums.sum(axis=1) - self._first_sum
        self.priors = [
            prior.fitted(*of_run, wide=self._wide)
            for prior, *of_run in zip(self.priors, counts, sums, squares, strict=True)
        ]
        self._set()
        self._quantiles.renew()
        self._wide_quantiles.renew()

    def _set(self, rows: Array = _ALL, arms: Array = _ALL) -> None:
        """The posteriors of some arms, from their outcomes and the prior of their run."""
        if rows is _ALL:
            found = [
                (*prior.beta, prior.dispersion, logit(prior.wide_share)) for prior in self.priors
            ]
            self._learned[:] = self.engine.put(np.array(found).T[:, :, None])
        xp, like = self.engine.xp, self.engine.like
        prior_a, prior_b, dispersion, odds = self._learned
        counts, sums = (self.engine.double(each[rows, arms]) for each in (self.counts, self.sums))
        # A sum may exceed its count by rounding.
        failed = xp.clip(counts - sums, 0.0, None)
        parts = prior_a + sums / dispersion, prior_b + failed / dispersion
        wide = WIDE[0] + sums / dispersion, WIDE[1] + failed / dispersion
        # Sums are rounded up as in the belief.
        above = xp.ceil(PER_OUTCOME * sums) / PER_OUTCOME
        won, lost = above / dispersion, xp.clip(counts - above, 0.0, None) / dispersion
        ratio = self._betaln(WIDE[0] + won, WIDE[1] + lost) + self._betaln(prior_a, prior_b)
        ratio = ratio - self._betaln(prior_a + won, prior_b + lost)
        weight = self.engine.sigmoid(odds + ratio)
        kept = self.a, self.b, self.wide_a, self.wide_b, self.weight
        for array, values in zip(kept, (*parts, *wide, weight), strict=True):
            array[rows, arms] = like(values, array)

    def _betaln(self, a: Array, b: Array) -> Array:
        gammaln = self.engine.gammaln
        return gammaln(a) + gammaln(b) - gammaln(a + b)

    def _rise(self, n_known: Array) -> Array:
        """What raises the scores in this round, as in `ScoreSettings`."""
        settings, played = self.settings, self.engine.clock
        rounds = self._first_round + self.engine.double(played)
        n_outcomes = self._first_outcomes + self.runs.k * self.engine.double(played)
        # After this many rounds, each arm has one outcome on average.
        more = self.runs.n_arms * rounds / self.engine.xp.clip(n_outcomes, 1, None)
        to_come = rounds + 1 + more
        if settings.horizon is not None:
            to_come = self.engine.xp.clip(settings.horizon - rounds, 1.0, None)
        return settings.optimism * self.engine.xp.log1p(LOOK_AHEAD * to_come / n_known)

    def _reach(self) -> float:
        """The largest score that matters."""
        settings = self.settings
        to_come = 2 * _MOST_ROUNDS if settings.horizon is None else settings.horizon
        rise = settings.optimism * math.log1p(LOOK_AHEAD * to_come / _LEAST_STRENGTH)
        return min(_LARGEST_SCORE, rise + settings.spread * LARGEST_NORMAL)
