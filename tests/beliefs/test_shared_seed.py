"""A seed that arms share in part: each arm has its posterior, and arms rise and fall together."""

import numpy as np
import pytest
from scipy import stats

from superarm.beliefs import SharedSeedBelief
from superarm.beliefs._scores import SharedScores, beta_at

POSTERIORS = [(4, 2), (0.5, 2), (1, 1), (1, 60)]


def seeded(shared):
    belief = SharedSeedBelief(4, shared, prior=([1.0, 0.5, 1.0, 1.0], [1.0, 2.0, 1.0, 60.0]))
    for outcome in (1.0, 1.0, 0.0, 1.0):
        belief.update([0], [outcome], rng=np.random.default_rng(0))
    return belief


@pytest.mark.parametrize("shared", [0.0, 0.3, 0.8, 1.0])
def test_each_arm_has_the_law_of_its_posterior(shared):
    """Kolmogorov-Smirnov of 4,000 samples against each arm's Beta; error 1e-6 each."""
    belief, rng = seeded(shared), np.random.default_rng(0)
    draws = np.array([belief.sample(rng=rng) for _ in range(4000)])
    for arm, (a, b) in enumerate(POSTERIORS):
        assert stats.kstest(draws[:, arm], stats.beta(a, b).cdf).pvalue > 1e-6


@pytest.mark.parametrize("shared", [0.0, 0.3, 0.8])
def test_scores_of_two_arms_have_the_correlation_shared(shared):
    """Fisher's z of 4,000 pairs, within 5 standard errors: error 6e-7 for each of 6 pairs."""
    belief, rng = seeded(shared), np.random.default_rng(1)
    draws = np.array([belief.sample(rng=rng) for _ in range(4000)])
    scores = [
        stats.norm.ppf(stats.beta(*posterior).cdf(values))
        for posterior, values in zip(POSTERIORS, draws.T, strict=True)
    ]
    found = np.corrcoef(scores)[np.triu_indices(4, 1)]
    assert np.abs(np.arctanh(found) - np.arctanh(shared)).max() < 5 / np.sqrt(3997)


def test_a_seed_that_is_shared_in_full_is_one_level_for_all_arms():
    theta = seeded(1.0).sample(rng=np.random.default_rng(0))
    levels = [stats.beta(*p).cdf(value) for p, value in zip(POSTERIORS, theta, strict=True)]
    np.testing.assert_allclose(levels, levels[0], rtol=1e-9)


def test_quantiles_at_scores_keep_their_digits_in_both_tails():
    a, b = np.array([0.3, 2.0, 500.0, 1.0]), np.array([40.0, 2.0, 3.0, 1e-2])
    for score in (-6.0, -1.0, 0.0, 1.0, 6.0):
        expected = stats.beta(a, b).ppf(stats.norm.cdf(score))
        if score > 0:
            expected = stats.beta(a, b).isf(stats.norm.sf(score))
        np.testing.assert_allclose(beta_at(a, b, np.full(4, score)), expected, rtol=1e-9)


def test_scores_have_the_spread_and_its_parts():
    scores = SharedScores(0.75, spread=0.5)
    assert scores.common_std**2 + scores.own_std**2 == pytest.approx(0.25)
    assert scores.common_std**2 == pytest.approx(0.75 * 0.25)
    assert scores.draw(3, rng=np.random.default_rng(0)).shape == (3,)


def test_a_state_without_shared_is_refused():
    belief = seeded(0.3)
    state = belief.state()
    for changed in ({**state, "shared": 2.0}, {**state, "belief": "SingleSeedBelief"}):
        with pytest.raises(ValueError, match="state"):
            belief.load(changed)
    belief.load({**state, "shared": 0.5})
    assert belief.shared == 0.5
