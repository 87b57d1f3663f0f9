"""Decisions that are asked for together: as many calls of `Session.ask`, in law and in all else."""

import numpy as np
import pytest

import superarm as sa
from superarm.beliefs import LearnedBetaBelief
from superarm.sessions import Expiry
from superarm.sessions.each import adopt_each, ask_each, asks_each, most_each

N_ARMS = 2100


def session_of(n_arms=N_ARMS, belief=sa.BetaBelief, oracle=sa.TopK, **options):
    policy = sa.Policy(belief(n_arms), oracle(), sa.LinearReward(n_arms), 3)
    return sa.Session(policy, seed=1, **{"clock": lambda: 0.0, **options})


def test_each_has_a_round_and_an_id():
    session = session_of()
    one, (many, _), other = session.ask(), ask_each(session, 20), session.ask()
    assert [each.number for each in (one, *many, other)] == list(range(1, 23))
    assert [each.round for each in (one, *many, other)] == list(range(1, 23))
    assert session.open == [one, *many, other]
    for each in many:
        assert list(each.values) == sorted(each.values, reverse=True)
        assert (each.certified, each.ranked, len(set(each.arms))) == (True, True, 3)
    assert session.tell(many[3], dict.fromkeys(many[3].arms, 1.0)) == many[3].arms


@pytest.mark.parametrize(("belief", "n"), [(sa.BetaBelief, 9), (LearnedBetaBelief, 3)])
def test_few_arms_get_the_decisions_of_ask(belief, n):
    """`LearnedBetaBelief` draws four samples or more at once."""
    together, alone = (session_of(40, belief) for _ in range(2))
    assert ask_each(together, n)[0] == [alone.ask() for _ in range(n)]
    assert ask_each(together, 1)[0] == [alone.ask()]


def test_many_places_get_the_decisions_of_ask():
    """The belief draws a whole sample for them."""
    together, alone = (
        sa.Session(sa.Policy(LearnedBetaBelief(700), sa.TopK(), sa.LinearReward(700), 500), seed=1)
        for _ in range(2)
    )
    assert [each.arms for each in ask_each(together, 3)[0]] == [alone.ask().arms for _ in range(3)]
    assert ask_each(together, 1)[0][0].arms == alone.ask().arms


@pytest.mark.parametrize("n_arms", [40, N_ARMS])
def test_the_last_ones_are_explained(n_arms):
    session = session_of(n_arms, explain_last=2)
    session.ask()
    *rest, before, last = ask_each(session, 8)[0]
    for decision in (before, last):
        found = session.explain(decision)
        assert found.score_is == "sampled value"
        assert [reason.arm for reason in found.reasons] == list(decision.arms)
        assert [reason.value for reason in found.reasons] == list(decision.values)
        assert [reason.mean for reason in found.reasons] == [0.5] * 3
        assert str(found)
    with pytest.raises(sa.errors.UnknownDecisionError):
        session.explain(rest[-1])


@pytest.mark.parametrize("belief", [sa.BetaBelief, LearnedBetaBelief])
def test_a_session_that_adopts_them_goes_on_in_the_same_way(belief):
    first, second = (session_of(belief=belief) for _ in range(2))
    rng = np.random.default_rng(0)
    for n in (5, 1, 30):
        made, mark = ask_each(first, n)
        assert mark == first.mark()
        adopt_each(second, made, mark)
        for one in made:
            told = {arm: float(rng.random() < 0.3) for arm in one.arms}
            first.tell(one, told), second.tell(one, told)
    assert second.mark() == first.mark()
    assert second.policy.belief.state() == first.policy.belief.state()
    assert ask_each(second, 10) == ask_each(first, 10)
    assert second.ask() == first.ask()
    with pytest.raises(ValueError, match="the next decision must be"):
        adopt_each(second, made, first.mark())


def test_no_decision_expires_between_them():
    session = session_of(expiry=Expiry(after_rounds=10))
    assert most_each(session) == 10
    first, _ = ask_each(session, 4)
    assert most_each(session) == 10 - 3
    ask_each(session, 7)
    # The first decision is due now.
    assert most_each(session) == 0
    assert session.expire() == first[:1]
    assert most_each(session) == 1
    session.tell(first[1], dict.fromkeys(first[1].arms, 0.0))
    assert most_each(session) == 2


def test_where_they_are_decided_one_by_one():
    retired = session_of()
    retired.retire(4)
    slow = session_of(1 << 20)
    others = [retired, slow, session_of(40, oracle=sa.Singletons), session_of(40, holdout=0.5)]
    assert [asks_each(session) for session in others] == [False, True, False, False]
    assert most_each(slow) == 1
