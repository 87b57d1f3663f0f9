"""How failures are answered: what clients may know of them."""

from __future__ import annotations

from superarm.service.bandits.patience import GivenUpError, given_up
from superarm.service.log.events import DamagedLogError
from superarm.service.log.store import DeletedError, StoreError
from superarm.service.problems import Problem, shown


def problem_of(error: BaseException) -> Problem:
    """The answer to a request that failed, without internals."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, GivenUpError):
        return given_up()
    if isinstance(error, DeletedError):
        return Problem(410, "the bandit was deleted", kind="bandit-deleted")
    if isinstance(error, StoreError):
        return _of_store(error)
    if isinstance(error, DamagedLogError):
        return Problem(
            500,
            "the log of this bandit is damaged, so nothing is decided and nothing is written",
            fix="run superarm replay, which says where, and restore the database from a backup",
        )
    return Problem(
        500, "the server failed, and nothing was changed", fix="the log of the server says how"
    )


def about_to_stop() -> Problem:
    """The answer to a request that comes too late."""
    return Problem(503, "the server is about to stop", fix="repeat", headers={"Retry-After": "1"})


def no_bandit(id: str) -> Problem:
    """The answer to a request about an id that no bandit has."""
    detail = f"no bandit has the id {shown(id)}"
    return Problem(404, detail, fix="GET /v1/bandits lists them", kind="bandit-unknown")


def _of_store(error: StoreError) -> Problem:
    if error.full:
        return Problem(
            507,
            "the database has no room left, so nothing was changed",
            fix="free some room, then repeat",
            kind="database-full",
        )
    why = "is read-only" if error.read_only else "could not be written or read"
    return Problem(
        503,
        f"the database {why}, so nothing is acknowledged",
        fix="repeat later: outcomes count once in any case, and decisions are issued once "
        "per Idempotency-Key",
        headers={"Retry-After": "1"},
        kind="database-failing",
    )
