"""Budgets that are too small to certify anything: the guess of `NoisySingletons`."""

import numpy as np
import pytest

import superarm as sa
from superarm.oracles import NoisySingletons
from superarm.oracles._noisy_guess import halve

N_ARMS, K, STD = 30, 4, 0.6


def problem(seed):
    """A noisy sum, and the means."""
    rng = np.random.default_rng(seed)
    reward = sa.BlackBox(
        lambda arms, means: float(means.sum() + rng.normal(0, STD)),
        n_arms=N_ARMS,
        lipschitz=1.0,
        upper=float(N_ARMS),
        noisy=True,
    )
    return reward, rng.random(N_ARMS)


@pytest.mark.parametrize("settings", [{}, {"answers_in": (-5.0, N_ARMS + 5.0)}])
@pytest.mark.parametrize("budget", [90, 240, 600])
def test_a_guess_is_as_good_as_the_same_answers_spread_evenly(budget, settings):
    """On average over 30 problems. A search for certainty alone finds 0.07 to 0.14 less.

    The difference of the two means has a standard error of at most 0.016. So with other seeds, a
    guess that is just as good fails with a probability of at most 0.015 per case.
    """
    found, even = [], []
    for seed in range(30):
        reward, theta = problem(seed)
        oracle = NoisySingletons(tolerance=0.01, budget=budget, **settings)
        arms = oracle.select(reward, theta, K, rng=np.random.default_rng(seed))
        assert oracle.report.evaluations <= budget
        assert not oracle.report.certified
        best = np.sort(theta)[-K:].sum()
        found.append(theta[arms].sum() / best)
        averages = theta + np.random.default_rng([seed, 1]).normal(
            0, STD / np.sqrt(budget // N_ARMS), N_ARMS
        )
        even.append(theta[np.argsort(averages)[-K:]].sum() / best)
    assert np.mean(found) >= np.mean(even) - 0.035


def test_answers_without_a_known_spread_prove_nothing_later():
    """The variance of a bound must be guessed before its answers, so these are not remembered."""
    reward, theta = problem(0)
    oracle, rng = NoisySingletons(budget=200), np.random.default_rng(0)
    oracle.select(reward, theta, K, rng=rng)
    assert np.array(oracle.state()["memory"]["n"]).sum() == 0
    assert oracle.state()["variance"] == pytest.approx(STD**2, rel=0.9)
    oracle.select(reward, theta, K, rng=rng)
    assert np.array(oracle.state()["memory"]["n"]).sum() > 0


def test_small_budgets_add_up_to_a_certified_set():
    """Answers of later rounds are remembered, until the bounds are narrow enough."""
    reward, _ = problem(0)
    theta = np.linspace(0, 1, N_ARMS) ** 8  # four arms are clearly better than most
    oracle, rng = NoisySingletons(tolerance=0.3, budget=300), np.random.default_rng(0)
    for _ in range(40):
        arms = oracle.select(reward, theta, K, rng=rng)
        if oracle.report.certified:
            break
    assert oracle.report.certified
    assert theta[arms].min() >= np.sort(theta)[-K] - 0.3


@pytest.mark.parametrize("n_answers", [0, 1, 7, 30, 100, 777])
def test_halving_spends_all_answers_and_most_on_the_best(n_answers):
    """Without noise, arms that are worth more never get fewer answers."""
    values = np.random.default_rng(0).permutation(N_ARMS).astype(float)
    n = np.zeros(N_ARMS, int)

    def evaluate(arm, times):
        n[arm] += times

    halve(evaluate, lambda: values, np.arange(N_ARMS), K, n_answers)
    assert n.sum() == n_answers
    if n_answers >= 3 * N_ARMS:
        spread = n[np.argsort(-values)]
        assert spread[: 2 * K].min() > spread[-N_ARMS // 2 :].max()
