"""How much requests for decisions get back: each decision has its context and its metadata."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from superarm.service.problems import Problem

MOST_DECISIONS = 10_000  # of a request
_MOST_NUMBERS = 1_000_000  # of contexts and metadata that a request gets back more than once
_CHARACTERS = 20  # characters of metadata that take as much room as a number


def n_numbers(one: Mapping[str, Any]) -> int:
    """The numbers of the context of a request or a decision; some characters count as one."""
    context, metadata = one.get("context") or (), one.get("metadata") or {}
    rows = context if context and isinstance(context[0], list | tuple) else (context,)
    characters = sum(len(name) + len(str(value)) for name, value in metadata.items())
    return len(rows) * len(rows[0]) + characters // _CHARACTERS


class Answered:
    """What a request gets back. Its items are added one by one.

    Examples
    --------
    >>> answered = Answered()
    >>> answered.add({"n": 10, "context": [1.0, 2.0]})
    >>> try:
    ...     answered.add({"n": 9_991})
    ... except Problem as problem:
    ...     print(problem)
    a request may ask for at most 10,000 decisions, got 10,001
    """

    def __init__(self) -> None:
        self._n_decisions = self._n_numbers = 0

    def add(self, asked: Mapping[str, Any]) -> None:
        """Add an item. Raises Problem if that is too much."""
        n = asked.get("n", 1)
        n_decisions = self._n_decisions + n
        # What a request gets back once is no longer than the request itself.
        n_more = n * n_numbers(asked) if n > 1 else 0
        if n_decisions > MOST_DECISIONS:
            raise _too_much(
                f"a request may ask for at most {MOST_DECISIONS:,} decisions, got {n_decisions:,}"
            )
        if self._n_numbers + n_more > _MOST_NUMBERS:
            raise _too_much(
                f"n times the numbers of the context, where {_CHARACTERS} characters of metadata "
                f"count as a number, must be at most {_MOST_NUMBERS:,}, "
                f"got {self._n_numbers + n_more:,}"
            )
        self._n_decisions, self._n_numbers = n_decisions, self._n_numbers + n_more


def _too_much(detail: str) -> Problem:
    return Problem(422, detail, fix="send several requests")
