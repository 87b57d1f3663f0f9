"""A bandit in numbers: what the service answers, and what its client reads.

It imports nothing, so that the client does not need what the service needs.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Summary:
    """A bandit in numbers.

    A round is a request for one or ``n`` decisions. Each of its decisions is open, told or expired.
    Decisions that were made at the edge are in none of these numbers.
    """

    id: str
    name: str
    n_arms: int
    k: int
    created: float
    rounds: int
    decisions: int
    evaluations: int
    open: int
    told: int
    expired: int
