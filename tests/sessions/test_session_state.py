"""A session that adopts the decisions of another one is the same session, bit for bit."""

import json

import numpy as np
import pytest

import superarm as sa
from superarm.errors import SessionFileError
from superarm.oracles import Scheduled
from superarm.sessions import Expiry

ORACLES = {
    "top k": (sa.TopK, 8),
    "top k of many": (sa.TopK, 3000),
    "singletons": (sa.Singletons, 8),
    "rarely": (lambda: Scheduled(sa.Singletons(), when=3), 8),
    "group testing": (lambda: sa.GroupTesting(delta=0.25, n_tests=10), 8),
}


def make(oracle, n_arms, **more):
    return sa.Session(
        sa.cts(sa.LinearReward(n_arms), 3, oracle=oracle()), seed=3, clock=lambda: 0.0, **more
    )


def play(session, rounds, log):
    """Play, and log every decision and every outcome as plain JSON."""
    for number in rounds:
        n = 1 + number % 2
        feasible = session.feasible(must_not=[number % 5]) if number % 4 == 3 else None
        decisions = session.ask(n, feasible=feasible)
        log.append(("asked", number, decisions, json.dumps(session.mark())))
        for decision in decisions[: 1 + number % 3]:
            outcomes = {arm: ((arm + number) % 3) / 2 for arm in decision.arms}
            session.tell(decision, outcomes)
            log.append(("told", decision.id, outcomes, None))


def follow(session, log):
    for kind, what, details, mark in log:
        if kind == "asked":
            feasible = session.feasible(must_not=[what % 5]) if what % 4 == 3 else None
            session.adopt(details, json.loads(mark), feasible=feasible)
        else:
            session.tell(what, details)


@pytest.mark.parametrize(("oracle", "n_arms"), ORACLES.values(), ids=ORACLES)
def test_one_that_follows_goes_on_like_the_one_that_leads(oracle, n_arms):
    options = {"expiry": Expiry(after_rounds=4, missing=0.25)}
    first, second, log = make(oracle, n_arms, **options), make(oracle, n_arms, **options), []
    play(first, range(12), log)
    follow(second, log)
    assert second.to_bytes() == first.to_bytes()
    play(first, range(12, 20), ahead := [])
    play(second, range(12, 20), again := [])
    assert again == ahead


def test_one_that_follows_evaluates_nothing():
    calls = []

    def value(arms, means):
        calls.append(len(arms))
        return float(means.sum())

    reward = sa.BlackBox(value, n_arms=5, lipschitz=1.0, upper=5.0)
    first, second = (sa.Session(sa.cts(reward, 2), seed=1) for _ in range(2))
    decision = first.ask()
    n_calls = len(calls)
    second.adopt([decision], first.mark())
    assert (len(calls), second.policy.evaluations) == (n_calls, 5)
    assert (second.n_open, second.n_decisions, second.rounds) == (1, 1, 1)


def test_another_decision_than_the_next_is_refused():
    first, second = make(sa.TopK, 8), make(sa.TopK, 8)
    first.ask()
    later = first.ask()
    with pytest.raises(ValueError, match="the next decision must be"):
        second.adopt([later], first.mark())
    assert (second.n_open, second.rounds) == (0, 0)


def test_a_session_as_bytes():
    session = make(sa.TopK, 8, key="shop")
    decision = session.ask()
    assert decision.id == "shop-1"
    loaded = sa.Session.from_bytes(
        session.to_bytes(), sa.cts(sa.LinearReward(8), 3, oracle=sa.TopK())
    )
    assert loaded.to_bytes() == session.to_bytes()
    assert loaded.ask().id == "shop-2"
    with pytest.raises(SessionFileError, match="not a whole session"):
        sa.Session.from_bytes(
            session.to_bytes()[:-1], sa.cts(sa.LinearReward(8), 3, oracle=sa.TopK())
        )


def test_what_is_known_of_a_decision():
    session = make(sa.TopK, 8)
    decision = session.ask()
    assert session.decision(decision.id) == decision
    assert session.status(decision) == "open"
    session.tell(decision, dict.fromkeys(decision.arms, 1.0))
    assert session.status(decision.id) == "told"
    assert 7 in session
    assert "seven" not in session
    session.retire(7)
    assert (session.is_retired(7), session.is_retired(6)) == (True, False)
    with pytest.raises(ValueError, match="must"):
        session.check(session.feasible(must=[7]))


def test_the_level_of_a_belief_is_all_that_a_draw_leaves_behind():
    one, other = sa.BetaBelief(3000), sa.BetaBelief(3000)
    one.sample_top(3, rng=np.random.default_rng(0))
    assert other.level is None
    other.level = one.level
    assert other.state() == one.state()
    draws = [
        belief.sample_top(3, rng=np.random.default_rng(1))[1].tolist() for belief in (one, other)
    ]
    assert draws[0] == draws[1]
    other.level = None
    other.a[0] += 1  # no longer locked
