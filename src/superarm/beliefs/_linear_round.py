"""A linear belief in one round: what `LinearBelief.at` returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from superarm.beliefs._disjoint import DisjointModel
from superarm.beliefs._linear_top import Place
from superarm.beliefs.posteriors import CutGaussianPosterior
from superarm.core.arguments import FloatArray, IndexArray, as_arms, as_feedback, as_k
from superarm.core.k_of_m import top_k

if TYPE_CHECKING:
    from superarm.beliefs.linear import LinearBelief

# Outcomes are learned about this value, the prior mean of an arm.
MIDDLE = 0.5
# How far values beyond 0 and 1 may be from it, to stay in order where many are cut.
_APART = 1e-9
# Up to this many arms, a whole sample takes less time than its k largest values.
_FEW = 20_000


@dataclass(frozen=True, eq=False)
class LinearRound:
    """A `LinearBelief` in a round with some context. Updates of it are updates of the belief."""

    belief: LinearBelief
    context: FloatArray | None  # of shape (c,) or (n_arms, c), as the belief has checked

    def mean(self) -> FloatArray:
        """The posterior means in this round, shape (n_arms,)."""
        parts, own = self.belief._model.parts(np.arange(self.n_arms), self._rows(slice(None)))
        return np.clip(MIDDLE + parts.sum(axis=1) + own, 0.0, 1.0)

    def posterior(self, arms: IndexArray) -> CutGaussianPosterior:
        """The posteriors of some arms in this round."""
        arms = as_arms(arms, self.n_arms)
        location, var = self.belief._model.moments(arms, self._rows(arms))
        return CutGaussianPosterior(MIDDLE + location, var)

    def contributions(self, arms: ArrayLike) -> Contributions:
        """What each column adds to the posterior means of some arms in this round."""
        arms = as_arms(arms, self.n_arms)
        parts, own = self.belief._model.parts(arms, self._rows(arms))
        base = MIDDLE + (float(parts[0, 0]) if len(arms) else 0.0)
        return Contributions(base, parts[:, 1:], own, self.belief._design.name_of)

    def sample(self, *, rng: np.random.Generator) -> FloatArray:
        """Means that might be true in this round, shape (n_arms,)."""
        return np.clip(self.uncut(rng=rng), 0.0, 1.0)

    def sample_many(self, n: int, *, rng: np.random.Generator) -> FloatArray:
        """n independent samples, shape (n, n_arms).

        Values beyond 0 and 1 are cut to other ones within 1e-9, in the same order. So the k largest
        have the law of ``sample_top``.
        """
        belief = self.belief
        values, std = self._drawn(n, rng=rng)
        scores = np.array([belief.scores.law.draw(self.n_arms, rng=rng) for _ in range(n)])
        values = MIDDLE + values + std * (belief._rise(std) + scores.reshape(n, self.n_arms))
        low, high = values < 0, values > 1
        values[low] = _APART / (1 - values[low])
        values[high] = 1 - _APART / values[high]
        return values

    def uncut(self, *, rng: np.random.Generator) -> FloatArray:
        """A sample before it is cut to [0, 1]."""
        values, std = self._drawn(None, rng=rng)
        return MIDDLE + values + std * self.belief._scores(std, rng=rng)

    def _drawn(self, n: int | None, *, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """The means of all arms for one draw of w, or for n; and deviations of u_i about them."""
        model, place = self.belief._model, self._place()
        if isinstance(model, DisjointModel):  # nothing is drawn that arms share
            location, var = model.moments(slice(None), self._rows(slice(None)))
            return location, np.sqrt(var)
        weights = model.draw_weights(self.belief.spread, n, rng=rng)
        if place is None:
            return model.given(self._rows(slice(None)), weights)
        return model.completed((place.features @ place.folded(weights).T).T, weights)

    def sample_top(self, k: int, *, rng: np.random.Generator) -> tuple[IndexArray, FloatArray]:
        """The arms of the k largest values, ascending, and these values.

        The law is that of ``sample`` followed by the k largest, but that arms above 1 are compared
        before the cut; the draws differ.
        """
        k, belief, place = as_k(k, self.n_arms), self.belief, self._place()
        if self.n_arms <= _FEW or place is None or isinstance(belief._model, DisjointModel):
            values = self.uncut(rng=rng)
            arms = top_k(values, k, rng=rng)
            return arms, np.clip(values[arms], 0.0, 1.0)
        arms, values = belief._top.draw(belief._model, place, k, belief._law(), rng=rng)
        return arms, np.clip(MIDDLE + values, 0.0, 1.0)

    def update(self, arms: ArrayLike, outcomes: ArrayLike, *, rng: np.random.Generator) -> None:
        """Learn outcomes of this round; no draws."""
        self.belief._learn(self.context, *as_feedback(arms, outcomes, self.n_arms))

    @property
    def n_arms(self) -> int:
        """How many arms there are."""
        return self.belief.n_arms

    def _place(self) -> Place | None:
        """How the rows follow from the features; None if each arm has a context of its own."""
        if self.context is not None and self.context.ndim > 1:
            return None
        design = self.belief._design
        return Place(design.features, design.fold(self.context))

    def _rows(self, arms: IndexArray | slice) -> FloatArray:
        return self.belief._design.rows(self.context, arms)


@dataclass(frozen=True, eq=False)
class Contributions:
    """The posterior means of some arms as sums: ``base + columns.sum(axis=1) + own``.

    Attributes
    ----------
    base
        The mean of an arm whose features and context are average.
    columns
        Shape (n, d): what each column adds, in the order of the features. With contexts, "shared"
        has the numbers of the context after the features; "bilinear" has, for 1 and for each
        feature, its product with 1 and with each number of the context, without the first; and
        "disjoint" has the numbers of the context.
    own
        Shape (n,): what the arms' own outcomes add to that.
    name_of
        What a column is of, such as ``name_of(0)``, "feature 1".
    """

    base: float
    columns: FloatArray
    own: FloatArray
    name_of: Callable[[int], str]
