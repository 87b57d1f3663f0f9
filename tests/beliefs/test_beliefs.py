"""What holds for every belief."""

import json
from itertools import groupby

import numpy as np
import pytest
from hypothesis import given, note
from hypothesis import strategies as st

import superarm as sa
from parts import BELIEFS
from superarm.beliefs import Exp3Belief, MeanBelief, SingleSeedBelief

ARRAYS = ("a", "counts", "log_weights")  # most states have one of them

# Names of beliefs by class.
BY_CLASS = sorted(BELIEFS, key=lambda name: type(BELIEFS[name](6)).__name__)
VARIANTS = {
    kind: list(names) for kind, names in groupby(BY_CLASS, lambda name: type(BELIEFS[name](6)))
}

FEEDBACK = st.lists(
    st.dictionaries(st.integers(0, 5), st.floats(0, 1), max_size=6),
    max_size=8,
)


@given(rounds=FEEDBACK, seed=st.integers(0, 2**32))
def test_the_state_restores_exactly_at_any_moment(rounds, seed):
    """Saving and loading after every round changes no bit of the samples.

    Every class of beliefs gets every example, and its variants take turns.
    """
    for names in VARIANTS.values():
        name = names[seed % len(names)]
        note(name)
        restores_exactly(name, rounds, seed)


def restores_exactly(name, rounds, seed):
    plain, saved = BELIEFS[name](6), BELIEFS[name](6)
    rngs = [np.random.default_rng(seed), np.random.default_rng(seed)]
    for feedback in rounds:
        for belief, rng in zip((plain, saved), rngs, strict=True):
            belief.update(list(feedback), list(feedback.values()), rng=rng)
        text = json.dumps(saved.state())
        saved = BELIEFS[name](6)
        saved.load(json.loads(text))
        assert plain.sample(rng=rngs[0]).tolist() == saved.sample(rng=rngs[1]).tolist()
    assert plain.state() == saved.state()


GOOD = st.floats(0, 1)
BAD = st.one_of(
    st.just(float("nan")),
    st.floats(max_value=-1e-9, allow_nan=False),
    st.floats(min_value=1 + 1e-9, allow_nan=False),
)
# Arms and outcomes of which one thing is wrong, for a belief about four arms.
BAD_FEEDBACK = st.one_of(
    st.tuples(st.just([0, 1]), st.tuples(GOOD, BAD)),
    st.tuples(st.just([2, 2]), st.tuples(GOOD, GOOD)),
    st.tuples(st.tuples(st.just(0), st.integers(4, 2**60)), st.tuples(GOOD, GOOD)),
    st.tuples(st.tuples(st.just(0), st.integers(-(2**60), -1)), st.tuples(GOOD, GOOD)),
    st.tuples(st.just([0, 1]), st.tuples(GOOD)),
    st.tuples(st.just([0.5]), st.tuples(GOOD)),
    st.tuples(st.just([[0]]), st.just([[1.0]])),
    st.tuples(st.just([0]), st.just(["1"])),
)


@given(feedback=BAD_FEEDBACK)
def test_bad_feedback_changes_nothing(feedback):
    """Every belief gets every example."""
    for name in BELIEFS:
        note(name)
        refuses_and_keeps_its_state(name, feedback)


def refuses_and_keeps_its_state(name, feedback):
    belief = BELIEFS[name](4)
    belief.update([1, 3], [0.0, 1.0], rng=np.random.default_rng(0))
    before = belief.state()
    rng = np.random.default_rng(1)
    with pytest.raises((ValueError, TypeError)):
        belief.update(*feedback, rng=rng)
    assert belief.state() == before
    assert rng.bit_generator.state == np.random.default_rng(1).bit_generator.state


def arrays_of(state):
    """Of another belief: all that it has."""
    known = [key for key in ARRAYS if key in state]
    return known or [key for key, value in state.items() if isinstance(value, list)]


@pytest.mark.parametrize("name", BELIEFS)
@pytest.mark.parametrize(
    "spoil",
    [
        lambda state: state.pop("n_arms"),
        lambda state: state.update(belief="Another"),
        lambda state: [state.pop(key) for key in arrays_of(state)],
        lambda state: state.update({key: [1.0] for key in arrays_of(state)}),
        lambda state: state.update(dict.fromkeys(arrays_of(state), [float("nan")] * 4)),
        lambda state: state.update(dict.fromkeys(arrays_of(state), [-1.0] * 4)),
        lambda state: state.update(dict.fromkeys(arrays_of(state), ["x"] * 4)),
    ],
)
def test_a_spoilt_state_is_refused_and_changes_nothing(name, spoil):
    belief = BELIEFS[name](4)
    belief.update([1, 3], [0.0, 1.0], rng=np.random.default_rng(0))
    before, state = belief.state(), BELIEFS[name](4).state()
    spoil(state)
    with pytest.raises((ValueError, TypeError)):
        belief.load(state)
    assert belief.state() == before


def test_states_of_other_beliefs_are_refused_by_name():
    with pytest.raises(ValueError, match="state must be that of a BetaBelief, got 'UCBBelief'"):
        sa.BetaBelief(3).load(sa.UCBBelief(3).state())


def test_a_loaded_belief_does_not_share_memory_with_the_state():
    belief = sa.BetaBelief(2)
    state = belief.state()
    belief.load(state)
    belief.update([0], [1.0], rng=np.random.default_rng(0))
    assert state["a"] == [1.0, 1.0]


@pytest.mark.parametrize(
    "make",
    [MeanBelief, SingleSeedBelief, lambda n: Exp3Belief(n, 2, gamma=0.2)],
    ids=["mean", "single seed", "exp3"],
)
def test_arms_join_later(make):
    belief, rng = make(3), np.random.default_rng(0)
    belief.update([0, 1], [1.0, 0.0], rng=rng)
    belief.add_arms(2)
    assert belief.n_arms == 5
    theta = belief.sample(rng=rng)
    assert theta.shape == (5,)
    assert theta[3] == theta[4] == theta[2]  # as little is known of them
    belief.update([4], [1.0], rng=rng)
    twin = make(5)
    twin.load(belief.state())
    assert twin.state() == belief.state()
    if not isinstance(belief, SingleSeedBelief):
        with pytest.raises(TypeError, match="no prior"):
            belief.add_arms(1, prior=(1.0, 1.0))
