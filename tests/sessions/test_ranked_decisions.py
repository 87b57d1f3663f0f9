"""Decisions are ranked, best first, and beliefs that need places learn from them."""

import numpy as np
import pytest

import parts
import superarm as sa
from superarm.beliefs import PositionBiasedBelief
from superarm.core.places import LearnsPlaces, Ranks
from superarm.sessions import Decision, Expiry

NAMES = list("abcdef")
WEIGHTS = [1.0, 0.5, 0.25]


def session_of(oracle, belief=None, k=3, **options):
    belief = sa.BetaBelief(6) if belief is None else belief
    return sa.Session(sa.Policy(belief, oracle, sa.LinearReward(6), k), NAMES, seed=3, **options)


@pytest.mark.parametrize("name", parts.ORACLES)
def test_every_oracle_ranks_its_sets(name):
    """By what the oracle orders arms by, or by the sampled values; as the explanation does."""
    make = parts.ORACLES[name][0]
    policy = sa.Policy(sa.BetaBelief(6), make(), sa.LinearReward(6), 2)
    session = sa.Session(policy, NAMES, seed=3)
    for _ in range(4):
        decision = session.ask()
        assert decision.ranked
        assert decision.places == {arm: place for place, arm in enumerate(decision.arms)}
        explained = session.explain(decision)
        assert tuple(reason.arm for reason in explained.reasons) == decision.arms
        scores = [reason.score for reason in explained.reasons]
        values = decision.values
        if explained.score_is is not None and explained.score_is.startswith("what it added"):
            pass  # the order of greedy is its own: what an arm adds depends on those before it
        elif None not in scores and explained.score_is is not None:
            assert scores == sorted(scores, reverse=True)
        elif values is not None:
            assert list(values) == sorted(values, reverse=True)
        session.tell(decision, {arm: float(arm in "ace") for arm in decision.arms})


def test_propensities_go_with_their_arms():
    made, plain = session_of(sa.TopK()), session_of(sa.TopK())
    decision, same = made.ask(propensities=50), plain.ask()
    assert (decision.arms, decision.values) == (same.arms, same.values)
    twin = sa.offpolicy.propensities(
        session_of(sa.TopK()).policy, 50, rng=made._unlocked.seeding.samples(1)
    )
    numbers = [NAMES.index(arm) for arm in decision.arms]
    wanted = twin.counting(np.sort(numbers)).arms[numbers]
    assert decision.propensities == tuple(wanted.tolist())


class Alphabetical(sa.TopK):
    """An oracle with a rule of its own: the last letter first."""

    def rank(self, arms, theta):
        return arms[::-1]


class Wrong(sa.TopK):
    def rank(self, arms, theta):
        return arms[:-1]


def test_a_policy_may_rank_by_its_own_rule():
    assert isinstance(Alphabetical(), Ranks)
    assert not isinstance(sa.TopK(), Ranks)
    session = session_of(Alphabetical())
    for _ in range(3):
        decision = session.ask()
        assert list(decision.arms) == sorted(decision.arms, reverse=True)
        assert [reason.arm for reason in session.explain(decision).reasons] == list(decision.arms)
    with pytest.raises(ValueError, match=r"Wrong.rank must return the arms \[.*\] in some order"):
        session_of(Wrong()).ask()


def test_arms_without_a_score_are_ranked_by_their_samples():
    """An oracle does not evaluate an arm that must be in the set."""
    session = session_of(sa.Singletons())
    for _ in range(5):
        decision = session.ask(feasible=session.feasible(must=["c"]))
        assert list(decision.values) == sorted(decision.values, reverse=True)


def test_the_bare_policy_stays_ascending():
    policy = sa.thompson(sa.LinearReward(50), 10)
    assert (np.diff(policy.ask(rng=np.random.default_rng(0))) > 0).all()


def told(session, n_rounds, tell):
    """A session after some rounds, and a belief that was told every whole list at once."""
    twin, rng = PositionBiasedBelief(6, WEIGHTS), np.random.default_rng(0)
    for t in range(n_rounds):
        decision = session.ask()
        outcomes = {arm: float((t + place) % 3 == 0) for place, arm in enumerate(decision.arms)}
        tell(session, decision, outcomes)
        shown = [NAMES.index(arm) for arm in decision.arms]
        twin.update(shown, list(outcomes.values()), rng=rng)
    return twin


def at_once(session, decision, outcomes):
    session.tell(decision, outcomes)


def click_first(session, decision, outcomes):
    """What was clicked comes at once, the rest later and in no order."""
    session.tell(decision, {arm: one for arm, one in outcomes.items() if one})
    session.tell(decision, dict(reversed([pair for pair in outcomes.items() if not pair[1]])))


@pytest.mark.parametrize("tell", [at_once, click_first])
def test_a_belief_learns_the_place_of_each_arm(tell):
    """The same as if every list was told as it was shown, whatever is told first."""
    session = session_of(sa.TopK(), PositionBiasedBelief(6, WEIGHTS))
    twin = told(session, 12, tell)
    found, wanted = session.policy.belief.state(), twin.state()
    assert found["failures"] == wanted["failures"]
    assert found["successes"] == wanted["successes"]
    np.testing.assert_allclose(session.policy.belief.mean(), twin.mean(), rtol=1e-12)


