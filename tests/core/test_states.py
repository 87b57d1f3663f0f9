"""Damaged states are refused, and a refused state changes nothing."""

import copy
import json

import numpy as np
import pytest

import parts
import superarm as sa
from superarm.core.optional import Stateful, has

STATEFUL = [name for name, (make, _) in parts.ORACLES.items() if has(make(), Stateful)]


def places(state, above=()):
    """The keys of a state that lead to its values, as tuples."""
    for key, value in state.items():
        yield (*above, key)
        if isinstance(value, dict):
            yield from places(value, (*above, key))


def damaged(state):
    """The state with a value missing, of another kind, or with NaN in it, one at a time."""
    for *above, last in places(state):
        for damage in ("missing", "text", "nan"):
            one = copy.deepcopy(state)
            inner = one
            for key in above:
                inner = inner[key]
            if damage == "missing":
                del inner[last]
            elif damage == "text":
                inner[last] = "text"
            elif isinstance(inner[last], list) and inner[last]:
                inner[last][0] = float("nan")
            elif isinstance(inner[last], float):
                inner[last] = float("nan")
            else:
                continue
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
        assert "NaN" not in json.dumps(part.state()), (place, damage)
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


@pytest.mark.parametrize("name", STATEFUL)
def test_oracles_refuse_damaged_states(name):
    (make, _), rng = parts.ORACLES[name], np.random.default_rng(0)
    # Oracles that read the counts of a belief have one of six arms in the table, and need a sum.
    reward = sa.LinearReward(6)
    oracle, fresh = make(), make()
    for _ in range(4):
        oracle.select(reward, rng.random(6), 2, rng=rng)
    check_refusals(oracle, fresh)
