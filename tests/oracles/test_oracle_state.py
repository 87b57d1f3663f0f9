"""Oracles that are saved and loaded."""

import json

import numpy as np
import pytest

import superarm as sa
from superarm.oracles import Scheduled


@pytest.mark.parametrize(
    "oracle",
    [
        sa.LazySingletons,
        sa.LazyGreedy,
        sa.LocalSearch,
        lambda: Scheduled(sa.LazySingletons(), when=2),
        lambda: sa.GroupTesting(delta=0.25, n_tests=9, decoder="regression"),
    ],
)
def test_oracles_go_on_from_their_state_bit_for_bit(oracle):
    reward, rng = (
        sa.Counted(sa.NetworkReward.random(40, rng=np.random.default_rng(0))),
        np.random.default_rng(1),
    )
    played, fresh = oracle(), oracle()
    assert fresh.state() == oracle().state()
    for _ in range(8):
        played.select(reward, rng.random(40).round(1), 3, rng=rng)
    fresh.load(json.loads(json.dumps(played.state())))
    other = sa.Counted(reward.uncounted)
    for seed in range(8):
        theta, before = rng.random(40).round(1), reward.evaluations
        arms = [
            one.select(worth, theta, 3, rng=np.random.default_rng(seed))
            for one, worth in ((played, reward), (fresh, other))
        ]
        assert np.array_equal(*arms)
        assert reward.evaluations - before == other.evaluations
        other.evaluations = 0
    assert json.dumps(played.state()) == json.dumps(fresh.state())
    with pytest.raises(ValueError, match="that of a"):
        played.load({"oracle": "none"})
    played.forget()
    played.select(
        sa.LinearReward(12), np.linspace(0, 1, 12), 3, rng=rng
    )  # begins anew, with other arms
