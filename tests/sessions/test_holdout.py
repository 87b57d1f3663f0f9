"""Hold-outs: which decisions they get, their propensities, the lift and its interval, and files."""

import itertools

import numpy as np
import pytest

import superarm as sa
from superarm.errors import UnknownDecisionError
from superarm.sessions import Expiry, Holdout
from superarm.sessions.holdout import Trial, width
from superarm.sessions.state import session_state

MEANS = np.array([0.8, 0.7, 0.3, 0.2])


def made(**options):
    options = {"seed": 1, "holdout": 0.3, "clock": lambda: 0.0, **options}
    return sa.Session(sa.thompson(sa.LinearReward(4), 2), list("abcd"), **options)


def play(session, n, rng):
    found = []
    for _ in range(n):
        decision = session.ask()
        arms = session.numbers(decision.arms)
        drawn = (rng.random(len(arms)) < MEANS[arms]).astype(float)
        session.tell(decision, dict(zip(decision.arms, drawn.tolist(), strict=True)))
        found.append((decision, drawn.mean()))
    return found


@pytest.fixture(scope="module")
def played():
    session = made()
    return session, play(session, 300, np.random.default_rng(2))


def test_the_share_and_the_sets_are_those_that_were_asked_for(played):
    """Up to 4 standard deviations, for 300 decisions and for each of the six sets."""
    held = [one for one, _ in played[1] if one.holdout]
    assert len(held) == pytest.approx(90, abs=4 * np.sqrt(300 * 0.3 * 0.7))
    sets = [tuple(sorted(one.arms)) for one in held]
    for each in itertools.combinations("abcd", 2):
        assert sets.count(each) == pytest.approx(len(held) / 6, abs=4 * np.sqrt(len(held) * 5 / 36))
    firsts = [one.arms[0] for one in held]  # shown in random order
    assert all(firsts.count(arm) > 0 for arm in "abcd")
    assert all(one.values is None and not one.certified for one in held)


def test_the_hold_out_teaches_the_belief_too(played):
    session, _ = played
    assert session.policy.belief.outcomes.counts.sum() == 600


def slow_lift(rows, share, delta):
    """The definition, decision by decision; the interval by bisection over an average of 16."""
    groups, gains, deviations = {True: [], False: []}, [], []
    for is_held, x in rows:
        m, m_held = ((sum(groups[kind]) + 0.5) / (len(groups[kind]) + 1) for kind in (False, True))
        gain = m - m_held + (-(x - m_held) / share if is_held else (x - m) / (1 - share))
        gains.append(gain)
        deviations.append(gain - (m - m_held))
        groups[is_held].append(x)
    b = 1 / min(share, 1 - share)
    var = sum((one / b) ** 2 for one in deviations)
    factors = [0.5**power for power in range(1, 17)]
    weights = [1 / (power * (power + 1)) for power in range(1, 17)]

    def value(u):
        parts = [
            w * np.exp(c * u - (-np.log(1 - c) - c) * var)
            for c, w in zip(factors, weights, strict=True)
        ]
        return sum(parts) / sum(weights)

    low, high = 0.0, 1e3
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if value(middle) < 2 / delta else (low, middle)
    return np.mean(gains), b * low / len(rows)


def test_the_lift_is_its_definition(played):
    session, rows = played
    found = session.lift(0.1)
    lift, half = slow_lift([(one.holdout, x) for one, x in rows], 0.3, 0.1)
    assert found.lift == pytest.approx(lift)
    assert found.high - found.lift == pytest.approx(half, rel=1e-6)
    assert found.lift - found.low == pytest.approx(half, rel=1e-6)
    held = [x for one, x in rows if one.holdout]
    assert (found.n_holdout, found.holdout) == (len(held), pytest.approx(np.mean(held)))
    assert found.n_policy + found.n_holdout == 300
    # The best set has 0.75 on average, a random one 0.5.
    assert 0 < found.low < 0.25 < found.high
    assert str(found).startswith("lift +0.2")


def test_the_interval_holds_at_all_times():
    """60 trials of 200 decisions with a lift that grows: 10% may leave it at any time.

    The average gain up to each decision must be inside. With an error of 10%, more than 16 misses
    have probability 2e-4. Intervals for one moment miss more often, if one looks ten times.
    """
    rng, missed, missed_by_habit = np.random.default_rng(3), 0, 0
    gain = np.linspace(0, 0.4, 200)
    true = np.cumsum(gain) / np.arange(1, 201)
    for _ in range(60):
        trial = Trial(Holdout(0.5), None)
        is_held = rng.random(200) < 0.5
        x = rng.random(200) < np.where(is_held, 0.5, 0.5 + gain)
        gains, vars_ = np.empty(200), np.empty(200)
        for t in range(200):
            trial.add([float(x[t])], bool(is_held[t]))
            gains[t], vars_[t] = trial.gain, trial.var
        n, looks = np.arange(1, 201), np.arange(19, 200, 20)
        off = np.abs(gains / n - true)[looks]
        halves = np.array([width(vars_[t], 0.1) * 2 / n[t] for t in looks])
        missed += (off > halves).any()
        missed_by_habit += (off > 1.645 * 2 * np.sqrt(vars_[looks]) / n[looks]).any()
    assert missed <= 16 < missed_by_habit


