"""Objects that numpy and oracles may use as an array."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from superarm.core.arguments import FloatArray


class ActsAsArray(NDArrayOperatorsMixin):
    """What can be done with the array ``whole()`` can be done with the object itself.

    That is: ``np.asarray``, indices, operators, functions of numpy and methods of arrays.
    """

    n_arms: int

    def whole(self) -> FloatArray:
        """The array, shape (n_arms,)."""
        raise NotImplementedError

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> FloatArray:
        return np.array(self.whole(), dtype=dtype, copy=copy)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        plain = (given.whole() if isinstance(given, ActsAsArray) else given for given in inputs)
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
