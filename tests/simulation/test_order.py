"""The order in which the arms of a set are shown."""

import numpy as np
import pytest

import superarm as sa
from superarm.environments import (
    CascadingArms,
)
from superarm.sets import Paths


class Known:
    """A belief with fixed means that records its updates."""

    def __init__(self, theta):
        self.theta, self.n_arms, self.told = np.array(theta), len(theta), []

    def sample(self, *, rng):
        return self.theta.copy()

    def update(self, arms, outcomes, *, rng):
        self.told.append((arms.tolist(), outcomes.tolist()))

    def state(self):
        return {}

    def load(self, state):
        pass


@pytest.mark.parametrize("oracle", [sa.TopK, sa.Singletons])
def test_best_first_is_by_what_was_sampled(oracle):
    belief = Known([0.1, 0.7, 0.2, 0.9, 0.8])
    policy = sa.Policy(belief, oracle(), sa.LinearReward(5), 3)
    environment = CascadingArms([0.0, 0.0, 0.0, 0.0, 1.0])
    trace = sa.simulate(
        policy, environment, horizon=2, rng=np.random.default_rng(0), order="best first"
    )
    assert trace.arms.tolist() == [[3, 4, 1]] * 2
    np.testing.assert_array_equal(trace.outcomes, [[0, 1, np.nan]] * 2)
    assert belief.told == [([3, 4], [0.0, 1.0])] * 2
    assert trace.values.tolist() == [1.0, 1.0]
    plain = sa.simulate(policy, environment, horizon=1, rng=np.random.default_rng(0))
    assert plain.arms.tolist() == [[1, 3, 4]]
    with pytest.raises(ValueError, match="order must be 'ascending' or 'best first', got 'worst'"):
        sa.simulate(policy, environment, horizon=1, rng=np.random.default_rng(0), order="worst")


def test_best_first_without_a_sample_is_ascending():
    class NeverLooks:
        report = None

        def select(self, reward, theta, k, *, rng):
            return np.arange(k.n_most)

    policy = sa.Policy(Known([0.1, 0.7, 0.2]), NeverLooks(), sa.LinearReward(3), 2)
    trace = sa.simulate(
        policy,
        sa.BernoulliArms([1, 1, 1]),
        horizon=1,
        rng=np.random.default_rng(0),
        order="best first",
    )
    assert trace.arms.tolist() == [[0, 1]]


def test_best_first_with_sets_of_different_sizes():
    paths = Paths(tails=[0, 1, 0, 2, 4], heads=[1, 3, 2, 4, 3], source=0, target=3)
    mu = [0.8, 0.9, 0.5, 0.5, 0.5]
    policy = sa.Policy(Known(mu), sa.TopK(), sa.LinearReward(5), paths)
    trace = sa.simulate(
        policy, sa.BernoulliArms(mu), horizon=1, rng=np.random.default_rng(0), order="best first"
    )
    assert trace.arms.tolist() == [[1, 0, -1]]
    np.testing.assert_allclose(trace.values, 1.7)
