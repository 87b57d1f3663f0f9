import itertools

import numpy as np
import pytest
from scipy import stats

import naive
import superarm as sa
from superarm import theory
from superarm.simulation.planted_network import PlantedNetwork


def test_linear_instances_have_the_conditional_law():
    """Against rejection sampling: uniform means are kept if their gap is at least g. Kolmogorov-
    Smirnov on each order statistic and on one arm's mean; 6 tests, error 1e-6 each.
    """
    n_arms, k, gap, n = 5, 2, 0.2, 4000
    rng = np.random.default_rng(0)
    ours = np.array([sa.linear_instance(n_arms, k, gap, rng=rng).mu for _ in range(n)])
    draws = rng.random((20 * n, n_arms))
    ordered = np.sort(draws, axis=1)
    kept = draws[ordered[:, -k] - ordered[:, -k - 1] >= gap]
    assert len(kept) > n
    for j in range(n_arms):
        assert (
            stats.ks_2samp(np.sort(ours, axis=1)[:, j], np.sort(kept, axis=1)[:, j]).pvalue > 1e-6
        )
    assert stats.ks_2samp(ours[:, 0], kept[:, 0]).pvalue > 1e-6  # places are random, too
    assert abs(ours.std() - kept.std()) < 0.01


def test_linear_instances_know_their_answer():
    rng = np.random.default_rng(0)
    for _ in range(50):
        it = sa.linear_instance(7, 3, 0.1, rng=rng)
        sets, best = naive.best_sets(it.reward, it.mu, it.k)
        assert sets == [tuple(it.best_arms)]
        assert it.best_value == pytest.approx(best)
        assert it.gap == pytest.approx(theory.gap_range(it.reward, it.mu, it.k)[0])
        assert it.gap >= 0.1


def test_linear_instances_at_the_papers_size():
    it = sa.linear_instance(5000, 5, 0.25, rng=np.random.default_rng(0))
    assert it.mu[it.best_arms].min() > 0.99
    assert np.delete(it.mu, it.best_arms).max() < 0.75


def test_network_instances_know_their_answer():
    """Against all sets, on small problems of several shapes."""
    rng = np.random.default_rng(0)
    for k, n_hidden, std, gap in [
        (1, 5, 1.0, 0.1),
        (2, 3, 0.3, 0.05),
        (3, 6, 1.0, 0.1),
        (4, 20, 0.5, 0.2),
    ] * 5:
        it = sa.network_instance(8, k, gap, n_hidden=n_hidden, std=std, rng=rng)
        sets, best = naive.best_sets(it.reward, it.mu, k)
        assert sets == [tuple(it.best_arms)]
        assert it.best_value == pytest.approx(best)
        assert it.gap == pytest.approx(theory.gap_range(it.reward, it.mu, k)[0])
        assert it.gap >= gap * (1 - 1e-9)


def test_network_instances_at_the_papers_size():
    """Weights |N(0, 1)|, a gap of 0.2, and none of thousands of swaps of one or two arms does
    better.
    """
    rng = np.random.default_rng(0)
    it = sa.network_instance(1000, 5, 0.2, rng=rng)
    assert it.gap == pytest.approx(0.2, abs=1e-6)
    assert it.reward.W1.mean() == pytest.approx(np.sqrt(2 / np.pi), abs=0.03)
    others = np.setdiff1d(np.arange(1000), it.best_arms)
    for n_out in (1, 2, 3):
        sets = []
        for _ in range(3000):
            stay = rng.choice(it.best_arms, 5 - n_out, replace=False)
            sets.append([*stay, *rng.choice(others, n_out, replace=False)])
        assert (
            it.reward.batch(sa.Pools.of(sets, 1000), it.mu).max() <= it.best_value - it.gap + 1e-9
        )


def test_weights_do_not_give_the_best_arms_away():
    """The weights of planted arms have the law of all weights: their mean over 40 networks is
    within 5 standard errors.
    """
    rng = np.random.default_rng(0)
    weights = []
    for _ in range(40):
        it = sa.network_instance(50, 3, 0.01, std=0.3, rng=rng)
        weights.append(it.reward.W1[:, it.best_arms].mean() / 0.3)
    error = np.sqrt((1 - 2 / np.pi) / (40 * 60))
    assert abs(np.mean(weights) - np.sqrt(2 / np.pi)) < 5 * error