def test_the_third_place_told_alone_is_the_third_place():
    session = session_of(sa.TopK(), PositionBiasedBelief(6, WEIGHTS))
    decision = session.ask()
    session.tell(decision, {decision.arms[2]: 0.0})
    arm = NAMES.index(decision.arms[2])
    assert session.policy.belief._failures[arm].tolist() == [0, 0, 1]


def test_places_survive_files_and_expiry(tmp_path):
    def make(n_arms=6):
        return sa.Policy(PositionBiasedBelief(n_arms, WEIGHTS), sa.TopK(), sa.LinearReward(6), 3)

    expiry = Expiry(after_rounds=1, missing=0.0)
    session = sa.Session(make(), NAMES, seed=3, clock=lambda: 0.0, expiry=expiry)
    decision = session.ask()
    session.tell(decision, {decision.arms[1]: 1.0})
    session.save(tmp_path / "session")
    again = sa.Session.load(tmp_path / "session", make, clock=lambda: 0.0)
    assert again.decisions == [decision]
    for one in (session, again):
        one.ask(), one.ask()  # the first decision expires, with 0 in its first and third place
        failures = one.policy.belief._failures
        numbers = [NAMES.index(arm) for arm in decision.arms]
        assert failures[numbers].tolist() == [[1, 0, 0], [0, 0, 0], [0, 0, 1]]
    assert session.to_bytes() == again.to_bytes()


def test_adopted_decisions_keep_their_places():
    one, other = (session_of(sa.TopK(), PositionBiasedBelief(6, WEIGHTS)) for _ in range(2))
    decision = one.ask()
    other.adopt([decision], one.mark())
    for session in (one, other):
        session.tell(decision, {decision.arms[2]: 0.0})
    assert one.policy.belief.state() == other.policy.belief.state()


def test_decisions_from_before_the_ranking_learn_as_they_did():
    """Their arms are in the order of numbers, and outcomes count from the first place on."""
    session = session_of(sa.TopK(), PositionBiasedBelief(6, WEIGHTS))
    decision = session.ask()
    plain = {**decision.as_dict(), "arms": sorted(decision.arms)}
    del plain["ranked"]
    older = Decision.from_dict(plain)
    assert not older.ranked
    assert older.places == {}
    other = session_of(sa.TopK(), PositionBiasedBelief(6, WEIGHTS))
    other.adopt([older], session.mark())
    other.tell(older, {older.arms[2]: 0.0})
    arm = NAMES.index(older.arms[2])
    assert other.policy.belief._failures[arm].tolist() == [1, 0, 0]


def test_more_arms_than_places_are_refused_before_any_draw():
    belief = PositionBiasedBelief(6, WEIGHTS)
    assert isinstance(belief, LearnsPlaces)
    with pytest.raises(ValueError, match="at most 3 arms, one for each place"):
        session_of(sa.TopK(), belief, k=4)
    session = session_of(sa.TopK(), belief)
    with pytest.raises(ValueError, match="got sets of up to 5"):
        session.ask(feasible=5)
    assert session.rounds == 0


def test_a_simulation_tells_the_places_of_what_was_seen():
    """Only the second of two arms is seen: it was in the second place."""

    class SecondOnly:
        n_arms, mu = 2, np.array([0.5, 0.5])

        def pull(self, arms, *, rng):
            return np.array([np.nan, 0.0])

    belief = PositionBiasedBelief(2, [1.0, 0.5])
    policy = sa.Policy(belief, sa.TopK(), sa.LinearReward(2), 2)
    sa.simulate(policy, SecondOnly(), horizon=4, rng=np.random.default_rng(0))
    assert belief._failures.tolist() == [[0, 0], [0, 4]]


def test_a_shop_that_shows_the_best_first_sells_more():
    """A small version of benchmarks/slates.py, where the best items have the largest numbers.

    Shown by number they are last, and learn from fewer looks. Over 200 other seeds the gap was at
    least 0.19, so that a failure by chance is unlikely.
    """
    assert _small_shop("best first") > _small_shop("by number") + 0.1


def _small_shop(way, seed=0, n_arms=8, k=3, horizon=150):
    mu, weights = np.linspace(0.1, 0.8, n_arms), np.array([1.0, 0.4, 0.2])
    shop, world = sa.environments.PositionBiasedArms(mu, weights), np.random.default_rng(seed + 100)
    policy = sa.cts(sa.LinearReward(n_arms), k, oracle=sa.TopK())
    session, clicks = sa.Session(policy, seed=seed), []
    for _ in range(horizon):
        decision = session.ask()
        shown = sorted(decision.arms) if way == "by number" else list(decision.arms)
        clicks.append(shop.expected(shown).sum())
        outcomes = shop.pull(shown, rng=world)
        session.tell(decision, dict(zip(shown, outcomes.tolist(), strict=True)))
    return np.mean(clicks[horizon // 2 :]) / (np.sort(mu)[::-1][:k] @ weights)
