"""KL-UCB indices: the tightest optimism for Bernoulli arms.

Garivier, Cappé: "The KL-UCB algorithm for bounded stochastic bandits and beyond", COLT 2011. For sets: Combes,
Talebi, Proutière, Lelarge: "Combinatorial bandits revisited", NeurIPS 2015.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import xlogy

from superarm.beliefs.tally import Tally
from superarm.core.arguments import FloatArray, as_count, as_finite

_ROUNDS_OF_NEWTON = 100  # a handful is enough; the bound only keeps rounding from looping for ever


class KLUCBBelief:
    """theta_i = the largest q with n_i · kl(mean_i, q) <= ln t + c · ln ln t, and 1 for an arm never told about.

    kl is the divergence between Bernoulli laws, t one more than the number of updates so far, n_i how often arm i
    was told about. Draws nothing. ``sample`` costs a handful of Newton steps over the arms, ``update`` O(arms
    told). 16 bytes an arm.

    Parameters
    ----------
    n_arms
        How many arms there are.
    c
        The factor of ln ln t, at least 0; its authors prove with 3 and recommend 0.

    Attributes
    ----------
    tally
        What was seen of each arm.

    Examples
    --------
    >>> belief = KLUCBBelief(3)
    >>> for _ in range(100):
    ...     belief.update([0], [0.25], rng=np.random.default_rng(0))
    >>> belief.sample(rng=np.random.default_rng(0)).round(4)
    array([0.394, 1.   , 1.   ])
    """

    def __init__(self, n_arms: int, c: float = 0.0) -> None:
        self.n_arms = as_count(n_arms, "n_arms", least=1)
        self.c = float(as_finite([c], "c", ndim=1, least=0.0)[0])
        self.tally = Tally.empty(self.n_arms)

    def sample(self, *, rng: np.random.Generator) -> FloatArray:
        """The upper confidence bounds."""
        log_t = math.log(self.tally.rounds + 1)
        level = log_t + self.c * math.log(max(log_t, 1.0))
        counts = self.tally.counts
        theta: FloatArray = np.ones(self.n_arms)
        seen = counts > 0
        theta[seen] = kl_upper(self.tally.mean()[seen], level / counts[seen])
        return theta

    def update(self, arms: ArrayLike, outcomes: ArrayLike, *, rng: np.random.Generator) -> None:
        """Add the outcomes to what was seen, and count a round; draws nothing."""
        self.tally.add(arms, outcomes)

    def add_arms(self, n: int, prior: None = None) -> None:
        """Make room for n more arms, which come last, with nothing seen of them. O(n_arms)."""
        self.n_arms = self.tally.grow(n, prior, "KLUCBBelief")

    def state(self) -> dict[str, Any]:
        """What was seen, as plain JSON."""
        return {"belief": "KLUCBBelief", "n_arms": self.n_arms, "c": self.c, **self.tally.state()}

    def load(self, state: dict[str, Any]) -> None:
        """Take over what ``state()`` described."""
        tally = Tally.read(state, "KLUCBBelief", self.n_arms, others=("c",))
        self.c = KLUCBBelief(self.n_arms, c=state["c"]).c
        self.tally = tally


def kl_bernoulli(p: FloatArray, q: FloatArray) -> FloatArray:
    """kl(p, q) between Bernoulli laws, with 0 log 0 = 0."""
    divergence: FloatArray = np.asarray(xlogy(p, p) - xlogy(p, q), np.float64)
    return divergence + xlogy(1 - p, 1 - p) - xlogy(1 - p, 1 - q)


def kl_upper(p: FloatArray, level: FloatArray) -> FloatArray:
    """The largest q in [p, 1] with kl(p, q) <= level, by Newton from above.

    kl(p, .) is convex and increasing on [p, 1], so Newton's steps from a point beyond the solution come down to it
    without passing it. The start: kl(p, q) >= -H(p) - (1 - p) log(1 - q), and the right side solved for q.
    """
    q = np.ones_like(p)
    open_ = np.flatnonzero((p < 1) & (level > 0))
    q[level <= 0] = p[level <= 0]
    low, bound = p[open_], level[open_]
    # Steps are taken in the distance to 1, which keeps its digits where q is close to 1.
    entropy = -xlogy(low, low) - xlogy(1 - low, 1 - low)
    rest = np.maximum(np.exp(-(bound + entropy) / (1 - low)), 1e-300)
    for _ in range(_ROUNDS_OF_NEWTON):
        now = np.maximum(1 - rest, np.maximum(low, 1e-300))  # never below p, whatever rounding says
        excess = -entropy - xlogy(low, now) - (1 - low) * np.log(rest) - bound
        slope = (1 - low) / rest - low / now
        step = np.where(excess > 0, excess / np.where(slope > 0, slope, np.inf), 0.0)
        rest = np.minimum(rest + step, 1 - low)
        if (step <= 4e-16 * rest).all():
            break
    q[open_] = 1 - rest
    return q
