"""Objects in one line of text, for ``repr``."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np

_MOST_ITEMS = 6  # of a list that is written out
_MOST_CHARACTERS = 60  # of one value


def one_line(self: Any) -> str:
    """The class and the arguments that differ from their defaults, for use as ``__repr__``.

    Arrays are shown by their shapes. Arguments that the object does not keep are left out.

    Examples
    --------
    >>> import superarm as sa
    >>> sa.GaussianBelief(4, noise_var=1.0), sa.TopK()
    (GaussianBelief(n_arms=4, noise_var=1.0), TopK())
    >>> sa.NetworkReward(np.ones((3, 2)), np.ones(3))
    NetworkReward(W1=<3 x 2>, w2=<3>)
    """
    given = dict(_arguments(self))
    # A belief of features is made from a table, which it does not keep as such.
    if hasattr(self, "n_arms") and not any(isinstance(one, np.ndarray) for one in given.values()):
        given = {"n_arms": self.n_arms, **given}
    parts = [f"{name}={in_short(value)}" for name, value in given.items()]
    return f"{type(self).__name__}({', '.join(parts)})"


def in_short(value: Any) -> str:
    """A value in at most some 60 characters and one line."""
    if isinstance(value, np.ndarray):
        return f"<{' x '.join(map(str, value.shape))}>" if value.ndim else repr(value.item())
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float):
        return repr(float(f"{value:.6g}"))
    if isinstance(value, Mapping | list | tuple | set | range) and len(value) > _MOST_ITEMS:
        return f"<{len(value)}>"
    if callable(value) and hasattr(value, "__name__"):
        return str(value.__name__)
    text = " ".join(repr(value).split())
    if " at 0x" in text or len(text) > _MOST_CHARACTERS:
        return f"{type(value).__name__}(...)"
    return text


def _arguments(part: Any) -> Iterator[tuple[str, Any]]:
    kind: Any = type(part)
    for name, default in _parameters(kind):
        value = getattr(part, name, default)
        if value is not default and not _is_same(value, default):
            yield name, value


def _is_same(value: Any, default: Any) -> bool:
    # A prior may be kept as arrays of equal numbers.
    try:
        return bool(np.all(np.equal(value, default)))
    except (TypeError, ValueError):
        return False


@cache
def _parameters(kind: type) -> tuple[tuple[str, Any], ...]:
    given = inspect.signature(kind).parameters.values()
    return tuple((one.name, one.default) for one in given)
