"""States of parts: how their arrays are written, and how a damaged state is refused.

The ``state()`` of a part is plain JSON. A million numbers take 30 ms as a list, and Python does
nothing else meanwhile. A copy of the array takes one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from numpy.typing import NDArray

_KEEPS_ARRAYS = ContextVar("keeps arrays", default=False)


def as_numbers(array: NDArray[Any]) -> Any:
    """The numbers of an array in a state: a list, or a copy of the array in `keeping_arrays`.

    Examples
    --------
    >>> as_numbers(np.array([1.0, 2.0]))
    [1.0, 2.0]
    >>> with keeping_arrays():
    ...     as_numbers(np.array([1.0, 2.0]))
    array([1., 2.])
    """
    return array.copy() if _KEEPS_ARRAYS.get() else array.tolist()


@contextmanager
def refusing(kind: str) -> Iterator[None]:
    """Refuse a state that lacks what the block reads, with a ValueError. ``kind`` is its part.

    Examples
    --------
    >>> with refusing("LinearBelief"):
    ...     {"design": {}}["model"]
    Traceback (most recent call last):
    ValueError: state must be one of LinearBelief, got one with KeyError('model')
    """
    try:
        yield
    except (AttributeError, IndexError, KeyError) as error:
        raise ValueError(f"state must be one of {kind}, got one with {error!r}") from error


def refuse_not_finite(state: Any, name: str = "state") -> None:
    """Refuse NaN and infinity anywhere in a state.

    Examples
    --------
    >>> refuse_not_finite({"model": {"sums": [1.0, float("nan")]}})
    Traceback (most recent call last):
    ValueError: state['model']['sums'] must have finite numbers only
    """
    if isinstance(state, dict):
        for key, value in state.items():
            refuse_not_finite(value, f"{name}[{key!r}]")
    elif isinstance(state, list) and not all(isinstance(one, int | float) for one in state):
        for value in state:
            refuse_not_finite(value, name)
    elif isinstance(state, float | list | np.ndarray) and not np.isfinite(state).all():
        raise ValueError(f"{name} must have finite numbers only")


@contextmanager
def keeping_arrays() -> Iterator[None]:
    """Let the states of parts that use `as_numbers` have arrays in this block."""
    token = _KEEPS_ARRAYS.set(True)
    try:
        yield
    finally:
        _KEEPS_ARRAYS.reset(token)
