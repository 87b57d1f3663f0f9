"""Whether bounds prove that a set is the best one, whatever sets there are."""

from __future__ import annotations

import numpy as np

from superarm.core import FeasibleSets
from superarm.core._top_k import kth_largest
from superarm.core.arguments import FloatArray, IndexArray
from superarm.oracles._sets import is_uniform

# Values closer than this may be equal, for all that bounds can tell.
_TIE = 1e-12


def best_and_rivals(
    feasible: FeasibleSets, lower: FloatArray, upper: FloatArray, *, rng: np.random.Generator
) -> tuple[IndexArray, IndexArray, int]:
    """The best set by the middles of the bounds, and the arms that keep it from being certified.

    The most urgent of these arms come first. The number says how many of them must be evaluated in
    any case, as far as this is known.
    """
    if is_uniform(feasible):
        arms = feasible.best(lower + upper, rng=rng)
        return arms, *_contested(arms, lower, upper)
    return *_rivals(feasible, lower, upper, rng=rng), 0


def last_place(
    feasible: FeasibleSets, lower: FloatArray, upper: FloatArray, arms: IndexArray
) -> tuple[float, float]:
    """Bounds on the value at the last place of a set, among the arms that are undecided."""
    if is_uniform(feasible):
        return kth_largest(lower, len(arms)), kth_largest(upper, len(arms))
    undecided = feasible.undecided
    lower, upper = lower[undecided], upper[undecided]
    k = int(np.clip(np.count_nonzero(undecided[arms]), 1, len(lower)))
    return kth_largest(lower, k), kth_largest(upper, k)


def _rivals(
    feasible: FeasibleSets, lower: FloatArray, upper: FloatArray, *, rng: np.random.Generator
) -> tuple[IndexArray, IndexArray]:
    """The set that is best by the middles of the bounds; and the arms that may make another one better.

    No set is better for certain if none is with the arms of this one at their lower bounds and all others at their
    upper bounds: then what is added to one set and to another alike does not matter, and the rest is at its worst. An
    arm that may turn out to be tied counts, too: chance chooses among equals, not what is known of them. Two calls of
    ``feasible.best``. The arms that are least known come first.

    Parameters
    ----------
    feasible
        The sets there are.
    lower, upper
        Shape (n_arms,): bounds on what each arm adds.
    """
    arms = feasible.best((lower + upper) / 2, rng=rng)
    width = upper - lower
    slack = np.where(
        width > 0, _TIE * max(1.0, float(np.abs(upper[feasible.undecided]).max(initial=0.0))), 0.0
    )
    doubted = upper + slack
    doubted[arms] = (lower - slack)[arms]
    # Any of several equal rivals will do, so no draw of the caller's is spent on it.
    differ = np.setxor1d(arms, feasible.best(doubted, rng=np.random.default_rng(0)))
    differ = differ[(width[differ] > 0) & feasible.undecided[differ]]
    return arms, differ[np.argsort(-width[differ], kind="stable")]


def _contested(arms: IndexArray, lower: FloatArray, upper: FloatArray) -> tuple[IndexArray, int]:
    """The arms that keep the set from being certified, the most urgent first; and how many must be asked about.

    Whatever the k-th largest value is, it lies between the k-th largest lower and upper bounds. An arm whose bounds
    enclose both can be neither in nor out until it is asked about.
    """
    outside = np.ones(len(lower), bool)
    outside[arms] = False
    if not outside.any():
        return np.zeros(0, np.intp), 0
    others = np.flatnonzero(outside)
    weakest, rival = arms[np.argmin(lower[arms])], others[np.argmax(upper[others])]
    if lower[weakest] > upper[rival]:
        return np.zeros(0, np.intp), 0
    low, high = kth_largest(lower, len(arms)), kth_largest(upper, len(arms))
    width = upper - lower
    # An arm that may turn out to be tied is in question, too: chance chooses among equals, not what is known of them.
    in_question = np.flatnonzero((upper >= lower[weakest]) & (lower <= upper[rival]) & (width > 0))
    enclosing = (lower[in_question] < low) & (upper[in_question] > high)
    urgency = np.where(enclosing, np.inf, upper[in_question])
    pair = weakest if width[weakest] >= width[rival] else rival
    urgency[(in_question == pair) & ~enclosing] = np.finfo(np.float64).max
    return in_question[np.argsort(-urgency, kind="stable")], int(enclosing.sum())
