"""The numbers of arrays in states: lists, or arrays for somebody who writes them down later.

The ``state()`` of a part is plain JSON. A million numbers take 30 ms as a list, and Python does
nothing else meanwhile. A copy of the array takes one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from numpy.typing import NDArray

_KEEPS_ARRAYS = ContextVar("keeps arrays", default=False)


def as_numbers(array: NDArray[Any]) -> Any:
    """The numbers of an array in a state: a list, or a copy of the array in `keeping_arrays`.

    Examples
    --------
    >>> import numpy as np
    >>> as_numbers(np.array([1.0, 2.0]))
    [1.0, 2.0]
    >>> with keeping_arrays():
    ...     as_numbers(np.array([1.0, 2.0]))
    array([1., 2.])
    """
    return array.copy() if _KEEPS_ARRAYS.get() else array.tolist()


@contextmanager
def keeping_arrays() -> Iterator[None]:
    """Let the states of parts that use `as_numbers` have arrays in this block."""
    token = _KEEPS_ARRAYS.set(True)
    try:
        yield
    finally:
        _KEEPS_ARRAYS.reset(token)
