"""The learned prior: its fit, the dispersion, the law of samples, and the k largest of them."""

import json

import numpy as np
import pytest
from scipy import stats
from whole_samples import check, of_learned

from superarm.beliefs import LearnedBetaBelief, SharedSeedBelief, SingleSeedBelief
from superarm.beliefs import _beta_fit as beta_fit
from superarm.beliefs._beta_fit import fit_beta


def taught(means, n_rounds, *, seed=0, noise=None, **settings):
    """A belief that has seen every arm in every round; noise None draws coins."""
    belief, rng = LearnedBetaBelief(len(means), **settings), np.random.default_rng(seed)
    for _ in range(n_rounds):
        if noise is None:
            outcomes = (rng.random(len(means)) < means).astype(float)
        else:
            outcomes = rng.beta(means * noise, (1 - means) * noise)
        belief.update(np.arange(len(means)), outcomes, rng=rng)
    return belief


@pytest.mark.parametrize(("size", "warns"), [(0.01, True), (0.2, False)])
def test_outcomes_far_below_1_are_warned_of(size, warns):
    """Revenue divided by a bound that is far too large."""
    belief, rng = LearnedBetaBelief(50), np.random.default_rng(0)

    def learn():
        for _ in range(20):
            outcomes = size * rng.random(50) * (rng.random(50) < 0.3)
            belief.update(np.arange(50), outcomes, rng=rng)

    if warns:
        with pytest.warns(UserWarning, match="far below 1 where they are not 0.*divide them"):
            learn()
    else:
        learn()


def naive_log_likelihood(a, b, successes, failures):
    """Beta-binomial probabilities from scipy."""
    return stats.betabinom.logpmf(successes, successes + failures, a, b).sum()


@pytest.mark.parametrize(("a", "b"), [(2.0, 38.0), (0.4, 4.0), (30.0, 1.5), (1.0, 1.0)])
def test_the_fit_is_the_largest_marginal_likelihood(a, b):
    """No point of a grid around the estimate is better by more than the last step allows."""
    rng = np.random.default_rng(0)
    n = rng.integers(1, 40, 150)
    s = rng.binomial(n, rng.beta(a, b, 150)).astype(float)
    f = n - s
    found = fit_beta(s, f, np.ones(150), (1.0, 1.0))

    def posterior(a, b):
        weak = np.log(a / (a + b)) + np.log(b / (a + b)) - np.log(min(a, b)) ** 2 / 8
        return naive_log_likelihood(a, b, s, f) + weak

    best = max(
        posterior(found[0] * x, found[1] * y)
        for x in np.geomspace(0.5, 2, 7)
        for y in np.geomspace(0.5, 2, 7)
    )
    assert posterior(*found) > best - 0.05


def test_counts_of_many_equal_arms_are_those_of_each():
    s, f = np.array([0.0, 3.0, 1.0]), np.array([5.0, 2.0, 4.0])
    n_arms = np.array([4.0, 1.0, 2.0])
    each = [np.repeat(column, n_arms.astype(int)) for column in (s, f)]
    np.testing.assert_allclose(
        fit_beta(s, f, n_arms, (1.0, 1.0)), fit_beta(*each, np.ones(7), (1.0, 1.0))
    )


@pytest.mark.parametrize(("a", "b"), [(2.0, 38.0), (9.0, 1.0), (1.0, 1.0)])
def test_the_prior_of_synthetic_arms_is_recovered(a, b):
    """2,000 arms, 40 coins each. The standard errors of log a and log b are below 0.08 in 40
    simulations; 0.4 is 5 of them, so the error is below 1e-6.
    """
    means = np.random.default_rng(1).beta(a, b, 2000)
    prior = taught(means, 40).prior
    np.testing.assert_allclose(np.log(prior), np.log([a, b]), atol=0.4)


def test_coins_have_dispersion_1_exactly_and_measured_outcomes_less():
    """Outcomes of Beta(mu c, (1 - mu) c) have 1 / (c + 1) of a coin's variance. The standard error
    with 300 arms and 20 rounds is below 2% in 100 simulations, and 10% is allowed: 5 of them. Few
    outcomes per arm do not make the estimate smaller.
    """
    means = np.random.default_rng(2).uniform(0.2, 0.8, 300)
    assert taught(means, 20).dispersion == 1.0
    assert taught(means, 20, noise=9.0).dispersion == pytest.approx(0.1, rel=0.1)
    many = np.random.default_rng(2).uniform(0.2, 0.8, 6000)
    assert taught(many, 2, noise=9.0).dispersion == pytest.approx(0.1, rel=0.1)


@pytest.mark.parametrize("noise", [None, 6.0])
def test_intervals_cover_the_means_of_the_arms(noise):
    """90% intervals of 3,000 arms from Beta(3, 9) cover 90% of the means, up to 5 binomial
    standard errors and 1% for the estimates of prior and noise: error below 1e-6.
    """
    means = np.random.default_rng(3).beta(3, 9, 3000)
    low, high = taught(means, 12, noise=noise).posterior(np.arange(3000)).interval(0.9)
    covered = ((low <= means) & (means <= high)).mean()
    assert abs(covered - 0.9) < 5 * np.sqrt(0.09 / 3000) + 0.01


