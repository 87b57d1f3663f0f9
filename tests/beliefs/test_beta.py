"""The paper's belief: its update, its law, and warm starts."""

import numpy as np
import pytest
from scipy import stats

import superarm as sa
from superarm.beliefs import DiscountedBetaBelief


def test_beta_is_the_papers_update():
    belief, rng = sa.BetaBelief(3), np.random.default_rng(0)
    for _ in range(3):
        belief.update([0, 2], [1.0, 0.0], rng=rng)
    assert belief.a.tolist() == [4, 1, 1]
    assert belief.b.tolist() == [1, 1, 4]
    assert (
        rng.bit_generator.state == np.random.default_rng(0).bit_generator.state
    )  # nothing drawn for 0 and 1


def test_beta_draws_a_coin_for_outcomes_inside():
    """Y ~ Bern(0.3): the mean of 20,000 coins is within 5 standard errors; error 6e-7."""
    n, rng = 20_000, np.random.default_rng(0)
    belief = sa.BetaBelief(n)
    belief.update(np.arange(n), np.full(n, 0.3), rng=rng)
    coins = belief.a - 1
    assert set(np.unique(coins)) == {0.0, 1.0}
    np.testing.assert_array_equal(belief.a + belief.b, 3)
    assert abs(coins.mean() - 0.3) < 5 * np.sqrt(0.21 / n)


def law(belief, arm, n=4000, seed=0):
    rng = np.random.default_rng(seed)
    return np.array([belief.sample(rng=rng)[arm] for _ in range(n)])


def test_beta_samples_have_the_posterior_law():
    """Kolmogorov-Smirnov against Beta(4, 9); error 1e-6."""
    belief = sa.BetaBelief(2, prior=(0.5, 2.0))
    belief.a[1], belief.b[1] = 4.0, 9.0
    assert stats.kstest(law(belief, 1), stats.beta(4, 9).cdf).pvalue > 1e-6
    assert stats.kstest(law(belief, 0), stats.beta(0.5, 2).cdf).pvalue > 1e-6


@pytest.mark.parametrize("make", [sa.BetaBelief.from_counts, DiscountedBetaBelief.from_counts])
def test_a_warm_start_is_what_the_trials_would_have_taught(make):
    """With full strength, a warm start equals an update with every trial."""
    rng, told_one_by_one = np.random.default_rng(0), sa.BetaBelief(3, prior=(2.0, 0.5))
    successes, trials = np.array([3, 0, 5]), np.array([4, 0, 12])
    for arm in range(3):
        for trial in range(trials[arm]):
            told_one_by_one.update([arm], [float(trial < successes[arm])], rng=rng)
    warm = make(successes, trials, prior=(2.0, 0.5))
    np.testing.assert_array_equal([warm.a, warm.b], [told_one_by_one.a, told_one_by_one.b])
    half = make(successes, trials, strength=0.5)
    np.testing.assert_array_equal(half.a + half.b - 2, trials / 2)
    cold = make(successes, trials, strength=0)
    np.testing.assert_array_equal([cold.a, cold.b], np.ones((2, 3)))


def test_a_warm_start_fades_where_beliefs_fade():
    belief = DiscountedBetaBelief.from_counts([50, 0], [100, 100], discount=0.5)
    belief.update([0], [1.0], rng=np.random.default_rng(0))
    assert belief.a.tolist() == [27, 1]
    assert belief.b.tolist() == [26, 51]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: sa.BetaBelief.from_counts([1, 2], [3]), "one number per arm, got 2 and 1"),
        (
            lambda: sa.BetaBelief.from_counts([1, 5], [3, 4]),
            "5 successes in 4 trials of arm 1; trials are successes and",
        ),
        (lambda: sa.BetaBelief.from_counts([-1], [4]), "successes must be at least 0"),
        (lambda: sa.BetaBelief.from_counts([1], [float("inf")]), "trials must be finite"),
        (lambda: sa.BetaBelief.from_counts([1], [4], strength=-1), "strength must be at least 0"),
        (lambda: sa.BetaBelief.from_counts([], []), "non-empty"),
    ],
)
def test_a_warm_start_refuses(call, says):
    with pytest.raises((ValueError, TypeError), match=says):
        call()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: sa.BetaBelief(0), "n_arms must be at least 1"),
        (lambda: sa.BetaBelief(2.5), "whole number"),
        (lambda: sa.BetaBelief(True), "whole number"),
        (lambda: sa.BetaBelief(2, prior=(0, 1)), "above 0"),
        (lambda: sa.BetaBelief(2, prior=(1, float("nan"))), "above 0"),
        (lambda: sa.BetaBelief(2, prior=(1, [1, 2, 3])), "shape"),
        (lambda: sa.BetaBelief(2, prior=1), "pair"),
    ],
)
def test_refuses(call, says):
    with pytest.raises((ValueError, TypeError), match=says):
        call()
