"""The regression decoder and rounds of random theta, for tests of its weights and of its sizes."""

import superarm as sa


def regression(delta=0.25, n_tests=60, **options):
    return sa.GroupTesting(delta=delta, n_tests=n_tests, decoder="regression", **options)


def play(oracle, reward, n_rounds, *, rng, k=3):
    for _ in range(n_rounds):
        oracle.select(reward, rng.random(reward.n_arms), k, rng=rng)
    return oracle
