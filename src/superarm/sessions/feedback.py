"""Outcomes of a decision, as a policy learns them: with the places in which the arms were."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from superarm.core import FeasibleSets
from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.optional import offers
from superarm.core.places import LearnsPlaces
from superarm.sessions.decisions import Record


class Feedback(NamedTuple):
    """Arms by ascending number, their outcomes, and their places.

    The places are None if they are not known, or if the belief does not learn from them.
    """

    arms: IndexArray
    outcomes: FloatArray
    places: IndexArray | None


def feedback_of(record: Record, outcomes: Mapping[int, float], belief: Any) -> Feedback:
    """Some outcomes of a decision, by number, for `Policy.tell` of a policy with this belief."""
    # Ascending, so that what is learnt does not depend on the ranking of the arms.
    arms = np.array(sorted(outcomes), np.intp)
    places = None
    if record.decision.ranked and offers(belief, LearnsPlaces):
        order = np.argsort(record.arms)
        places = order[np.searchsorted(record.arms, arms, sorter=order)]
    return Feedback(arms, np.array([outcomes[arm] for arm in arms.tolist()]), places)


def check_places(belief: Any, sets: FeasibleSets) -> None:
    """Refuse sets that have more arms than the belief knows places."""
    if offers(belief, LearnsPlaces) and sets.n_most > belief.n_places:
        raise ValueError(
            f"sets must have at most {belief.n_places} arms, one for each place of "
            f"{type(belief).__name__}, got sets of up to {sets.n_most}; give it more weights"
        )
