"""The rows of a logistic model: what is known of the arms and of the context of a round."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from superarm.core.arguments import FloatArray, IndexArray, as_context, as_count, as_finite

Structure = Literal["shared", "bilinear", "disjoint", "hybrid"]
# The prior standard deviation of the base rate's log-odds: rates from 0.3% to 99.7% are likely.
_BASE_STD = 3.0


@dataclass
class Rows:
    """phi and psi of `SiteModel` for all arms.

    phi is (1, x, c, x ⊗ c) and psi is (1, c), for the features x of the arm and the context c. What
    the structure leaves out is not there: products are in "bilinear" and "hybrid", and the c of
    psi, the arm's own model of the context, in "disjoint" and "hybrid".

    Attributes
    ----------
    features
        Shape (n_arms, d): the features, centred and scaled.
    centre, scale
        Shape (d,): what was subtracted from the features, and what they were divided by.
    n_context, structure
        How many numbers a context has, 0 without contexts, and how contexts act.
    blocks
        The columns of phi by what they are of.
    """

    features: FloatArray
    centre: FloatArray
    scale: FloatArray
    n_context: int
    structure: Structure | None
    blocks: dict[str, slice] = field(init=False)

    def __post_init__(self) -> None:
        d, c = self.features.shape[1], self.n_context
        products = d * c if self.structure in ("bilinear", "hybrid") else 0
        sizes = {"base": 1, "features": d, "context": c, "products": products}
        ends = np.cumsum([0, *sizes.values()]).tolist()
        spans = dict(zip(sizes, pairwise(ends), strict=True))
        self.blocks = {name: slice(*span) for name, span in spans.items() if span[0] < span[1]}
        self.n_fixed = ends[-1]
        self.n_own = 1 + (c if self.structure in ("disjoint", "hybrid") else 0)

    @classmethod
    def of(cls, features: ArrayLike, context: int | None, structure: Structure | None) -> Rows:
        """Check the features, or the number of arms without features, and scale them."""
        if np.ndim(features) == 0:
            given = np.empty((as_count(features, "the number of arms", least=1), 0))
        else:
            given = as_finite(features, "features", ndim=2)
        n_context = 0 if context is None else as_count(context, "context", least=1)
        if structure is not None and not n_context:
            raise ValueError(f"structure is about contexts, got {structure!r} without a context")
        if structure not in (None, *get_args(Structure)):
            raise ValueError(f"structure must be one of {get_args(Structure)}, got {structure!r}")
        centre, scale = given.mean(0), _scale(given)
        scaled = (given - centre) / scale
        return cls(scaled, centre, scale, n_context, structure or "hybrid" if n_context else None)

    def add(self, n: int, features: ArrayLike | None) -> None:
        """Append n arms with their features; None are average ones."""
        new = np.zeros((n, self.features.shape[1]))
        if features is not None:
            if not new.shape[1]:
                raise TypeError("this belief has no features, got some for new arms")
            given = as_finite(features, "features", ndim=2)
            if given.shape != new.shape:
                raise ValueError(
                    f"features of {n} new arms must have shape {new.shape}, got {given.shape}"
                )
            new = (given - self.centre) / self.scale
        self.features = np.concatenate([self.features, new])

    def checked(self, context: ArrayLike | None) -> FloatArray | None:
        """The context of a round, shape (c,) or (n_arms, c); refused if it does not fit."""
        if context is None and self.n_context:
            raise ValueError(
                f"this belief needs a context of {self.n_context} numbers in every round, got none"
            )
        if context is None:
            return None
        if not self.n_context:
            raise ValueError(
                "this belief was made without contexts; give the number of numbers of a context, "
                "as in LogisticBelief(features, context=3)"
            )
        given = as_context(context, len(self.features))
        if given.shape[-1] != self.n_context:
            raise ValueError(
                f"context must have {self.n_context} numbers, got {given.shape[-1]}; "
                "the number is fixed when the belief is made"
            )
        return given

    def at(
        self, context: FloatArray | None, arms: IndexArray | slice
    ) -> tuple[FloatArray, FloatArray]:
        """phi and psi of some arms in a context that was checked."""
        features = self.features[arms]
        ones = np.ones((len(features), 1))
        if context is None:
            return np.hstack([ones, features]), ones
        now = context if context.ndim == 1 else context[arms]
        c = np.broadcast_to(now, (len(features), self.n_context))
        phi = [ones, features, c]
        if "products" in self.blocks:
            phi.append((features[:, :, None] * c[:, None, :]).reshape(len(features), -1))
        return np.hstack(phi), np.hstack([ones, c]) if self.n_own > 1 else ones

    def prior(self, stds: dict[str, float]) -> tuple[FloatArray, FloatArray]:
        """The prior variances of the weights: those in phi, and those in psi.

        ``stds`` has the standard deviation of what each block adds to the log-odds of a typical
        arm, which is shared among the weights of the block.
        """
        fixed, own = np.full(self.n_fixed, _BASE_STD**2), np.full(self.n_own, stds["own"] ** 2)
        for name, block in self.blocks.items():
            if name != "base":
                fixed[block] = stds[name] ** 2 / (block.stop - block.start)
        if self.n_own > 1:
            own[1:] = stds["own context"] ** 2 / (self.n_own - 1)
        return fixed, own

    @property
    def names(self) -> list[str]:
        """The blocks with a standard deviation that is learned."""
        own = ["own", "own context"] if self.n_own > 1 else ["own"]
        return [*(name for name in self.blocks if name != "base"), *own]

    def state(self) -> dict[str, Any]:
        """All of it as plain JSON."""
        arrays = {name: getattr(self, name).tolist() for name in ("features", "centre", "scale")}
        return {**arrays, "n_context": self.n_context, "structure": self.structure}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Rows:
        """What ``state()`` described."""
        centre, scale = (np.array(state[name], np.float64) for name in ("centre", "scale"))
        shape = len(state["features"]), len(centre)
        features = np.array(state["features"], np.float64).reshape(shape)
        return cls(features, centre, scale, state["n_context"], state["structure"])


def _scale(features: FloatArray) -> FloatArray:
    """Standard deviations; half of the distance for columns with two values, 1 for one value.

    So a rare category weighs as much as a frequent one (Gelman 2008).
    """
    if not features.size:
        return np.ones(features.shape[1])
    low, high = features.min(0), features.max(0)
    has_two = ((features == low) | (features == high)).all(0)
    scale = np.where(has_two, (high - low) / 2, features.std(0))
    # Columns that are the same for all arms would be divided by zero.
    return np.where(high - low > 1e-12 * np.abs(features).max(0), scale, 1.0)
