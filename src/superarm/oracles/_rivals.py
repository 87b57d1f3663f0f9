"""Whether bounds prove that a set is the best one, whatever sets there are."""

from __future__ import annotations

import numpy as np

from superarm.core import Choices
from superarm.core.arguments import FloatArray, IndexArray

# Values closer than this may be equal, for all that bounds can tell.
_TIE = 1e-12


def rivals(
    choices: Choices, lower: FloatArray, upper: FloatArray, *, rng: np.random.Generator
) -> tuple[IndexArray, IndexArray]:
    """The set that is best by the middles of the bounds; and the arms that may make another one better.

    No set is better for certain if none is with the arms of this one at their lower bounds and all others at their
    upper bounds: then what is added to one set and to another alike does not matter, and the rest is at its worst. An
    arm that may turn out to be tied counts, too: chance chooses among equals, not what is known of them. Two calls of
    ``choices.best``. The arms that are least known come first.

    Parameters
    ----------
    choices
        The sets there are.
    lower, upper
        Shape (n_arms,): bounds on what each arm adds.
    """
    arms = choices.best((lower + upper) / 2, rng=rng)
    width = upper - lower
    slack = np.where(
        width > 0, _TIE * max(1.0, float(np.abs(upper[choices.undecided]).max(initial=0.0))), 0.0
    )
    doubted = upper + slack
    doubted[arms] = (lower - slack)[arms]
    # Any of several equal rivals will do, so no draw of the caller's is spent on it.
    differ = np.setxor1d(arms, choices.best(doubted, rng=np.random.default_rng(0)))
    differ = differ[(width[differ] > 0) & choices.undecided[differ]]
    return arms, differ[np.argsort(-width[differ], kind="stable")]
