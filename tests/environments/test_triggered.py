import numpy as np
import pytest

import superarm as sa
from superarm.environments import (
    TriggeredArms,
)
from superarm.oracles import RandomSets


def test_what_is_triggered_and_how_often():
    """Each arm is triggered with probability 1 - prod (1 - P), within 5 standard errors, error 6e-7
    each. Its outcomes have the mean mu.
    """
    rng, n = np.random.default_rng(0), 8000
    P, mu = rng.random((5, 5)) * 0.7, np.array([0.1, 0.9, 0.5, 0.3, 0.7])
    environment, seen, won = TriggeredArms(mu, P), np.zeros(5), np.zeros(5)
    for _ in range(n):
        arms, did = environment.observe([3, 1], rng=rng)
        seen[arms] += 1
        won[arms] += did
    chance = np.array([1 - (1 - P[1, j]) * (1 - P[3, j]) for j in range(5)])
    assert (np.abs(seen / n - chance) < 5 * np.sqrt(chance * (1 - chance) / n)).all()
    assert (np.abs(won / seen - mu) < 5 * np.sqrt(mu * (1 - mu) / seen)).all()


def test_what_is_triggered_outside_the_set_is_told_too():
    """Arm 0 always triggers arm 3, and itself half of the time. The beliefs are unbiased, within 5
    standard errors, error 6e-7 each. A belief that counts untriggered arms as failures is biased.
    """
    P = np.zeros((4, 4))
    P[0, 3], P[0, 0], P[1, 1] = 1.0, 0.5, 1.0
    mu = np.array([0.8, 0.3, 0.5, 0.6])
    policy = sa.Policy(sa.BetaBelief(4), RandomSets(), sa.LinearReward(4), 2)
    trace = sa.simulate(policy, TriggeredArms(mu, P), horizon=4000, rng=np.random.default_rng(0))
    n = policy.belief.a + policy.belief.b - 2
    with_0 = (trace.arms == 0).any(axis=1).sum()
    assert n[3] == with_0
    assert n[1] == (trace.arms == 1).any(axis=1).sum()
    assert n[2] == 0
    assert abs(n[0] - with_0 / 2) < 5 * np.sqrt(with_0 / 4)
    np.testing.assert_array_equal(np.isnan(trace.outcomes[trace.arms == 2]), True)
    seen = n > 0
    means = (policy.belief.a - 1)[seen] / n[seen]
    assert (np.abs(means - mu[seen]) < 5 * np.sqrt(mu * (1 - mu) / np.maximum(n, 1))[seen]).all()
    blind = np.nan_to_num(trace.outcomes[trace.arms == 0]).mean()
    assert blind < 0.8 - 10 * np.sqrt(0.16 / with_0)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: TriggeredArms([0.5, 0.5], [[1.0, 0.0]]), r"P must have shape \(2, 2\)"),
        (lambda: TriggeredArms([0.5], [[1.1]]), r"P must be in \[0, 1\]"),
    ],
)
def test_refuses(call, says):
    with pytest.raises((ValueError, TypeError), match=says):
        call()
