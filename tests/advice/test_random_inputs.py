"""Means as the best of all arms have them."""

import numpy as np
import pytest
from scipy.stats import beta, kstest

from superarm.advice.random_inputs import RandomInputs

N_ARMS, SIZE = 50, 10


def test_top_means_are_the_upper_quantiles_of_uniform_and_beta_means():
    """The same generator again: quantiles, then one of two laws."""
    draw, again = (RandomInputs(N_ARMS, 3, np.random.default_rng(4)) for _ in range(2))
    n_uniform, quantiles = 0, []
    for _ in range(400):
        means = draw.top_means(SIZE)
        upper = 1 - SIZE / N_ARMS * again.rng.random(SIZE)
        quantiles.append(upper)
        if again.rng.random() < 0.5:
            n_uniform += 1
        else:
            a, b = np.exp(again.rng.uniform(-1, 3, 2))
            upper = beta.ppf(upper, a, b)
        assert means == pytest.approx(upper)
        assert len(np.unique(means)) == SIZE
    # Four standard errors: another seed fails with probability below 1e-4.
    assert abs(n_uniform - 200) < 4 * np.sqrt(400 / 4)
    low = 1 - SIZE / N_ARMS
    assert kstest(np.ravel(quantiles), "uniform", (low, SIZE / N_ARMS)).pvalue > 1e-4
