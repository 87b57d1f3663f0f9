"""The fit of the learned prior against slow twins, its wide part, and arms that a policy chose."""

import numpy as np
import pytest
from scipy import optimize, stats
from scipy.special import betaln

import superarm as sa
from superarm.beliefs import LearnedBetaBelief, _beta_fit
from superarm.beliefs._beta_fit import fit_beta, fit_wide_share, wide_weight
from superarm.beliefs._scores import MixedPosteriors
from superarm.beliefs.posteriors import BetaPosterior


def naive_log_posterior(point, successes, failures):
    """Arm by arm, from the formula in the docstring of `fit_beta`."""
    a, b = np.exp(point)
    gains = [betaln(a + s, b + f) - betaln(a, b) for s, f in zip(successes, failures, strict=True)]
    weak = np.log(a / (a + b)) + np.log(b / (a + b)) - (np.log(min(a, b)) / 2) ** 2 / 2
    return sum(gains) + weak


@pytest.mark.parametrize("measured", [False, True])
def test_a_prior_that_was_fitted_again_and_again_is_that_of_a_slow_fit_from_scratch(measured):
    """The last step of the search is 0.04 in logit and log strength, so 0.06 each way is allowed;
    the slow fit is a simplex search over log a and log b.
    """
    rng = np.random.default_rng(0)
    belief, mu = LearnedBetaBelief(60), rng.beta(2, 8, 60)
    while belief._n_outcomes < 1200 or belief._n_fitted < belief._n_outcomes:
        arms = np.sort(rng.choice(60, 5, replace=False))
        coins = (rng.random(5) < mu[arms]).astype(float)
        belief.update(
            arms, rng.beta(4 * mu[arms], 4 - 4 * mu[arms]) if measured else coins, rng=rng
        )
    successes = belief.outcomes.sums / belief.dispersion
    failures = (belief.outcomes.counts - belief.outcomes.sums) / belief.dispersion
    slow = optimize.minimize(
        lambda point: -naive_log_posterior(point, successes, failures),
        [0.0, 0.0],
        method="Nelder-Mead",
    )
    a, b = np.exp(slow.x)
    found = np.array(belief.prior)
    assert np.log(found[0] / found[1]) == pytest.approx(np.log(a / b), abs=0.06)
    assert np.log(found.sum()) == pytest.approx(np.log(a + b), abs=0.06)


def test_many_distinct_counts_are_thinned_without_harm(monkeypatch):
    """30,000 arms: the standard errors of log a and log b from 10,000 arms are below 0.02 in 20
    simulations, and 0.1 is 5 of them: error below 1e-6.
    """
    rng = np.random.default_rng(0)
    n = rng.integers(1, 30, 30_000)
    s = n * rng.beta(3, 7, 30_000)
    counts = np.unique(n + 1j * s)
    given = counts.imag, counts.real - counts.imag, np.ones(len(counts)), (1.0, 1.0)
    thinned = fit_beta(*given)
    monkeypatch.setattr(_beta_fit, "_MOST_ARMS", 10**9)
    np.testing.assert_allclose(np.log(thinned), np.log(fit_beta(*given)), atol=0.1)


def test_the_weight_of_the_wide_part_is_a_ratio_of_beta_binomials():
    s, f = np.array([0.0, 5.0, 2.0]), np.array([3.0, 1.0, 2.0])
    wide = 0.02 * stats.betabinom(s + f, 1, 1).pmf(s)
    learned = 0.98 * stats.betabinom(s + f, 2, 30).pmf(s)
    found = wide_weight(s, f, (2.0, 30.0), 0.02)
    np.testing.assert_allclose(found, wide / (wide + learned), rtol=1e-9)
    assert (wide_weight(s, f, (2.0, 30.0), 0.0) == 0).all()


def test_the_share_is_the_most_likely_one():
    """Against a grid of shares. The guess has the weight of 1 arm of 10."""
    rng = np.random.default_rng(0)
    mu = np.append(rng.beta(4, 76, 380), rng.random(20))
    n = rng.integers(5, 60, 400)
    s = rng.binomial(n, mu).astype(float)
    wide, learned = stats.betabinom(n, 1, 1).pmf(s), stats.betabinom(n, 4, 76).pmf(s)
    shares = np.geomspace(1e-4, 0.5, 400)[:, None]
    likely = np.log(shares * wide + (1 - shares) * learned).sum(axis=1)
    likely += 1.0 * np.log(shares[:, 0]) + 9.0 * np.log(1 - shares[:, 0])
    best = shares[likely.argmax(), 0]
    found = fit_wide_share(s, n - s, np.ones(400), (4.0, 76.0))
    assert found == pytest.approx(best, rel=0.05)
    assert 0.02 < found < 0.06  # 20 of 400 arms, drawn to 0 by the guess


def naive_mixed(a, b, wide_a, wide_b, weight, score):
    """One value, from the docstring of `MixedPosteriors`."""
    tail = stats.norm.sf(score)
    value = stats.beta(a, b).isf(tail)
    if tail < weight:
        within = stats.norm.isf(tail / weight)
        within = within if within < 1.5 else 1.5 + (within - 1.5) / 10
        value = max(value, stats.beta(wide_a, wide_b).isf(stats.norm.sf(within)))
    return value


