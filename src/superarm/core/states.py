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

from superarm.core.arguments import FloatArray, as_finite

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
    """Refuse a state that the block cannot read, with a ValueError. ``kind`` is its part.

    Examples
    --------
    >>> with refusing("LinearBelief"):
    ...     {"design": {}}["model"]
    Traceback (most recent call last):
    ValueError: state must be one of LinearBelief, got one with KeyError('model')
    """
    try:
        yield
    except (ArithmeticError, AttributeError, IndexError, KeyError) as error:
        raise ValueError(f"state must be one of {kind}, got one with {error!r}") from error


def as_saved_array(
    values: Any, name: str, shape: tuple[int, ...] | None = None, *, least: float = -np.inf
) -> FloatArray:
    """The numbers of an array in a state, as a new array; refuses NaN and None, which is its JSON.

    ``shape`` is what it must have or, if it is a flat list, fill. None is a list of any length.

    Examples
    --------
    >>> as_saved_array([[1, 2], [3, 4]], "gram", (2, 2))
    array([[1., 2.],
           [3., 4.]])
    >>> as_saved_array([1.0, float("nan")], "sums")
    Traceback (most recent call last):
    ValueError: state['sums'] must be finite numbers, got nan
    """
    given = np.asarray(values)
    # An empty list has no numbers of a wrong kind.
    if given.size and given.dtype.kind not in "biuf":
        raise TypeError(f"state[{name!r}] must be numbers, got dtype {given.dtype}")
    wanted = (given.size,) if shape is None else shape
    if given.size != np.prod(wanted) or (shape is None and given.ndim != 1):
        raise ValueError(f"state[{name!r}] must have shape {wanted}, got {given.shape}")
    numbers = np.array(given, np.float64).reshape(wanted)
    is_fine = np.isfinite(numbers) & (numbers >= least)
    if not is_fine.all():
        kind = "finite numbers" if least == -np.inf else f"finite numbers of at least {least:g}"
        raise ValueError(f"state[{name!r}] must be {kind}, got {numbers[~is_fine][0]}")
    return numbers


def as_saved_number(value: Any, name: str, *, least: float = -np.inf) -> float:
    """One finite number of a state.

    Examples
    --------
    >>> as_saved_number("text", "variance")
    Traceback (most recent call last):
    TypeError: state['variance'] must be real numbers, got dtype <U4
    """
    return float(as_finite([value], f"state[{name!r}]", ndim=1, least=least)[0])


@contextmanager
def keeping_arrays() -> Iterator[None]:
    """Let the states of parts that use `as_numbers` have arrays in this block."""
    token = _KEEPS_ARRAYS.set(True)
    try:
        yield
    finally:
        _KEEPS_ARRAYS.reset(token)