def test_propensities_are_those_of_both_kinds_of_decisions():
    """A policy that always picks the first two arms: the probabilities are known.

    Mean of 40 estimates from 25 samples and the decision; up to 4 standard deviations.
    """
    policy = sa.Policy(sa.beliefs.MeanBelief(4), sa.TopK(), sa.LinearReward(4), 2)
    policy.tell([0, 1, 2, 3], [1.0, 0.9, 0.2, 0.1], rng=np.random.default_rng(0))
    session = sa.Session(policy, seed=3, holdout=0.4)
    totals, n = np.zeros(4), 40
    for _ in range(n):
        decision = session.ask(propensities=25)
        assert decision.n_samples == 26
        assert all(share > 0 for share in decision.propensities)
        shares = dict(zip(decision.arms, decision.propensities, strict=True))
        for arm in (0, 2):
            totals[arm] += (arm in shares) / shares[arm] if arm in shares else 0.0
    # [the arm is in the set] / its share has the mean 1 - (1 - p)^26, for p = 0.8 and 0.2.
    for arm, p in ((0, 0.8), (2, 0.2)):
        assert totals[arm] / n == pytest.approx(1, abs=4 * np.sqrt((1 / p - 1) / n) * 1.5)


def test_a_fixed_set_is_shown_while_it_is_feasible():
    session = made(holdout=Holdout(0.5, ["d", "b"]))
    held = [one for one, _ in play(session, 40, np.random.default_rng(0)) if one.holdout]
    assert {one.arms for one in held} == {("d", "b")}
    session.retire("d")
    held = [one for one, _ in play(session, 40, np.random.default_rng(0)) if one.holdout]
    assert held
    assert all("d" not in one.arms for one in held)
    assert session.holdout.arms == ("d", "b")


def test_decisions_are_the_same_without_a_hold_out():
    """And nothing in the file says that there is none."""
    sessions = [made(holdout=nothing) for nothing in (None, 0.0)]
    rows = [play(one, 20, np.random.default_rng(0)) for one in sessions]
    assert rows[0] == rows[1]
    assert not any(one.holdout for one, _ in rows[0])
    assert "holdout" not in session_state(sessions[0]._unlocked)
    with pytest.raises(ValueError, match="needs a hold-out"):
        sessions[0].lift()


@pytest.mark.parametrize("holdout", [0.3, Holdout(0.3, ["c", "a"])], ids=["random", "fixed"])
def test_a_saved_session_goes_on_with_the_same_trial(holdout):
    session = made(holdout=holdout)
    play(session, 30, np.random.default_rng(0))
    open_one = session.ask()
    again = sa.Session.from_bytes(
        session.to_bytes(), sa.thompson(sa.LinearReward(4), 2), clock=lambda: 0.0
    )
    assert again.lift() == session.lift()
    assert again.holdout == session.holdout
    assert again.decision(open_one.id) == open_one
    for one in (session, again):
        one.tell(open_one.id, dict.fromkeys(open_one.arms, 1.0))
        play(one, 30, np.random.default_rng(1))
    assert again.lift() == session.lift()
    assert again.to_bytes() == session.to_bytes()
    fork = session.fork()
    assert (fork.lift().n_policy, fork.holdout) == (0, session.holdout)


def test_adopted_decisions_count_alike():
    first, second = made(), made()
    for _ in range(30):
        decision = first.ask()
        second.adopt([decision], first.mark())
        for one in (first, second):
            one.tell(decision.id, dict.fromkeys(decision.arms, 0.5))
    assert first.lift() == second.lift()
    assert first.lift().n_holdout > 0


def test_expired_decisions_count_with_their_missing_outcomes():
    session = made(expiry=Expiry(after_rounds=1, missing=0.0))
    for _ in range(3):  # the first has expired by the third
        session.ask()
    assert sum((session.lift().n_policy, session.lift().n_holdout)) == 1
    session = made(expiry=Expiry(after_rounds=1))
    for _ in range(3):
        session.ask()
    assert session.lift().policy is session.lift().holdout is None
    assert (session.lift().low, session.lift().high) == (-1, 1)
    assert str(session.lift()).startswith("no lift yet")


def test_a_decision_of_the_hold_out_has_no_reasons():
    session = made(holdout=0.9)
    held = next(one for one in (session.ask() for _ in range(50)) if one.holdout)
    with pytest.raises(UnknownDecisionError, match="of the hold-out"):
        session.explain(held)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"holdout": 1.0}, "holdout must be in"),
        ({"holdout": -0.1}, "holdout must be in"),
        ({"holdout": Holdout(0.1, ["a", "zebra"])}, "zebra"),
        ({"holdout": Holdout(0.1, ["a", "a"])}, "distinct"),
        ({"holdout": Holdout(0.1, ["a", "b", "c"])}, "that the policy could pick, 2 of 4 arms"),
    ],
)
def test_what_makes_no_hold_out_is_refused(options, says):
    with pytest.raises(ValueError, match=says):
        made(**options)


def test_a_single_name_is_not_read_as_its_letters():
    with pytest.raises(TypeError, match="several names, got 'ab'; put it in a list"):
        Holdout(0.1, "ab")
