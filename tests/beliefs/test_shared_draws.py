"""``shared`` of the beliefs that keep one seed per arm by default: the law of each arm stays."""

import json

import numpy as np
import pytest
from scipy import stats

import superarm as sa
from superarm.beliefs import DiscountedBetaBelief, PositionBiasedBelief, SlidingBetaBelief

MAKE = {
    "discounted": lambda shared: DiscountedBetaBelief(4, 0.9, shared=shared),
    "sliding": lambda shared: SlidingBetaBelief(4, 9, shared=shared),
    "position biased": lambda shared: PositionBiasedBelief(4, [1.0, 0.4], shared=shared),
    "gaussian": lambda shared: sa.GaussianBelief(4, noise_var=0.2, shared=shared),
}


def taught(name, shared):
    belief, rng = MAKE[name](shared), np.random.default_rng(0)
    for number in range(12):
        belief.update([0, 1], [1.0, float(number % 3 == 0)], rng=rng)
    belief.update([2], [0.0], rng=rng)
    return belief


def law(belief, arm):
    """The posterior of an arm, from the parameters that are public."""
    if hasattr(belief, "a"):
        return stats.beta(belief.a[arm], belief.b[arm])
    mean, std = belief.location()[arm], np.sqrt(belief.var()[arm])
    return stats.truncnorm(-mean / std, (1 - mean) / std, loc=mean, scale=std)


@pytest.mark.parametrize("name", MAKE)
@pytest.mark.parametrize("shared", [0.0, 0.4, 1.0])
def test_each_arm_has_the_law_of_its_posterior(name, shared):
    """Kolmogorov-Smirnov of 3,000 samples; error 1e-6 for each of 4 arms."""
    belief, rng = taught(name, shared), np.random.default_rng(1)
    draws = np.array([belief.sample(rng=rng) for _ in range(3000)])
    for arm in range(4):
        assert stats.kstest(draws[:, arm], law(belief, arm).cdf).pvalue > 1e-6


@pytest.mark.parametrize("name", MAKE)
@pytest.mark.parametrize("shared", [0.0, 0.4, 0.9])
def test_scores_of_two_arms_have_the_correlation_shared(name, shared):
    """Fisher's z of 3,000 pairs, within 5 standard errors: error 6e-7 for each of 6 pairs."""
    belief, rng = taught(name, shared), np.random.default_rng(2)
    draws = np.array([belief.sample(rng=rng) for _ in range(3000)])
    scores = [stats.norm.ppf(law(belief, arm).cdf(draws[:, arm])) for arm in range(4)]
    found = np.corrcoef(scores)[np.triu_indices(4, 1)]
    assert np.abs(np.arctanh(found) - np.arctanh(shared)).max() < 5 / np.sqrt(2997)


@pytest.mark.parametrize("name", MAKE)
def test_one_seed_is_one_level_for_all_arms(name):
    belief = taught(name, 1.0)
    theta = belief.sample(rng=np.random.default_rng(3))
    levels = [law(belief, arm).cdf(theta[arm]) for arm in range(4)]
    np.testing.assert_allclose(levels, levels[0], rtol=1e-9)


@pytest.mark.parametrize("name", MAKE)
def test_shared_is_saved_and_states_without_it_have_one_seed_per_arm(name):
    belief, twin = taught(name, 0.7), MAKE[name](0.0)
    state = json.loads(json.dumps(belief.state()))
    twin.load(state)
    assert twin.shared == 0.7
    del state["shared"]
    twin.load(state)
    assert twin.shared == 0.0
    with pytest.raises(ValueError, match="shared"):
        twin.load({**state, "shared": 1.5})
    with pytest.raises(ValueError, match="shared must be in"):
        MAKE[name](-0.1)


def test_a_warm_start_may_share_a_seed():
    assert DiscountedBetaBelief.from_counts([3], [4], shared=0.5).shared == 0.5
