"""The rewards."""

from __future__ import annotations

from superarm import rewards
from superarm.catalog.entries import REQUIRED, Parameter, Part, by_name

_WEIGHTS = Parameter("weights", "vector", "Weights; all 1 if empty.")

REWARDS = by_name(
    Part(
        "any_success",
        "AnySuccess",
        rewards.AnySuccess,
        "The probability that at least one arm succeeds.",
    ),
    Part(
        "coverage",
        "CoverageReward",
        # The shape of reach determines the number of arms. n_arms is accepted and ignored, since a
        # reward's factory takes the number of arms first.
        lambda n_arms, reach, weights=None: rewards.CoverageReward(reach, weights),
        "The expected weight of the targets that the arms reach.",
        (
            Parameter(
                "reach",
                "matrix",
                "One row per arm: the probability that it reaches each target.",
                REQUIRED,
            ),
            _WEIGHTS,
        ),
    ),
    Part(
        "linear",
        "LinearReward",
        rewards.LinearReward,
        "The sum of the means, weighted or not.",
        (_WEIGHTS,),
    ),
    Part(
        "network",
        "NetworkReward",
        # As for coverage: W1 has one column per arm.
        lambda n_arms, W1, w2: rewards.NetworkReward(W1, w2),
        "The paper's two-layer network with sigmoid neurons.",
        (
            Parameter("W1", "matrix", "Weights from arms to neurons.", REQUIRED),
            Parameter("w2", "vector", "Weights of the neurons.", REQUIRED),
        ),
    ),
)
