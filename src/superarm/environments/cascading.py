"""A user who reads down a list and stops at the first thing that pleases.

Kveton, Szepesvári, Wen, Ashkan: "Cascading bandits: learning to rank in the cascade model", ICML 2015. Thompson
sampling for it: Cheung, Tan, Zhong, AISTATS 2019; with Beta posteriors: Zhong, Cheung, Tan: "Thompson sampling
algorithms for cascading bandits", JMLR 2021.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from superarm.core.arguments import FloatArray, as_arms, as_finite, as_unit


class CascadingArms:
    """The user looks at the arms in the order in which they are shown, until one succeeds, each with chance mu_i.

    What comes after the first success is not looked at: its outcome is NaN, and nobody should be told of it. Whether an
    arm is looked at depends on the arms before it only, so outcomes that are seen are Bern(mu_i), and the right belief
    is the plain one, `BetaBelief`, told of these. A set is worth `AnySuccess`, whatever the order. The order decides
    what is learnt: see ``order`` of `simulate`.

    ``pull`` costs O(k) draws. 8 bytes an arm.

    Parameters
    ----------
    mu
        Shape (n_arms,): the chance that an arm that is looked at succeeds, in [0, 1]. Kept as a read-only copy.

    Examples
    --------
    >>> world = CascadingArms([0.0, 1.0, 0.5])
    >>> world.pull([0, 1, 2], rng=np.random.default_rng(0))
    array([ 0.,  1., nan])
    """

    def __init__(self, mu: ArrayLike) -> None:
        given = as_finite(mu, "mu", ndim=1)
        self.mu: FloatArray = as_unit(given, "mu", given.shape)
        self.mu.flags.writeable = False
        self.n_arms = len(self.mu)

    def pull(self, arms: ArrayLike, *, rng: np.random.Generator) -> FloatArray:
        """0 for each arm up to the first success, 1 for that, and NaN from then on."""
        arms = as_arms(arms, self.n_arms)
        outcomes = (rng.random(len(arms)) < self.mu[arms]).astype(np.float64)
        outcomes[1:][np.cumsum(outcomes[:-1]) > 0] = np.nan
        return outcomes
