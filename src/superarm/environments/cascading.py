"""A user who reads down a list and stops at the first item that pleases.

Kveton, Szepesvári, Wen, Ashkan: "Cascading bandits: learning to rank in the cascade model", ICML
2015. Thompson sampling for it: Cheung, Tan, Zhong, AISTATS 2019; with Beta posteriors: Zhong,
Cheung, Tan: "Thompson sampling algorithms for cascading bandits", JMLR 2021.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from superarm.core.arguments import FloatArray, as_arms, as_fraction
from superarm.core.showing import one_line
from superarm.environments._means import as_means


class CascadingArms:
    """The user looks at the arms in the order shown, until the first success.

    Arm i succeeds with probability mu_i. Arms after the first success are not looked at: their
    outcomes are NaN, and policies get no feedback for them. Whether an arm is looked at depends
    only on the arms before it. So the outcomes that are seen are Bern(mu_i), and `BetaBelief` is
    the right belief. The reward of a set is `AnySuccess`, for any order. The order decides what is
    learned: see ``order`` of `simulate`.

    If ``continues`` is above 0, the user goes on after a success with this probability. Nobody sees
    how far the user looked, so that all arms without a success have the outcome 0, and
    `CascadingBelief` is the right belief.

    ``pull`` costs O(k) draws. Takes 8 bytes per arm.

    Parameters
    ----------
    mu
        Shape (n_arms,): the probability that an arm that is looked at succeeds, in [0, 1]. Kept as
        a read-only copy.
    continues
        The probability that the user goes on after a success, in [0, 1].

    Examples
    --------
    >>> environment = CascadingArms([0.0, 1.0, 0.5])
    >>> environment.pull([0, 1, 2], rng=np.random.default_rng(0))
    array([ 0.,  1., nan])
    """

    __repr__ = one_line

    def __init__(self, mu: ArrayLike, continues: float = 0.0) -> None:
        self.mu: FloatArray = as_means(mu)
        self.n_arms = len(self.mu)
        self.continues = as_fraction(continues, "continues", low="[", high="]")

    def pull(self, arms: ArrayLike, *, rng: np.random.Generator) -> FloatArray:
        """1 for each success. After the last look NaN, or 0 if ``continues`` is above 0."""
        arms = as_arms(arms, self.n_arms)
        outcomes = (rng.random(len(arms)) < self.mu[arms]).astype(np.float64)
        stops = outcomes
        if self.continues > 0:
            stops = outcomes * (rng.random(len(arms)) >= self.continues)
        # An arm is not looked at if the user stopped before it.
        outcomes[1:][np.cumsum(stops[:-1]) > 0] = 0.0 if self.continues > 0 else np.nan
        return outcomes

    def expected(self, arms: ArrayLike) -> FloatArray:
        """The mean of each outcome that is seen, if the arms are shown in this order."""
        arms = as_arms(arms, self.n_arms)
        if self.continues == 0:  # what is seen was looked at
            return self.mu[arms]
        goes_on = 1 - (1 - self.continues) * self.mu[arms]
        return self.mu[arms] * np.cumprod([1.0, *goes_on[:-1]])[: len(arms)]
