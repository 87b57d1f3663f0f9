"""Contexts: a policy looks at the belief of the round, and nothing else changes."""

import numpy as np
import pytest

import superarm as sa
from superarm.core.arguments import as_context
from superarm.core.policy import belief_at
from superarm.testing import check_belief


class OfTwoKinds:
    """A contextual belief: one Beta belief for contexts below 0.5, another for those above."""

    def __init__(self, n_arms):
        self.n_arms, self.parts = n_arms, [sa.BetaBelief(n_arms), sa.BetaBelief(n_arms)]

    def at(self, context):
        if context is None:
            raise ValueError("this belief needs a context of 1 number, got none")
        given = as_context(context, self.n_arms)
        if given.shape != (1,):
            raise ValueError(f"this belief needs a context of 1 number, got shape {given.shape}")
        return self.parts[int(given[0] > 0.5)]

    def sample(self, *, rng):
        return self.at(None)

    def update(self, arms, outcomes, *, rng):
        self.at(None)

    def state(self):
        return {"n_arms": self.n_arms, "parts": [part.state() for part in self.parts]}

    def load(self, state):
        if state.get("n_arms") != self.n_arms:
            raise ValueError("state of another number of arms")
        for part, one in zip(self.parts, state["parts"], strict=True):
            part.load(one)


class TwoSeasons:
    """The good arms of even rounds are the bad arms of odd rounds."""

    def __init__(self, n_arms):
        self.n_arms, self.t = n_arms, -1

    @property
    def mu(self):
        good = np.arange(self.n_arms) % 2 == self.t % 2
        return np.where(good, 0.9, 0.1)

    def context(self, *, rng):
        self.t += 1
        return np.array([float(self.t % 2)])

    def pull(self, arms, *, rng):
        return (rng.random(len(arms)) < self.mu[arms]).astype(float)


def test_the_contract_holds_in_a_context():
    check_belief(OfTwoKinds, context=lambda n_arms: [1.0])


@pytest.mark.parametrize("order", ["ascending", "best first"])
def test_simulate_passes_contexts_to_the_policy(order):
    rng, reward = np.random.default_rng(0), sa.LinearReward(10)
    policy = sa.Policy(OfTwoKinds(10), sa.TopK(), reward, 5)
    trace = sa.simulate(policy, TwoSeasons(10), horizon=400, rng=rng, order=order)
    # Each of the two parts sees 200 rounds of an easy problem; without contexts a set has 2.5.
    assert trace.values[-100:].mean() > 4.2
    assert trace.values[0] < 4.2


def test_ask_decide_and_tell_use_the_belief_of_the_round():
    policy = sa.Policy(OfTwoKinds(4), sa.TopK(), sa.LinearReward(4), 2)
    twin = sa.Policy(sa.BetaBelief(4), sa.TopK(), sa.LinearReward(4), 2)
    one, other = np.random.default_rng(1), np.random.default_rng(1)
    for _ in range(20):
        arms = policy.ask(rng=one, context=[1.0])
        np.testing.assert_array_equal(arms, twin.ask(rng=other))
        policy.tell(arms, [1.0, 0.0], rng=one, context=[1.0])
        twin.tell(arms, [1.0, 0.0], rng=other)
    np.testing.assert_array_equal(policy.belief.at([1.0]).a, twin.belief.a)
    np.testing.assert_array_equal(policy.belief.at([0.0]).a, np.ones(4))


def test_a_context_without_a_contextual_belief_is_refused():
    policy, rng = sa.cts(sa.LinearReward(4), 2), np.random.default_rng(0)
    with pytest.raises(TypeError, match=r"a context needs a belief with at\(context\)"):
        policy.ask(rng=rng, context=[1.0])
    with pytest.raises(TypeError, match="got a BetaBelief"):
        policy.tell([0], [1.0], rng=rng, context=[1.0])


def test_a_belief_that_needs_a_context_says_so():
    policy, rng = sa.Policy(OfTwoKinds(4), sa.TopK(), sa.LinearReward(4), 2), None
    with pytest.raises(ValueError, match="needs a context"):
        policy.ask(rng=rng)
    with pytest.raises(ValueError, match="needs a context"):
        policy.tell([0], [1.0], rng=rng)


def test_belief_at_without_contexts_is_the_belief():
    belief = sa.BetaBelief(3)
    assert belief_at(belief, None) is belief


@pytest.mark.parametrize(
    ("context", "message"),
    [
        (1.0, "got 0 dimensions"),
        ([[1.0], [2.0]], "one row for each of 3 arms, got 2"),
        ([np.nan], "must be finite"),
        (["a"], "must be real numbers"),
        ([], "non-empty"),
    ],
)
def test_contexts_are_checked(context, message):
    with pytest.raises((ValueError, TypeError), match=message):
        as_context(context, 3)
