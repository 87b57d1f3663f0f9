"""A linear model of features and contexts, with deviations and variances that are learned.

Thompson sampling with linear models of arms in sets: Wen, Kveton, Ashkan ("Efficient learning in
large-scale combinatorial semi-bandits", 2015). The arms' own deviations make features useful
without trusting them: Wan, Ge, Song ("Towards scalable and robust structured bandits", 2022). The
scores are like those of `LearnedBetaBelief`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from superarm.beliefs._design import Design, Structure
from superarm.beliefs._disjoint import DisjointModel
from superarm.beliefs._linear_round import MIDDLE, Contributions, LinearRound
from superarm.beliefs._linear_top import LawOfScores, LinearTop
from superarm.beliefs._mixed import MixedModel
from superarm.beliefs._score_settings import NAMES, OfScores, ScoreSettings
from superarm.beliefs._variances import Variances, is_due
from superarm.beliefs.posteriors import CutGaussianPosterior
from superarm.core.arguments import (
    FloatArray,
    IndexArray,
    as_fraction,
    as_state,
)
from superarm.core.showing import one_line
from superarm.core.states import as_saved_array, refusing

# Steps towards the best variances at a time: the last ones were close already.
_N_STEPS = 3
# Arms with the same features would tie if they shared all noise, and which of them is chosen would
# depend on what `sample_top` remembers. So little noise of their own decides between them.
_LEAST_OWN_STD = 1e-9
_SETTINGS = (*NAMES, "discount")


class LinearBelief:
    """theta_i = x_i·w + u_i: features say something about an arm, and its own outcomes the rest.

    w ~ N(0, s² I) except for an intercept, u_i ~ N(0, tau²), and outcomes have the variance sigma²
    about theta_i. The posterior is exact. s, tau and sigma are learned from all arms by marginal
    likelihood, so that useless features get coefficients of about 0. Without features it is a
    Gaussian hierarchy. theta is cut to [0, 1].

    A sample is one draw of w for all arms, given which the arms are independent of each other:

        theta_i = E[theta_i | w] + std[theta_i | w] · z_i,
        z_i = optimism · log(1 + 0.3 t / n_i) + spread · (sqrt(shared) z_0 + sqrt(1 - shared) e_i),

    where w, too, has ``spread`` times its posterior deviation. n_i is how many outcomes the
    knowledge about u_i is worth, sigma² / var[theta_i | w]. t is as in `LearnedBetaBelief`.

    With contexts, the row of an arm depends on the round, and ``at(context)`` is the belief of a
    round. ``structure`` says how: "shared" appends the context to the features, which needs one
    row per arm to tell arms apart. "bilinear" has the products of features and context. "disjoint"
    is one model per arm over the context, about a learned common one.

    Features and contexts may have any units: columns are centred, and divided by two standard
    deviations unless they hold 0 and 1. For d columns, ``sample`` costs O(n_arms · d + d³) and
    ``update`` O(arms updated · d²). "disjoint" costs O(d³) per arm updated, O(n_arms · d²) per
    sample, and 16 d² bytes per arm. The variances are learned whenever there is a quarter more
    outcomes.

    Parameters
    ----------
    features
        Shape (n_arms, f): what is known of the arms. Or the number of arms, without features.
    context
        How many numbers a context has; None without contexts.
    structure
        "shared", "bilinear" or "disjoint". By default "bilinear" with features, else "disjoint".
    shared, optimism, spread, horizon
        As in `LearnedBetaBelief`. With optimism 0, spread 1 and shared 0, samples have the law of
        the posterior.
    discount
        What an outcome is worth after one more round, for means that drift. Below 1, ``update``
        costs O(arms with outcomes · d²).

    Attributes
    ----------
    variances
        The learned s², tau² and sigma²: ``weights``, ``own`` and ``noise``. s² is that of a scaled
        column. With contexts, ``context`` and ``products`` are the s² of such columns.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> features = rng.normal(size=(300, 2))
    >>> means = 0.4 + 0.1 * features[:, 0]
    >>> belief = LinearBelief(features)
    >>> for _ in range(20):
    ...     arms = rng.choice(300, 50, replace=False)
    ...     belief.update(arms, rng.random(50) < means[arms], rng=rng)
    >>> belief.add_arms(2, [[1.0, 0.0], [-1.0, 0.0]])  # new arms start from their features
    >>> belief.posterior(np.array([300, 301])).mean().round(2)
    array([0.49, 0.29])
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
        self._use(Design(features, context, structure))
        self.rounds, self._n_seen, self._n_fitted = 0, 0, 0.0

    def _use(self, design: Design) -> None:
        self._design = design
        self._top, self._model = LinearTop(), _model(design)

    @property
    def n_arms(self) -> int:
        """How many arms there are."""
        return self._design.n_arms

    @property
    def variances(self) -> Variances:
        """The learned variances."""
        return self._model.variances

    @property
    def average_context(self) -> FloatArray | None:
        """Shape (c,): the mean of the contexts of feedback so far; None without contexts."""
        return self._design.average_context

    def at(self, context: ArrayLike | None) -> LinearBelief | LinearRound:
        """The belief of a round: shape (c,) for all arms, or (n_arms, c), one row per arm."""
        given = self._design.checked(context)
        return self if given is None else LinearRound(self, given)

    def mean(self) -> FloatArray:
        """The posterior means, shape (n_arms,)."""
        return self._round().mean()

    def posterior(self, arms: IndexArray) -> CutGaussianPosterior:
        """The posteriors of some arms at this moment. Later updates do not change the answer."""
        return self._round().posterior(arms)

    def contributions(self, arms: ArrayLike) -> Contributions:
        """What each feature adds to the posterior means of some arms."""
        return self._round().contributions(arms)

    def sample(self, *, rng: np.random.Generator) -> FloatArray:
        """Means that might be true, shape (n_arms,)."""
        return self._round().sample(rng=rng)

    def sample_many(self, n: int, *, rng: np.random.Generator) -> FloatArray:
        """n independent samples, shape (n, n_arms)."""
        return self._round().sample_many(n, rng=rng)

    def sample_top(self, k: int, *, rng: np.random.Generator) -> tuple[IndexArray, FloatArray]:
        """The arms of the k largest values of a sample, ascending, and these values."""
        return self._round().sample_top(k, rng=rng)

    def update(self, arms: ArrayLike, outcomes: ArrayLike, *, rng: np.random.Generator) -> None:
        """Learn outcomes, and the variances again if there is a quarter more; no draws."""
        self._round().update(arms, outcomes, rng=rng)

    def add_arms(self, n: int, prior: ArrayLike | None = None) -> None:
        """Append n arms, whose features are ``prior``, shape (n, f); None are average ones."""
        self._design.add_arms(n, prior)
        self._model.add_arms(self._design.features, n)

    def state(self) -> dict[str, Any]:
        """Features, settings, and what was learned as plain JSON."""
        return {
            "belief": "LinearBelief",
            "n_arms": self.n_arms,
            **self.scores.state(),
            "discount": self.discount,
            "counts": [self.rounds, self._n_seen, self._n_fitted],
            "design": self._design.state(),
            "model": self._model.state(),
        }

    @refusing("LinearBelief")
    def load(self, state: dict[str, Any]) -> None:
        """Become what ``state()`` described, with its features."""
        others = (*_SETTINGS, "counts", "design", "model")
        as_state(state, "LinearBelief", self.n_arms, arrays=(), others=others)
        # A new belief checks the settings before anything changes here.
        new = LinearBelief(self.n_arms, **{name: state[name] for name in _SETTINGS})
        new._use(Design.from_state(state["design"], self.n_arms))
        new._model.load(state["model"])
        rounds, n_seen, new._n_fitted = as_saved_array(
            state["counts"], "counts", (3,), least=0.0
        ).tolist()
        new.rounds, new._n_seen = int(rounds), int(n_seen)
        self.__dict__.update(new.__dict__)

    def _round(self) -> LinearRound:
        return LinearRound(self, self._design.checked(None))

    def _learn(self, context: FloatArray | None, arms: IndexArray, outcomes: FloatArray) -> None:
        if self.discount < 1 and len(arms):
            self._model.forget(self.discount)
        self._design.seen(context, arms)
        self._model.add(arms, self._design.rows(context, arms), outcomes - MIDDLE)
        self.rounds, self._n_seen = self.rounds + (len(arms) > 0), self._n_seen + len(arms)
        n_kept = float(self._model.counts.sum()) if self.discount < 1 else self._n_seen
        if is_due(self._n_seen, self._n_fitted, n_kept):
            change = self._design.rescale()
            if change is not None:
                self._model.recode(change)
            self._model.refit(_N_STEPS)
            self._n_fitted = float(self._n_seen)

    def _law(self) -> LawOfScores:
        law = self.scores.law
        own_std = max(law.own_std, _LEAST_OWN_STD)
        return LawOfScores(law.spread, law.common_std, own_std, self._rise)

    def _rise(self, std: FloatArray) -> FloatArray:
        """What raises z_i, for the deviations of theta_i about what all arms share."""
        return self.scores.rise(std**2 / self.variances.noise, self.rounds, self.discount)

    def _scores(self, std: FloatArray, *, rng: np.random.Generator) -> FloatArray:
        """z_i, for the deviations of theta_i about what all arms share."""
        return self._rise(std) + self.scores.law.draw(len(std), rng=rng)


def _model(design: Design) -> MixedModel | DisjointModel:
    if design.structure == "disjoint":
        return DisjointModel(design.n_arms, design.n_columns)
    rows = None if design.n_context else design.features
    return MixedModel(rows, design.n_arms, design.blocks)