def test_the_prior_is_fitted_seldom_and_kept_in_between(monkeypatch):
    fits = []
    monkeypatch.setattr(
        "superarm.beliefs.learned_prior.fit_beta",
        lambda *given: fits.append(given) or beta_fit.fit_beta(*given),
    )
    taught(np.full(10, 0.3), 1000)
    # 10,000 outcomes from 10 on, each fit after a quarter more.
    assert 15 < len(fits) <= 1 + np.log(1000) / np.log(1.25)


def test_scores_have_the_stated_mean_and_spread():
    """Kolmogorov-Smirnov of 4,000 samples of three arms; error 1e-6 each."""
    settings = {"optimism": 0.7, "spread": 0.5, "stay_after": 0, "wide": False}
    belief, rng = LearnedBetaBelief(3, **settings), np.random.default_rng(0)
    for round_ in range(30):
        belief.update([0] if round_ < 20 else [0, 1], [1.0] if round_ < 20 else [0.0, 1.0], rng=rng)
    posterior, counts = belief.posterior(np.arange(3)), np.array([30, 10, 0])
    draws = np.array([belief.sample(rng=rng) for _ in range(4000)])
    for arm in range(3):
        scores = stats.norm.ppf(stats.beta(posterior.a[arm], posterior.b[arm]).cdf(draws[:, arm]))
        mean = 0.7 * np.log(1 + 0.3 * 31 / (counts[arm] + sum(belief.prior)))
        assert stats.kstest(scores, stats.norm(mean, 0.5).cdf).pvalue > 1e-6


def test_without_optimism_samples_have_the_law_of_the_posterior():
    """Kolmogorov-Smirnov of 4,000 samples; error 1e-6 each."""
    settings = {"optimism": 0.0, "spread": 1.0, "stay_after": 0, "wide": False}
    belief, rng = taught(np.array([0.2, 0.9]), 10, **settings), np.random.default_rng(0)
    posterior = belief.posterior(np.arange(2))
    draws = np.array([belief.sample(rng=rng) for _ in range(4000)])
    for arm in range(2):
        law = stats.beta(posterior.a[arm], posterior.b[arm])
        assert stats.kstest(draws[:, arm], law.cdf).pvalue > 1e-6


def test_the_rounds_to_come_are_those_so_far_and_one_look_per_arm():
    """After 10 rounds with 2 of 6 arms, 3 rounds would show each arm once."""
    belief, rng = LearnedBetaBelief(6), np.random.default_rng(0)
    for _ in range(10):
        belief.update([0, 3], [1.0, 0.0], rng=rng)
    n = np.array([0.0, 10.0])
    expected = 0.4 * np.log(1 + 0.3 * (10 + 1 + 3) / (n + sum(belief.prior)))
    np.testing.assert_allclose(belief._optimism(n), expected)


def test_with_a_horizon_optimism_falls_to_the_end():
    belief = taught(np.full(4, 0.5), 10, horizon=20)
    assert belief._optimism(np.array([10.0])) > 0
    early, rng = belief._optimism(np.array([10.0])), np.random.default_rng(0)
    for _ in range(30):
        belief.update([0], [1.0], rng=rng)
    assert belief._optimism(np.array([10.0])) < early


@pytest.mark.parametrize("shared", [0.0, 0.7, 1.0])
@pytest.mark.parametrize("first", [1.0, 0.75], ids=["coins", "measured"])
def test_the_k_largest_have_the_law_of_a_sample(shared, first):
    """Which of the arms are in the set, against whole samples: chi-square, error 1e-6.

    Two outcomes of arm 5 were good, so the belief stays with it. Equal arms, or bounds: both ways.
    3,000 and 15,000 draws are as precise as 5,000 of each, and whole samples are cheap.
    """
    belief, rng = LearnedBetaBelief(6, shared=shared, spread=1.0), np.random.default_rng(0)
    belief.update([0, 1, 2, 5], [first, 0.0, 0.0, 1.0], rng=rng)
    belief.update([5], [1.0], rng=rng)
    check(of_learned, belief)
    k = 2
    few = np.array([belief.sample_top(k, rng=rng)[0] for _ in range(3000)])
    theta = of_learned(belief, 15_000, rng=rng)
    # With a single seed, equal arms have equal values: the tie is broken at random.
    theta += 1e-9 * rng.random(theta.shape)
    whole = np.sort(np.argsort(-theta, axis=1)[:, :k], axis=1)
    tables = [np.bincount(6 * sets[:, 0] + sets[:, 1], minlength=36) for sets in (few, whole)]
    table = np.array(tables)
    assert stats.chi2_contingency(table[:, table.sum(0) > 10]).pvalue > 1e-6


