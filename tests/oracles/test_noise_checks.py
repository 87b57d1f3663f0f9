"""Noise that is not as assumed: the oracles warn where the first answers show it."""

import itertools
import warnings

import numpy as np
import pytest

import superarm as sa
from superarm.oracles import NoisyGreedy, NoisyLocalSearch, NoisySingletons

ALL = [NoisySingletons, NoisyGreedy, NoisyLocalSearch]


def select(oracle, answer, **options):
    """A round of an oracle for 4 arms, of which the first has a mean of 0.9."""
    reward = sa.BlackBox(
        lambda arms, means: answer(float(means.max(initial=0.0))),
        n_arms=4,
        lipschitz=1.0,
        upper=1.0,
        **options,
    )
    theta = np.array([0.9, 0.1, 0.1, 0.1])
    return oracle.select(reward, theta, 1, rng=np.random.default_rng(0))


@pytest.mark.parametrize("make", ALL)
@pytest.mark.parametrize(
    ("answers", "what"), [([0, 1, 1], "are only two different numbers"), ([0], "are all equal")]
)
def test_answers_of_0_and_1_without_a_range_are_warned_of(make, answers, what):
    """With rare ones, 16 of 40 certified sets of `NoisySingletons` were wrong, at delta = 0.05."""
    coins = itertools.cycle(answers)
    oracle = make(tolerance=0.3, budget=200)
    with pytest.warns(UserWarning, match=rf"symmetric.*{what}.*answers_in"):
        select(oracle, lambda p: next(coins), noisy=True)


@pytest.mark.parametrize("make", ALL)
def test_no_warning_without_reason(make):
    rng = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        select(make(tolerance=0.3, budget=200), lambda p: p + rng.normal(0, 0.1), noisy=True)
        # Without declared noise, answers are equal.
        select(make(tolerance=0.3, budget=200), lambda p: p)
        coins = make(tolerance=0.3, budget=200, answers_in=(0, 1))
        select(coins, lambda p: float(rng.random() < p), noisy=True)


def test_the_warning_points_at_the_line_that_asked():
    def coin(arms, means):
        return float(next(coins))

    for ask in (
        lambda oracle, reward: oracle.select(reward, [0.5] * 4, 1, rng=np.random.default_rng(0)),
        lambda oracle, reward: sa.cts(reward, 1, oracle=oracle).ask(rng=np.random.default_rng(0)),
        lambda oracle, reward: sa.Session(sa.cts(reward, 1, oracle=oracle), seed=0).ask(),
    ):
        for make in ALL:
            coins = itertools.cycle([0, 1, 1])
            reward = sa.BlackBox(coin, n_arms=4, lipschitz=1.0, upper=1.0, noisy=True)
            with pytest.warns(UserWarning, match="answers_in") as found:
                ask(make(tolerance=0.3, budget=100), reward)
            assert found[0].filename == __file__


@pytest.mark.parametrize("wrong", [3, (1,), (1, 0), "low", (0, float("inf")), (0, "b"), [0, 1, 2]])
def test_a_range_that_is_none_is_refused(wrong):
    with pytest.raises(ValueError, match=r"answers_in must be two numbers.*\(0, 1\), got "):
        NoisySingletons(answers_in=wrong)
