"""What the group-testing oracle tells about its last answer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from superarm import theory
from superarm.core import Pools, Sample, Scores
from superarm.core.arguments import FloatArray, IndexArray

# Below this share of variance explained, a regression says that it should not be relied on.
TRUSTED = 0.5


@dataclass(frozen=True, eq=False)
class GroupTestingReport:
    """Why the arms were chosen.

    Attributes
    ----------
    tests
        The pools that were evaluated.
    values
        Shape (n_tests,): r(A_j; theta), as the reward answered.
    scores
        Shape (n_tests,): the values, quantized; the values themselves if nothing is quantized.
    decoded
        Shape (n_tests,): which tests the grades come from; with "regression", which were learned
        from.
    grades
        Shape (n_arms,): the grades phi of the arms; the k largest were chosen. With "regression",
        w_i theta_i.
    explained
        With "regression", the share of the variance of scores that the weights predicted before
        they learned from them, over about the last 50 rounds, for the size of tests that tells
        most. Below one half, the reward is far from any function of a weighted sum, or not learned
        yet. None if it is unknown, and for the other decoders.
    certified
        Always False: the answer is right with a probability, not for certain.
    """

    tests: Pools
    values: FloatArray
    scores: FloatArray
    decoded: NDArray[np.bool_]
    grades: FloatArray
    explained: float | None = None
    certified: bool = False

    @cached_property
    def q_hat(self) -> float:
        """The share of non-repeated tests (section 4); NaN without tests. Computed on first use."""
        return theory.estimate_q(self.tests, self.scores) if len(self.tests) else math.nan

    def ranking(self, arms: IndexArray, theta: Sample) -> Scores:
        """The grades, and the tests that they come from."""
        meaning = "grade, from the tests that an arm was in"
        if self.explained is not None:
            meaning += (
                f"; the weights explain {max(0.0, self.explained):.0%} of the scores' variance"
            )
            if self.explained < TRUSTED:
                meaning += ", which is too little to rely on"
        return Scores(meaning, self.grades, tests=self.tests)
