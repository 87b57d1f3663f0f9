"""A logistic belief in one round: with the rows that its context gives the arms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from superarm.beliefs._linear_round import Contributions
from superarm.beliefs.posteriors import LogitNormalPosterior
from superarm.core.arguments import FloatArray, IndexArray, as_arms, as_feedback
from superarm.core.special import expit

if TYPE_CHECKING:
    from superarm.beliefs.logistic import LogisticBelief


@dataclass(frozen=True, eq=False)
class LogisticRound:
    """A `LogisticBelief` in a round with some context, as `LogisticBelief.at` returns it.

    Updates of it are updates of the belief. The context has shape (c,) or (n_arms, c).
    """

    belief: LogisticBelief
    context: FloatArray | None

    @property
    def n_arms(self) -> int:
        """How many arms there are."""
        return self.belief.n_arms

    def mean(self) -> FloatArray:
        """The posterior means in this round, shape (n_arms,)."""
        return self.posterior(np.arange(self.n_arms)).mean()

    def posterior(self, arms: IndexArray) -> LogitNormalPosterior:
        """The posteriors of some arms in this round."""
        arms = as_arms(arms, self.n_arms)
        rows = self.belief._rows.at(self.context, arms)
        location, common, own = self.belief._model.predict(arms, *rows)
        return LogitNormalPosterior(location, common + own)

    def contributions(self, arms: ArrayLike) -> Contributions:
        """What each column adds to the posterior medians of some arms in this round.

        Log-odds are sums of what the columns add. Each arm's sum is scaled to probabilities by the
        mean slope between the average arm and this arm.
        """
        arms = as_arms(arms, self.n_arms)
        phi, psi = self.belief._rows.at(self.context, arms)
        mean, own = self.belief._model.common()[0], self.belief._model.own(arms)[0]
        parts, alone = phi * mean, (psi * own).sum(axis=1)
        slope = _mean_slope(mean[0], parts.sum(axis=1) + alone)
        base, name_of = float(expit(mean[0])), self.belief._rows.design.name_of
        return Contributions(base, slope[:, None] * parts[:, 1:], slope * alone, name_of)

    def sample(self, *, rng: np.random.Generator) -> FloatArray:
        """Means that might be true in this round, shape (n_arms,)."""
        return self.sample_many(1, rng=rng)[0]

    def sample_many(self, n: int, *, rng: np.random.Generator) -> FloatArray:
        """n independent samples, shape (n, n_arms)."""
        belief = self.belief
        known = self.posterior(np.arange(self.n_arms))
        p = expit(known.location)
        # 1 / n_i: an arm whose posterior is worth few coins is raised.
        per_outcome = p * (1 - p) * known.var / belief.dispersion
        rise = belief.scores.rise(per_outcome, belief.outcomes.rounds, belief.discount)
        scores = np.array([belief.scores.law.draw(self.n_arms, rng=rng) for _ in range(n)])
        return np.asarray(expit(known.location + np.sqrt(known.var) * (rise + scores)), np.float64)

    def update(self, arms: ArrayLike, outcomes: ArrayLike, *, rng: np.random.Generator) -> None:
        """Learn outcomes of this round; no draws."""
        arms, outcomes = as_feedback(arms, outcomes, self.n_arms)
        if len(arms):
            self.belief._learn(self.context, arms, outcomes)


def _mean_slope(start: float, ends: FloatArray) -> FloatArray:
    """The mean slope of expit between two log-odds; its slope where they are the same."""
    far = np.abs(ends - start) > 1e-6
    p = expit((ends + start) / 2)
    rise = expit(ends) - expit(start)
    return np.asarray(np.where(far, rise / np.where(far, ends - start, 1.0), p * (1 - p)))
