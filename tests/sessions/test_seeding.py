"""Seeds, forks and the random streams of a session."""

import pytest

import superarm as sa
from superarm.errors import UnknownDecisionError


def make(oracle=None, n_arms=6, k=2):
    return sa.cts(sa.LinearReward(n_arms), k, oracle=oracle)


def test_forks_know_the_same_and_draw_their_own():
    session = sa.Session(make(sa.LazySingletons(), 50), seed=4)
    for _ in range(10):
        decision = session.ask()
        session.tell(decision, dict.fromkeys(decision.arms, 1.0))
    plain = sa.Session(make(sa.LazySingletons(), 50), seed=4)
    for _ in range(10):
        decision = plain.ask()
        plain.tell(decision, dict.fromkeys(decision.arms, 1.0))
    forks = [session.fork("2"), session.fork(), session.fork("blue"), session.fork().fork()]
    for fork in forks:
        assert fork.policy.belief.state() == session.policy.belief.state()
        assert fork.open == []
    decisions = [fork.ask() for fork in forks for _ in range(30)] + [
        session.ask() for _ in range(30)
    ]
    assert len({decision.id for decision in decisions}) == len(decisions)
    sampled = {tuple(decision.values) for decision in decisions}
    assert len(sampled) == len(decisions)  # no two streams are the same
    assert [plain.ask().arms for _ in range(30)] == [decision.arms for decision in decisions[-30:]]
    with pytest.raises(UnknownDecisionError):
        session.tell(decisions[0], {})


def test_without_a_seed_sessions_differ():
    assert sa.Session(make()).ask().id != sa.Session(make()).ask().id
