"""Beliefs that arms join later."""

import json

import numpy as np
import pytest

import superarm as sa
from superarm.beliefs import (
    CascadingBelief,
    DiscountedBetaBelief,
    PositionBiasedBelief,
    SlidingBetaBelief,
)


@pytest.mark.parametrize(
    "belief",
    [
        sa.BetaBelief,
        DiscountedBetaBelief,
        SlidingBetaBelief,
        lambda n: PositionBiasedBelief(n, [0.9, 0.5]),
        lambda n: CascadingBelief(n, 0.4),
        sa.GaussianBelief,
        sa.UCBBelief,
        sa.KLUCBBelief,
    ],
)
def test_a_belief_that_grew_is_one_that_was_larger_all_along(belief):
    grown, large, rng = belief(4), belief(7), np.random.default_rng(0)
    for one in (grown, large):
        one.update([0, 3], [1.0, 0.0], rng=rng)
    grown.add_arms(3)
    for one in (grown, large):
        one.update([6, 1], [1.0, 0.0], rng=rng)
    assert json.dumps(grown.state()) == json.dumps(large.state())
    with pytest.raises((TypeError, ValueError)):
        grown.add_arms(0)
    with pytest.raises((TypeError, ValueError)):
        grown.add_arms(1, prior="high")
    assert json.dumps(grown.state()) == json.dumps(large.state())
