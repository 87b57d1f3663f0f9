"""Sessions: decisions, feedback, and refusals that change nothing."""

import threading

import numpy as np
import pytest

import superarm as sa
from superarm.errors import UnknownDecisionError
from superarm.oracles import RandomSets, Scheduled
from superarm.sessions import Expiry
from superarm.sessions.state import session_state

NAMES = ["ant", "bee", "cat", "dog", "eel", "fox"]


def make(oracle=None, n_arms=6, k=2):
    return sa.cts(sa.LinearReward(n_arms), k, oracle=oracle)


@pytest.mark.parametrize(
    "oracle", [sa.TopK, sa.Singletons, RandomSets, lambda: sa.GroupTesting(delta=0.25)]
)
@pytest.mark.parametrize("n_arms", [6, 3000])
def test_a_session_decides_what_its_policy_would(oracle, n_arms):
    session, policy, rng = (
        sa.Session(make(oracle(), n_arms), seed=5),
        make(oracle(), n_arms),
        np.random.default_rng(5),
    )
    for t in range(20):
        decision, arms = session.ask(), policy.ask(rng=rng)
        assert sorted(decision.arms) == arms.tolist()
        outcomes = (arms + t) % 3 / 2
        session.tell(decision.id, dict(zip(arms.tolist(), outcomes, strict=True)))
        policy.tell(arms, outcomes, rng=rng)
    assert session.policy.belief.state() == policy.belief.state()
    assert session.policy.evaluations == policy.evaluations


def test_sampled_values_are_those_the_oracle_saw():
    session = sa.Session(make(sa.Singletons()), NAMES, seed=0)
    decision = session.ask()
    numbers = [NAMES.index(name) for name in decision.arms]
    assert decision.values == tuple(session.policy.oracle.report.values[numbers])
    few = sa.Session(make(sa.TopK(), 5000), seed=0)
    few.ask()
    decision = few.ask()  # by now the others are not drawn
    assert decision.values == tuple(few.policy.oracle.report.values)


class NeverLooks:
    report = None

    def select(self, reward, theta, k, *, rng):
        return np.arange(k.n_most)


def test_an_oracle_that_never_looks_causes_no_draw():
    session = sa.Session(make(NeverLooks()), NAMES, seed=0)
    before = session._unlocked.rng.bit_generator.state
    assert session.ask().values is None
    assert session._unlocked.rng.bit_generator.state == before
    assert session.explain(session.ask()).score_is is None


def test_certified_means_in_this_round():
    session = sa.Session(make(Scheduled(sa.Singletons(), when=3)), seed=0)
    assert [session.ask().certified for _ in range(6)] == [True, False, False, True, False, False]
    assert not sa.Session(make(RandomSets()), seed=0).ask().certified


def test_feedback_of_a_batch_in_any_order_and_in_parts():
    session = sa.Session(make(), NAMES, seed=1)
    one, two, three = session.ask(3)
    assert len({one.id, two.id, three.id}) == 3
    assert one.round == two.round == three.round == 1
    assert session.tell(three, {three.arms[1]: 1}) == (three.arms[1],)
    assert session.tell(one, {one.arms[1]: True, one.arms[0]: np.float64(0)}) == one.arms
    assert session.tell(one, {one.arms[0]: 0.0}) == ()
    assert session.tell(two, {}) == ()
    assert [decision.id for decision in session.open] == [two.id, three.id]
    assert session.outcomes(three) == {three.arms[1]: 1.0}


