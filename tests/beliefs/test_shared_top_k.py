"""The k largest values of a shared seed: the law of whole samples, from few draws."""

import copy
import json
import pickle

import numpy as np
import pytest
from scipy import stats
from whole_samples import check, of_shared, of_single

from superarm.beliefs import SharedSeedBelief, SingleSeedBelief, beta_posteriors


@pytest.fixture(autouse=True)
def _always_few(monkeypatch):
    """Small problems take the way of many arms."""
    monkeypatch.setattr(beta_posteriors, "FEWEST_ARMS", 1)


@pytest.mark.parametrize("shared", [0.0, 0.6, 1.0])
def test_the_sets_of_the_k_largest_have_the_law_of_whole_samples(shared):
    """Chi-square of 15 sets; error 1e-6.

    3,000 and 15,000 draws are as precise as 5,000 of each, and whole samples are cheap.
    """
    belief, rng = SharedSeedBelief(6, shared), np.random.default_rng(0)
    belief.update([0, 1, 2], [1.0, 0.0, 0.0], rng=rng)
    check(of_shared, belief)
    k = 2
    few = np.array([belief.sample_top(k, rng=rng)[0] for _ in range(3000)])
    theta = of_shared(belief, 15_000, rng=rng)
    # With a single seed, equal arms have equal values: the tie is broken at random.
    theta += 1e-9 * rng.random(theta.shape)
    whole = np.sort(np.argsort(-theta, axis=1)[:, :k], axis=1)
    table = np.array([np.bincount(6 * s[:, 0] + s[:, 1], minlength=36) for s in (few, whole)])
    assert stats.chi2_contingency(table[:, table.sum(0) > 10]).pvalue > 1e-6


@pytest.mark.parametrize("prior", [(1.0, 1.0), (0.5, np.linspace(0.5, 3, 40))])
def test_the_values_of_the_k_largest_have_the_law_of_whole_samples(prior):
    """The largest and the third largest value, their law and their correlation; error 1e-6 each."""
    belief, rng = SharedSeedBelief(40, 0.5, prior), np.random.default_rng(1)
    belief.sample_top(3, rng=rng)
    for _ in range(5):
        belief.update(np.arange(20), (np.arange(20) % 3 == 0).astype(float), rng=rng)
    check(of_shared, belief)
    # 2,000 and 6,000 draws are as precise as 3,000 of each, and whole samples are cheap.
    few = np.array([np.sort(belief.sample_top(3, rng=rng)[1]) for _ in range(2000)])
    whole = np.sort(of_shared(belief, 6000, rng=rng))[:, -3:]
    for place in (0, 2):
        assert stats.ks_2samp(few[:, place], whole[:, place], method="asymp").pvalue > 1e-6
    one, other = (np.arctanh(stats.spearmanr(v[:, 0], v[:, 2])[0]) for v in (few, whole))
    assert abs(one - other) < 5 * np.sqrt(1.06 / 1997 + 1.06 / 5997)  # Fieller's standard error


def test_groups_follow_updates_states_and_copies():
    """The same draws as a belief that builds its groups anew."""
    belief, rng = SharedSeedBelief(50, 0.8), np.random.default_rng(0)
    for _ in range(60):
        arms, _ = belief.sample_top(4, rng=rng)
        belief.update(arms, (rng.random(4) < 0.2).astype(float), rng=rng)
    twin = SharedSeedBelief(50)
    twin.load(json.loads(json.dumps(belief.state())))
    copies = [twin, copy.deepcopy(belief), pickle.loads(pickle.dumps(belief))]
    for _ in range(10):
        expected = belief.sample_top(4, rng=np.random.default_rng(7))
        for each in copies:
            for one, other in zip(
                expected, each.sample_top(4, rng=np.random.default_rng(7)), strict=True
            ):
                np.testing.assert_array_equal(one, other)
        for each in (belief, *copies):
            each.update(expected[0], [1.0, 0.0, 1.0, 0.0], rng=rng)


def test_a_single_seed_has_the_law_of_a_seed_that_is_shared_in_full():
    """Chi-square of 15 sets and Kolmogorov-Smirnov of the largest value, against whole samples.

    2,300 and 15,300 draws, as precise as 4,000 of each; error 1e-6 each.
    """
    belief, rng = SingleSeedBelief(6), np.random.default_rng(3)
    belief.sample_top(2, rng=rng)
    belief.update([0, 1, 2], [1.0, 0.0, 1.0], rng=rng)
    check(of_single, belief)
    few = [belief.sample_top(2, rng=rng) for _ in range(2300)]
    theta = of_single(belief, 15_300, rng=rng)
    order = np.argsort(-theta - 1e-9 * rng.random(theta.shape), axis=1)
    tables = [
        np.bincount([6 * one + two for one, two in sets], minlength=36)
        for sets in ([arms for arms, _ in few], np.sort(order[:, :2], axis=1))
    ]
    table = np.array(tables)
    assert stats.chi2_contingency(table[:, table.sum(0) > 10]).pvalue > 1e-6
    largest = [values.max() for _, values in few]
    assert stats.ks_2samp(largest, theta.max(axis=1), method="asymp").pvalue > 1e-6
    assert belief.posteriors.a.tolist() == [2, 1, 2, 1, 1, 1]


def test_posteriors_that_are_assigned_or_loaded_are_noticed():
    belief, rng = SharedSeedBelief(30, 0.5), np.random.default_rng(0)
    belief.sample_top(2, rng=rng)
    belief.posteriors.a = np.where(np.arange(30) == 7, 1e6, 1.0)
    assert 7 in belief.sample_top(2, rng=rng)[0]
    # Changing one number in place would go unnoticed, so it is refused.
    with pytest.raises(ValueError, match="read-only"):
        belief.posteriors.a[3] = 1e9
    with pytest.raises(ValueError, match="read-only"):
        belief.posteriors.update([3], [1.0], rng=rng)
    belief.add_arms(1, prior=(1e7, 1.0))
    assert 30 in belief.sample_top(2, rng=rng)[0]
    belief.update([30], [0.0], rng=rng)
    assert belief.posteriors.b[30] == 2.0


def test_bad_feedback_changes_nothing():
    belief, rng = SharedSeedBelief(30, 0.5), np.random.default_rng(0)
    belief.sample_top(2, rng=rng)
    before = belief.state()
    with pytest.raises(ValueError, match="outcomes"):
        belief.update([1], [2.0], rng=rng)
    assert belief.state() == before


def test_few_arms_draw_whole_samples(monkeypatch):
    monkeypatch.setattr(beta_posteriors, "FEWEST_ARMS", 2048)
    belief = SharedSeedBelief(9, 0.8)
    arms, values = belief.sample_top(3, rng=np.random.default_rng(5))
    theta = belief.sample(rng=np.random.default_rng(5))
    np.testing.assert_array_equal(values, theta[arms])
    assert values.min() >= np.sort(theta)[-3]
