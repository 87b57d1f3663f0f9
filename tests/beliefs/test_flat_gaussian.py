"""CTS-Gaussian and BG-CTS: the law of the draws, the boost, and the scale."""

import numpy as np
import pytest
from scipy import stats

import superarm as sa
from superarm.beliefs import FlatGaussianBelief
from superarm.beliefs.flat_gaussian import _scaled
from superarm.policies import bg_cts, cts_gaussian


def taught(**options):
    """Far from 0 and 1, so that no value is scaled."""
    belief = FlatGaussianBelief(3, 0.002, **options)
    for number in range(8):
        belief.update([0, 1], [0.5, number % 2], rng=np.random.default_rng(0))
    belief.update([2], [0.4], rng=np.random.default_rng(0))
    return belief


@pytest.mark.parametrize("shared", [0.0, 0.5])
def test_draws_are_normal_about_the_mean_outcome(shared):
    """Kolmogorov-Smirnov of 3,000 samples for each of 3 arms, and their correlation; error 1e-6."""
    belief, rng = taught(boost=2.0, shared=shared), np.random.default_rng(0)
    draws = np.array([belief.sample(rng=rng) for _ in range(3000)])
    for arm, (mean, n) in enumerate(((0.5, 8), (0.5, 8), (0.4, 1))):
        expected = stats.norm(mean, np.sqrt(2.0 * 0.002 / n))
        assert stats.kstest(draws[:, arm], expected.cdf).pvalue > 1e-6
    found = np.corrcoef(draws.T)[np.triu_indices(3, 1)]
    assert np.abs(np.arctanh(found) - np.arctanh(shared)).max() < 5 / np.sqrt(2997)


def boosted(t, m, lam):
    """The factor of the variance in the authors' program, line by line."""
    t = max(t, np.exp(1))
    constant = 0 if lam == 0 else np.log(1 + np.exp(1) / lam)
    f = (1 + lam) * 2 * (np.log(t) + (m + 2) * np.log(np.log(t)) + m / 2 * constant)
    return f / np.log(t)


@pytest.mark.parametrize("lam", [0.0, 0.3])
def test_the_boost_is_that_of_bg_cts(lam):
    belief, rng = FlatGaussianBelief(5, boost=1 + lam, set_size=30), np.random.default_rng(0)
    for t in range(1, 200):
        assert belief.factor() == pytest.approx(boosted(t, 30, lam))
        belief.update([0], [0.5], rng=rng)
    assert bg_cts(sa.LinearReward(5), 3, lam=lam).belief.boost == 1 + lam


def test_sums_over_sets_of_one_size_keep_their_order():
    rng = np.random.default_rng(0)
    for _ in range(200):
        values, seen = rng.normal(0.5, 1.0, 8), np.ones(8, bool)
        scaled = _scaled(values, seen)
        assert scaled.min() >= 0
        assert scaled.max() <= 1
        sets = [rng.choice(8, 3, replace=False) for _ in range(10)]
        order = np.argsort([values[s].sum() for s in sets])
        found = np.array([scaled[s].sum() for s in sets])[order]
        assert (np.diff(found) > -1e-12).all()


def test_values_inside_are_left_alone():
    np.testing.assert_array_equal(_scaled(np.array([0.2, 0.9]), np.ones(2, bool)), [0.2, 0.9])


def test_every_arm_is_tried_first():
    policy, rng = cts_gaussian(sa.LinearReward(9), 3, shared=1.0), np.random.default_rng(0)
    tried = []
    for _ in range(3):
        arms = policy.ask(rng=rng)
        tried += arms.tolist()
        policy.tell(arms, [1.0, 1.0, 0.0], rng=rng)
    assert sorted(tried) == list(range(9))


@pytest.mark.parametrize(
    "wrong", [{"boost": 0.5}, {"set_size": 0}, {"shared": 2.0}, {"noise_var": 0.0}]
)
def test_settings_out_of_range_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        FlatGaussianBelief(3, **wrong)
    state = {**FlatGaussianBelief(3).state(), **wrong}
    with pytest.raises(ValueError, match=next(iter(wrong))):
        FlatGaussianBelief(3).load(state)
