"""Arguments that are True or False take nothing else: the text "no" would count as True."""

import importlib
import inspect

import numpy as np
import pytest

import superarm as sa
from superarm import client, environments, features, offpolicy, oracles, sets, theory
from superarm.testing import check_oracle

ROOMS = (
    *("advice", "beliefs", "client", "core", "environments", "features", "offpolicy", "oracles"),
    *("policies", "rewards", "sessions", "sets", "simulation", "testing", "theory"),
)
LOG = offpolicy.Log([[0], [1]], [[1.0], [0.0]], np.full((2, 1), 0.5), n_arms=2)
TARGET = np.array([0.5, 0.5])
BOUND = {"n_arms": 9, "k": 2, "horizon": 9, "gap_min": 0.2, "gap_max": 1.0, "lipschitz": 1.0}


def black_box(**flags):
    return sa.BlackBox(lambda arms, means: 0.0, n_arms=2, lipschitz=1.0, upper=1.0, **flags)


def session():
    return sa.Session(sa.cts(sa.LinearReward(3), 1), seed=1)


def read(log):
    with client.Client("http://127.0.0.1:1") as made:
        return next(log(made))


CALLS = {
    ("BlackBox", "monotone"): black_box,
    ("BlackBox", "zero_is_absent"): black_box,
    ("BlackBox", "concave"): black_box,
    ("BlackBox", "diminishing"): black_box,
    ("BlackBox", "noisy"): black_box,
    ("Feasible", "at_most"): lambda **flags: sa.Feasible(1, **flags),
    ("GroupTesting", "quantize"): lambda **flags: sa.GroupTesting(delta=0.1, **flags),
    ("Session.verdict", "dependent"): lambda **flags: session().verdict(**flags),
    ("UCBBelief", "clip"): lambda **flags: sa.UCBBelief(2, **flags),
    ("cucb", "clip"): lambda **flags: sa.cucb(sa.LinearReward(2), 1, **flags),
    ("LearnedBetaBelief", "wide"): lambda **flags: sa.beliefs.LearnedBetaBelief(2, **flags),
    ("Matchings", "full"): lambda **flags: sets.Matchings([0, 1], [0, 1], **flags),
    ("ReplayEnvironment", "repeat"): lambda **flags: environments.ReplayEnvironment(
        [[0.0, 1.0]], **flags
    ),
    ("Encoder", "intercept"): lambda **flags: features.Encoder((), **flags),
    ("Encoder.fit", "intercept"): lambda **flags: features.Encoder.fit({"a": [1, 2]}, **flags),
    ("doubly_robust", "stabilise"): lambda **flags: offpolicy.doubly_robust(LOG, TARGET, **flags),
    ("ips", "stabilise"): lambda **flags: offpolicy.ips(LOG, TARGET, **flags),
    ("snips", "stabilise"): lambda **flags: offpolicy.snips(LOG, TARGET, **flags),
    ("optimal_shares", "in_sets"): lambda **flags: theory.optimal_shares([0.1, 0.2], 1, **flags),
    ("identification_floor", "in_sets"): lambda **flags: theory.identification_floor(
        [0.1, 0.2], 1, **flags
    ),
    ("regret_bound", "log"): lambda **flags: theory.regret_bound(**BOUND, **flags),
    ("Client.log", "follow"): lambda **flags: read(lambda made: made.log("b", **flags)),
    ("Client.verdict", "dependent"): lambda **flags: client.Client().verdict("b", **flags),
    **{
        ("check_oracle", name): lambda **flags: check_oracle(oracles.TopK, **flags)
        for name in ("exact", "draws", "feasible", "scale_free")
    },
}
# What the library makes itself, and the client that shares its checks with the other one.
OTHERS = {
    *("Decision", "Verdict", "GroupSearch", "Inspection", "RoundProgress"),
    *("AsyncClient.log", "AsyncClient.verdict"),
}


def flags():
    """The flags of everything public."""
    for room in ("superarm", *(f"superarm.{room}" for room in ROOMS)):
        module = importlib.import_module(room)
        for name in module.__all__:
            value = getattr(module, name)
            functions = {name: value} if callable(value) else {}
            if inspect.isclass(value):
                members = inspect.getmembers(value, callable)
                functions |= {f"{name}.{at}": one for at, one in members if at[0] != "_"}
            for where, function in functions.items():
                try:
                    parameters = inspect.signature(function).parameters.values()
                except ValueError:  # such as that of an exception
                    continue
                yield from ((where, one.name) for one in parameters if one.annotation == "bool")


def test_every_public_flag_is_tested():
    assert {one for one in flags() if one[0] not in OTHERS} == CALLS.keys()


@pytest.mark.parametrize(("where", "name"), CALLS)
@pytest.mark.parametrize("value", ["no", None])
def test_a_flag_takes_true_or_false(where, name, value):
    with pytest.raises(TypeError, match=f"{name} must be True or False, got {value!r}"):
        CALLS[where, name](**{name: value})
