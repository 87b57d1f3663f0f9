"""The rows of a logistic model, and the prior variances of their weights.

A row has two parts: phi, whose weights all arms share, is that of `Design`. psi, whose weights each
arm has for itself, is 1, or 1 and the context.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from superarm.beliefs._design import Design
from superarm.core.arguments import FloatArray, IndexArray

Structure = Literal["shared", "bilinear", "disjoint", "hybrid"]
# The prior standard deviation of the log-odds of the average arm: 0.3% to 99.7% are likely.
_BASE_STD = 3.0
# A scaled column of features has this variance.
_COLUMN_VAR = 0.25


class Rows:
    """phi and psi of some arms in a round, and which of their weights share a variance.

    "disjoint" and "hybrid" have the context in psi, too. "hybrid" has the phi of "bilinear".

    Parameters
    ----------
    features, context, structure
        As in `LogisticBelief`.
    """

    def __init__(
        self, features: ArrayLike, context: int | None, structure: Structure | None
    ) -> None:
        _check_structure(structure)
        if context is not None and structure is None:
            structure = "hybrid"
        design = Design(features, context, "bilinear" if structure == "hybrid" else structure)
        self._set(design, structure)

    def _set(self, design: Design, structure: Structure | None) -> None:
        self.design, self.structure = design, structure
        self.n_own = 1 + (design.n_context if structure in ("disjoint", "hybrid") else 0)
        self.blocks = _blocks(design)
        own = ["own", "own context"] if self.n_own > 1 else ["own"]
        found = [name for name in ("features", "context", "products") if name in self.blocks]
        self.names = found + own  # the blocks of weights whose standard deviation is learned

    def at(
        self, context: FloatArray | None, arms: IndexArray | slice
    ) -> tuple[FloatArray, FloatArray]:
        """phi and psi of some arms in a context that was checked."""
        phi = self.design.rows(context, arms)
        psi = np.ones((len(phi), self.n_own))
        if self.n_own > 1 and context is not None:
            psi[:, 1:] = self.design.scaled(context if context.ndim == 1 else context[arms])
        return phi, psi

    def rescale(self) -> tuple[FloatArray, FloatArray] | None:
        """Scale contexts by what was seen; the matrices that turn old phi and psi into new."""
        before = self.design.contexts
        change = self.design.rescale()
        if change is None:
            return None
        return change, self.design.contexts.after(before)[: self.n_own, : self.n_own]

    def prior(self, stds: dict[str, float]) -> tuple[FloatArray, FloatArray]:
        """The prior variances of the weights of phi, and of those of psi.

        ``stds`` has the standard deviation of what each block adds to the log-odds of a typical
        arm, which the weights of the block share. Products vary less than columns, and add half of
        it: another unit would make saved beliefs mean something else.
        """
        fixed, own = np.full(len(self.blocks), _BASE_STD**2), np.full(self.n_own, stds["own"] ** 2)
        for name in self.names:
            is_in = self.blocks == name
            if is_in.any():
                fixed[is_in] = stds[name] ** 2 / (_COLUMN_VAR * is_in.sum())
        if self.n_own > 1:
            own[1:] = stds["own context"] ** 2 / (_COLUMN_VAR * (self.n_own - 1))
        return fixed, own

    def state(self) -> dict[str, Any]:
        """All of it as plain JSON."""
        return {"structure": self.structure, "design": self.design.state()}

    def load(self, state: dict[str, Any], n_arms: int) -> None:
        """Become what ``state()`` described."""
        _check_structure(state["structure"])
        self._set(Design.from_state(state["design"], n_arms), state["structure"])


def _check_structure(structure: Any) -> None:
    if structure not in (None, *get_args(Structure)):
        raise ValueError(f"structure must be one of {get_args(Structure)}, got {structure!r}")


def _blocks(design: Design) -> Any:
    """Shape (D,): what each column of phi is of."""
    n_features, n_context = design.features.shape[1] - 1, design.n_context
    features = ["base"] + n_features * ["features"]
    if design.structure is None:
        return np.array(features)
    if design.structure == "shared":
        return np.array(features + n_context * ["context"])
    context = ["base"] + n_context * ["context"]
    if design.structure == "disjoint":
        return np.array(context)
    products = [["features"] + n_context * ["products"]] * n_features
    return np.array(context + [name for row in products for name in row])
