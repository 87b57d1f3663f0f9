"""Outcomes of a decision, as a policy learns them: with the places in which the arms were."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from superarm.core import FeasibleSets
from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.optional import offers
from superarm.core.places import LearnsLists, LearnsPlaces
from superarm.sessions.ledger import Record


class Feedback(NamedTuple):
    """Arms, their outcomes, and their places; None if these are not known, or not learned from.

    The first ``n_before`` were told earlier. The others are in ascending order.
    """

    arms: IndexArray
    outcomes: FloatArray
    places: IndexArray | None
    n_before: int = 0


def feedback_of(record: Record, outcomes: Mapping[int, float], belief: Any) -> Feedback:
    """Some outcomes of a decision, by number, for `Policy.tell`."""
    known, ranked = outcomes, record.decision.ranked
    # Ascending, so that what is learned does not depend on the ranking of the arms.
    told = sorted(known)
    n_before = 0
    if ranked and record.outcomes and offers(belief, LearnsLists):
        told = [*sorted(record.outcomes), *told]
        known = {**outcomes, **record.outcomes}
        n_before = len(record.outcomes)
    arms = np.array(told, np.intp)
    places = None
    if ranked and (n_before or offers(belief, LearnsPlaces)):  # other beliefs get none
        order = np.argsort(record.arms)
        places = order[np.searchsorted(record.arms, arms, sorter=order)]
    return Feedback(arms, np.array([known[arm] for arm in told]), places, n_before)


def check_places(belief: Any, sets: FeasibleSets) -> None:
    """Refuse sets that have more arms than the belief knows places."""
    if offers(belief, LearnsPlaces) and sets.n_most > belief.n_places:
        raise ValueError(
            f"sets must have at most {belief.n_places} arms, one for each place of "
            f"{type(belief).__name__}, got sets of up to {sets.n_most}; give it more weights"
        )
