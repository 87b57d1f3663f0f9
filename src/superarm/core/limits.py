"""What oracles may refuse before a round; the other optional Protocols are in `optional`."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from superarm.core.optional import kind_has
from superarm.core.protocols import FeasibleSets


@runtime_checkable
class ChecksSets(Protocol):
    """An oracle that cannot choose from all feasible sets; policies and sessions refuse these."""

    def check_sets(self, feasible: FeasibleSets) -> None:
        """Refuse feasible sets that ``select`` would refuse. Draws and changes nothing."""


def check_sets(oracle: Any, feasible: FeasibleSets) -> None:
    """Refuse feasible sets that an oracle cannot choose from, if it says so."""
    if kind_has(type(oracle), ChecksSets):
        oracle.check_sets(feasible)
