"""Many decisions at a time: as `Session.ask` and `Session.tell`, but drawn at once."""

import numpy as np
import pytest

import superarm as sa
from superarm.beliefs import LearnedBetaBelief
from superarm.errors import ConflictError, UnknownDecisionError
from superarm.sessions import Expiry
from superarm.sessions.bulk import ask_many, tell_many

NAMES = [f"item {number}" for number in range(40)]


def session_of(belief=sa.BetaBelief, **options):
    policy = sa.Policy(belief(40), sa.TopK(), sa.LinearReward(40), 3)
    return sa.Session(policy, NAMES, seed=1, **{"clock": lambda: 0.0, **options})


def told_of(decisions, rng):
    return [(one, {arm: float(rng.random() < 0.3) for arm in one.arms}) for one in decisions]


def play(session, n_calls=3, n=50, **options):
    rng, made = np.random.default_rng(0), []
    for _ in range(n_calls):
        made += ask_many(session, n, **options)
        tell_many(session, told_of(made[-n:], rng))
    return made


@pytest.mark.parametrize("belief", [sa.BetaBelief, LearnedBetaBelief])
def test_decisions_are_those_of_a_session(belief):
    session = session_of(belief)
    made = play(session)
    assert [one.number for one in made] == list(range(1, 151))
    assert len({one.id for one in (*made, session.ask())}) == 151
    assert [one.round for one in made[::50]] == [1, 2, 3]
    for one in made:
        assert len(set(one.arms)) == 3
        assert list(one.values) == sorted(one.values, reverse=True)
        assert (one.certified, one.ranked, one.propensities) == (True, True, None)
    assert len(session.open) == 1
    assert session.status(made[-1]) == "told"


def test_the_same_seed_gives_the_same_and_the_stream_of_ask_is_not_used():
    first, second = session_of(), session_of()
    assert play(first) == play(second)
    untouched = session_of()
    plain = untouched.ask()
    bulk = session_of()
    ask_many(bulk, 20)
    assert bulk.ask().values == plain.values
    # Propensities have a stream of their own.
    third, fourth = session_of(), session_of()
    with_shares = ask_many(third, 5, propensities=10)
    assert [one.arms for one in with_shares] == [one.arms for one in ask_many(fourth, 5)]


@pytest.mark.parametrize("belief", [sa.BetaBelief, LearnedBetaBelief])
def test_telling_many_is_telling_one_by_one(belief):
    bulk, single = session_of(belief), session_of(belief)
    made, rng = play(bulk), np.random.default_rng(0)
    for call in range(3):
        again = ask_many(single, 50)
        if call == 0:
            assert again == made[:50]
        for one, outcomes in told_of(again, rng):
            assert single.tell(one, outcomes) == one.arms
    assert single.policy.belief.state() == bulk.policy.belief.state()
    assert single.decisions == bulk.decisions


def test_partial_and_repeated_outcomes():
    session = session_of()
    first, second, third = ask_many(session, 3)
    part = {first.arms[0]: 1.0}
    assert tell_many(session, [(first, part), (second.id, {})]) == [first.arms[:1], ()]
    whole = {**part, first.arms[1]: 0.0, first.arms[2]: 0.5}
    # The same decision twice in a call.
    found = tell_many(session, [(first, part), (first, whole), (third, {})])
    assert found == [(), first.arms[1:], ()]
    assert session.status(first) == "told"
    before = session.policy.belief.state()
    with pytest.raises(ConflictError):
        tell_many(session, [(second, {second.arms[0]: 1.0}), (first, {first.arms[0]: 0.0})])
    with pytest.raises(UnknownDecisionError):
        tell_many(session, [(second, {second.arms[0]: 1.0}), ("other-1", {})])
    with pytest.raises(ConflictError, match="one outcome per arm"):
        tell_many(session, [(second, {second.arms[0]: outcome}) for outcome in (1.0, 0.0)])
    assert session.policy.belief.state() == before
    assert session.outcomes(second) == {}


def test_late_outcomes_are_ignored_or_refused():
    now = [0.0]
    session = session_of(expiry=Expiry(after_s=10, late="ignore"), clock=lambda: now[0])
    old = ask_many(session, 2)
    now[0] = 11.0
    new = ask_many(session, 1)
    assert session.open == new
    told = [(one, dict.fromkeys(one.arms, 1.0)) for one in (*old, *new)]
    assert tell_many(session, told) == [(), (), new[0].arms]


def test_propensities_are_shares_of_samples():
    """A share of 2,000 samples and the frequency in 2,000 decisions differ by 5 deviations: never.

    For other seeds, one in 1,000 at most for all 40 arms together.
    """
    session = session_of()
    play(session)
    made = ask_many(session, 2000, propensities=2000)
    assert {one.n_samples for one in made} == {2001}
    known = {}
    for one in made:
        known.update(zip(one.arms, one.propensities, strict=True))
        assert 0 < one.set_propensity <= min(one.propensities)
    for arm, share in known.items():
        frequency = np.mean([arm in one.arms for one in made])
        assert abs(frequency - share) <= 5 * (2 * share * (1 - share) / 2000) ** 0.5 + 1 / 2001


@pytest.mark.parametrize(
    ("policy", "options"),
    [
        (lambda: sa.cts(sa.LinearReward(40), 3), {}),  # another oracle
        (lambda: sa.cucb(sa.LinearReward(40), 3, oracle=sa.TopK()), {}),  # another belief
        (lambda: sa.thompson(sa.LinearReward(40), sa.Feasible(3, must=[4])), {}),
        (lambda: sa.thompson(sa.LinearReward(40), 3), {"holdout": 0.5}),
    ],
)
def test_all_other_sessions_ask_one_by_one(policy, options):
    options["clock"] = lambda: 0.0
    bulk, single = (sa.Session(policy(), NAMES, seed=3, **options) for _ in range(2))
    made = ask_many(bulk, 20, propensities=4)
    assert made == single.ask(20, propensities=4)
    rng = np.random.default_rng(0)
    tell_many(bulk, told_of(made, rng))
    assert bulk.open == []


def test_retired_arms_are_not_picked():
    session = session_of()
    session.retire(*NAMES[:30])
    assert all(arm in NAMES[30:] for one in ask_many(session, 20) for arm in one.arms)


@pytest.mark.parametrize(("n", "samples"), [(100_001, None), (10**12, None), (1, 10**9)])
def test_a_call_takes_a_bounded_number(n, samples):
    session = session_of()
    with pytest.raises(ValueError, match="must be at most 100000 per call with k=3, got"):
        ask_many(session, n, samples)
    assert session.n_decisions == 0


def test_larger_sets_are_fewer():
    n_arms = 20_000
    policy = sa.Policy(sa.BetaBelief(n_arms), sa.TopK(), sa.LinearReward(n_arms), n_arms)
    with pytest.raises(ValueError, match="n must be at most 250 per call with k=20000, got 251"):
        ask_many(sa.Session(policy, seed=1), 251)
