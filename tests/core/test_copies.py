"""Copies of policies: the same state, nothing shared but the reward."""

import numpy as np
import pytest

import superarm as sa
from superarm.beliefs import MeanBelief
from superarm.core.copies import copy_policy
from superarm.oracles import ESCBIndex


@pytest.mark.parametrize("oracle", [sa.Singletons, sa.LazySingletons, sa.LazyGreedy])
def test_a_copy_goes_on_alike_and_apart(oracle):
    policy, rng = sa.cts(sa.LinearReward(6), 2, oracle=oracle()), np.random.default_rng(0)
    for _ in range(4):
        arms = policy.ask(rng=rng)
        policy.tell(arms, [1.0, 0.0], rng=rng)
    spent, before = policy.evaluations, policy.belief.state()
    other = copy_policy(policy)
    assert other.reward.uncounted is policy.reward.uncounted
    assert other.evaluations == 0
    asked = [one.ask(rng=np.random.default_rng(1)).tolist() for one in (policy, other)]
    assert asked[0] == asked[1]
    assert policy.evaluations - spent == other.evaluations  # the cache was copied, too
    other.tell(asked[0], [1.0, 1.0], rng=rng)
    assert policy.belief.state() == before


def test_an_oracle_that_knows_its_belief_gets_the_belief_of_the_copy():
    belief = MeanBelief(4)
    policy = sa.Policy(belief, ESCBIndex(belief), sa.LinearReward(4), 2)
    other = copy_policy(policy)
    assert other.oracle.belief is other.belief
    assert other.belief is not belief
