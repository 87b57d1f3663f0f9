"""Rounds in which lazy oracles decide beside the plain oracle that they save evaluations of."""

import numpy as np

import superarm as sa


def play_beside(plain, check_round, reward, rounds, lazies, *, k=4, seed=0):
    """Thompson sampling by a plain oracle; each lazy oracle has to decide alike in every round.

    ``lazies`` are pairs of a lazy oracle and the reward that it gets: the same function, perhaps
    with other declarations. All of them see the same samples, so ``plain`` decides once per round.
    ``check_round(lazy, arms, plain, expected)`` compares the sets and the reports.
    Returns the evaluations, with one row per lazy oracle.
    """
    rng, ties = np.random.default_rng(seed), np.random.default_rng(1)
    mu = rng.random(reward.n_arms)
    belief = sa.BetaBelief(reward.n_arms)
    lazies = [(lazy, sa.Counted(own)) for lazy, own in lazies]
    evaluations = np.empty((len(lazies), rounds), int)
    for t in range(rounds):
        theta = belief.sample(rng=rng)
        expected = plain.select(reward, theta, k, rng=ties)
        for row, (lazy, counted) in enumerate(lazies):
            before = counted.evaluations
            arms = lazy.select(counted, theta, k, rng=ties)
            evaluations[row, t] = counted.evaluations - before
            check_round(lazy, arms, plain, expected)
            assert lazy.report.evaluations == evaluations[row, t]
        belief.update(expected, (rng.random(k) < mu[expected]).astype(float), rng=rng)
    return evaluations
