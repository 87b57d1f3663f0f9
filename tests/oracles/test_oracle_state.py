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


def remember_too_much(state):
    """Five points of the first arm, where four fit."""
    memory = state["memory"]
    for name in ("x", "f"):
        memory[name][:0] = [0.5] * (5 - memory["n"][0])
    memory["n"][0] = 5


DAMAGES = [
    (lambda state: state.update(n_points=5), "n_points=4 and monotone"),
    (lambda state: state.pop("concave"), "n_points=4 and monotone, concave"),
    (lambda state: state["memory"].pop("x"), "must have 'x'"),
    (lambda state: state["memory"].pop("lipschitz"), "must have 'lipschitz'"),
    (lambda state: state["memory"]["lipschitz"].pop(), "a lipschitz for each of 9 arms, got 8"),
    (lambda state: state["memory"]["f"].pop(), r"state\['f'\] must have shape \(\d+,\)"),
    (lambda state: state["memory"]["x"].append(0.5), r"state\['x'\] must have shape \(\d+,\)"),
    (
        lambda state: state["memory"]["f"].__setitem__(0, float("nan")),
        r"state\['f'\] must be finite",
    ),
    (remember_too_much, r"at most 4 points per arm \(n_points\), got 5"),
]


@pytest.mark.parametrize(("damage", "says"), DAMAGES)
def test_a_damaged_state_of_lazy_singletons_is_refused_and_changes_nothing(damage, says):
    reward, rng = sa.NetworkReward.random(9, rng=np.random.default_rng(0)), np.random.default_rng(1)
    oracle = sa.LazySingletons(n_points=4)
    for _ in range(6):
        oracle.select(reward, rng.random(9), 3, rng=rng)
    before = json.dumps(oracle.state())
    damaged = json.loads(before)
    damage(damaged)
    with pytest.raises(ValueError, match=says):
        oracle.load(damaged)
    assert json.dumps(oracle.state()) == before
