"""Verdicts of beliefs with a given prior, which count coins: the paper's policy among them."""

import numpy as np
import pytest

import superarm as sa
from superarm.policies import single_seed_ts
from superarm.theory import best_k

NAMES = ["a", "b", "c", "d"]
MEANS = dict(zip(NAMES, (0.9, 0.8, 0.2, 0.1), strict=True))
PER_ARM = (np.array([0.1, 0.2, 3.3, 1.0]), np.array([1.7, 0.3, 0.1, 2.0]))
POLICIES = {
    "cts": lambda: sa.cts(sa.LinearReward(4), 2),
    "flat": lambda: sa.thompson(sa.LinearReward(4), 2, prior="flat"),
    "pair": lambda: sa.thompson(sa.LinearReward(4), 2, prior=(0.3, 4.1)),
    "single seed": lambda: single_seed_ts(sa.LinearReward(4), 2),
    "per arm": lambda: sa.Policy(sa.BetaBelief(4, PER_ARM), sa.TopK(), sa.LinearReward(4), 2),
}


def told(policy, n_rounds=150):
    """A session, and the outcomes of its arms by number: counts and sums."""
    session, rng = sa.Session(policy, NAMES, seed=1), np.random.default_rng(2)
    seen = np.zeros((2, 4))
    for number in range(n_rounds):
        # Each arm in turn is required, so that every arm is known.
        decision = session.ask(feasible=session.feasible(must=[NAMES[number % 4]]))
        outcomes = {arm: float(rng.random() < MEANS[arm]) for arm in decision.arms}
        session.tell(decision, outcomes)
        for arm, outcome in outcomes.items():
            seen[:, NAMES.index(arm)] += 1, outcome
    return session, seen


@pytest.mark.parametrize("name", POLICIES)
def test_the_prior_is_no_evidence(name):
    session, (counts, sums) = told(POLICIES[name]())
    found = session.verdict()
    assert (set(found.arms), found.done) == ({"a", "b"}, True)
    assert found.error == pytest.approx(best_k(counts, sums, 2)[2], rel=1e-9)
    assert found.probability > 0.99
    again = sa.Session.from_bytes(session.to_bytes(), POLICIES[name]())
    assert again.verdict() == found


def test_a_prior_that_is_sure_proves_nothing():
    """The posterior is sure, and no outcome has been seen."""
    prior = (np.array([900.0, 900.0, 1.0, 1.0]), np.array([1.0, 1.0, 900.0, 900.0]))
    belief = sa.BetaBelief(4, prior)
    found = sa.Session(sa.Policy(belief, sa.TopK(), sa.LinearReward(4), 2), NAMES).verdict()
    assert (found.done, found.error, found.probability) == (False, 1.0, 1.0)


def test_coins_of_arms_that_are_added():
    rng = np.random.default_rng(0)
    belief = sa.BetaBelief(2, (0.1, 0.2))
    belief.update([0, 1], [1.0, 0.0], rng=rng)
    belief.add_arms(1, prior=(5.5, np.array([0.3])))
    belief.add_arms(1)
    belief.update([2, 3], [0.0, 1.0], rng=rng)
    assert np.array_equal(belief.coins(), [[1, 1, 1, 1], [1, 0, 0, 1]])
    again = sa.BetaBelief(4)
    again.load(belief.state())
    assert np.array_equal(again.coins(), belief.coins())


def test_posteriors_that_do_not_tell_their_coins_are_refused():
    session, _ = told(POLICIES["cts"](), n_rounds=5)
    belief = session.policy.belief
    state = {name: value for name, value in belief.state().items() if name != "prior"}
    belief.a = belief.a + 0.5
    with pytest.raises(ValueError, match="changed by hand"):
        session.verdict()
    belief.load(state)  # as it was saved before priors were kept
    with pytest.raises(ValueError, match="did not keep the prior"):
        session.verdict()


def test_outcomes_that_depend_on_each_other_name_the_same_arms():
    """Each of their outcomes counts as a half, and an arm with one outcome has its mean as well."""
    policy = sa.thompson(sa.LinearReward(3), 1)
    rng = np.random.default_rng(0)
    for arm, outcome in ((0, 1.0), (1, 0.8), (1, 0.8), (2, 0.0)):
        policy.tell([arm], [outcome], rng=rng)
    session = sa.Session(policy, ["once", "twice", "never"], seed=0)
    assert session.verdict().arms == session.verdict(dependent=True).arms == ("once",)
