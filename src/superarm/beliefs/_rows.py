"""The rows of a round: what is known of the arms and of the context, as numbers per arm."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from superarm.core.arguments import FloatArray, as_context, as_count, as_finite

STRUCTURES = ("shared", "bilinear", "disjoint", "hybrid")
# The prior standard deviation of the base rate's log-odds: rates from 0.3% to 99.7% are likely.
_BASE_STD = 3.0


@dataclass
class Rows:
    """phi and psi of `MixedModel` for all arms.

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
        The length of a context, 0 for none, and how contexts act.
    """

    features: FloatArray
    centre: FloatArray
    scale: FloatArray
    n_context: int
    structure: str
    blocks: dict[str, slice] = field(init=False)

    def __post_init__(self) -> None:
        d, c = self.features.shape[1], self.n_context
        products = d * c if self.structure in ("bilinear", "hybrid") else 0
        sizes = {"base": 1, "features": d, "context": c, "products": products}
        ends = np.cumsum([0, *sizes.values()]).tolist()
        spans = dict(zip(sizes, zip(ends[:-1], ends[1:], strict=True), strict=True))
        self.blocks = {name: slice(*span) for name, span in spans.items() if span[0] < span[1]}
        self.n_fixed = ends[-1]
        self.n_own = 1 + (c if self.structure in ("disjoint", "hybrid") else 0)

    @classmethod
    def of(cls, features: ArrayLike | int, n_context: int, structure: str) -> Rows:
        """Check the features, or the number of arms without features, and scale them."""
        if isinstance(features, int | np.integer):
            given = np.empty((as_count(features, "features", least=1), 0))
        else:
            given = as_finite(features, "features", ndim=2)
        if structure not in STRUCTURES:
            raise ValueError(f"structure must be one of {STRUCTURES}, got {structure!r}")
        n_context = as_count(n_context, "n_context")
        centre = given.mean(0)
        scale = _scale(given)
        return cls((given - centre) / scale, centre, scale, n_context, structure)

    def add(self, n: int, features: ArrayLike | None) -> None:
        """Append the rows of n arms. Arms without features are like the average of the first."""
        new = np.zeros((n, self.features.shape[1]))
        if features is not None:
            given = as_finite(features, "features", ndim=2)
            if given.shape != new.shape:
                raise ValueError(f"features must have shape {new.shape}, got {given.shape}")
            new = (given - self.centre) / self.scale
        self.features = np.concatenate([self.features, new])

    def at(self, context: ArrayLike | None) -> tuple[FloatArray, FloatArray]:
        """phi and psi of all arms in a context."""
        n_arms = len(self.features)
        ones = np.ones((n_arms, 1))
        c = self._context(context, n_arms)
        phi = [ones, self.features, c]
        if "products" in self.blocks:
            phi.append((self.features[:, :, None] * c[:, None, :]).reshape(n_arms, -1))
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

    def load(self, state: dict[str, Any]) -> None:
        """Take over the features, which must be as many as here."""
        shape = self.features.shape
        given = np.array(state["features"], np.float64).reshape(len(state["features"]), -1)
        same = (state["n_context"], state["structure"]) == (self.n_context, self.structure)
        if given.shape != shape or not same:
            raise ValueError(
                f"state must have {shape} features and contexts {self.n_context, self.structure}, "
                f"got {given.shape} and {state['n_context'], state['structure']}"
            )
        self.features = given
        self.centre, self.scale = np.array(state["centre"]), np.array(state["scale"])

    def _context(self, context: ArrayLike | None, n_arms: int) -> FloatArray:
        """One row per arm; a vector is the same for all."""
        if not self.n_context and context is None:
            return np.empty((n_arms, 0))
        if context is None:
            raise ValueError(f"this belief needs a context of {self.n_context} numbers, got none")
        if not self.n_context:
            raise ValueError("this belief was made without contexts, got one; give it n_context")
        given = as_context(context, n_arms)
        if given.shape[-1] != self.n_context:
            raise ValueError(f"context must have {self.n_context} numbers, got {given.shape[-1]}")
        return np.broadcast_to(given, (n_arms, self.n_context))


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
