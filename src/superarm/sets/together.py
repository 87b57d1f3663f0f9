"""Sets in which many arms must change at once: a warning for policies that draw each arm by itself.

Zhang, Combes: "Thompson sampling for combinatorial bandits: polynomial regret and mismatched
sampling paradox", NeurIPS 2024. If a path of n edges is known and another one is not, the unknown
path is tried only when the sum of n independent draws exceeds the known sum. The probability of
that falls exponentially in n. Sets in which any arm can be exchanged for another one, such as sets
of k arms and spanning trees, do not have this problem: one draw is enough to try a new arm.
"""

from __future__ import annotations

import warnings
from typing import Any

from superarm.core import FeasibleSets
from superarm.core.optional import ChangesTogether, offers

# On two disjoint paths with means of 0.9 and 0.99, 11 of 200 runs lose more than half of 3,000
# rounds with this many edges, and none with fewer: `benchmarks/structures.py --threshold`.
MANY_TOGETHER = 4


def warn_of_own_draws(sets: FeasibleSets, policy: str = "cts") -> None:
    """Warn if many arms must change together, because independent draws may then fail.

    Examples
    --------
    >>> from superarm.sets import Paths
    >>> two_ways = Paths([0, 1, 2, 3, 0, 5, 6, 7], [1, 2, 3, 4, 5, 6, 7, 4], source=0, target=4)
    >>> with warnings.catch_warnings(record=True) as found:
    ...     warnings.simplefilter("always")
    ...     warn_of_own_draws(two_ways)
    >>> print(str(found[0].message)[:69])
    cts draws every arm by itself, and in Paths up to 4 arms must look go
    """
    known: Any = sets
    if not (offers(sets, ChangesTogether) and known.n_together >= MANY_TOGETHER):
        return
    warnings.warn(
        f"{policy} draws every arm by itself, and in {type(sets).__name__} up to "
        f"{known.n_together} arms must look good at once before a better set is tried. It may keep "
        "a bad set for thousands of rounds. Use thompson or single_seed_ts, whose arms share a "
        "seed.",
        # Where the policy was made: the caller of the function that calls this one.
        stacklevel=3,
    )
