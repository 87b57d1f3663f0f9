"""Whether bounds prove that a set is the best one, what stands in the way, and audits of bounds.

An oracle that evaluates an arm only when its bounds leave a doubt never sees an arm that wrong
bounds exclude. An audit evaluates an arm although its bounds leave no doubt. If the declarations
are true, the answer is within the bounds.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from superarm.core import FeasibleSets
from superarm.core.arguments import FloatArray, IndexArray, as_count, as_finite
from superarm.core.k_of_m import kth_largest
from superarm.core.optional import Uniform
from superarm.core.same_draws import same_draws

# How many audits there are in t rounds by default, as a multiple of the root of t.
AUDITS = 2.0
# The probability with which a rate above `share_excluded` would have shown.
_CONFIDENCE = 0.95
# By which shares of their width bounds are widened, until an arm is in doubt.
_WIDER = 2.0 ** np.arange(-3, 7)
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


def as_audits(audits: float) -> float:
    """How many audits there are in t rounds at most, as a multiple of the root of t."""
    return float(as_finite([audits], "audits", ndim=1, least=0.0)[0])


def share_excluded(n_drawn: int) -> float:
    """The share of wrong bounds that so many audits exclude with 95% confidence; 1 without any.

    If this share of the arms in question or more had bounds that do not hold, an arm at random
    would have shown it with a probability of at least 95%: 3 / n for large n (rule of three).
    """
    return 1.0 - (1.0 - _CONFIDENCE) ** (1.0 / n_drawn) if n_drawn else 1.0


class Audits:
    """How many audits were made since the declarations were last corrected.

    Attributes
    ----------
    rounds, made
        How many rounds there were, and how many of them had an audit.
    drawn
        How many of the audits were of an arm at random. The others were aimed.
    """

    def __init__(self) -> None:
        self.rounds = self.made = self.drawn = 0

    @property
    def excluded(self) -> float:
        """The share of wrong bounds that the audits exclude: see `share_excluded`."""
        return share_excluded(self.drawn)

    def are_due(self, per_root: float) -> bool:
        """Whether this round has an audit: there are at most ``per_root`` times root of t in t."""
        return self.made < per_root * math.sqrt(self.rounds)

    def choose(
        self, feasible: FeasibleSets, arms: IndexArray, lower: FloatArray, upper: FloatArray
    ) -> int | None:
        """The arm to audit, given the set that the bounds certify; None if no value matters.

        Every other audit is of an arm at random, for the rate that audits exclude. The others are
        aimed at the arm that the least widening of all bounds would put in doubt: a wrong B would
        change the decision there first. The caller's generator is not used.
        """
        unknown = np.flatnonzero((upper > lower) & feasible.undecided)
        if not len(unknown) or (feasible.same_size and len(arms) == len(lower)):
            return None
        if self.made % 2:
            return self._draw(unknown)
        if issubclass(type(feasible), Uniform):
            return int(unknown[np.argmin(margins(arms, lower, upper)[unknown])])
        for wider in _WIDER:
            by = float(wider) * (upper - lower)
            doubtful = _doubtful(feasible, arms, lower - by, upper + by)
            if len(doubtful):
                return int(doubtful[0])
        return int(unknown[np.argmax((upper - lower)[unknown])])

    def choose_rival(self, arms: IndexArray, upper: FloatArray) -> int:
        """The same for arms that are all ruled out by upper bounds, shape (n_arms,)."""
        return self._draw(arms) if self.made % 2 else int(arms[np.argmax(upper[arms])])

    def passed(self) -> None:
        """Note an audit whose answer was within the bounds."""
        self.drawn += self.made % 2
        self.made += 1

    def begin_anew(self) -> None:
        """Note that a declaration was corrected: what was audited before says nothing now."""
        self.rounds, self.made, self.drawn = 1, 0, 0

    def _draw(self, arms: IndexArray) -> int:
        # The number of the audit is the seed, so that the caller's generator is not used.
        return int(arms[np.random.default_rng(self.made).integers(len(arms))])

    def state(self) -> dict[str, Any]:
        """All of it, as plain JSON."""
        return {"rounds": self.rounds, "made": self.made, "drawn": self.drawn}

    @classmethod
    def of(cls, state: Any) -> Audits:
        """What ``state()`` described; without a state, as in older files, there were no audits."""
        audits = cls()
        if state is not None:
            for name in ("rounds", "made", "drawn"):
                setattr(audits, name, as_count(state.get(name), f"state['audits'][{name!r}]"))
        return audits


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
