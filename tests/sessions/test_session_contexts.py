"""Contexts in sessions: kept with the decision and in the file, so that feedback needs none."""

import numpy as np
import pytest

import superarm as sa
from superarm.beliefs import LinearBelief

NAMES = ["ant", "bee", "cat", "dog", "elk"]


def make(n_arms=5, structure=None):
    belief = LinearBelief(n_arms, context=2, structure=structure)
    return sa.Policy(belief, sa.TopK(), sa.LinearReward(n_arms), 2)


def play(session, n_rounds, seed=0):
    """Rounds whose feedback comes three rounds late."""
    rng, waiting = np.random.default_rng(seed), []
    for _ in range(n_rounds):
        waiting.append(session.ask(context=rng.normal(size=2)))
        if len(waiting) > 3:
            decision = waiting.pop(0)
            session.tell(decision.id, dict.fromkeys(decision.arms, float(rng.random() < 0.5)))
    return waiting


def test_late_feedback_uses_the_context_of_its_decision():
    session, policy, rng = sa.Session(make(), NAMES, seed=1), make(), np.random.default_rng(0)
    decisions = [session.ask(context=rng.normal(size=2)) for _ in range(30)]
    for decision in reversed(decisions):
        session.tell(decision.id, {decision.arms[0]: 1.0, decision.arms[1]: 0.25})
        arms = [NAMES.index(name) for name in decision.arms]
        policy.tell(arms, [1.0, 0.25], rng=rng, context=decision.context)
    assert session.policy.belief.state() == policy.belief.state()


def test_a_saved_session_continues_with_its_contexts():
    session = sa.Session(make(), NAMES, seed=1)
    waiting = play(session, 25)
    other = sa.Session.from_bytes(session.to_bytes(), make())
    assert [record.context for record in other.open] == [one.context for one in waiting]
    for one in (session, other):
        for decision in waiting:
            one.tell(decision.id, dict.fromkeys(decision.arms, 1.0))
    last = [one.ask(context=[0.5, -1.0]) for one in (session, other)]
    assert last[0].arms == last[1].arms
    assert last[0].values == last[1].values
    assert session.policy.belief.state() == other.policy.belief.state()


def test_decisions_as_plain_json():
    session = sa.Session(make(structure="shared"), NAMES, seed=1)
    rows = np.arange(10.0).reshape(5, 2)
    for decision in (session.ask(context=rows), session.ask(context=[1, 2])):
        again = sa.sessions.Decision.from_dict(decision.as_dict())
        assert again == decision
        assert hash(again) == hash(decision)
    assert decision.context == (1.0, 2.0)
    plain = sa.Session(sa.cts(sa.LinearReward(4), 2), seed=1).ask()
    assert plain.context is None
    assert "context" not in plain.as_dict()


def test_arms_that_came_later_do_not_spoil_feedback():
    session = sa.Session(make(structure="shared"), NAMES, seed=1, rewards=sa.LinearReward)
    decision = session.ask(context=np.ones((5, 2)))
    session.add_arms(["fox"])
    session.tell(decision.id, dict.fromkeys(decision.arms, 1.0))
    assert session.open == []


def test_missing_outcomes_are_learnt_with_their_context():
    expiry = sa.sessions.Expiry(after_rounds=1, missing=0.0)
    session, belief = sa.Session(make(), NAMES, seed=1, expiry=expiry), make().belief
    first = session.ask(context=[3.0, 1.0])
    session.ask(context=[0.0, 0.0])
    session.ask(context=[0.0, 0.0])
    arms = [NAMES.index(name) for name in first.arms]
    belief.at([3.0, 1.0]).update(arms, [0.0, 0.0], rng=None)
    found = session.policy.belief._model.grams[arms[0]]
    assert found[0, 1] >= belief._model.grams[arms[0]][0, 1] > 0


def test_explanations_and_propensities_are_those_of_the_context():
    session = sa.Session(make(), NAMES, seed=1)
    for _ in range(40):  # with the first number, the first two arms are good; without, the others
        for context in ([1.0, 0.0], [-1.0, 0.0]):
            decision = session.ask(context=context)
            good = NAMES[:2] if context[0] > 0 else NAMES[2:]
            session.tell(decision.id, {name: float(name in good) for name in decision.arms})
    decision = session.ask(context=[1.0, 0.0], propensities=200)
    assert set(decision.arms) == set(NAMES[:2])
    assert min(decision.propensities) > 0.8
    for reason in session.explain(decision.id).reasons:
        assert reason.mean > 0.7


def test_contexts_that_do_not_fit_are_refused_and_change_nothing():
    session = sa.Session(make(), NAMES, seed=1)
    before = session.to_bytes()
    for context in (None, [1.0], [np.nan, 1.0], np.ones((4, 2))):
        with pytest.raises(ValueError, match="context"):
            session.ask(context=context)
    assert session.to_bytes() == before
    with pytest.raises(TypeError, match="a context needs a belief"):
        sa.Session(sa.cts(sa.LinearReward(4), 2), seed=1).ask(context=[1.0])
