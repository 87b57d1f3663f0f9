"""Decisions as plain data, their numbers, and when they expire."""

import json
from dataclasses import replace

import numpy as np
import pytest

import superarm as sa
from superarm.sessions import Decision, Expiry, decision_number
from superarm.sessions.ledger import Ledger, Record

PLAIN = Decision("shop.left-12", ("ant", 3), (0.1, 0.7), True, round=5, time=2.5)
SAMPLED = replace(PLAIN, propensities=(0.5, 0.25), set_propensity=0.2, n_samples=20)
UNSEEN = replace(PLAIN, values=None, certified=False)
UNRANKED = replace(PLAIN, ranked=False)


@pytest.mark.parametrize("decision", [PLAIN, SAMPLED, UNSEEN, UNRANKED])
def test_plain_data_and_back(decision):
    plain = json.loads(json.dumps(decision.as_dict()))
    assert Decision.from_dict(plain) == decision
    assert Decision.from_dict({**plain, "status": "open"}) == decision
    names = ["ant", "bee", "cat", 3]
    record = Record(decision, np.array([0, 3]), {3: 0.5}, "expired")
    again = Record.from_state(json.loads(json.dumps(record.state())), names)
    assert (again.decision, again.outcomes, again.status) == (decision, {3: 0.5}, "expired")
    assert again.arms.tolist() == [0, 3]


def test_the_order_of_the_members_is_that_of_logs_and_files():
    """Digests of logs depend on it."""
    members = ["id", "arms", "values", "certified", "round", "time"]
    sampled = ["propensities", "set_propensity", "n_samples"]
    assert list(PLAIN.as_dict()) == [*members, "ranked"]
    assert list(UNRANKED.as_dict()) == members
    assert list(SAMPLED.as_dict()) == [*members, *sampled, "ranked"]
    state = Record(SAMPLED, np.array([0, 3])).state()
    assert list(state) == [*members, "ranked", "outcomes", "status", "propensities"]
    assert state["propensities"] == [[0.5, 0.25], 0.2, 20]


def test_numbers():
    assert (PLAIN.number, decision_number("a-b-7")) == (12, 7)


def test_expiry_is_looked_for_once_per_time_and_round(monkeypatch):
    """`expire` followed by `ask`, as the service does it."""
    now, looked = [0.0], []
    due = Ledger.due

    def counted(self, expiry, *, now, rounds):
        looked.append((now, rounds))
        return due(self, expiry, now=now, rounds=rounds)

    monkeypatch.setattr(Ledger, "due", counted)
    policy = sa.cts(sa.LinearReward(4), 2)
    session = sa.Session(policy, seed=0, expiry=Expiry(after_s=5), clock=lambda: now[0])
    first = session.ask()
    now[0] = 6.0
    assert session.expire() == [first]
    session.ask()
    assert looked == [(0.0, 0), (6.0, 1)]
    now[0] = 11.0
    session.ask()
    assert session.n_open == 1
    assert looked == [(0.0, 0), (6.0, 1), (11.0, 2)]
