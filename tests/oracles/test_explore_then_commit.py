"""Every arm is explored, then one set is chosen for ever; within constraints, and after save and
load.
"""

import json

import numpy as np
import pytest

import superarm as sa
from superarm.oracles import EpsilonRandom, ExploreThenCommit, Scheduled
from superarm.oracles.epsilon_random import decaying
from superarm.sets import Paths, SpanningTrees


@pytest.mark.parametrize(
    ("n_arms", "k", "n"), [(20, 3, 2), (7, 7, 3), (10, 4, 1), (5, 1, 4), (6, 2, 0)]
)
def test_explore_then_commit_picks_every_arm_so_often_and_then_one_set(n_arms, k, n):
    reward, rng = sa.Counted(sa.LinearReward(n_arms)), np.random.default_rng(0)
    oracle, rounds = ExploreThenCommit(sa.Singletons(), n), -(-n * n_arms // k)
    picked = np.zeros(n_arms, int)
    for _ in range(rounds):
        assert picked.min() < n
        picked[oracle.select(reward, rng.random(n_arms), k, rng=rng)] += 1
        assert oracle.report is None
        assert picked.max() - picked.min() <= 1
    assert picked.min() >= n
    assert reward.evaluations == 0
    theta = rng.random(n_arms)
    committed = oracle.select(reward, theta, k, rng=rng)
    np.testing.assert_array_equal(committed, np.sort(np.argsort(theta)[-k:]))
    for _ in range(20):  # what is believed later is ignored
        np.testing.assert_array_equal(
            oracle.select(reward, rng.random(n_arms), k, rng=rng), committed
        )
    assert reward.evaluations == n_arms


@pytest.mark.parametrize(
    "choices",
    [
        sa.Feasible(3, must=[1], groups=[sa.Group([0, 1, 2], most=2)], must_not=[6]),
        sa.Feasible(4, at_most=True, weights=np.array([1.0, 3, 1, 2, 1, 3, 1]), budget=4.0),
        Paths([0, 0, 1, 2, 1, 3, 4], [1, 2, 3, 3, 4, 5, 5], 0, 5),
        SpanningTrees([0, 1, 2, 3, 4, 0, 1], [1, 2, 3, 4, 0, 2, 3]),
    ],
)
def test_exploring_within_choices_ends(choices):
    """Every arm that is in some sets but not in all is chosen three times, in at most three rounds
    each.
    """
    oracle, rng, known = (
        ExploreThenCommit(sa.TopK(), 3),
        np.random.default_rng(0),
        choices.for_arms(7),
    )
    picked, rounds = np.zeros(7, int), 0
    while True:
        arms = oracle.select(sa.LinearReward(7), rng.random(7), choices, rng=rng)
        assert known.is_feasible(arms)
        if oracle.report is not None:
            break
        picked[arms] += 1
        rounds += 1
    assert (picked[known.undecided] >= 3).all()
    assert rounds <= 3 * known.undecided.sum()


@pytest.mark.parametrize(
    "make",
    [
        lambda: EpsilonRandom(Scheduled(sa.Singletons(), when=7), decaying(8)),
        lambda: ExploreThenCommit(Scheduled(sa.Singletons(), when=7), 2),
    ],
)
def test_they_go_on_after_save_and_load(make):
    plain, saved = make(), make()
    rngs = [np.random.default_rng(0), np.random.default_rng(0)]
    for theta in np.random.default_rng(1).random((40, 20)):
        text = json.dumps(saved.state())
        saved = make()
        saved.load(json.loads(text))
        results = [
            one.select(sa.LinearReward(20), theta, 3, rng=rng)
            for one, rng in zip((plain, saved), rngs, strict=True)
        ]
        np.testing.assert_array_equal(*results)
    plain.forget()
    assert len(plain.select(sa.LinearReward(20), theta, 3, rng=rngs[0])) == 3


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: ExploreThenCommit(sa.TopK(), -1), "n_explore must be at least 0"),
        (lambda: ExploreThenCommit(sa.TopK(), 1).load({}), "ExploreThenCommit"),
    ],
)
def test_refuses(call, says):
    with pytest.raises((ValueError, TypeError), match=says):
        call()


def test_a_set_repeated_after_exploring_has_no_report_of_its_own():
    """An arm that was not available is explored when it is back. Then the old set is repeated."""
    reward, rng, theta = sa.LinearReward(4), np.random.default_rng(0), [0.9, 0.8, 0.2, 0.1]
    oracle, three = ExploreThenCommit(sa.LazySingletons(), 1), sa.Feasible(2, must_not=[3])
    for _ in range(3):
        arms = oracle.select(reward, theta, three, rng=rng)
    assert arms.tolist() == [0, 1]
    assert oracle.report.certified
    four = sa.Feasible(2, n_arms=4)
    assert 3 in oracle.select(reward, theta, four, rng=rng)
    assert oracle.report is None
    assert oracle.select(reward, theta, four, rng=rng).tolist() == [0, 1]
    assert oracle.report is None


def test_a_set_repeated_after_a_random_one_has_no_report_of_its_own():
    reward, rng, theta = sa.LinearReward(4), np.random.default_rng(0), [0.9, 0.8, 0.2, 0.1]
    is_random = {2: 1.0}  # the scheduled oracle is asked in the other rounds, and runs in 1 and 5
    oracle = EpsilonRandom(Scheduled(sa.LazySingletons(), when=3), lambda t: is_random.get(t, 0.0))
    oracle.select(reward, theta, 2, rng=rng)
    first = oracle.report
    assert first.certified
    for _ in range(2):
        oracle.select(reward, theta, 2, rng=rng)
        assert oracle.report is None
    oracle.select(reward, theta, 2, rng=rng)
    assert oracle.report is None
    oracle.select(reward, theta, 2, rng=rng)
    assert oracle.report.certified
    assert oracle.report is not first
