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
        Shape (n_tests,): which tests the grades come from; with "regression", which were learnt
        from.
    grades
        Shape (n_arms,): the grades phi of the arms; the k largest were chosen. With "regression",
        w_i theta_i.
    certified
        Always False: the answer is right with a probability, not for certain.
    """

    tests: Pools
    values: FloatArray
    scores: FloatArray
    decoded: NDArray[np.bool_]
    grades: FloatArray
    certified: bool = False

    @cached_property
    def q_hat(self) -> float:
        """The share of non-repeated tests (section 4); NaN without tests. Computed on first use."""
        return theory.estimate_q(self.tests, self.scores) if len(self.tests) else math.nan

    def ranking(self, arms: IndexArray, theta: Sample) -> Scores:
        """The grades, and the tests that they come from."""
        meaning = "grade, from the tests that an arm was in"
        return Scores(meaning, self.grades, tests=self.tests)
