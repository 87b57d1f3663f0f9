"""RandomSets: every set is equally likely."""

import numpy as np

import superarm as sa


def test_random_sets_are_uniform():
    """Every pair of 5 arms equally often: chi-square with 9 degrees of freedom, error 1e-6."""
    rng, n = np.random.default_rng(0), 5000
    oracle, reward = sa.oracles.RandomSets(), sa.LinearReward(5)
    pairs = [tuple(oracle.select(reward, np.zeros(5), 2, rng=rng)) for _ in range(n)]
    counts = np.unique(pairs, axis=0, return_counts=True)[1]
    assert len(counts) == 10
    assert ((counts - n / 10) ** 2 / (n / 10)).sum() < 45.1
