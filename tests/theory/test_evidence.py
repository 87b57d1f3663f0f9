"""Evidence that k arms are the best: its definition as a twin, and how often it is wrong."""

import itertools

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import xlogy

from superarm.theory.evidence import best_k, closest_pair, log_evidence


def slow_evidence(n, s, i, j):
    """The definition: integrals for the mixtures, a grid for the largest likelihood."""

    def likelihood(arm, p):
        return p ** s[arm] * (1 - p) ** (n[arm] - s[arm])

    def mixture(arm):
        weight = lambda p: likelihood(arm, p) / (np.pi * np.sqrt(p * (1 - p)))  # noqa: E731
        return quad(weight, 0, 1)[0]

    grid = np.linspace(0, 1, 2001)
    # The largest over p <= q: for each q the best p up to it.
    best_p = np.maximum.accumulate(likelihood(i, grid))
    return np.log(mixture(i) * mixture(j) / (best_p * likelihood(j, grid)).max())


@pytest.mark.parametrize("sums", [(8, 3), (3, 8), (5, 0), (6.5, 2.25), (10, 8)])
def test_evidence_is_its_definition(sums):
    n, s = (10, 8), sums
    assert log_evidence(n, s, (0, 1)) == pytest.approx(slow_evidence(n, s, 0, 1), abs=1e-4)


def test_the_closest_pair_is_that_of_all_pairs():
    rng = np.random.default_rng(3)
    n = rng.integers(0, 6, 12).astype(float)
    s = np.minimum(n, rng.integers(0, 4, 12))
    best = np.array([1, 4, 7])
    every = {
        (i, j): float(log_evidence(n, s, (i, j)))
        for i, j in itertools.product(best, set(range(12)) - set(best))
    }
    inside, outside, found = closest_pair(n, s, best)
    assert found == pytest.approx(min(every.values()))
    assert every[inside, outside] == pytest.approx(found)


def test_nothing_is_known_without_outcomes():
    arms, _, error = best_k([0, 0, 0], [0, 0, 0], 1)
    assert (arms.tolist(), error) == ([0], 1.0)
    # An arm that was never tried may be the best.
    assert best_k([1000, 1000, 0], [900, 10, 0], 1)[2] == 1.0
    with pytest.raises(ValueError, match="between 1 and 2, got 3"):
        best_k([1, 1, 1], [0, 0, 0], 3)


@pytest.mark.parametrize("outcomes", [(0.0, 1.0), (0.0, 0.25, 1.0)])
def test_the_mixture_is_a_supermartingale(outcomes):
    """All sequences of outcomes, exactly: the mean of M / L(mu) is 1 for coins, and at most 1."""
    law = np.array([0.6, 0.4]) if len(outcomes) == 2 else np.array([0.5, 0.3, 0.2])
    mu = float(np.dot(law, outcomes))
    for n in (1, 2, 5):
        mean = 0.0
        for draws in itertools.product(range(len(outcomes)), repeat=n):
            s = sum(outcomes[draw] for draw in draws)
            # Against an arm without outcomes the evidence is M / L at the mean so far.
            so_far = s / n
            log_m = (
                log_evidence([n, 0], [s, 0], (0, 1)) + xlogy(s, so_far) + xlogy(n - s, 1 - so_far)
            )
            mean += law[list(draws)].prod() * np.exp(log_m - xlogy(s, mu) - xlogy(n - s, 1 - mu))
        assert mean == pytest.approx(1.0) if len(outcomes) == 2 else mean < 1.0


def test_it_may_be_asked_after_every_round():
    """Two arms with means 0.5 and 0.49, asked after each of 300 rounds, in 1,000 runs.

    The rule at 5% is wrong in at most 50 runs, but for 4 standard deviations: a wrong rule of 8%
    would fail. The habit of stopping at the first significant difference is wrong much more often.
    """
    rng = np.random.default_rng(0)
    runs, n = 1000, np.arange(1, 301)
    sums = np.cumsum(rng.random((2, runs, 300)) < np.array([0.5, 0.49])[:, None, None], axis=2)
    counts = np.broadcast_to(n, (2, runs, 300)).ravel().astype(float)
    numbers = np.arange(counts.size).reshape(2, -1)
    # That the second arm is better, which is wrong.
    evidence = log_evidence(counts, sums.ravel(), (numbers[1], numbers[0])).reshape(runs, 300)
    wrong = int((evidence >= np.log(1 / 0.05)).any(axis=1).sum())
    assert wrong <= 0.05 * runs + 4 * np.sqrt(runs * 0.05 * 0.95)
    means = sums / n
    spread = np.sqrt((means * (1 - means)).sum(axis=0) / n)
    significant = (means[1] - means[0] > 1.96 * spread)[:, 10:]
    assert significant.any(axis=1).sum() > 100 > wrong
