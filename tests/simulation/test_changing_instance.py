import numpy as np
import pytest

import superarm as sa
from superarm.environments import (
    DriftingArms,
    TriggeredArms,
)
from superarm.oracles import RandomSets
from superarm.simulation import ChangingInstance


@pytest.mark.parametrize("reward", [sa.LinearReward(6), sa.AnySuccess(6)])
def test_dynamic_regret_is_that_of_the_best_set_of_each_round(reward):
    means = []

    class Watched(DriftingArms):
        def pull(self, arms, *, rng):
            means.append(self.mu)
            return super().pull(arms, rng=rng)

    environment = ChangingInstance(Watched(np.linspace(0.1, 0.9, 6), std=0.1), reward, 2)
    trace = sa.simulate(sa.cts(reward, 2), environment, horizon=40, rng=np.random.default_rng(0))
    sets = [(i, j) for i in range(6) for j in range(i)]
    best = [max(reward(list(s), mu[list(s)]) for s in sets) for mu in means]
    values = [reward(arms, mu[arms]) for arms, mu in zip(trace.arms, means, strict=True)]
    np.testing.assert_allclose(trace.best_value, best)
    np.testing.assert_allclose(trace.regret(), np.cumsum(np.subtract(best, values)))
    assert len(np.unique(trace.best_value)) > 30
    mu = environment.mu[environment.best_arms]
    assert reward(environment.best_arms, mu) == pytest.approx(environment.best_value)


def test_an_instance_of_a_triggered_environment_observes_as_the_environment_does():
    P = np.eye(3)
    P[0, 2] = 1.0
    policy = sa.Policy(sa.BetaBelief(3), RandomSets(), sa.LinearReward(3), 1)
    environment = ChangingInstance(TriggeredArms([0.5, 0.5, 1.0], P), sa.LinearReward(3), 1)
    trace = sa.simulate(policy, environment, horizon=60, rng=np.random.default_rng(0))
    assert policy.belief.a[2] - 1 == (trace.arms != 1).sum()
    assert trace.best_value == 1.0


class InContexts:
    """Arms whose means follow the context of the round."""

    n_arms, mu = 4, np.full(4, 0.5)

    def context(self, *, rng):
        known = rng.random(2)
        self.mu = np.array([0.9, 0.1, 0.5, 0.4]) * known[0]
        return known

    def pull(self, arms, *, rng):
        return self.mu[arms]


def test_an_instance_of_an_environment_with_contexts_gives_them():
    reward, environment = sa.LinearReward(4), InContexts()
    policy = sa.Policy(sa.LinearBelief(4, context=2), sa.TopK(), reward, 2)
    instance, rng = ChangingInstance(environment, reward, 2), np.random.default_rng(0)
    trace = sa.simulate(policy, instance, horizon=30, rng=rng)
    assert len(np.unique(trace.best_value)) == 30
    assert (trace.best_value >= trace.values).all()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: ChangingInstance(object(), sa.LinearReward(3), 2), "environment must have mu"),
        (
            lambda: ChangingInstance(sa.BernoulliArms([0.5]), sa.LinearReward(3), 2),
            "the same number of arms, got 1 and 3",
        ),
        (
            lambda: ChangingInstance(sa.BernoulliArms([0.5]), sa.LinearReward(1), 2),
            "k must be between 1 and 1",
        ),
    ],
)
def test_refuses(call, says):
    with pytest.raises((ValueError, TypeError), match=says):
        call()
