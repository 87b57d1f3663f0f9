"""Features and contexts in any unit: one wrong number or a change of unit must not break sums."""

import json

import numpy as np
import pytest

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
