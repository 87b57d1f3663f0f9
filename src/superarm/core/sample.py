"""theta, drawn when an oracle looks at it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from superarm.core._top_k import top_k
from superarm.core.arguments import FloatArray, IndexArray, as_k
from superarm.core.optional import SamplesTop


class Sample(NDArrayOperatorsMixin):
    """What `Policy` passes to an oracle as theta: a sample of the belief, drawn at the first look.

    An oracle that uses it as an array, with ``np.asarray``, an index, an operator or a method of
    arrays, gets the whole sample. An oracle that needs only the k largest values calls ``top``. A
    belief that has ``sample_top`` then draws no more than these.

    The first look must come before ``select`` returns. Later the belief may have learned, and a
    first look would show another sample, so it is refused.

    Parameters
    ----------
    belief
        The belief to draw from.
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
        """The k arms of the largest values, ascending, and these values; ties as in `top_k`."""
        if self._top is not None and len(self._top[0]) == k:
            return self._top
        if self._theta is None or self._belief is None:
            self._refuse_late_look()
        # Without sample_top, or if all values are known, the top comes from the whole sample.
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
            self._refuse_late_look()
            self._theta = self._belief.sample(rng=self._rng)
        return self._theta

    def drawn(self, arms: IndexArray) -> FloatArray | None:
        """The values of some arms, shape (len(arms),), if they have been drawn; else None."""
        if self._theta is not None:
            return self._theta[arms]
        if self._top is not None and (self._top[0] is arms or np.array_equal(self._top[0], arms)):
            return self._top[1]
        return None

    def _refuse_late_look(self) -> None:
        if self._top is not None:
            raise ValueError(
                "theta must be looked at as a whole before its top, or not at all: "
                f"only the {len(self._top[0])} largest were drawn"
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
        # Only the public members of arrays: copying and pickling look for names of their own.
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.whole(), name)
