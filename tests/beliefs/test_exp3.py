"""Exp3.M against the paper's formulas."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
import superarm as sa
from superarm.beliefs import Exp3Belief
from superarm.beliefs.exp3 import exp3_gamma
from superarm.oracles import DependentRounding
from superarm.policies import exp3


@given(
    logs=st.lists(st.floats(0, 12), min_size=3, max_size=9),
    gamma=st.floats(0.01, 0.99),
    data=st.data(),
)
@settings(max_examples=200)
def test_exp3_probabilities_are_those_of_the_paper(logs, gamma, data):
    k = data.draw(st.integers(1, len(logs) - 1))
    belief = Exp3Belief(len(logs), k, gamma=gamma)
    belief.log_weights = np.array(logs)
    p, lowered = belief._probabilities()
    expected, _ = naive.exp3_probabilities(np.exp(logs).tolist(), k, gamma)
    np.testing.assert_allclose(p, expected, atol=1e-7)
    assert p.sum() == pytest.approx(k)
    assert p.min() >= k * gamma / len(logs) - 1e-12
    assert (p[lowered] == 1).all()


def test_exp3_updates_as_the_paper_does():
    belief, rng = Exp3Belief(5, 2, gamma=0.3), np.random.default_rng(0)
    for _ in range(60):
        p, before = belief.sample(rng=rng), belief.log_weights.copy()
        arms = np.sort(rng.choice(5, 2, replace=False))
        outcomes = rng.random(2) ** arms.clip(0, 1)
        belief.update(arms, outcomes, rng=rng)
        grown = belief.log_weights - before
        for i in range(5):
            x = outcomes[arms.tolist().index(i)] / p[i] if i in arms else 0.0
            assert grown[i] == pytest.approx(0.0 if p[i] == 1 else 0.3 * 2 / 5 * x)
    assert exp3_gamma(6, 6, 100) == exp3_gamma(1000, 1, 1) == 1.0
    np.testing.assert_array_equal(Exp3Belief(4, 4, gamma=1.0).sample(rng=rng), 1.0)


def test_importance_weights_are_unbiased():
    """The mean of x_i / p_i over random sets is x: within 5 standard errors over 8,000 sets; error
    3e-6.
    """
    belief, rng = Exp3Belief(5, 2, gamma=0.4), np.random.default_rng(0)
    belief.log_weights = np.array([0.0, 0.5, 1.0, 2.0, 0.2])
    p, x = belief.sample(rng=rng), np.array([0.1, 0.9, 0.5, 0.7, 0.3])
    picked = np.zeros(5)
    for _ in range(8000):
        picked[DependentRounding().select(sa.LinearReward(5), p, 2, rng=rng)] += 1
    error = x / p * np.sqrt(p * (1 - p) / 8000)
    assert (np.abs(x * picked / 8000 / p - x) < 5 * error).all()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: Exp3Belief(3, 4, gamma=0.1), "k must be between"),
        (lambda: Exp3Belief(3, 2, gamma=0), "gamma must be in"),
        (lambda: exp3(sa.LinearReward(4), 2), "either horizon or gamma"),
        (lambda: exp3(sa.LinearReward(4), 2, horizon=10, gamma=0.1), "either horizon or gamma"),
        (
            lambda: ask(exp3(sa.LinearReward(4), 2, gamma=0.1), feasible=sa.Feasible(2)),
            "knows no constraints",
        ),
    ],
)
def test_refuses(call, says):
    with pytest.raises((ValueError, TypeError), match=says):
        call()


def ask(policy, **options):
    return policy.ask(rng=np.random.default_rng(0), **options)
