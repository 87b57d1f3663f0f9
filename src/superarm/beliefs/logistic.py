"""A logistic model of the arms: what features tell, and what each arm shows of itself.

A generalised linear mixed model for Thompson sampling: features as in Chapelle, Li ("An empirical
evaluation of Thompson sampling", 2011), deviations of arms as in Russac et al. and in the mixed
effects of MTSS (2022). The posterior is by expectation propagation (Minka 2001) with one Gaussian
in place of the coins of an arm. Within contexts, outcomes are looked at once (assumed density
filtering, as in Graepel et al. 2010). Variances are learned by marginal likelihood.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from superarm.beliefs._logit_sites import mean_of_logit_normal, sites
from superarm.beliefs._mixed import MixedModel
from superarm.beliefs._rows import Rows
from superarm.beliefs._scores import SharedScores
from superarm.beliefs._variances import FIRST_STDS, fit_stds
from superarm.beliefs.outcome_counts import OutcomeCounts
from superarm.beliefs.posteriors import LogitNormalPosterior
from superarm.core.arguments import (
    FloatArray,
    IndexArray,
    as_count,
    as_feedback,
    as_finite,
    as_fraction,
    as_state,
)

# The variances are learned first after so many outcomes, and again when they are a quarter more.
_FIRST_FIT, _GROWTH = 8, 1.25
# Passes over the Gaussians of the arms of one update, and over all arms before and after a fit.
_N_PASSES, _N_SWEEPS = 2, 3
# Gaussians of all arms change together: a smaller step than to the solution keeps them stable.
_DAMPING = 0.8
_LEAST_DISPERSION = 0.002
# The weight of the guess that outcomes are coins, in variances.
_COINS = 2.0


class LogisticBelief:
    """logit theta_i = w_0 + x_i · w + u_i, with the variances of w and of all u_i learned.
    """

    def __init__(
        self,
        features: ArrayLike | int,
        *,
        n_context: int = 0,
        structure: str = "shared",
        shared: float = 0.8,
        optimism: float = 0.4,
        spread: float = 0.5,
        horizon: int | None = None,
    ) -> None:
        self.rows = Rows.of(features, n_context, structure)
        self.shared = as_fraction(shared, "shared", low="[", high="]")
        self.optimism, self.spread = (
            float(as_finite([value], name, ndim=1, least=0.0)[0])
            for value, name in ((optimism, "optimism"), (spread, "spread"))
        )
        self.horizon = None if horizon is None else as_count(horizon, "horizon", least=1)
        self.outcomes = OutcomeCounts.empty(self.n_arms)
        self.stds = {name: FIRST_STDS[name] for name in self.rows.names}
        self.dispersion = 1.0
        self.model = MixedModel(self.n_arms, *self.rows.prior(self.stds))
        self._within, self._coins, self._n_fitted = 0.0, 0.0, 0.0

    @property
    def n_arms(self) -> int:
        """How many arms there are."""
        return len(self.rows.features)

    def at(self, context: ArrayLike | None) -> LogisticRound:
        """The belief of a round with this context."""
        return LogisticRound(self, *self.rows.at(context))

    def mean(self) -> FloatArray:
        return self.at(None).mean()

    def posterior(self, arms: IndexArray) -> LogitNormalPosterior:
        return self.at(None).posterior(arms)

    def sample(self, *, rng: np.random.Generator) -> FloatArray:
        return self.at(None).sample(rng=rng)

    def update(self, arms: ArrayLike, outcomes: ArrayLike, *, rng: np.random.Generator) -> None:
        self.at(None).update(arms, outcomes, rng=rng)

    def add_arms(self, n: int, prior: ArrayLike | None = None) -> None:
        """Append n arms with their features, shape (n, d). O(n_arms)."""
        n = as_count(n, "n", least=1)
        self.rows.add(n, prior)
        self.outcomes.add_arms(n, None, "LogisticBelief")
        self.model.add_arms(n)

    def _learn(self, arms, phi, psi, outcomes) -> None:
        in_context = self.rows.n_context > 0
        mean = self._location(arms, phi, psi)
        p = expit(mean)
        self._within += float((outcomes * (1 - outcomes)).sum())
        self._coins += float((p * (1 - p)).sum())
        self.outcomes.add(arms, outcomes)
        if in_context:
            n, s = np.full(len(arms), 1 / self.dispersion), outcomes / self.dispersion
            site = np.zeros(len(arms)), np.zeros(len(arms))
        else:
            n, s = self._coins_of(arms)
            site = self.model.precision[arms, 0, 0], self.model.shift[arms, 0]
        self._settle(arms, phi, psi, (n, s), site, passes=_N_PASSES)
        n_outcomes = self.outcomes.counts.sum()
        if n_outcomes >= max(_FIRST_FIT, _GROWTH * self._n_fitted):
            self._fit()
            self._n_fitted = float(n_outcomes)

    def _location(self, arms, phi, psi):
        return self.model.predict(arms, phi, psi)[0]

    def _coins_of(self, arms):
        counts, sums = self.outcomes.counts[arms], self.outcomes.sums[arms]
        return counts / self.dispersion, np.minimum(sums, counts) / self.dispersion

    def _settle(self, arms, phi, psi, coins, site, passes, damping=1.0):
        weight, pull = site
        for _ in range(passes):
            location, common, own = self.model.predict(arms, phi, psi)
            var = common + own
            without = 1 / var - weight
            w2, p2 = sites((location / var - pull) / without, 1 / without, *coins)
            step_w, step_p = damping * (w2 - weight), damping * (p2 - pull)
            self.model.observe(
                arms, phi, psi, step_w, step_p, same_rows=self.rows.n_context == 0
            )
            weight, pull = weight + step_w, pull + step_p
        return weight, pull

    def _fit(self):
        if not self.rows.n_context:
            phi, psi = self.rows.at(None)
        self._learn_dispersion()
        in_context = self.rows.n_context > 0
        seen = np.flatnonzero(self.outcomes.counts)
        for _ in range(1 if in_context else _N_SWEEPS):
            self.stds = fit_stds(self.model, self.rows, self.stds)
            self.model.fixed_var, self.model.own_var = self.rows.prior(self.stds)
            self.model.refresh()
            if not in_context:
                site = self.model.precision[seen, 0, 0], self.model.shift[seen, 0]
                self._settle(
                    seen, phi[seen], psi[seen], self._coins_of(seen), site, 2, _DAMPING
                )

    def _learn_dispersion(self):
        found = 1 - self._within / (self._coins + _COINS)
        self.dispersion = min(1.0, max(_LEAST_DISPERSION, found))


class LogisticRound:
    def __init__(self, belief, phi, psi):
        self.belief, self.phi, self.psi = belief, phi, psi
        self.n_arms = belief.n_arms

    def mean(self):
        return self.posterior(np.arange(self.n_arms)).mean()

    def posterior(self, arms):
        location, common, own = self.belief.model.predict(arms, self.phi[arms], self.psi[arms])
        return LogitNormalPosterior(location, common + own)

    def sample(self, *, rng):
        b = self.belief
        every = np.arange(self.n_arms)
        location, common, own = b.model.predict(every, self.phi, self.psi)
        var = common + own
        scores = SharedScores(b.shared, b.spread).draw(self.n_arms, rng=rng)
        to_come = b.outcomes.rounds + 1
        if b.horizon is not None:
            to_come = max(1, b.horizon - b.outcomes.rounds)
        p = expit(location)
        n_known = b.dispersion / (p * (1 - p) * var)
        return expit(location + np.sqrt(var) * (b.optimism * np.log1p(to_come / n_known) + scores))

    def update(self, arms, outcomes, *, rng):
        arms, outcomes = as_feedback(arms, outcomes, self.n_arms)
        if len(arms):
            self.belief._learn(arms, self.phi[arms], self.psi[arms], outcomes)
