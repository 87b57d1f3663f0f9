"""Which oracles must run again when a session adopts decisions; other Protocols: `optional`."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from superarm.core.optional import Adopts, Stateful


@runtime_checkable
class Replays(Protocol):
    """A `Stateful` oracle that says whether `Adopts.adopt` is not enough to remember the same."""

    @property
    def must_replay(self) -> bool:
        """Whether a session that adopts decisions must run ``select`` again, on logged answers."""


def must_replay(oracle: Any) -> bool:
    """Whether later sets depend on answers or draws of earlier rounds that ``adopt`` cannot know.

    What an oracle does not say (`Replays`) follows from its methods: a `Stateful` oracle without
    ``adopt`` runs again.

    Examples
    --------
    >>> import superarm as sa
    >>> must_replay(sa.LazySingletons()), must_replay(sa.Singletons())
    (True, False)
    """
    if not isinstance(oracle, Stateful):
        return False
    if isinstance(oracle, Replays):
        return bool(oracle.must_replay)
    return not isinstance(oracle, Adopts)
