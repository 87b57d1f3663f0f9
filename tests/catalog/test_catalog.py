"""The table of parts is complete, and its parameters are those that the parts take."""

import inspect

import numpy as np
import pytest

from superarm import beliefs, catalog, environments, oracles, rewards
from superarm.core import Belief, Oracle, Policy, Reward
from superarm.rewards import LinearReward

ROOMS = {
    "BELIEFS": (beliefs, catalog.BELIEFS),
    "ORACLES": (oracles, catalog.ORACLES),
    "REWARDS": (rewards, catalog.REWARDS),
    "ENVIRONMENTS": (environments, catalog.ENVIRONMENTS),
}
PARTS = [
    pytest.param(part, room, id=f"{room} {name}")
    for room, (_, parts) in ROOMS.items()
    for name, part in parts.items()
]
ALL = [
    *(part for _, parts in ROOMS.values() for part in parts.values()),
    *catalog.POLICIES.values(),
]


def public_classes(room, protocol):
    """The parts that a room exports: classes with the protocol's verb."""
    return {
        name
        for name in room.__all__
        if inspect.isclass(found := getattr(room, name)) and hasattr(found, protocol)
    }


@pytest.mark.parametrize(
    ("room", "verb"),
    [("BELIEFS", "sample"), ("ORACLES", "select"), ("REWARDS", "batch"), ("ENVIRONMENTS", "pull")],
)
def test_every_public_part_has_an_entry(room, verb):
    module, parts = ROOMS[room]
    apart = {"BlackBox"}  # made from a function, so it cannot be named
    assert {part.label for part in parts.values()} == public_classes(module, verb) - apart


@pytest.mark.parametrize(("part", "room"), PARTS)
def test_parameters_are_those_of_the_factory_with_its_defaults(part, room):
    signature = inspect.signature(part.factory).parameters
    for parameter in part.parameters:
        taken = signature[parameter.name]
        if parameter.required:
            assert taken.default is inspect.Parameter.empty
        elif parameter.name != "limit":  # the service compares fewer sets than the library
            assert taken.default == parameter.default


@pytest.mark.parametrize("part", [p for p in catalog.BELIEFS.values() if p.over_http])
def test_beliefs_are_made_from_a_number_of_arms(part):
    # Features stand in the place of the number of arms; weights of places have no default.
    needed = {one.name for one in part.parameters if one.required} - {"features"}
    assert needed <= {"weights"}
    assert isinstance(part.make(4, **{name: [1.0, 0.5] for name in needed}), Belief)


def test_oracles_are_made_from_their_required_parameters():
    values = {"oracle": oracles.Singletons(), "when": 3, "delta": 0.25, "n_explore": 2}
    values["horizon"] = 9
    for part in catalog.ORACLES.values():
        # Some need the belief that they read besides.
        reads = "belief" in inspect.signature(part.factory).parameters
        needed = {p.name: values[p.name] for p in part.parameters if p.required}
        assert isinstance(part.make(*[beliefs.MeanBelief(3)] * reads, **needed), Oracle)
        assert not (reads and part.over_http)


def test_rewards_are_made_from_a_number_of_arms_and_their_required_parameters():
    values = {"reach": np.full((3, 2), 0.5), "W1": np.ones((2, 3)), "w2": np.ones(2)}
    for part in catalog.REWARDS.values():
        needed = {p.name: values[p.name] for p in part.parameters if p.required}
        assert isinstance(part.make(3, **needed), Reward)


def test_policies_are_made_for_a_task():
    task = catalog.Task(LinearReward(12), 3, horizon=50, delta=0.25, n_tests=10)
    for part in catalog.POLICIES.values():
        policy = part.make(task)
        assert isinstance(policy, Policy)
        assert len(policy.ask(rng=np.random.default_rng(0))) == 3


def test_a_task_may_name_the_oracle():
    task = catalog.Task(LinearReward(6), 2, horizon=9, delta=0.2, oracle=oracles.Singletons)
    assert isinstance(catalog.POLICIES["cts"].make(task).oracle, oracles.Singletons)


@pytest.mark.parametrize("entry", ALL, ids=lambda entry: entry.name)
def test_every_entry_has_one_plain_sentence(entry):
    assert entry.sentence.endswith(".")
    assert len(entry.sentence) <= 100
    assert entry.sentence[0].isupper()


def test_no_two_policies_share_a_label_or_a_line():
    entries = catalog.POLICIES.values()
    assert len({entry.label for entry in entries}) == len(entries)
    for name, entry in catalog.POLICIES.items():
        assert entry.name == name


@pytest.mark.parametrize(("n_arms", "k"), [(1, 1), (3, 3)])
@pytest.mark.parametrize("name", catalog.POLICIES)
def test_every_policy_can_pick_all_arms(name, n_arms, k):
    task = catalog.Task(LinearReward(n_arms), k, horizon=10, delta=0.5)
    policy, rng = catalog.POLICIES[name].make(task), np.random.default_rng(0)
    for _ in range(3):
        arms = policy.ask(rng=rng)
        assert arms.tolist() == list(range(n_arms))
        policy.tell(arms, np.ones(n_arms), rng=rng)