@pytest.mark.parametrize(
    ("bad", "kind", "says"),
    [
        (
            lambda s, d: s.tell("no-1", {}),
            UnknownDecisionError,
            "must be that of a decision of this session",
        ),
        (lambda s, d: s.tell(None, {}), UnknownDecisionError, "got None"),
        (lambda s, d: s.tell(d, [1.0, 0.0]), TypeError, "mapping from arms to outcomes"),
        (lambda s, d: s.tell(d, {"gnu": 1.0}), ValueError, "outcomes must be of the arms"),
        (
            lambda s, d: s.tell(d, {d.arms[0]: 1.0, d.arms[1]: 2.0}),
            ValueError,
            r"must be in \[0, 1\], got 2.0",
        ),
        (lambda s, d: s.tell(d, {d.arms[0]: "1"}), TypeError, "must be a number"),
        (lambda s, d: s.tell(d, {d.arms[0]: None}), TypeError, "must be a number"),
        (lambda s, d: s.ask(0), ValueError, "n must be at least 1"),
        (lambda s, d: s.ask(1.5), TypeError, "whole number"),
        (lambda s, d: s.retire("gnu"), ValueError, "must be of the session's arms"),
        (lambda s, d: s.retire(*NAMES[:5]), ValueError, "2 arms"),
        (lambda s, d: s.add_arms("gnu"), TypeError, r"write \['gnu'\]"),
        (lambda s, d: s.add_arms(["ant"]), ValueError, "restore brings a retired arm back"),
        (lambda s, d: s.add_arms(["gnu", "gnu"]), ValueError, "distinct"),
        (lambda s, d: s.add_arms(["gnu"]), ValueError, "reward must be given, that of 7 arms"),
        (
            lambda s, d: s.add_arms(["gnu"], reward=sa.LinearReward(8)),
            ValueError,
            "of 7 arms, got one of 8",
        ),
        (
            lambda s, d: s.add_arms(["gnu"], reward=sa.LinearReward(7), prior=(0, 1)),
            ValueError,
            "prior a",
        ),
        (lambda s, d: s.fork("a b"), ValueError, "letters, digits"),
        (lambda s, d: s.explain("no-1"), UnknownDecisionError, "got 'no-1'"),
    ],
)
def test_bad_input_is_refused_and_changes_nothing(bad, kind, says):
    session = sa.Session(make(), NAMES, seed=1)
    decision = session.ask()
    before = session_state(session._unlocked)
    with pytest.raises(kind, match=says):
        bad(session, decision)
    assert session_state(session._unlocked) == before


@pytest.mark.parametrize(
    "bad",
    [
        lambda: sa.Session("policy"),
        lambda: sa.Session(make(), NAMES[:5]),
        lambda: sa.Session(make(), ["a"] * 6),
        lambda: sa.Session(make(), [1.5] * 6),
        lambda: sa.Session(make(), [0, 1, 2, 3, 4, True]),
        lambda: sa.Session(make(), seed=-1),
        lambda: sa.Session(make(), keep=-1),
        lambda: Expiry(after_s=0),
        lambda: Expiry(after_rounds=0),
        lambda: Expiry(late="accept"),
        lambda: Expiry(missing=2),
    ],
)
def test_bad_settings_are_refused(bad):
    with pytest.raises((ValueError, TypeError)):
        bad()


def test_a_reward_that_fails_gives_out_no_decision():
    answers = iter([1.0] * 6 * 2)
    box = sa.BlackBox(lambda arms, means: next(answers), n_arms=6, lipschitz=1, upper=6)
    session = sa.Session(sa.cts(box, 2), seed=0)
    with pytest.raises(ValueError, match="too short"):
        session.ask(3)
    assert session.open == []
    assert session.rounds == 0


def test_threads_take_turns():
    session = sa.Session(make(n_arms=30), seed=0, keep=10_000)

    def work():
        for _ in range(50):
            decision = session.ask()
            session.tell(decision, dict.fromkeys(decision.arms, 1.0))

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert session.rounds == 200
    assert session.open == []
    assert session.policy.belief.a.sum() == 30 + 400


def test_a_decision_of_no_arms_is_told_at_once():
    session = sa.Session(sa.cts(sa.LinearReward(3), k=2), list("abc"), seed=1)
    nothing = session.feasible(at_most=True, weights=dict.fromkeys("abc", 2.0), budget=1.0)
    decision = session.ask(feasible=nothing)
    assert (decision.arms, session.status(decision), session.n_open) == ((), "told", 0)
    assert session.tell(decision, {}) == ()
    other = sa.Session(sa.cts(sa.LinearReward(3), k=2), list("abc"), seed=1)
    other.adopt([decision], session.mark(), feasible=nothing)
    assert other.status(decision) == "told"


@pytest.mark.parametrize("outcome", [10**400, -(10**400)])
def test_an_outcome_beyond_the_floats_is_refused_like_any_other(outcome):
    session = sa.Session(make(), NAMES, seed=0)
    decision = session.ask()
    before = session.to_bytes()
    with pytest.raises(ValueError, match=r"must be in \[0, 1\]"):
        session.tell(decision, {decision.arms[0]: outcome})
    assert session.to_bytes() == before