def test_the_values_of_the_k_largest_have_the_law_of_a_sample():
    """The largest and the third largest value, against whole samples; error 1e-6 each."""
    belief, rng = LearnedBetaBelief(40, shared=0.5), np.random.default_rng(1)
    for _ in range(5):
        belief.update(np.arange(20), (np.arange(20) % 3 == 0).astype(float), rng=rng)
    check(of_learned, belief)
    few = np.array([np.sort(belief.sample_top(3, rng=rng)[1]) for _ in range(2400)])
    whole = np.sort(of_learned(belief, 4000, rng=rng))[:, -3:]
    for place in (0, 2):
        assert stats.ks_2samp(few[:, place], whole[:, place], method="asymp").pvalue > 1e-6


@pytest.mark.parametrize("kind", [LearnedBetaBelief, SharedSeedBelief, SingleSeedBelief])
def test_many_places_are_taken_from_a_whole_sample(kind):
    """Arm by arm they took up to 100 times as long: 0.8 s for 19,999 of 20,000 arms."""
    belief, k = kind(6000), 1000
    belief.update([3, 5], [1.0, 0.0], rng=np.random.default_rng(0))
    theta = belief.sample(rng=np.random.default_rng(1))
    arms, values = belief.sample_top(k, rng=np.random.default_rng(1))
    np.testing.assert_array_equal(values, theta[arms])
    assert len(arms) == k
    assert values.min() >= np.sort(theta)[-k]
    assert (np.diff(arms) > 0).all()


# What takes less time was measured: a place costs 8 arms of a whole sample, or 4 in many samples.
@pytest.mark.parametrize(
    ("k", "n", "n_whole"),
    [(600, 1, 0), (1000, 1, 1), (600, 3, 0), (1000, 3, 3), (1000, 5, 0), (2000, 5, 5)],
)
def test_whole_samples_are_drawn_only_where_they_take_less_time(k, n, n_whole, monkeypatch):
    belief, drawn = LearnedBetaBelief(6000), []
    belief.update(np.arange(100), np.ones(100), rng=np.random.default_rng(0))
    whole = LearnedBetaBelief.sample

    def sample(self, *, rng):
        drawn.append(1)
        return whole(self, rng=rng)

    monkeypatch.setattr(LearnedBetaBelief, "sample", sample)
    arms, values = belief.sample_tops(n, k, rng=np.random.default_rng(1))
    assert (len(drawn), arms.shape, values.shape) == (n_whole, (n, k), (n, k))
    if n < 4:
        rng = np.random.default_rng(1)
        one_by_one = [belief.sample_top(k, rng=rng) for _ in range(n)]
        np.testing.assert_array_equal(arms, [each for each, _ in one_by_one])


@pytest.mark.parametrize("measured", [False, True])
def test_the_k_largest_are_the_same_after_a_save_and_a_load(measured):
    belief, rng = LearnedBetaBelief(50), np.random.default_rng(0)
    for _ in range(60):
        arms, _ = belief.sample_top(4, rng=rng)
        coins = (rng.random(4) < 0.2).astype(float)
        belief.update(arms, rng.random(4) if measured else coins, rng=rng)
    twin = LearnedBetaBelief(50)
    twin.load(json.loads(json.dumps(belief.state())))
    for _ in range(20):
        one, two = (b.sample_top(4, rng=np.random.default_rng(7)) for b in (belief, twin))
        np.testing.assert_array_equal(one[0], two[0])
        np.testing.assert_array_equal(one[1], two[1])
        for each in (belief, twin):
            each.update(one[0], [1.0, 0.0, 0.5 if measured else 1.0, 0.0], rng=rng)


def test_many_samples_are_the_same_after_a_load_if_outcomes_add_up_to_a_whole_number():
    belief, rng = LearnedBetaBelief(50), np.random.default_rng(0)
    for outcomes in [[1.0, 0.0, 0.3], [0.0, 1.0, 0.7]]:
        belief.update([0, 1, 2], outcomes, rng=rng)
    twin = LearnedBetaBelief(50)
    twin.load(json.loads(json.dumps(belief.state())))
    assert twin.state() == belief.state()
    for n in (2, 6):
        one, two = (b.sample_tops(n, 4, rng=np.random.default_rng(7)) for b in (belief, twin))
        np.testing.assert_array_equal(one, two)


def test_new_arms_start_from_the_learned_prior():
    belief = taught(np.random.default_rng(0).beta(2, 38, 500), 30)
    belief.sample_top(3, rng=np.random.default_rng(0))
    belief.add_arms(2)
    a, b = belief.prior
    assert belief.n_arms == 502
    # The mean of the whole prior, of which a small part is Beta(1, 1).
    mean = (1 - belief.wide_share) * a / (a + b) + belief.wide_share / 2
    np.testing.assert_allclose(belief.mean()[500:], mean)
    assert belief.sample_top(502, rng=np.random.default_rng(0))[0].shape == (502,)


@pytest.mark.parametrize(
    "wrong",
    [{"shared": 1.5}, {"optimism": -1.0}, {"spread": np.nan}, {"horizon": 0}, {"stay_after": -1}],
)
def test_settings_out_of_range_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        LearnedBetaBelief(3, **wrong)
