"""The events of a turn that are not committed yet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from superarm.service.log.events import Event, Members, members_of, seal


class Pending:
    """The last events of a bandit, which its thread is about to commit.

    They get their digests when somebody looks at them, which is seldom before the commit. Encoding
    all events of a turn one after the other takes less time than encoding each right after its
    decision, which has filled the caches of the processor with arrays.

    Parameters
    ----------
    digest
        That of the last committed event.

    Examples
    --------
    >>> from superarm.service.log.events import root
    >>> pending = Pending(root("b1"))
    >>> pending.add(1, 0.0, "created", None, None, {"spec": {}})
    >>> len(pending), pending.events[0].body
    (1, '{"spec":{}}')
    >>> events, members = pending.take()
    >>> [event.digest == pending.digest for event in events], members, len(pending)
    ([True], [], 0)
    """

    def __init__(self, digest: bytes) -> None:
        self._digest = digest  # of the last sealed event
        self._sealed: list[Event] = []
        self._unsealed: list[tuple[int, float, str, int | None, str | None, dict[str, Any]]] = []
        self._members: list[Members] = []
        self._keys: set[str] = set()

    def __len__(self) -> int:
        return len(self._sealed) + len(self._unsealed)

    def add(
        self,
        seq: int,
        time: float,
        kind: str,
        decision: int | None,
        key: str | None,
        body: dict[str, Any],
    ) -> None:
        """Add the next event. Nobody may change its body from now on."""
        self._unsealed.append((seq, time, kind, decision, key, body))
        if key is not None:
            self._keys.add(key)
        if "asks" in body or "told" in body:
            members = members_of(seq, kind, body)
            self._members.append(members)
            self._keys.update(members.keys)

    @property
    def digest(self) -> bytes:
        """The digest of the last event, committed or not."""
        self._seal()
        return self._digest

    @property
    def events(self) -> Sequence[Event]:
        """The events, the oldest first."""
        self._seal()
        return self._sealed

    def follow(self, digest: bytes) -> None:
        """Go on after an event of the log."""
        self._digest = digest

    def with_keys(self, keys: Sequence[str]) -> list[Event]:
        """The events of requests with idempotency keys."""
        wanted = self._keys.intersection(keys)
        if not wanted:
            return []
        seqs = {one.seq for one in self._members if wanted.intersection(one.keys)}
        return [one for one in self.events if one.key in wanted or one.seq in seqs]

    def take(self) -> tuple[list[Event], list[Members]]:
        """The events, and their members. From now on they count as committed."""
        self._seal()
        taken = self._sealed, self._members
        self._sealed, self._members = [], []
        self._keys.clear()
        return taken

    def _seal(self) -> None:
        if not self._unsealed:
            return
        digest, made = self._digest, []
        for fields in self._unsealed:
            event = seal(digest, *fields)
            digest = event.digest
            made.append(event)
        # Only now: if an event cannot be encoded, the next look fails as well.
        self._digest, self._unsealed = digest, []
        self._sealed += made
