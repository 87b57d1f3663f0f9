"""theta that is drawn when somebody looks at it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from superarm.core._top_k import top_k
from superarm.core.arguments import FloatArray, IndexArray, as_k
from superarm.core.optional import SamplesTop


class Sample(NDArrayOperatorsMixin):
    """What `Policy` hands to an oracle as theta: a sample of the belief, drawn at the first look and then kept.

    An oracle that looks at it as an array, with ``np.asarray``, an index, an operator or a method of arrays, has the
    whole sample. One that needs the k largest only asks for ``top``, and a belief that has
    ``sample_top(k, *, rng) -> (arms, values)`` draws no more than that.

    It can be looked at until ``select`` returns. Later the belief may have learned, so a first look would tell
    something else: it is refused.

    Parameters
    ----------
    belief
        What is drawn from.
    rng
        Where the draw comes from.

    Examples
    --------
    >>> import superarm as sa
    >>> with Sample(sa.BetaBelief(4), np.random.default_rng(0)) as theta:
    ...     arms, values = theta.top(2)
    >>> arms, values.round(3)
    (array([2, 3]), array([0.997, 0.962]))
    """

    def __init__(self, belief: Any, rng: np.random.Generator) -> None:
        self.n_arms: int = belief.n_arms
        self._belief: Any = belief
        self._rng: Any = rng
        self._theta: FloatArray | None = None
        self._top: tuple[IndexArray, FloatArray] | None = None

    def top(self, k: int) -> tuple[IndexArray, FloatArray]:
        """The k arms of the largest values, ascending, and these values. Ties at the k-th place broken by a draw."""
        if self._top is not None and len(self._top[0]) == k:
            return self._top
        if self._theta is None or self._belief is None:
            self._look()
        if self._theta is not None or not issubclass(type(self._belief), SamplesTop):
            theta = self.whole()
            arms = top_k(theta, as_k(k, self.n_arms), rng=self._rng)
            self._top = arms, theta[arms]
        else:
            self._top = self._belief.sample_top(k, rng=self._rng)
        return self._top

    def whole(self) -> FloatArray:
        """The values of all arms, shape (n_arms,)."""
        if self._theta is None:
            self._look()
            self._theta = self._belief.sample(rng=self._rng)
        return self._theta

    def drawn(self, arms: IndexArray) -> FloatArray | None:
        """The values of some arms, shape (len(arms),), where they have been drawn; None where not. Draws nothing."""
        if self._theta is not None:
            return self._theta[arms]
        if self._top is not None and (self._top[0] is arms or np.array_equal(self._top[0], arms)):
            return self._top[1]
        return None

    def _look(self) -> None:
        if self._top is not None:
            raise ValueError(
                f"theta must be looked at as a whole before its top, or not at all: only the {len(self._top[0])} "
                "largest were drawn"
            )
        if self._belief is None:
            raise ValueError(
                "theta must be looked at before select returns: the belief has moved on since"
            )

    def __enter__(self) -> Sample:
        return self

    def __exit__(self, *_: object) -> None:
        self._belief = self._rng = None

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> FloatArray:
        return np.array(self.whole(), dtype=dtype, copy=copy)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        plain = (given.whole() if isinstance(given, Sample) else given for given in inputs)
        return getattr(ufunc, method)(*plain, **options)

    def __len__(self) -> int:
        return self.n_arms

    def __getitem__(self, index: Any) -> Any:
        return self.whole()[index]

    def __getattr__(self, name: str) -> Any:
        # Only what arrays are known by: copying and pickling look for names of their own.
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.whole(), name)