def test_the_proof_is_right_when_it_claims_and_does_not_always_claim():
    """Arbitrary arms as planted arms: where the bound claims a proof, no set beats the best single
    swap.
    """
    rng = np.random.default_rng(0)
    claims = []
    for _ in range(300):
        W1, w2, means = rng.random((3, 6)) * 6, rng.random(3), rng.random(6)
        neurons = PlantedNetwork(W1, w2, 3)
        claim = neurons.is_proven(means[:3], means[3:])
        reward = sa.NetworkReward(W1, w2)
        worth = {
            s: reward(s, means[list(s)])
            for s in itertools.combinations(range(6), 3)
            if s != (0, 1, 2)
        }
        swaps = {s: value for s, value in worth.items() if len({0, 1, 2} & set(s)) == 2}
        assert max(swaps.values()) == pytest.approx(
            reward([0, 1, 2], means[:3]) - neurons.swap_gap(means[:3], means[3:])
        )
        assert not claim or max(worth.values()) == pytest.approx(max(swaps.values()))
        claims.append(claim)
    assert 0 < sum(claims) < 300


def test_an_instance_is_an_environment():
    it = sa.linear_instance(10, 2, 0.1, rng=np.random.default_rng(0))
    assert it.n_arms == 10
    arms = np.array([3, 7])
    ours = it.pull(arms, rng=np.random.default_rng(1))
    np.testing.assert_array_equal(ours, it.environment.pull(arms, rng=np.random.default_rng(1)))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda rng: sa.linear_instance(5, 5, 0.1, rng=rng), "k must be below n_arms"),
        (lambda rng: sa.linear_instance(5, 0, 0.1, rng=rng), "between 1 and 5"),
        (lambda rng: sa.linear_instance(5, 2, 1.0, rng=rng), "below 1"),
        (lambda rng: sa.linear_instance(5, 2, -0.1, rng=rng), "at least 0"),
        (lambda rng: sa.linear_instance(1, 1, 0.1, rng=rng), "at least 2"),
        (lambda rng: sa.network_instance(5, 2, 50.0, rng=rng), "gap must be at most about"),
        (lambda rng: sa.network_instance(50, 13, 0.1, rng=rng), "at most 12"),
        (lambda rng: sa.network_instance(5, 2, float("nan"), rng=rng), "gap must be finite"),
        (lambda rng: sa.BernoulliArms([0.5, 1.5]), "in \\[0, 1\\]"),
        (lambda rng: sa.BernoulliArms([]), "non-empty"),
        (lambda rng: sa.BernoulliArms([0.5, float("nan")]), "finite"),
    ],
)
def test_refuses(call, says):
    with pytest.raises(ValueError, match=says):
        call(np.random.default_rng(0))


def test_the_true_means_cannot_be_written_to():
    mu = np.array([0.5, 0.5])
    environment = sa.BernoulliArms(mu)
    mu[0] = 1.0
    assert environment.mu[0] == 0.5
    with pytest.raises(ValueError, match="read-only"):
        environment.mu[0] = 1.0


@pytest.mark.parametrize("others", ["uniform", "equal"])
def test_planted_instances_have_the_gap_and_the_best_mean(others):
    rng = np.random.default_rng(5)
    it = sa.simulation.planted_instance(9, 3, 0.25, best=0.8, others=others, rng=rng)
    assert it.mu[it.best_arms].tolist() == [0.8] * 3
    assert theory.gap_range(it.reward, it.mu, 3)[0] == pytest.approx(it.gap) == pytest.approx(0.25)
    assert it.best_value == pytest.approx(2.4)
    rest = np.delete(it.mu, it.best_arms)
    assert rest.max() == pytest.approx(0.55)
    assert (len(set(rest.tolist())) == 1) is (others == "equal")


def test_means_below_the_gap_of_planted_instances_are_uniform():
    """4,000 means: the test of Kolmogorov and Smirnov fails for one seed in a thousand."""
    it = sa.simulation.planted_instance(4006, 5, 0.25, best=0.75, rng=np.random.default_rng(6))
    below = np.delete(it.mu, [*it.best_arms, int(np.flatnonzero(it.mu == 0.5)[0])])
    assert stats.kstest(below, "uniform", args=(0, 0.5)).pvalue > 0.001


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"best": 0.2}, "at least the gap"),
        ({"best": 0.9, "others": "many"}, "'uniform' or"),
    ],
)
def test_planted_instances_that_cannot_be_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        sa.simulation.planted_instance(9, 3, 0.25, **options, rng=np.random.default_rng(0))


def test_networks_can_be_planted_lower():
    it = sa.network_instance(30, 2, 0.05, best=0.6, rng=np.random.default_rng(7))
    assert 0.5 <= it.mu[it.best_arms].min() <= it.mu.max() <= 0.6
    assert theory.gap_range(it.reward, it.mu, 2)[0] == pytest.approx(it.gap)
    with pytest.raises(ValueError, match=r"above 0\.1"):
        sa.network_instance(30, 2, 0.05, best=0.05, rng=np.random.default_rng(7))
