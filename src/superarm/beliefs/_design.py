"""The rows of a linear model: what is known of each arm in a round, as numbers on one scale."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from superarm.beliefs._scaling import Moments, Scaling
from superarm.core.arguments import FloatArray, IndexArray, as_context, as_count, as_finite
from superarm.core.states import as_saved_array
from superarm.core.warn import warn_user

Structure = Literal["shared", "bilinear", "disjoint"]
# New arms are cut at this many widths of a column, so that a wrong unit cannot break the sums.
_MOST_WIDTHS = 1e3
# Contexts beyond this are centred at the first one: sums of squares about 0 would lose its digits.
_FAR = 1e3
# Contexts are cut at this many widths until the next scaling: squares of more would make the sums
# singular. The first context has no scaling yet, and is divided by its size if that is larger.
_MOST_CONTEXT_WIDTHS = 1e5
# Once this many contexts decided the scale, a number that is far from the others is cut at fewer
# widths, 20 standard deviations: a single wrong one would decide the scale, and outweigh thousands
# of others. Numbers that are far in this many rounds in a row are no mistake, but another unit.
_ENOUGH, _FAR_WIDTHS, _ANOTHER_UNIT = 20, 10.0, 3
# A feature is wrong, or needs a logarithm, if it is this many times farther from the median than a
# share of the others.
_WRONG, _USUAL = 1e6, 0.9
# Larger numbers are refused, since sums of their squares could overflow.
_MOST = 1e100


class Design:
    """The row of each arm from its features and the context of the round; 1 comes first.

    With f features and c numbers of context, a row is

        (1, features)                        without contexts,
        (1, features, context)               if "shared",
        (1, features) x (1, context)         if "bilinear": all products, (1 + f) (1 + c) numbers,
        (1, context)                         if "disjoint".

    Features are scaled once. The scaling of contexts is learned: `rescale` brings it up to date.

    Parameters
    ----------
    features
        Shape (n_arms, f), or the number of arms if nothing is known of them.
    n_context
        How many numbers a context has; None without contexts.
    structure
        None is "bilinear" with features, and "disjoint" without.
    """

    def __init__(
        self, features: ArrayLike, n_context: int | None, structure: Structure | None
    ) -> None:
        known = _as_features(features)
        self.scaling = Scaling.of(known)
        self.features = _with_one(self.scaling(known))
        self.n_context = 0 if n_context is None else as_count(n_context, "context", least=1)
        self.structure = _as_structure(structure, self.n_context, known.shape[1])
        self.moments = Moments.empty(self.n_context)
        self.contexts = Scaling(np.zeros(self.n_context), np.ones(self.n_context))
        # How many contexts decided the scale, and in how many rounds in a row a number was far.
        self.n_scaled, self.n_far = 0, np.zeros(self.n_context)

    @property
    def n_arms(self) -> int:
        """How many arms there are."""
        return len(self.features)

    @property
    def n_columns(self) -> int:
        """How many numbers a row has."""
        n_features = self.features.shape[1]
        if self.structure == "shared":
            return n_features + self.n_context
        if self.structure == "bilinear":
            return n_features * (1 + self.n_context)
        return n_features if self.structure is None else 1 + self.n_context

    @property
    def blocks(self) -> IndexArray:
        """Shape (n_columns - 1,): 0 for features, 1 for the context, 2 for products of both."""
        f, c = self.features.shape[1] - 1, self.n_context
        if self.structure == "bilinear":
            rest = f * [0, *c * [2]]
            return np.array(c * [1] + rest, np.intp)
        return np.array(f * [0] + (c * [1] if self.structure == "shared" else []), np.intp)

    def name_of(self, column: int) -> str:
        """What a column is of, such as "feature 2 x context 1"; the intercept is not counted."""
        n_features, n_context = self.features.shape[1] - 1, self.n_context
        place = int(column) + 1
        feature, number = place, 0
        if self.structure == "bilinear":
            feature, number = divmod(place, 1 + n_context)
        elif self.structure == "disjoint":
            feature, number = 0, place
        elif place > n_features:
            feature, number = 0, place - n_features
        parts = [f"feature {feature}"] * (feature > 0) + [f"context {number}"] * (number > 0)
        return " x ".join(parts)

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
                "as in LinearBelief(features, context=3)"
            )
        given = as_context(context, self.n_arms)
        _refuse_huge(given, "context")
        if given.shape[-1] != self.n_context:
            raise ValueError(
                f"context must have {self.n_context} numbers, got {given.shape[-1]}; "
                "the number is fixed when the belief is made"
            )
        return given

    def scaled(self, context: FloatArray) -> FloatArray:
        """A context, or rows of contexts, on the scale of the others."""
        reach = self._reach()
        return np.clip(self.contexts(context), -reach, reach)

    def _reach(self) -> FloatArray:
        """Shape (n_context,): at how many widths contexts are cut."""
        is_usual = (self.n_far < _ANOTHER_UNIT) & (self.n_scaled >= _ENOUGH)
        return np.where(is_usual, _FAR_WIDTHS, _MOST_CONTEXT_WIDTHS)

    def rows(self, context: FloatArray | None, arms: IndexArray | slice) -> FloatArray:
        """The rows of some arms in a round."""
        features = self.features[arms]
        if context is None:
            return features
        scaled = self.scaled(context if context.ndim == 1 else context[arms])
        known = np.broadcast_to(scaled, (len(features), self.n_context))
        if self.structure == "shared":
            return np.hstack([features, known])
        if self.structure == "disjoint":
            return _with_one(known)
        products = features[:, :, None] * _with_one(known)[:, None, :]
        return products.reshape(len(features), self.n_columns)

    def fold(self, context: FloatArray | None) -> FloatArray | None:
        """The matrix with rows = features @ fold, where all arms have the same context.

        Shape (1 + f, n_columns). None without contexts, where the rows are the features.
        """
        if context is None:
            return None
        scaled, n_features = self.scaled(context), self.features.shape[1]
        if self.structure == "bilinear":
            products = np.zeros((n_features, n_features, 1 + self.n_context))
            products[np.arange(n_features), np.arange(n_features)] = np.append(1.0, scaled)
            return products.reshape(n_features, self.n_columns)
        fold = np.eye(n_features, self.n_columns)
        fold[0, n_features:] = scaled
        return fold

    def seen(self, context: FloatArray | None, arms: IndexArray) -> None:
        """Feedback about some arms came from a round with this context."""
        if context is None or not len(arms):
            return
        rows = context[None] if context.ndim == 1 else context[arms]
        if not self.moments.n_rows:
            size = np.abs(rows).max(axis=0)
            first = np.where(size > _FAR, rows[0], 0.0)
            self.contexts = Scaling(first, np.where(size > _MOST_CONTEXT_WIDTHS, size, 1.0))
        off = np.abs(self.contexts(rows)).max(axis=0)
        self.n_far = np.where(off > _FAR_WIDTHS, self.n_far + 1, 0)
        # Cut as in `scaled`, so that one wrong number does not decide the scale of all others.
        reach = self._reach() * self.contexts.width
        self.moments.add(np.clip(rows, self.contexts.center - reach, self.contexts.center + reach))

    def rescale(self) -> FloatArray | None:
        """Bring the scaling of contexts up to date; the matrix that turns old rows into new."""
        if not self.n_context:
            return None
        old, self.contexts = self.contexts, self.moments.scaling()
        self.n_scaled = self.moments.n_rows
        change = self.contexts.after(old)
        if self.structure == "disjoint":
            return change
        if self.structure == "bilinear":
            return np.asarray(np.kron(np.eye(self.features.shape[1]), change), np.float64)
        first = self.features.shape[1]
        full = np.eye(self.n_columns)
        full[first:, 0], full[first:, first:] = change[1:, 0], change[1:, 1:]
        return full

    @property
    def average_context(self) -> FloatArray | None:
        """Shape (c,): the mean of the contexts of feedback so far; None without contexts."""
        return self.moments.mean.copy() if self.n_context else None

    def add_arms(self, n: int, features: ArrayLike | None) -> None:
        """Append n arms with these features; None are average ones."""
        n, n_columns = as_count(n, "n", least=1), self.features.shape[1] - 1
        scaled = np.zeros((n, n_columns))
        if features is not None:
            if not n_columns:
                raise TypeError("this belief has no features, got some for new arms")
            given = as_finite(features, "features", ndim=2)
            _refuse_huge(given, "features")
            if given.shape != (n, n_columns):
                raise ValueError(
                    f"features of {n} new arms must have shape {(n, n_columns)}, got {given.shape}"
                )
            scaled = np.clip(self.scaling(given), -_MOST_WIDTHS, _MOST_WIDTHS)
        self.features = np.vstack([self.features, _with_one(scaled)])

    def state(self) -> dict[str, Any]:
        """Features and scalings as plain JSON."""
        return {
            "features": self.features[:, 1:].tolist(),
            "scaling": [self.scaling.center.tolist(), self.scaling.width.tolist()],
            "context": self.n_context or None,
            "structure": self.structure,
            "contexts": [self.contexts.center.tolist(), self.contexts.width.tolist()],
            "moments": self.moments.state(),
            "n_scaled": self.n_scaled,
            "n_far": self.n_far.tolist(),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], n_arms: int) -> Design:
        """What ``state()`` described."""
        scaling = Scaling.of_state(state, "scaling")
        contexts = Scaling.of_state(state, "contexts", state["context"] or 0)
        design = cls(n_arms, state["context"], state["structure"])
        features = as_saved_array(state["features"], "features", (n_arms, len(scaling.center)))
        design.scaling, design.contexts, design.features = scaling, contexts, _with_one(features)
        design.structure = _as_structure(state["structure"], design.n_context, features.shape[1])
        if design.n_context:
            design.moments = Moments.from_state(state["moments"])
            # States of earlier versions do not have these two.
            far = as_saved_array(state.get("n_far", design.n_far), "n_far", design.n_far.shape)
            design.n_scaled, design.n_far = int(state.get("n_scaled", design.moments.n_rows)), far
        return design


def _as_features(features: ArrayLike) -> FloatArray:
    if np.ndim(features) == 0:
        return np.zeros((as_count(features, "the number of arms", least=1), 0))
    found = as_finite(features, "features", ndim=2)
    _refuse_huge(found, "features")
    _warn_of_wrong(found)
    return found


def _warn_of_wrong(features: FloatArray) -> None:
    """Warn of a number so far from the others that these are all alike beside it."""
    middle = np.median(features, axis=0)
    off = np.abs(features - middle)
    usual = np.quantile(off, _USUAL, axis=0)
    wrong = np.flatnonzero((usual > 0) & (off.max(axis=0) > _WRONG * usual))
    if len(wrong):
        column = int(wrong[0])
        arm = int(off[:, column].argmax())
        warn_user(
            f"feature {column + 1} of arm {arm} is {features[arm, column]:g}, where most are "
            f"within {usual[column]:g} of {middle[column]:g}, so that the other arms are all alike "
            f"in it; check its unit, or give its logarithm"
        )


def _refuse_huge(values: FloatArray, name: str) -> None:
    if np.abs(values).max(initial=0.0) > _MOST:
        worst = values.ravel()[np.abs(values).argmax()]
        raise ValueError(f"{name} must be from -1e100 to 1e100, got {worst:g}; use a larger unit")


def _as_structure(structure: Structure | None, n_context: int, n_features: int) -> Structure | None:
    if not n_context:
        if structure is not None:
            raise ValueError(f"structure is about contexts, got {structure!r} without a context")
        return None
    if structure is None:
        return "bilinear" if n_features else "disjoint"
    if structure not in get_args(Structure):
        raise ValueError(f"structure must be one of {get_args(Structure)}, got {structure!r}")
    if structure == "disjoint" and n_features:
        raise ValueError(
            "disjoint models use the context alone; give the number of arms instead of features, "
            'or use structure="bilinear"'
        )
    return structure


def _with_one(rows: FloatArray) -> FloatArray:
    return np.hstack([np.ones((len(rows), 1)), rows])
