"""Questions whose answers a lazy oracle believes to know: they show wrong declarations.

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
from superarm.core.optional import Uniform
from superarm.oracles._lazy.rivals import contested_if_wider, margins

# How many audits there are in t rounds by default, as a multiple of the root of t.
AUDITS = 2.0
# The probability with which a rate above `Audits.excluded` would have shown.
_CONFIDENCE = 0.95
# By which shares of their width bounds are widened, until an arm is in doubt.
_WIDER = 2.0 ** np.arange(-3, 7)


def as_audits(audits: float) -> float:
    """How many audits there are in t rounds at most, as a multiple of the root of t."""
    return float(as_finite([audits], "audits", ndim=1, least=0.0)[0])


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
        """The share of wrong bounds that the audits exclude with 95% confidence; 1 without any.

        If this share of the arms in question or more had bounds that do not hold, an arm at random
        would have shown it with a probability of at least 95%: 3 / n for large n (rule of three).
        """
        return 1.0 - (1.0 - _CONFIDENCE) ** (1.0 / self.drawn) if self.drawn else 1.0

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
            doubtful = contested_if_wider(feasible, arms, lower, upper, float(wider))
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
