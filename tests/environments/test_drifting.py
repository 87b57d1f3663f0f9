import numpy as np
import pytest
from scipy import stats

import superarm as sa
from superarm.environments import (
    DriftingArms,
)
from superarm.simulation import ChangingInstance


def test_a_drifting_mean_keeps_to_its_law():
    """A reflected random walk preserves the uniform distribution: Kolmogorov-Smirnov over 5,000
    arms, error 1e-6. Far from 0 and 1 it is a sum of t steps: mean and spread within 5 standard
    errors, error 6e-7 each.
    """
    rng, n = np.random.default_rng(0), 5000
    environment = DriftingArms(rng.random(n), std=0.3)
    for _ in range(20):
        environment.pull([], rng=rng)
    assert stats.kstest(environment.mu, "uniform").pvalue > 1e-6
    environment = DriftingArms(np.full(n, 0.5), std=0.01)
    for _ in range(100):
        environment.pull([], rng=rng)
    assert abs(environment.mu.mean() - 0.5) < 5 * 0.1 / np.sqrt(n)
    assert abs(environment.mu.std() / 0.1 - 1) < 5 / np.sqrt(2 * n)


def test_drift_is_the_same_whatever_is_pulled_and_old_means_stay():
    environments = [DriftingArms([0.2, 0.5, 0.99], std=0.1) for _ in range(2)]
    rngs = [np.random.default_rng(0) for _ in range(2)]
    for t in range(50):
        before = environments[0].mu
        kept = before.copy()
        one, other = (
            environments[0].pull([0, 2], rng=rngs[0]),
            environments[1].pull([2], rng=rngs[1]),
        )
        assert one[1] == other[0]
        np.testing.assert_array_equal(environments[0].mu, environments[1].mu)
        np.testing.assert_array_equal(before, kept)
        assert environments[0].mu is not before, t
        assert not environments[0].mu.flags.writeable
    still = DriftingArms([0.2, 0.7], std=0)
    still.pull([0], rng=rngs[0])
    np.testing.assert_allclose(still.mu, [0.2, 0.7], rtol=1e-15)


def test_a_large_step_is_folded_as_often_as_it_takes():
    rng = np.random.default_rng(0)
    environment = DriftingArms(np.full(1000, 0.5), std=50.0)
    steps = np.random.default_rng(0)
    steps.random(1000)
    environment.pull([], rng=rng)
    for mu, moved in zip(environment.mu, 0.5 + 50 * steps.standard_normal(1000), strict=True):
        while not 0 <= moved <= 1:
            moved = -moved if moved < 0 else 2 - moved
        assert mu == pytest.approx(moved, abs=1e-12)


def test_paired_runs_meet_the_same_drift():
    def made(build):
        def make(rng):
            environment = ChangingInstance(
                DriftingArms(rng.random(8), std=0.05), sa.LinearReward(8), 2
            )
            return build(sa.LinearReward(8), 2), environment

        return sa.replicate(make, n_runs=2, horizon=30, seed=3)

    for one, other in zip(made(sa.cts), made(sa.random_sets), strict=True):
        np.testing.assert_array_equal(one.best_value, other.best_value)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: DriftingArms([0.5, 1.5], 0.1), r"mu must be in \[0, 1\]"),
        (lambda: DriftingArms([0.5], -0.1), "std must be at least 0"),
    ],
)
def test_refuses(call, says):
    with pytest.raises((ValueError, TypeError), match=says):
        call()
