"""Damaged states are refused, and a refused state changes nothing."""

import copy
import json

import numpy as np
import pytest

import parts
import superarm as sa
from superarm.core.optional import Stateful, has

# Oracles that learn how large the noise is.
NOISY = {
    "noisy singletons, learned": lambda: sa.oracles.NoisySingletons(tolerance=0.1, budget=500),
    "noisy greedy, learned": lambda: sa.oracles.NoisyGreedy(tolerance=0.1, budget=500),
    "noisy local search, learned": lambda: sa.oracles.NoisyLocalSearch(tolerance=0.1, budget=500),
}
STATEFUL = [name for name, (make, _) in parts.ORACLES.items() if has(make(), Stateful)]


# What is written in place of a value. NaN is null in the JSON of many programs.
DAMAGES = {
    "missing": None,
    "text": "text",
    "null": None,
    "nan": float("nan"),
    "infinite": float("inf"),
    "huge": 10**400,
    "empty": {},
}


def places(state, above=()):
    """The keys of a state that lead to its values, as tuples; of lists the first."""
    for key, value in state.items() if isinstance(state, dict) else [*enumerate(state)][:1]:
        yield (*above, key)
        if isinstance(value, dict | list):
            yield from places(value, (*above, key))


def damaged(state):
    """The state with a value missing, or with another one in its place, one at a time."""
    for *above, last in places(state):
        for damage, value in DAMAGES.items():
            one = copy.deepcopy(state)
            inner = one
            for key in above:
                inner = inner[key]
            if damage == "missing":
                del inner[last]
            else:
                inner[last] = value
            yield (*above, last), damage, one


def check_refusals(part, fresh):
    """Load damaged states into a part that has learned; it refuses them, or can do without."""
    now = json.dumps(part.state())
    for place, damage, one in damaged(json.loads(now)):
        try:
            part.load(one)
        except (ValueError, TypeError):
            assert json.dumps(part.state()) == now, (place, damage)
            continue
        after = json.dumps(part.state())
        assert "NaN" not in after, (place, damage)
        assert "Infinity" not in after, (place, damage)
        # Some values may be missing, as in older files.
        part.load(json.loads(now))
    fresh.load(json.loads(now))
    assert json.dumps(fresh.state()) == now


@pytest.mark.parametrize("name", parts.BELIEFS)
def test_beliefs_refuse_damaged_states(name):
    belief, fresh, rng = parts.BELIEFS[name](6), parts.BELIEFS[name](6), np.random.default_rng(0)
    for _ in range(4):
        belief.update([0, 2], [1.0, 0.5], rng=rng)
    check_refusals(belief, fresh)


@pytest.mark.parametrize("name", [*STATEFUL, *NOISY])
def test_oracles_refuse_damaged_states(name):
    make = NOISY[name] if name in NOISY else parts.ORACLES[name][0]
    # Oracles that read the counts of a belief have one of six arms in the table, and need a sum.
    reward, rng = sa.LinearReward(6), np.random.default_rng(0)
    oracle, fresh = make(), make()
    for _ in range(4):
        oracle.select(reward, rng.random(6), 2, rng=rng)
    check_refusals(oracle, fresh)


def test_a_refused_variance_does_not_change_the_start_of_a_search():
    reward, rng = sa.LinearReward(6), np.random.default_rng(0)
    oracle = NOISY["noisy local search, learned"]()
    oracle.select(reward, rng.random(6), 2, rng=rng)
    other = oracle.state()
    oracle.select(reward, rng.random(6), 2, rng=rng)
    before = oracle.state()
    assert other["start"] != before["start"]
    with pytest.raises(ValueError, match=r"variance.* must be finite"):
        oracle.load({**other, "variance": float("nan")})
    assert oracle.state() == before


def test_a_context_of_another_size_is_refused_before_it_takes_memory():
    belief = sa.beliefs.LinearBelief(3, context=2)
    state = belief.state()
    state["design"]["context"] = 10**15
    with pytest.raises(ValueError, match=r"state\['contexts'\]"):
        belief.load(state)
