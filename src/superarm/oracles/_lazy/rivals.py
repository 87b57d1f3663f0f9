"""Whether bounds prove that a set is the best one, and which arms stand in the way of a proof."""

from __future__ import annotations

import numpy as np

from superarm.core import FeasibleSets
from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.k_of_m import kth_largest
from superarm.core.optional import Uniform
from superarm.core.same_draws import same_draws

# Values closer than this share may be equal, as far as bounds can tell.
_TIE = 1e-12
_NONE = np.zeros(0, np.intp)


def best_and_rivals(
    feasible: FeasibleSets, lower: FloatArray, upper: FloatArray, *, rng: np.random.Generator
) -> tuple[IndexArray, IndexArray, int]:
    """The best set by the middles of the bounds, and the arms that keep it from being certified.

    The most urgent of these arms come first. The number says how many of them must be evaluated in
    any case, as far as this is known.

    Parameters
    ----------
    feasible
        The sets to choose from.
    lower, upper
        Shape (n_arms,): bounds on what each arm adds.
    """
    if issubclass(type(feasible), Uniform):
        arms = feasible.best(lower + upper, rng=rng)
        return arms, *_contested(arms, lower, upper)
    arms = feasible.best((lower + upper) / 2, rng=rng)
    return arms, _doubtful(feasible, arms, lower, upper), 0


def last_place(
    feasible: FeasibleSets, lower: FloatArray, upper: FloatArray, arms: IndexArray
) -> tuple[float, float]:
    """Bounds on the value at the last place of the set ``arms``, among the undecided arms."""
    if issubclass(type(feasible), Uniform):
        return kth_largest(lower, len(arms)), kth_largest(upper, len(arms))
    undecided = feasible.undecided
    lower, upper = lower[undecided], upper[undecided]
    k = int(np.clip(np.count_nonzero(undecided[arms]), 1, len(lower)))
    return kth_largest(lower, k), kth_largest(upper, k)


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


def contested_if_wider(
    feasible: FeasibleSets, arms: IndexArray, lower: FloatArray, upper: FloatArray, wider: float
) -> IndexArray:
    """The arms that would be in doubt if all bounds were wider by a share of their width."""
    by = wider * (upper - lower)
    return _doubtful(feasible, arms, lower - by, upper + by)


def _contested(arms: IndexArray, lower: FloatArray, upper: FloatArray) -> tuple[IndexArray, int]:
    """The arms that keep a set of k arms from being certified, and how many must be evaluated.

    The set is certified if its weakest arm is above its strongest rival outside. Whatever the k-th
    largest value is, it lies between the k-th largest lower and upper bounds. An arm whose bounds
    enclose both can be neither in nor out until it is evaluated.
    """
    outside = np.ones(len(lower), bool)
    outside[arms] = False
    if not outside.any():
        return _NONE, 0
    others = outside.nonzero()[0]
    weakest, rival = arms[lower[arms].argmin()], others[upper[others].argmax()]
    if lower[weakest] > upper[rival]:
        return _NONE, 0
    low, high = kth_largest(lower, len(arms)), kth_largest(upper, len(arms))
    width = upper - lower
    # An arm that may turn out to be tied is in question, too: ties are broken at random, not by
    # what is known of the arms.
    may_change = (upper >= lower[weakest]) & (lower <= upper[rival]) & (width > 0)
    in_question = may_change.nonzero()[0]
    enclosing = (lower[in_question] < low) & (upper[in_question] > high)
    urgency = np.where(enclosing, np.inf, upper[in_question])
    pair = weakest if width[weakest] >= width[rival] else rival
    urgency[(in_question == pair) & ~enclosing] = np.finfo(np.float64).max
    return in_question[np.argsort(-urgency, kind="stable")], int(enclosing.sum())


def _doubtful(
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
