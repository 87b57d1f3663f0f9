"""The k largest values from few quantiles: bit for bit what the slow way gives."""

import copy
import json

import numpy as np
import pytest
import slow_top
from scipy.special import betaincinv, ndtr

from superarm.beliefs import (
    LearnedBetaBelief,
    SharedSeedBelief,
    _few_outcomes,
    _levels,
    _top_of_groups,
    beta_posteriors,
    learned_beta,
)
from superarm.beliefs._scores import MixedPosteriors, beta_at, beta_value
from superarm.beliefs._top_of_groups import TopOfGroups

COINS = {
    "coins": lambda arms, rng: (rng.random(len(arms)) < 0.1 + 0.5 * (arms % 7 == 0)) * 1.0,
    "sixteenths": lambda arms, rng: rng.integers(0, 17, len(arms)) / 16,
    "measured": lambda arms, rng: np.clip(rng.normal(0.1 + 0.5 * (arms % 7 == 0), 0.2), 0, 1),
    "good": lambda arms, rng: (rng.random(len(arms)) < 0.98) * 1.0,
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


def test_what_is_kept_changes_no_draw(monkeypatch):
    """Memory for a single level, numbers of groups that are soon used again, and no memory."""
    usual = play(LearnedBetaBelief(300), 4, 150, COINS["coins"])
    monkeypatch.setattr(_levels, "_MOST_NUMBERS", 1)
    monkeypatch.setattr("superarm.beliefs._equal_arms._MORE_NUMBERS", 5)
    assert play(LearnedBetaBelief(300), 4, 150, COINS["coins"]) == usual
    monkeypatch.setattr(_levels, "_MOST_TRIES", 0)
    assert play(LearnedBetaBelief(300), 4, 150, COINS["coins"]) == usual


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


@pytest.mark.parametrize("level", [0.05, 0.4, 0.9])
def test_critical_scores_separate_values_above_a_level(level):
    """Values a hundred-thousandth beside the critical scores are on their sides of the level."""
    rng = np.random.default_rng(0)
    a, b = rng.uniform(0.5, 40, (2, 200))
    weight, lift = rng.uniform(0, 1, 200) ** 4, rng.uniform(0, 1, 200)
    mixed = MixedPosteriors(a, b, 1 + a / 2, 1 + b / 3, weight, lift)
    learned, wide = mixed.critical(level)
    critical = np.minimum(learned, wide - lift)
    inside = np.abs(critical) < 7
    assert inside.sum() > 50
    assert (mixed.at(critical - 1e-5) <= level)[inside].all()
    assert (mixed.at(critical + 1e-5) > level)[inside].all()
