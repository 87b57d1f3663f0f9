"""Many samples of linear and logistic beliefs at a time: those of one at a time, row by row."""

import numpy as np
import pytest

import superarm as sa
from superarm.beliefs import LinearBelief, LogisticBelief
from superarm.offpolicy import propensities

N_ARMS = 8
FEATURES = np.random.default_rng(5).normal(size=(N_ARMS, 2))
# Of the belief: what it is made with, its settings, and the context of a round.
CASES = {
    "features": (FEATURES, {}, None),
    "no features": (N_ARMS, {}, None),
    "bilinear": (FEATURES, {"context": 2}, [0.5, 1.0]),
    "a row per arm": (FEATURES, {"context": 2, "structure": "shared"}, FEATURES[::-1]),
    "disjoint": (N_ARMS, {"context": 2, "structure": "disjoint"}, [0.5, 1.0]),
}


class Numbers:
    """A generator that gives normal numbers from a list."""

    def __init__(self, numbers):
        self.numbers = list(numbers)

    def standard_normal(self, size=None):
        given = [self.numbers.pop(0) for _ in range(1 if size is None else size)]
        return given[0] if size is None else np.array(given)


def learned(kind, name):
    given, settings, context = CASES[name]
    belief, rng = kind(given, **settings), np.random.default_rng(0)
    for _ in range(4):
        arms = rng.choice(N_ARMS, 3, replace=False)
        belief.at(context).update(arms, rng.random(3) < 0.5, rng=rng)
    return belief.at(context)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("kind", [LinearBelief, LogisticBelief])
def test_each_row_is_the_sample_of_its_numbers(kind, name):
    belief, n = learned(kind, name), 4
    # A mixed linear model draws its weights first, for all rows; then a row has its own numbers.
    d = getattr(belief, "belief", belief)._model.d if kind is LinearBelief else 0
    d = 0 if name == "disjoint" else d
    weights, scores = np.split(np.random.default_rng(3).standard_normal(n * (d + 9)), [n * d])
    found = belief.sample_many(n, rng=np.random.default_rng(3))
    for row, first, then in zip(found, weights.reshape(n, d), scores.reshape(n, 9), strict=True):
        alone = belief.sample(rng=Numbers([*first, *then]))
        np.testing.assert_allclose(row, alone, atol=2e-9)


def test_values_that_are_cut_stay_in_order():
    belief, wholes = LinearBelief(FEATURES, spread=20.0, shared=0.0), []
    for seed in range(10):
        values = belief.sample_many(1, rng=np.random.default_rng(seed))[0]
        wholes.append(belief._round().uncut(rng=np.random.default_rng(seed)))
        assert values.min() >= 0
        assert values.max() <= 1
        np.testing.assert_array_equal(np.argsort(values), np.argsort(wholes[-1]))
    assert ((np.array(wholes) < 0).sum(axis=1) > 1).any(), "some are below 0 together"
    assert ((np.array(wholes) > 1).sum(axis=1) > 1).any(), "some are above 1 together"


@pytest.mark.parametrize("kind", [LinearBelief, LogisticBelief])
def test_propensities_are_those_of_asking(kind):
    belief, rng, n = kind(FEATURES), np.random.default_rng(4), 1000
    for _ in range(12):
        arms = rng.choice(N_ARMS, 3, replace=False)
        belief.update(arms, rng.random(3) < 0.3, rng=rng)
    policy = sa.Policy(belief, sa.TopK(), sa.LinearReward(N_ARMS), k=3)
    many = propensities(policy, 20 * n, rng=rng).arms
    alone = np.bincount(np.concatenate([policy.ask(rng=rng) for _ in range(n)]), minlength=N_ARMS)
    error = np.sqrt(many * (1 - many) / n) + 1 / n
    # Four standard errors and a half for 8 shares: a false alarm is less likely than 1 in 10,000.
    assert np.abs(alone / n - many).max() < 4.5 * error.max()
    assert (np.abs(alone / n - many) < 4.5 * error).all()
