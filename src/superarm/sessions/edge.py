"""A session in several places: a share of it decides elsewhere, and its outcomes come back.

Decisions that a share made are *remote*: the session learns from them and forgets them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from superarm.core.optional import offers
from superarm.core.places import LearnsPlaces
from superarm.core.policy import belief_at
from superarm.core.states import keeping_arrays
from superarm.sessions import files
from superarm.sessions.decisions import Decision, Name
from superarm.sessions.each import learn
from superarm.sessions.ledger import Ledger, Record
from superarm.sessions.seeding import Seeding
from superarm.sessions.session import Session
from superarm.sessions.state import state_later
from superarm.sessions.unlocked import Sets, UnlockedSession
from superarm.sets import Feasible


class HalfMergedError(RuntimeError):
    """A belief failed while it learned from a batch, so it is not to be used any more."""


Remote: TypeAlias = tuple[Decision, Mapping[Name, float]]  # with all outcomes that will ever be


def share(session: Session, key: str, seed: int) -> Callable[[], bytes]:
    """A function that returns the file of a share, which knows what the session knows now.

    The share has no decisions. Their ids will begin with ``key``, and its draws follow from
    ``seed``, so both must differ from those of all other shares. Most of the work is done when the
    function is called, which any thread may do.
    """
    with session._lock:
        now = session._unlocked
        # The policy is not copied: its state is written down before the lock is released.
        other = replace(
            now,
            ledger=Ledger(now.ledger.keep),
            seeding=Seeding.of(seed, key),
            trial=None if now.trial is None else now.trial.fresh(),
            rounds=0,
            n_decisions=0,
        )
        with keeping_arrays():
            state = state_later(other)
    return lambda: files.encode(state())


def take_over(session: Session, before: Session) -> None:
    """Let a newer share take over the decisions of the one before it, which is not used again."""
    with before._lock, session._lock:
        new, old = session._unlocked, before._unlocked
        for record in old.ledger.open.values():
            _learn_again(new, record)
        # Rounds go on, because decisions may expire after a number of them.
        new.ledger, new.rounds = old.ledger, old.rounds


def _learn_again(session: UnlockedSession, record: Record) -> None:
    """Learn the outcomes of an open decision, which are known to the share before only."""
    known = dict(record.outcomes)
    if known:
        record.outcomes.clear()  # as if all of them came now
        try:
            session._tell(record, known)
        finally:
            record.outcomes.update(known)


def fitting(session: Session, given: Sets) -> Sets:
    """Constraints that were made with the share before, for a share that may have more arms.

    Arms that were added since are not available: who made the constraints did not know them.
    """
    n_arms = session._unlocked.policy.reward.n_arms
    if not isinstance(given, Feasible) or given.n_arms is None or given.n_arms >= n_arms:
        return given
    n_new = n_arms - given.n_arms
    heavy = None if given.weights is None else np.pad(given.weights, (0, n_new))
    return given.but(available=np.pad(given.available, (0, n_new)), weights=heavy, n_arms=n_arms)


def give_up(session: Session) -> list[Decision]:
    """Close all open decisions as if they had expired, and return them."""
    with session._lock:
        ledger = session._unlocked.ledger
        records = list(ledger.open.values())
        for record in records:
            ledger.close(record, "expired")
        return [record.decision for record in records]


def merge(session: Session, made: Sequence[Remote]) -> None:
    """Learn from remote decisions, in their order. Refuses all of them if one does not fit.

    Raises `HalfMergedError` if the belief fails all the same.

    A remote decision is closed: an arm without an outcome gets that of `Expiry.missing`, if any.
    """
    with session._lock:
        now = session._unlocked
        # All are checked first, so that a batch counts as a whole or not at all.
        records = [_checked(now, decision, outcomes) for decision, outcomes in made]
        try:
            if now.learns_in_bulk:
                learn(now, (outcomes for _, outcomes in records))
            for record, outcomes in records:
                _learn(now, record, outcomes)
        except Exception as error:
            raise HalfMergedError(f"the belief failed to learn: {error}") from error


def _learn(session: UnlockedSession, record: Record, outcomes: dict[int, float]) -> None:
    if outcomes and not session.learns_in_bulk:
        session._tell(record, outcomes)
    if len(outcomes) == len(record.arms):
        session._count(record, outcomes)


def _checked(
    session: UnlockedSession, decision: Decision, given: Mapping[Name, float]
) -> tuple[Record, dict[int, float]]:
    """The record of a remote decision without its outcomes, and these by number."""
    arms = np.array(session.arms.of(decision.arms), np.intp)
    if len(set(decision.arms)) < len(arms):
        raise ValueError(f"arms of a decision must be distinct, got {decision!r}")
    record = Record(decision, arms)
    outcomes = record.new_outcomes(given)
    if session.expiry.missing is not None:
        missing = (arm for arm in arms.tolist() if arm not in outcomes)
        outcomes |= dict.fromkeys(missing, session.expiry.missing)
    belief: Any = belief_at(session.policy.belief, record.context(session.policy.reward.n_arms))
    if decision.ranked and offers(belief, LearnsPlaces) and len(arms) > belief.n_places:
        raise ValueError(
            f"a decision must have at most {belief.n_places} arms, one for each place, got "
            f"{len(arms)}"
        )
    return record, outcomes
