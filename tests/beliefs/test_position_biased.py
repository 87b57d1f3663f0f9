"""The belief that knows the places, against the exact posterior, and in its environment."""

import numpy as np
import pytest
from scipy import stats

import naive
import superarm as sa
from superarm.beliefs import PositionBiasedBelief
from superarm.environments import (
    PositionBiasedArms,
)
from superarm.oracles import RandomSets


@pytest.fixture
def only_counts(monkeypatch):
    """Updates only count. ``only_counts(belief)`` then computes the posteriors from the counts."""
    match = PositionBiasedBelief._match
    monkeypatch.setattr(PositionBiasedBelief, "_match", lambda belief, arms: None)
    return lambda belief: match(belief, np.arange(belief.n_arms))


def test_posteriors_come_from_the_counts_alone(only_counts, monkeypatch):
    """So the tests below may compute them once, for all updates."""
    rngs = [np.random.default_rng(0) for _ in range(2)]
    late, now = (PositionBiasedBelief(9, [1.0, 0.6, 0.3]) for _ in range(2))
    play_randomly(late, rngs[0])
    only_counts(late)
    monkeypatch.undo()
    play_randomly(now, rngs[1])
    assert late.state() == now.state()


def play_randomly(belief, rng):
    for _ in range(40):
        belief.update(rng.permutation(9)[:3], rng.random(3) < 0.4, rng=rng)


def test_the_matched_beta_has_mean_and_variance_of_the_exact_posterior():
    rng, weights = np.random.default_rng(0), np.array([1.0, 0.6, 0.3, 0.05])
    belief = PositionBiasedBelief(30, weights, prior=(1.0, 2.0))
    successes, failures = np.zeros(30), np.zeros((30, 4))
    for _ in range(60):
        arms, places = rng.permutation(30)[:4], rng.permutation(4)
        did = rng.random(4) < weights[places] * (arms + 1) / 30
        belief.update(arms, did, rng=rng, places=places)
        successes[arms] += did
        failures[arms, places] += ~did
    law = stats.beta(belief.a, belief.b)
    exact = [
        naive.position_posterior(1.0, 2.0, successes[i], failures[i], weights) for i in range(30)
    ]
    np.testing.assert_allclose(law.mean(), [mean for mean, _ in exact], rtol=1e-7)
    np.testing.assert_allclose(law.std(), [std for _, std in exact], rtol=1e-7)
    np.testing.assert_allclose(belief.mean(), law.mean())


def test_places_of_weight_one_are_a_beta_belief():
    belief, beta = (
        PositionBiasedBelief(4, [1.0, 1.0], prior=(2.0, 0.5)),
        sa.BetaBelief(4, (2.0, 0.5)),
    )
    rng = np.random.default_rng(0)
    for t in range(300):
        for one in (belief, beta):
            one.update([t % 4, (t + 1) % 4], [float(t % 3 == 0), 0.0], rng=rng)
        np.testing.assert_allclose([belief.a, belief.b], [beta.a, beta.b], rtol=1e-10)


def test_places_are_the_order_unless_they_are_given():
    one, other = (PositionBiasedBelief(4, [1.0, 0.5, 0.25]) for _ in range(2))
    rng = np.random.default_rng(0)
    one.update([2, 0, 3], [0.0, 1.0, 0.0], rng=rng)
    other.update([0], [1.0], rng=rng, places=[1])  # in parts, and in another order
    other.update([3, 2], [0.0, 0.0], rng=rng, places=[2, 0])
    told = ("successes", "looks", "failures")
    assert [one.state()[key] for key in told] == [other.state()[key] for key in told]
    np.testing.assert_allclose([one.a, one.b], [other.a, other.b], rtol=1e-9)
    assert one.mean()[2] < one.mean()[3] < 0.5  # a failure further down says less


def test_estimates_in_known_places_are_unbiased_and_those_of_a_plain_belief_are_not(only_counts):
    """1,000 arms of the same mean, each shown 60 times in random places. The mean of the unbiased
    estimates is within 5 standard errors of the true mean, error 6e-7. The posterior mean starts at
    the prior's 0.5 and comes within 0.02. A plain belief converges to the mean of w · mu.
    """
    rng, weights, mu, n = np.random.default_rng(0), np.array([0.9, 0.5, 0.2]), 0.4, 1000
    environment = PositionBiasedArms(np.full(3, mu), weights)
    belief, plain, errors = PositionBiasedBelief(n, weights), sa.BetaBelief(n), []
    for t in range(60):
        places = rng.integers(0, 3, n)
        did = (rng.random(n) < environment.expected([0, 1, 2])[places]).astype(float)
        belief.update(np.arange(n), did, rng=rng, places=places)
        plain.update(np.arange(n), did, rng=rng)
        if t in (9, 29, 59):
            only_counts(belief)
            errors.append(abs(belief.mean().mean() - mu))
    found = belief.unbiased()
    assert abs(found.mean() - mu) < 5 * found.std() / np.sqrt(n)
    # Var of successes / looks is about (mean w mu (1 - w mu)) / (t (mean w)²), given the places.
    spread = np.sqrt(np.mean(weights * mu * (1 - weights * mu)) / (60 * weights.mean() ** 2))
    assert found.std() == pytest.approx(spread, rel=0.1)
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.02
    assert belief.mean().std() < found.std()  # it knows in which places the failures were
    assert abs(plain.mean().mean() - (1 + 60 * weights.mean() * mu) / 62) < 0.01
    assert plain.mean().mean() < mu - 0.15


