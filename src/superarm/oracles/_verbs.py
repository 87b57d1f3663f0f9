"""What oracles ask of the sets that may be chosen, beyond what all `Choices` can say."""

from __future__ import annotations

from typing import Any

from superarm.core import Choices


def verb(oracle: object, choices: Choices, name: str) -> Any:
    """A method of the choices, or an error that says which oracles can do without it."""
    method = getattr(choices, name, None)
    if method is None:
        raise TypeError(
            f"{type(oracle).__name__} needs choices that can {name}, which {type(choices).__name__} cannot; use TopK, "
            "Singletons, LazySingletons or GroupTesting, which need best() only"
        )
    return method
