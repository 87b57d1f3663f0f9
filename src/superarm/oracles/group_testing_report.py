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
        Shape (n_tests,): the same, quantized; ``values`` where nothing is quantized.
    decoded
        Shape (n_tests,): which tests the grades were made from; with "regression", which were learnt from.
    grades
        Shape (n_arms,): the arms' grades phi; the k largest were chosen. With "regression", w_i theta_i.
    certified
        Always False: the answer is right with a probability, not for certain.
    """

    tests: Pools
    values: FloatArray
    scores: FloatArray
    decoded: NDArray[np.bool_]
    grades: FloatArray
    certified: bool = False

    def ranking(self, arms: IndexArray, theta: Sample) -> Scores:
        """The grades, and the tests that they come from."""
        meaning = "grade, from the tests that an arm was in"
        return Scores(meaning, self.grades, tests=self.tests)

    @cached_property
    def q_hat(self) -> float:
        """The share of the tests that are non-repeated (section 4); NaN without tests. Worked out when asked for."""
        return theory.estimate_q(self.tests, self.scores) if len(self.tests) else math.nan
