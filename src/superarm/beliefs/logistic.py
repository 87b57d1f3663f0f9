"""A logistic model of features and contexts, with deviations of arms and learned variances.

Thompson sampling with logistic models: Chapelle, Li ("An empirical evaluation of Thompson
sampling", 2011). The arms' own deviations make features useful without trusting them: Wan, Ge, Song
("Towards scalable and robust structured bandits", 2022). The posterior is by expectation
propagation (Minka 2001). Within contexts each outcome is looked at once, in its own round (assumed
density filtering, as in Graepel, Candela, Borchert, Herbrich 2010).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from superarm.beliefs._linear_round import Contributions
from superarm.beliefs._logistic_round import LogisticRound
from superarm.beliefs._logit_model import SiteModel
from superarm.beliefs._logit_rows import Rows, Structure
from superarm.beliefs._logit_sites import sites
from superarm.beliefs._logit_stds import FIRST_STDS, STEPS, fit_stds
from superarm.beliefs._score_settings import NAMES, OfScores, ScoreSettings
from superarm.beliefs.outcome_counts import OutcomeCounts
from superarm.beliefs.posteriors import LogitNormalPosterior
from superarm.core.arguments import FloatArray, IndexArray, as_fraction, as_positive
from superarm.core.showing import one_line
from superarm.core.special import expit
from superarm.core.states import as_saved_number, refusing

# After this many outcomes the variances are learned first, and again when they are a quarter more.
_FIRST_FIT, _GROWTH = 8, 1.25
# Passes over the arms of an update, and over all arms after each step of the variances.
_N_PASSES = 2
# All arms change at once at a fit: a part of the way is stable where the whole way is not.
_DAMPING = 0.8
# The weight of the guess that outcomes are coins, in variances, and the least noise of outcomes
# relative to coins, since less would make counts overflow.
_COINS, _LEAST_DISPERSION = 2.0, 0.002
_SETTINGS = (*NAMES, "discount")
_LEARNED = ("dispersion", "_within", "_coins", "_n_seen", "_due")


class LogisticBelief:
    """logit theta_i = w_0 + x_i · w + u_i: features tell a part, the arm's own outcomes the rest.

    w and u_i have Gaussian priors whose variances are learned from all arms by marginal likelihood.
    So useless features get weights of about 0, and features that tell all leave nothing to u_i.
    Without features it is a learned logit-normal prior. For outcomes of 0 and 1, also at low rates.
    Outcomes between 0 and 1 count as s successes of n coins, and n is larger if they vary less than
    coins do: ``dispersion`` is the ratio of the variances.

    A sample takes each posterior at a score, as `LearnedBetaBelief` does:

        logit theta_i = location_i + std_i · z_i,
        z_i = optimism · log(1 + 0.3 t / n_i) + spread · (sqrt(shared) z_0 + sqrt(1 - shared) e_i).

    n_i is how many coins the posterior is worth, 1 / (p (1 - p) std_i²) with p = expit(location_i).

    With contexts, ``at(context)`` is the belief of a round. The log-odds get more terms then, each
    with a learned variance. "shared" adds the weights of the context c, which needs one row per arm
    to tell arms apart. "bilinear" adds those of all products of features and context. "disjoint"
    adds weights of c for each arm, about the common ones. "hybrid" adds all of them. Features and
    contexts may have any units.

    With D weights in common and r per arm, ``sample`` costs O(n_arms (D² + r D) + D³) and
    ``update`` O(arms updated · (D² + r³)). r is 1 but with "disjoint" and "hybrid", where it is 1
    more than the numbers of a context. The variances are learned whenever there is a quarter more
    outcomes, in about 10 to 40 steps of O(arms with outcomes · r D²). Takes 8 (D r + 2 r²) bytes
    per arm beside the features.

    Parameters
    ----------
    features
        Shape (n_arms, d): what is known of the arms. Or the number of arms, without features.
    context
        How many numbers a context has; None without contexts.
    structure
        "shared", "bilinear", "disjoint" or "hybrid", the default.
    shared, optimism, spread, horizon
        As in `LearnedBetaBelief`. With optimism 0 and spread 1, samples have the law of the
        posteriors.
    discount
        What an outcome is worth after one more round, for means that drift. Below 1, ``update``
        costs O(n_arms · D²).

    Attributes
    ----------
    stds
        The learned standard deviation of what features, contexts and arms add to the log-odds.
        That of "products" is twice what they add, because a product of two scaled columns has a
        quarter of the variance of one.
    outcomes
        The counts and sums of the outcomes of each arm.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> features = rng.normal(size=(300, 2))
    >>> means = expit(-3 + features[:, 0])
    >>> belief = LogisticBelief(features)
    >>> for _ in range(60):
    ...     arms = rng.choice(300, 50, replace=False)
    ...     belief.update(arms, rng.random(50) < means[arms], rng=rng)
    >>> belief.add_arms(2, [[1.0, 0.0], [-1.0, 0.0]])  # new arms start from their features
    >>> belief.posterior(np.array([300, 301])).mean().round(2)
    array([0.12, 0.02])
    """

    shared, optimism, spread, horizon = OfScores(), OfScores(), OfScores(), OfScores()

    __repr__ = one_line

    def __init__(
        self,
        features: ArrayLike,
        *,
        context: int | None = None,
        structure: Structure | None = None,
        shared: float = 0.8,
        optimism: float = 0.5,
        spread: float = 0.5,
        horizon: int | None = None,
        discount: float = 1.0,
    ) -> None:
        self.scores = ScoreSettings.checked(shared, optimism, spread, horizon)
        self.discount = as_fraction(discount, "discount", high="]")
        self._rows = Rows(features, context, structure)
        self.stds = {name: FIRST_STDS[name] for name in self._rows.names}
        self._model = SiteModel(self.n_arms, *self._rows.prior(self.stds))
        self.outcomes = OutcomeCounts.empty(self.n_arms)
        self.dispersion = 1.0
        # Sums of y (1 - y) over the outcomes, and of what it would be on average for coins less it.
        self._within, self._coins = 0.0, 0.0
        self._n_seen, self._due = 0.0, float(_FIRST_FIT)

    @property
    def n_arms(self) -> int:
        """How many arms there are."""
        return self._rows.design.n_arms

    @property
    def average_context(self) -> FloatArray | None:
        """Shape (c,): the mean of the contexts of feedback so far; None without contexts."""
        return self._rows.design.average_context

    def at(self, context: ArrayLike | None) -> LogisticRound:
        """The belief of a round: shape (c,) for all arms, or (n_arms, c), one row per arm."""
        return LogisticRound(self, self._rows.design.checked(context))

    def mean(self) -> FloatArray:
        """The posterior means, shape (n_arms,)."""
        return self.at(None).mean()

    def posterior(self, arms: IndexArray) -> LogitNormalPosterior:
        """The posteriors of some arms at this moment. Later updates do not change the answer."""
        return self.at(None).posterior(arms)

    def contributions(self, arms: ArrayLike) -> Contributions:
        """What each feature adds to the posterior medians of some arms."""
        return self.at(None).contributions(arms)

    def sample(self, *, rng: np.random.Generator) -> FloatArray:
        """Means that might be true, shape (n_arms,)."""
        return self.at(None).sample(rng=rng)

    def sample_many(self, n: int, *, rng: np.random.Generator) -> FloatArray:
        """n independent samples, shape (n, n_arms)."""
        return self.at(None).sample_many(n, rng=rng)

    def update(self, arms: ArrayLike, outcomes: ArrayLike, *, rng: np.random.Generator) -> None:
        """Learn outcomes, and the variances again if there is a quarter more; no draws."""
        self.at(None).update(arms, outcomes, rng=rng)

    def add_arms(self, n: int, prior: ArrayLike | None = None) -> None:
        """Append n arms, whose features are ``prior``, shape (n, d); None are average ones."""
        self._rows.design.add_arms(n, prior)
        self.outcomes.add_arms(n, None, "LogisticBelief")
        self._model.add_arms(n)

    def state(self) -> dict[str, Any]:
        """Features, settings, and what was learned as plain JSON."""
        model = self._model.state()
        if not self._rows.design.n_context:
            del model["cross"]  # follows from the features
        settings = {**self.scores.state(), "discount": self.discount}
        learned = {name: getattr(self, name) for name in _LEARNED}
        parts = {"rows": self._rows.state(), "stds": self.stds, "learned": learned, "model": model}
        return self.outcomes.state("LogisticBelief", **settings, **parts)

    @refusing("LogisticBelief")
    def load(self, state: dict[str, Any]) -> None:
        """Become what ``state()`` described, with its features."""
        parts = ("rows", "stds", "learned", "model")
        outcomes = OutcomeCounts.from_state(
            state, "LogisticBelief", self.n_arms, settings=(*_SETTINGS, *parts)
        )
        # A new belief checks the settings before anything changes here.
        new = LogisticBelief(self.n_arms, **{name: state[name] for name in _SETTINGS})
        new._rows.load(state["rows"], self.n_arms)
        new.stds = {name: as_positive(std, name) for name, std in state["stds"].items()}
        new.outcomes, new._model = outcomes, SiteModel(new.n_arms, *new._rows.prior(new.stds))
        model = dict(state["model"])
        if not new._rows.design.n_context:
            phi, _ = new._rows.at(None, slice(None))
            model["cross"] = np.array(model["precision"])[:, None] * phi
        new._model.load(model)
        for name in _LEARNED:
            setattr(new, name, as_saved_number(state["learned"][name], name, least=0.0))
        as_positive(new.dispersion, "dispersion")
        self.__dict__.update(new.__dict__)

    def _learn(self, context: FloatArray | None, arms: IndexArray, outcomes: FloatArray) -> None:
        if self.discount < 1:
            self._forget()
        self._rows.design.seen(context, arms)
        phi, psi = self._rows.at(context, arms)
        p = expit(self._model.predict(arms, phi, psi)[0])
        self._within += float(outcomes @ (1 - outcomes))
        self._coins += float(p @ (1 - p))
        self.outcomes.add(arms, outcomes)
        if context is None:
            self._settle(arms, n_passes=_N_PASSES)
        else:
            ones = np.ones(len(arms)) / self.dispersion
            coins, site = (ones, outcomes / self.dispersion), (0 * ones, 0 * ones)
            for _ in range(_N_PASSES):
                site = self._better(arms, phi, psi, coins, site)
        self._n_seen += len(arms)
        if self._n_seen >= self._due:
            self._fit()
            self._due = self._n_seen + (_GROWTH - 1) * float(self.outcomes.counts.sum())

    def _forget(self) -> None:
        self.outcomes.counts *= self.discount
        self.outcomes.sums *= self.discount
        self._within, self._coins = self.discount * self._within, self.discount * self._coins
        rows = None if self._rows.design.n_context else self._rows.at(None, slice(None))[0]
        self._model.fade(self.discount, rows)

    def _settle(self, arms: IndexArray, *, n_passes: int, damping: float = 1.0) -> None:
        """Look again at all coins of some arms, in rounds without a context."""
        phi, psi = self._rows.at(None, arms)
        counts, sums = self.outcomes.counts[arms], self.outcomes.sums[arms]
        coins = counts / self.dispersion, np.minimum(sums, counts) / self.dispersion
        for _ in range(n_passes):
            site = self._model.precision[arms, 0, 0], self._model.shift[arms, 0]
            self._better(arms, phi, psi, coins, site, damping)

    def _better(
        self,
        arms: IndexArray,
        phi: FloatArray,
        psi: FloatArray,
        coins: tuple[FloatArray, FloatArray],
        site: tuple[FloatArray, FloatArray],
        damping: float = 1.0,
    ) -> tuple[FloatArray, FloatArray]:
        """A step of expectation propagation: better Gaussians in place of some coins."""
        weight, pull = site
        location, common, own = self._model.predict(arms, phi, psi)
        var = common + own
        # What is known without these coins; and never less than nothing, by rounding.
        known = np.maximum(1 / var - weight, 1e-9 / var)
        found = sites((location / var - pull) / known, 1 / known, *coins)
        steps = damping * (found[0] - weight), damping * (found[1] - pull)
        same_rows = not self._rows.design.n_context
        self._model.observe(arms, phi, psi, *steps, same_rows=same_rows)
        return weight + steps[0], pull + steps[1]

    def _fit(self) -> None:
        """Learn the dispersion and the variances; without contexts, look at all coins again."""
        # For coins the variance is mu (1 - mu), and y (1 - y) is 0: this is exactly 1.
        found = 1 - self._within / (self._coins + _COINS)
        self.dispersion = min(1.0, max(_LEAST_DISPERSION, found))
        if (changes := self._rows.rescale()) is not None:
            self._model.recode(*changes)
        in_contexts, seen = self._rows.design.n_context > 0, np.flatnonzero(self.outcomes.counts)
        # Gaussians and variances settle together, in smaller and smaller steps.
        for steps in [STEPS] if in_contexts else [(step,) for step in STEPS]:
            self.stds = fit_stds(self._model, self._rows, self.stds, steps)
            self._model.fixed_var, self._model.own_var = self._rows.prior(self.stds)
            self._model.refresh()
            if not in_contexts:
                self._settle(seen, n_passes=_N_PASSES, damping=_DAMPING)
