"""Delete bandits."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from superarm.service.bandits.actor import Actor
from superarm.service.bandits.checkpoints import Checkpoints
from superarm.service.log.store import Store, StoreError

_log = logging.getLogger("superarm.service")


def delete(actor: Actor, store: Store, checkpoints: Checkpoints) -> int:
    """Delete a bandit, and return its number.

    Only its own thread may call, so that no operation is under way. The bandit is not
    loaded, so that one whose log is damaged, or whose reward is missing, can be deleted as well.
    """
    checkpoints.wait()  # none of this bandit may be stored later
    store.delete(actor.bandit.number)
    actor.live, actor.is_deleted = None, True
    _log.info("bandit_deleted", extra={"fields": {"bandit": actor.bandit.id}})
    return actor.bandit.number


def purge(store: Store, numbers: Iterable[int]) -> None:
    """Remove the events of deleted bandits. What fails is left to the next start of the server."""
    for number in numbers:
        try:
            store.purge(number)
        except StoreError as error:
            _log.warning("purge_failed", extra={"fields": {"why": str(error)}})
