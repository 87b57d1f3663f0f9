"""When decisions expire."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from superarm.core.arguments import as_count, as_fraction, as_positive
from superarm.sessions.decisions import Decision


@dataclass(frozen=True)
class Expiry:
    """When decisions expire, and what happens to them.

    Parameters
    ----------
    after_s
        A decision expires this many seconds after it was issued, by the session's clock; None for
        never.
    after_rounds
        A decision expires this many calls of `Session.ask` later; None for never.
    late
        Feedback for an expired decision: "refuse" it with an `ExpiredDecisionError`, or "ignore"
        it.
    missing
        The outcome of the arms that have none when the decision expires, in [0, 1]: for example 0
        for items that nobody clicked. None if nothing is to be learned from them.

    Examples
    --------
    >>> Expiry(after_rounds=100, missing=0.0)
    Expiry(after_s=None, after_rounds=100, late='refuse', missing=0.0)
    """

    after_s: float | None = None
    after_rounds: int | None = None
    late: Literal["refuse", "ignore"] = "refuse"
    missing: float | None = None

    def __post_init__(self) -> None:
        if self.after_s is not None:
            self._set("after_s", as_positive(self.after_s, "after_s"))
        if self.after_rounds is not None:
            self._set("after_rounds", as_count(self.after_rounds, "after_rounds", least=1))
        if self.late not in ("refuse", "ignore"):
            raise ValueError(f'late must be "refuse" or "ignore", got {self.late!r}')
        if self.missing is not None:
            self._set("missing", as_fraction(self.missing, "missing", low="[", high="]"))

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)  # a frozen dataclass has no other way

    @property
    def can_expire(self) -> bool:
        """Whether decisions expire at all."""
        return self.after_s is not None or self.after_rounds is not None

    def is_due(self, decision: Decision, *, now: float, rounds: int) -> bool:
        """Whether a decision has expired after ``rounds`` calls of `Session.ask`."""
        if self.after_s is not None and now - decision.time >= self.after_s:
            return True
        return self.after_rounds is not None and rounds - decision.round >= self.after_rounds
