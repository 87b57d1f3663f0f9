"""The methods that both stores take from `queries`."""

from __future__ import annotations

from superarm.service.log import queries


class SharedQueries:
    """The methods of a store that need nothing but to read and to write rows."""

    body: str = "body"
    of_events: tuple[str, ...] = ("events",)
    bandit, bandit_named, bandits = queries.bandit, queries.bandit_named, queries.bandits
    events, last, by_keys = queries.events, queries.last, queries.by_keys
    decided_before, about = queries.decided_before, queries.about
    expired_before = queries.expired_before
    delete, deleted = queries.delete, queries.deleted
    to_purge, purge = queries.to_purge, queries.purge
    base, compact, first_decision = queries.base, queries.compact, queries.first_decision
    key_rows, add_key, drop_key = queries.key_rows, queries.add_key, queries.drop_key
    checkpoint, put_checkpoint = queries.checkpoint, queries.put_checkpoint
