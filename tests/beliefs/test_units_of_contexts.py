"""Features and contexts in any unit: one wrong number or a change of unit must not break sums."""

import json

import numpy as np
import pytest
from scipy.special import expit

import superarm as sa
from superarm.beliefs import LinearBelief, LogisticBelief

N_ARMS = 20
FEATURES = np.random.default_rng(3).normal(size=(N_ARMS, 2))
MODELS = [
    *((LinearBelief, one) for one in ("shared", "bilinear", "disjoint")),
    *((LogisticBelief, one) for one in ("shared", "bilinear", "disjoint", "hybrid")),
]
# The context that is given in a round, for the usual one.
UNITS = {
    "a large unit": lambda t, usual: 1e12 * usual,
    "nanoseconds since 1970": lambda t, usual: 1.7e18 + 1e9 * usual,
    "wrong numbers": lambda t, usual: (1e12 if t in (0, 7, 33) else 1.0) * usual,
    "another unit from a round on": lambda t, usual: usual + (1e15 if t > 20 else 0.0),
}


def belief_of(kind, structure):
    features = N_ARMS if structure == "disjoint" else FEATURES
    return kind(features, context=3, structure=structure)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize(("kind", "structure"), MODELS)
def test_contexts_of_any_size_leave_finite_beliefs_that_are_saved(kind, structure, unit):
    belief, rng = belief_of(kind, structure), np.random.default_rng(0)
    for t in range(60):
        in_round = belief.at(UNITS[unit](t, rng.normal(size=3)))
        theta = in_round.sample(rng=rng)
        assert ((theta >= 0) & (theta <= 1)).all()  # and no NaN
        arms = np.argsort(-theta)[:4]
        in_round.update(arms, (rng.random(4) < 0.3).astype(float), rng=rng)
        assert np.isfinite(in_round.mean()).all()
    again = belief_of(kind, structure)
    again.load(json.loads(json.dumps(belief.state(), allow_nan=False)))
    context = UNITS[unit](60, np.ones(3))
    assert (again.at(context).mean() == belief.at(context).mean()).all()


@pytest.mark.parametrize("kind", [LinearBelief, LogisticBelief])
def test_what_would_overflow_is_refused_before_anything_changes(kind):
    with pytest.raises(ValueError, match="features must be from -1e100 to 1e100, got 1e\\+200"):
        kind([[1.0], [1e200]])
    belief = kind(FEATURES, context=1)
    before = belief.state()
    with pytest.raises(ValueError, match="context must be from -1e100 to 1e100, got -1e\\+160"):
        belief.at([-1e160])
    with pytest.raises(ValueError, match="features must be"):
        belief.add_arms(1, [[0.0, 1e300]])
    assert belief.state() == before


def regret_of(kind, given, n_rounds=400, seed=1):
    """The regret of 2 of 10 arms whose rates depend on contexts; ``given`` is what the belief sees.

    ``given(t, usual)`` is the context of round t.
    """
    rng, belief = np.random.default_rng(seed), kind(10, context=3)
    policy = sa.Policy(belief, sa.TopK(), sa.LinearReward(10), k=2)
    weights, regret = rng.normal(size=(10, 3)), 0.0
    for t in range(n_rounds):
        usual = rng.normal(size=3)
        rates, context = expit(weights @ usual), given(t, usual)
        arms = policy.ask(rng=rng, context=context)
        policy.tell(arms, rng.random(2) < rates[arms], rng=rng, context=context)
        regret += np.sort(rates)[-2:].sum() - rates[arms].sum()
    return regret


@pytest.mark.parametrize("kind", [LinearBelief, LogisticBelief])
def test_one_wrong_number_costs_little(kind):
    """It cost more than all other rounds together, because it decided the scale of its column.

    For five other threes of seeds the ratio is from 0.99 to 1.28. It was from 1.43 to 1.94.
    """

    def wrong(t, usual):
        return np.append(1e12, usual[1:]) if t == 50 else usual

    plain = sum(regret_of(kind, lambda t, usual: usual, seed=seed) for seed in (1, 2, 3))
    assert sum(regret_of(kind, wrong, seed=seed) for seed in (1, 2, 3)) < 1.4 * plain


@pytest.mark.parametrize("kind", [LinearBelief, LogisticBelief])
def test_another_unit_breaks_nothing(kind):
    """`LogisticBelief` failed: outcomes that surprise a sure belief had no mode within reach."""

    def changed(t, usual):
        return usual * (1000.0 if t >= 400 else 1.0)

    assert regret_of(kind, changed, n_rounds=800) < 200


@pytest.mark.parametrize("kind", [LinearBelief, LogisticBelief])
def test_the_cut_of_contexts_is_saved(kind):
    one, other = kind(5, context=2), kind(5, context=2)
    rng = np.random.default_rng(0)
    for t in range(40):
        context = rng.normal(size=2) * (1e6 if t in (30, 38, 39) else 1.0)
        one.at(context).update([0, 1], [0.0, 1.0], rng=rng)
    other.load(json.loads(json.dumps(one.state())))
    for belief in (one, other):
        belief.at([1e6, 0.0]).update([2], [1.0], rng=rng)
    assert one.state() == other.state()


@pytest.mark.parametrize("kind", [LinearBelief, LogisticBelief])
def test_a_wrong_feature_is_told(kind):
    features = np.random.default_rng(0).normal(size=(30, 2))
    kind(features)
    features[7, 1] = 1e12
    with pytest.warns(UserWarning, match="feature 2 of arm 7 is 1e\\+12, where most are within"):
        kind(features)
