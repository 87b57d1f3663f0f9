import numpy as np
import pytest
from scipy import stats

import superarm as sa


@pytest.mark.parametrize("outcomes", [[], [1.0] * 7, [0.25, 0.5, 0.0], [0.0] * 300])
def test_gaussian_samples_have_the_truncated_posterior_law(outcomes):
    """Kolmogorov-Smirnov against the normal posterior restricted to [0, 1], and its mean and
    spread; error 1e-6."""
    belief = sa.GaussianBelief(1, prior=(0.4, 0.5), noise_var=0.2)
    for outcome in outcomes:
        belief.update([0], [outcome], rng=np.random.default_rng(0))
    var = 1 / (1 / 0.5 + len(outcomes) / 0.2)
    mean = var * (0.4 / 0.5 + sum(outcomes) / 0.2)
    np.testing.assert_allclose([belief.location()[0], belief.var()[0]], [mean, var])
    std = np.sqrt(var)
    posterior = stats.truncnorm(-mean / std, (1 - mean) / std, loc=mean, scale=std)
    rng = np.random.default_rng(0)
    draws = np.array([belief.sample(rng=rng)[0] for _ in range(4000)])
    assert stats.kstest(draws, posterior.cdf).pvalue > 1e-6
    assert abs(draws.mean() - posterior.mean()) < 5 * posterior.std() / np.sqrt(len(draws))
    assert abs(draws.std() / posterior.std() - 1) < 0.1


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: sa.GaussianBelief(2, prior=(2, 1)), "prior's mean"),
        (lambda: sa.GaussianBelief(2, prior=(0.5, 0)), "variance"),
        (lambda: sa.GaussianBelief(2, noise_var=-1), "noise_var"),
    ],
)
def test_refuses(call, says):
    with pytest.raises((ValueError, TypeError), match=says):
        call()
