"""Audits of bounds: which arms to evaluate although their bounds leave no doubt.

If the declarations of a reward are true, the answers are within the bounds.
"""

from __future__ import annotations

import numpy as np

from superarm.core import FeasibleSets
from superarm.core.arguments import FloatArray, IndexArray, as_finite
from superarm.core.optional import Uniform, kind_has
from superarm.core.same_draws import same_draws

# How many audits there are in t rounds by default, as a multiple of the root of t.
AUDITS = 2.0
# The probability with which a rate above `share_excluded` would have shown.
_CONFIDENCE = 0.95
# By which shares of their width bounds are widened, until an arm is in doubt.
_WIDER = 2.0 ** np.arange(-3, 7)
# Values closer than this share may be equal, as far as bounds can tell.
_TIE = 1e-12


def as_audits(audits: float) -> float:
    """How many audits there are in t rounds at most, as a multiple of the root of t."""
    return float(as_finite([audits], "audits", ndim=1, least=0.0)[0])


def share_excluded(n_drawn: int) -> float:
    """The share of wrong bounds that this many audits exclude with 95% confidence; 1 without any.

    If this share of the arms in question or more had bounds that do not hold, an arm at random
    would have shown it with a probability of at least 95%: 3 / n for large n (rule of three).
    """
    return 1.0 - (1.0 - _CONFIDENCE) ** (1.0 / n_drawn) if n_drawn else 1.0


def arm_to_audit(
    n_made: int, feasible: FeasibleSets, arms: IndexArray, lower: FloatArray, upper: FloatArray
) -> int | None:
    """The arm to audit, given the set that the bounds certify; None if no value matters.

    Every other audit is of an arm at random, for the rate that audits exclude. The others are aimed
    at the arm that the least widening of all bounds would put in doubt: a wrong B would change the
    decision there first. ``n_made`` audits were made so far. The caller's generator is not used.
    """
    unknown = np.flatnonzero((upper > lower) & feasible.undecided)
    if not len(unknown) or (feasible.same_size and len(arms) == len(lower)):
        return None
    if n_made % 2:
        return _draw(unknown, n_made)
    if kind_has(type(feasible), Uniform):
        return int(unknown[np.argmin(margins(arms, lower, upper)[unknown])])
    for wider in _WIDER:
        by = float(wider) * (upper - lower)
        in_doubt = doubtful(feasible, arms, lower - by, upper + by)
        if len(in_doubt):
            return int(in_doubt[0])
    return int(unknown[np.argmax((upper - lower)[unknown])])


def rival_to_audit(n_made: int, arms: IndexArray, upper: FloatArray) -> int:
    """The arm to audit among arms that upper bounds, shape (n_arms,), rule out."""
    return _draw(arms, n_made) if n_made % 2 else int(arms[np.argmax(upper[arms])])


def _draw(arms: IndexArray, n_made: int) -> int:
    # The number of the audit is the seed, so that the caller's generator is not used.
    return int(arms[np.random.default_rng(n_made).integers(len(arms))])


def margins(arms: IndexArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """How far each arm's bounds are from the k-th place, in widths; for a certified set of k arms.

    Infinite for arms whose value is known.
    """
    inside = np.zeros(len(lower), bool)
    inside[arms] = True
    if inside.all():
        return np.full(len(lower), np.inf)
    low, high = float(lower[inside].min()), float(upper[~inside].max())
    # Arms of the set are compared with the strongest rival, and all others with the weakest arm.
    distance, width = np.where(inside, lower - high, low - upper), upper - lower
    return np.divide(distance, width, out=np.full(len(lower), np.inf), where=width > 0)


def doubtful(
    feasible: FeasibleSets, arms: IndexArray, lower: FloatArray, upper: FloatArray
) -> IndexArray:
    """The arms that may make another set better than ``arms``, the least known first.

    No set is better if none is with the arms of this set at their lower bounds and all others at
    their upper bounds: arms that two sets share do not matter, and the rest is at its worst. An arm
    that may turn out to be tied counts, too: ties are broken at random, not by what is known of the
    arms.
    """
    width = upper - lower
    undecided = feasible.undecided
    largest = max(float(np.abs(bound[undecided]).max(initial=0.0)) for bound in (lower, upper))
    slack = np.where(width > 0, _TIE * largest, 0.0)
    doubted = upper + slack
    doubted[arms] = (lower - slack)[arms]
    # Any of several equal rivals will do, so no draw of the caller's generator is spent on them.
    rival = feasible.best(doubted, rng=same_draws())
    differ = np.array(sorted(set(arms.tolist()) ^ set(rival.tolist())), np.intp)
    differ = differ[(width[differ] > 0) & undecided[differ]]
    return differ[np.argsort(-width[differ], kind="stable")]
