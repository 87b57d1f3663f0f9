"""The k largest values from few quantiles: bit for bit what the slow way gives."""

import copy
import json

import numpy as np
import pytest
import slow_top
from scipy.special import betaincc, betaincinv, betaln, ndtr

from superarm.beliefs import (
    LearnedBetaBelief,
    SharedSeedBelief,
    _equal_arms,
    _few_outcomes,
    _tails,
    _top_of_groups,
    beta_posteriors,
    learned_beta,
)
from superarm.beliefs._scores import MixedPosteriors, beta_at, beta_value
from superarm.beliefs._top_of_groups import TopOfGroups
from superarm.beliefs.learned_prior import N_PARTS, LearnedPrior

COINS = {
    "coins": lambda arms, rng: (rng.random(len(arms)) < 0.1 + 0.5 * (arms % 7 == 0)) * 1.0,
    "sixteenths": lambda arms, rng: rng.integers(0, 17, len(arms)) / 16,
    "measured": lambda arms, rng: np.clip(rng.normal(0.1 + 0.5 * (arms % 7 == 0), 0.2), 0, 1),
    "good": lambda arms, rng: (rng.random(len(arms)) < 0.98) * 1.0,
    "alike": lambda arms, rng: (rng.random(len(arms)) < 0.3) * 1.0,
}


def play(belief, k, n_rounds, outcomes):
    """What was drawn in every round, and where the generator is in the end."""
    rng, noise = np.random.default_rng(1), np.random.default_rng(2)
    drawn = []
    for _ in range(n_rounds):
        arms, values = belief.sample_top(k, rng=rng)
        drawn.append((arms.tolist(), values.tolist()))
        belief.update(arms, outcomes(arms, noise), rng=rng)
    return drawn, rng.bit_generator.state, belief.state()


@pytest.mark.parametrize("kind", COINS)
@pytest.mark.parametrize(
    ("make", "k"),
    [
        (lambda: LearnedBetaBelief(400), 4),
        (lambda: LearnedBetaBelief(60, shared=0.3, stay_after=0), 25),
        (lambda: LearnedBetaBelief(300, shared=1.0), 3),
        (lambda: SharedSeedBelief(300, 0.5), 3),
    ],
)
def test_draws_are_those_of_the_slow_way(make, k, kind, monkeypatch):
    monkeypatch.setattr(beta_posteriors, "FEWEST_ARMS", 1)
    monkeypatch.setattr(_top_of_groups, "_FEW_GROUPS", 4)
    fast = play(make(), k, 80, COINS[kind])
    monkeypatch.setattr(TopOfGroups, "draw", slow_top.draw)
    assert play(make(), k, 80, COINS[kind]) == fast


@pytest.mark.parametrize("kind", ["coins", "measured", "alike"])
def test_what_is_computed_besides_changes_no_draw(kind, monkeypatch):
    """More values than needed, all values, and new groups in arrays."""
    usual = play(LearnedBetaBelief(300), 4, 100, COINS[kind])
    monkeypatch.setattr(_tails, "_MORE", 9)
    assert play(LearnedBetaBelief(300), 4, 100, COINS[kind]) == usual
    monkeypatch.setattr(_equal_arms, "_FEW", 0)
    assert play(LearnedBetaBelief(300), 4, 100, COINS[kind]) == usual
    monkeypatch.setattr(_tails, "_MANY", 0)
    assert play(LearnedBetaBelief(300), 4, 100, COINS[kind]) == usual
    monkeypatch.setattr(_top_of_groups, "_FEW_GROUPS", 300)
    assert play(LearnedBetaBelief(300), 4, 100, COINS[kind]) == usual


def test_a_belief_that_was_loaded_or_copied_goes_on_as_it_was():
    belief = LearnedBetaBelief(300)
    play(belief, 4, 60, COINS["coins"])
    loaded = LearnedBetaBelief(300)
    loaded.load(json.loads(json.dumps(belief.state())))
    others = [loaded, copy.deepcopy(belief)]
    expected = play(belief, 4, 40, COINS["measured"])
    assert all(play(other, 4, 40, COINS["measured"]) == expected for other in others)


@pytest.mark.parametrize("kind", COINS)
def test_outcomes_of_few_arms_are_counted_as_those_of_many(kind, monkeypatch):
    few = play(LearnedBetaBelief(100), 5, 80, COINS[kind])
    monkeypatch.setattr(learned_beta, "FEW", 0)
    assert play(LearnedBetaBelief(100), 5, 80, COINS[kind]) == few
    assert _few_outcomes.FEW > 5


def test_one_value_is_one_of_many():
    rng = np.random.default_rng(0)
    a, b, wide_a, wide_b = rng.uniform(0.3, 60, (4, 300))
    weight, lift = rng.uniform(0, 1, 300) ** 4, rng.uniform(0, 1, 300)
    scores = rng.uniform(-3, 5, 300)
    mixed = MixedPosteriors(a, b, wide_a, wide_b, weight, lift)
    each = [mixed.value(place, score) for place, score in enumerate(scores.tolist())]
    assert each == mixed.at(scores).tolist()
    assert list(map(beta_value, a, b, scores)) == beta_at(a, b, scores).tolist()
    assert beta_value(2.0, 3.0, -1.0) == betaincinv(2.0, 3.0, ndtr(-1.0))


@pytest.mark.parametrize("x", [0.02, 0.1, 0.4, 0.9, 0.999])
def test_bounds_on_tails_are_above_them_and_close_far_from_the_mean(x):
    """Within a factor of 1.7 where less than a twentieth is above x."""
    rng = np.random.default_rng(0)
    a, b = np.exp(rng.uniform(-2, 7, (2, 2000)))
    bounds = _tails.log_tail(a, b, -np.log(b) - betaln(a, b), x)
    tails = betaincc(a, b, x)
    known = tails > 1e-300
    assert (bounds[known] >= np.log(tails[known]) - 1e-9).all()
    assert (bounds <= 1e-9).mean() > 0.5
    far = known & (tails < 0.05)
    assert far.sum() > 10
    assert (bounds[far] < np.log(tails[far]) + np.log(1.7)).all()


@pytest.mark.parametrize("learned", [((2.0, 30.0), 1.0, 0.02), ((0.7, 3.0), 0.3, 0.0)])
def test_one_group_has_the_numbers_of_many(learned):
    prior, rng = LearnedPrior(*learned), np.random.default_rng(0)
    counts = rng.integers(0, 50, 200).astype(float)
    sums = np.floor(16 * counts * rng.random(200)) / 16
    many = np.array(prior.of_groups(counts, sums))
    each = np.array([prior.of_group(*key) for key in zip(counts, sums, strict=True)]).T
    assert len(many) == N_PARTS
    decide = [0, 1, 2, 3, 4, 9, 10]  # the others only say which values are computed
    np.testing.assert_array_equal(each[decide], many[decide])
    np.testing.assert_allclose(each, many, rtol=1e-12)