def test_what_simulate_tells_in_places_is_unbiased(only_counts):
    """Sets are shown in ascending order, so arm 0 is always in the first place and arm 5 always in
    the last. The estimates are within 5 standard errors of the true means, error 6e-7 each. The
    plain means are more than 10 standard errors too low.
    """
    mu, weights = np.array([0.3, 0.5, 0.4, 0.6, 0.5, 0.7]), np.array([0.9, 0.5, 0.2])
    policy = sa.Policy(PositionBiasedBelief(6, weights), RandomSets(), sa.LinearReward(6), 3)
    trace = sa.simulate(
        policy, PositionBiasedArms(mu, weights), horizon=5000, rng=np.random.default_rng(0)
    )
    for arm in range(6):
        shown, places = np.nonzero(trace.arms == arm)
        w, did = weights[places], trace.outcomes[shown, places]
        error = np.sqrt((w * mu[arm] * (1 - w * mu[arm])).sum())
        found = policy.belief.unbiased()[arm]
        assert found == pytest.approx(did.sum() / w.sum())
        assert abs(found - mu[arm]) < 5 * error / w.sum()
        assert arm == 0 or did.mean() < mu[arm] - 10 * error / len(did)


def test_intervals_in_known_places_hold_as_often_as_they_say(only_counts):
    """With means drawn from the prior, 95% of correct intervals contain the true mean: within 5
    standard errors of 3,000 arms, error 6e-7, plus 0.005 for the approximate shape.
    """
    rng, weights, n = np.random.default_rng(1), np.array([0.9, 0.4, 0.1]), 3000
    mu, belief = rng.random(n), PositionBiasedBelief(n, weights)
    for _ in range(25):
        places = rng.integers(0, 3, n)
        belief.update(np.arange(n), rng.random(n) < weights[places] * mu, rng=rng, places=places)
    only_counts(belief)
    low, high = belief.posterior(np.arange(n)).interval()
    assert abs(((low <= mu) & (mu <= high)).mean() - 0.95) < 5 * np.sqrt(0.95 * 0.05 / n) + 0.005


def test_a_belief_that_knows_places_learns_what_a_plain_one_gets_wrong(only_counts):
    """Arms in a fixed order: a plain belief overrates the arms in the first places."""
    mu, weights = np.array([0.4, 0.4, 0.4, 0.6]), np.array([1.0, 0.7, 0.4, 0.2])
    rng, beliefs = np.random.default_rng(0), (sa.BetaBelief(4), PositionBiasedBelief(4, weights))
    environment = PositionBiasedArms(mu, weights)
    for _ in range(2000):
        did = environment.pull([0, 1, 2, 3], rng=rng)
        for belief in beliefs:
            belief.update([0, 1, 2, 3], did, rng=rng)
    only_counts(beliefs[1])
    assert np.argmax(beliefs[0].mean()) == 0
    assert np.argmax(beliefs[1].mean()) == 3
    # The standard error of the last is about sqrt(0.12 · 0.88 / 2000) / 0.2 = 0.036.
    np.testing.assert_allclose(beliefs[1].mean(), mu, atol=5 * 0.036)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: PositionBiasedArms([0.5], [0.0]), "weights must be above 0"),
        (
            lambda: PositionBiasedArms([0.5, 0.5], [1.0]).expected([0, 1]),
            "at most 1, one for each of the weights",
        ),
        (lambda: PositionBiasedBelief(2, [0.5, 0.0]), "weights must be above 0"),
        (lambda: PositionBiasedBelief(2, [1.5]), r"weights must be in \[0, 1\]"),
        (
            lambda: _update([0, 1], None),
            "places must be between 0 and 0 .there are 1 weights., got 0 to 1",
        ),
        (lambda: _update([0], [1]), "places must be between 0 and 0"),
        (lambda: _update([0], [0, 0]), "places must be 1 whole numbers"),
        (lambda: _update([0], [0.5]), "places must be 1 whole numbers"),
    ],
)
def test_refuses(call, says):
    with pytest.raises((ValueError, TypeError), match=says):
        call()


def _update(arms, places):
    belief = PositionBiasedBelief(2, [0.5])
    before = belief.state()
    try:
        belief.update(arms, np.ones(len(arms)), rng=np.random.default_rng(0), places=places)
    finally:
        assert belief.state() == before