def test_a_value_is_at_most_the_quantile_of_the_mixture():
    """Above it the mixture has at least the tail of the score, and at most twice as much unless the
    score is above 1.5 in the wide part.
    """
    rng = np.random.default_rng(0)
    a, b, wide_a, wide_b = rng.uniform(0.5, 40, (4, 500))
    weight, scores = rng.uniform(0, 1, 500) ** 4, rng.uniform(-1, 4, 500)
    mixed = MixedPosteriors(a, b, wide_a, wide_b, weight, np.zeros(500))
    values = mixed.at(scores)
    tails = weight * stats.beta(wide_a, wide_b).sf(values)
    tails += (1 - weight) * stats.beta(a, b).sf(values)
    wanted = stats.norm.sf(scores)
    # Values of 1 up to rounding have no digits left.
    inside = values < 1 - 1e-9
    assert inside.sum() > 300
    assert (tails >= (1 - weight) * wanted * (1 - 1e-6))[inside].all()
    inside &= wanted > weight * stats.norm.sf(1.5)
    assert inside.sum() > 150
    assert (tails <= 2 * wanted * (1 + 1e-6))[inside].all()
    naive = map(naive_mixed, a, b, wide_a, wide_b, weight, scores)
    np.testing.assert_allclose(values, list(naive), rtol=1e-8)


def test_without_the_wide_part_its_share_stays_0():
    belief, rng = LearnedBetaBelief(5, wide=False), np.random.default_rng(0)
    for _ in range(20):
        belief.update(np.arange(5), (rng.random(5) < 0.3).astype(float), rng=rng)
    assert belief.wide_share == 0


def test_new_arms_far_above_all_known_arms_are_found():
    """The prior of 100 known arms is narrow about 0.11, and 3 of 100 new arms have 0.9. With the
    wide part all three are found within 800 rounds. Without it, most new arms stay unseen.
    """
    unseen = {}
    for wide in (True, False):
        rng = np.random.default_rng(2)
        mu = np.append(rng.uniform(0.1, 0.12, 197), [0.9, 0.9, 0.9])
        belief = LearnedBetaBelief(100, wide=wide)
        for _ in range(200):
            belief.update(np.arange(100), (rng.random(100) < mu[:100]).astype(float), rng=rng)
        belief.add_arms(100)
        for _ in range(800):
            arms, _ = belief.sample_top(3, rng=rng)
            belief.update(arms, (rng.random(3) < mu[arms]).astype(float), rng=rng)
        unseen[wide] = np.count_nonzero(belief.outcomes.counts == 0)
        if wide:
            assert (belief.outcomes.counts[197:] > 0).all()
    assert unseen[True] < 50 < unseen[False]


def test_intervals_cover_the_means_also_of_arms_that_the_policy_chose():
    """A policy sees good arms more often, which does not bias posteriors. 90% intervals of 1,000
    arms from Beta(2, 18), up to 5 binomial standard errors, and 2% for the estimated prior: error
    below 1e-6.
    """
    rng = np.random.default_rng(0)
    mu = rng.beta(2, 18, 1000)
    policy = sa.thompson(sa.LinearReward(1000), 50)
    sa.simulate(policy, sa.BernoulliArms(mu), horizon=400, rng=rng)
    low, high = policy.belief.posterior(np.arange(1000)).interval(0.9)
    covered = (low <= mu) & (mu <= high)
    assert abs(np.mean(covered) - 0.9) < 5 * np.sqrt(0.09 / 1000) + 0.02


def test_intervals_cover_the_means_of_arms_far_above_the_others():
    """6% of 2,000 arms come from Beta(1, 1), the others from Beta(20, 180), 12 outcomes each. Of
    about 60 arms with means above 0.5, the 90% intervals contain at least 75% of the means, 4
    standard errors less: error below 1%. Those of the learned prior alone contain few of them.
    """
    rng = np.random.default_rng(0)
    is_far = rng.random(2000) < 0.06
    mu = np.where(is_far, rng.random(2000), rng.beta(20, 180, 2000))
    belief = LearnedBetaBelief(2000)
    for _ in range(12):
        belief.update(np.arange(2000), (rng.random(2000) < mu).astype(float), rng=rng)
    posterior, far = belief.posterior(np.flatnonzero(mu > 0.5)), mu[mu > 0.5]
    low, high = posterior.interval(0.9)
    assert np.mean((low <= far) & (far <= high)) >= 0.75
    low, high = BetaPosterior(posterior.a, posterior.b).interval(0.9)
    assert np.mean((low <= far) & (far <= high)) < 0.5
    np.testing.assert_allclose(belief.mean()[mu > 0.5], posterior.mean())


@pytest.mark.parametrize("learned", [[0.0, 0.1, 1.0, 1.0], [1.0, 2.0, 1.0, 1.0], [1.0, 0.1]])
def test_a_state_that_would_break_samples_is_refused(learned):
    belief = LearnedBetaBelief(3)
    before = belief.state()
    with pytest.raises(ValueError, match=r"state\['learned'\] must be dispersion and share"):
        belief.load({**before, "learned": learned})
    assert belief.state() == before
