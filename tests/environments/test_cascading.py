import numpy as np
import pytest
from scipy import stats

import superarm as sa
from superarm.environments import (
    CascadingArms,
)
from superarm.oracles import RandomSets
from superarm.simulation import ChangingInstance


def test_a_cascade_stops_at_the_first_success():
    """How far the user looks, against products of probabilities: chi-square, error 1e-6."""
    mu, n, rng = np.array([0.3, 0.2, 0.6, 0.5]), 20_000, np.random.default_rng(0)
    environment, order, found = CascadingArms(mu), np.array([1, 3, 0]), np.zeros(4)
    for _ in range(n):
        did = environment.pull(order, rng=rng)
        first = int(np.argmax(did == 1)) if (did == 1).any() else 3
        assert (did[:first] == 0).all()
        assert np.isnan(did[first + 1 :]).all()
        found[first] += 1
    missed = np.cumprod([1, 0.8, 0.5, 0.7])
    expected = n * np.append(missed[:3] * mu[order], missed[3])
    assert stats.chisquare(found, expected).pvalue > 1e-6


def test_what_a_cascade_shows_is_unbiased_and_taking_the_rest_for_failures_is_not():
    """With random sets, every mean of the seen outcomes is within 5 standard errors, error 6e-7
    each. A belief that counts unseen arms as failures is more than 10 standard errors too low for
    three arms.
    """
    mu = np.array([0.3, 0.2, 0.6, 0.5, 0.8])
    policy = sa.Policy(sa.BetaBelief(5), RandomSets(), sa.LinearReward(5), 3)
    trace = sa.simulate(policy, CascadingArms(mu), horizon=6000, rng=np.random.default_rng(0))
    n = policy.belief.a + policy.belief.b - 2
    error = np.sqrt(mu * (1 - mu) / n)
    assert n.sum() == np.count_nonzero(~np.isnan(trace.outcomes))
    assert (np.abs((policy.belief.a - 1) / n - mu) < 5 * error).all()
    blind = sa.BetaBelief(5)
    for arms, did in zip(trace.arms, np.nan_to_num(trace.outcomes), strict=True):
        blind.update(arms, did, rng=np.random.default_rng(0))
    assert (blind.mean()[2:] < mu[2:] - 10 * error[2:]).all()


def test_a_cascade_is_learnt():
    """The best three of ten arms all fail with probability 0.1. The policy learns this set."""
    mu = np.full(10, 0.1)
    mu[[2, 5, 7]] = 0.6, 0.5, 0.5
    for order in ("ascending", "best first"):
        reward = sa.AnySuccess(10)
        environment = ChangingInstance(CascadingArms(mu), reward, 3)
        trace = sa.simulate(
            sa.cts(reward, 3), environment, horizon=1500, rng=np.random.default_rng(0), order=order
        )
        assert trace.best_value == pytest.approx(0.9)
        assert trace.values[-300:].mean() > 0.85


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: CascadingArms([float("nan")]), "mu must be finite"),
    ],
)
def test_refuses(call, says):
    with pytest.raises((ValueError, TypeError), match=says):
        call()
