import json
import threading

import numpy as np
import pytest
from scipy import stats

import superarm as sa
from superarm.sessions.state import session_state

NAMES = ["ant", "bee", "cat", "dog", "eel", "fox"]


def make(oracle=None, n_arms=6, k=2):
    return sa.cts(sa.LinearReward(n_arms), k, oracle=oracle)


@pytest.mark.parametrize(
    "oracle", [sa.TopK, sa.Singletons, sa.RandomSets, lambda: sa.GroupTesting(delta=0.25)]
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
        assert decision.arms == tuple(arms.tolist())
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
    session = sa.Session(make(sa.Rarely(sa.Singletons(), when=3)), seed=0)
    assert [session.ask().certified for _ in range(6)] == [True, False, False, True, False, False]
    assert not sa.Session(make(sa.RandomSets()), seed=0).ask().certified


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
            sa.UnknownDecisionError,
            "must be that of a decision of this session",
        ),
        (lambda s, d: s.tell(None, {}), sa.UnknownDecisionError, "got None"),
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
        (lambda s, d: s.explain("no-1"), sa.UnknownDecisionError, "got 'no-1'"),
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
        lambda: sa.Expiry(after_s=0),
        lambda: sa.Expiry(after_rounds=0),
        lambda: sa.Expiry(late="accept"),
        lambda: sa.Expiry(missing=2),
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


def test_an_arm_added_later_has_its_own_prior_and_disturbs_nobody():
    session = sa.Session(make(), NAMES, seed=2, rewards=sa.LinearReward)
    for _ in range(10):
        decision = session.ask()
        session.tell(decision, dict.fromkeys(decision.arms, 1.0))
    waiting, before, spent = (
        session.ask(),
        session.policy.belief.a.copy(),
        session.policy.evaluations,
    )
    session.add_arms(["gnu", "hen"], prior=([30.0, 1.0], [1.0, 30.0]))
    assert session.policy.belief.a.tolist() == [*before, 30.0, 1.0]
    assert session.policy.evaluations == spent
    session.tell(waiting, dict.fromkeys(waiting.arms, 0.0))
    assert any("gnu" in session.ask().arms for _ in range(5))


def test_a_retired_arm_keeps_its_history():
    session = sa.Session(make(), NAMES, seed=2)
    waiting = session.ask()
    session.retire(waiting.arms[0])
    assert all(waiting.arms[0] not in session.ask().arms for _ in range(30))
    session.tell(waiting, dict.fromkeys(waiting.arms, 1.0))
    assert session.policy.belief.a.sum() == 8
    session.restore(waiting.arms[0])
    assert any(waiting.arms[0] in session.ask().arms for _ in range(30))


class Rigid:
    """A belief that cannot grow."""

    n_arms = 6
    sample = staticmethod(lambda *, rng: rng.random(6))
    update = staticmethod(lambda arms, outcomes, *, rng: None)
    state = staticmethod(dict)
    load = staticmethod(lambda state: None)


def test_a_belief_that_cannot_grow_says_so():
    session = sa.Session(
        sa.Policy(Rigid(), sa.Singletons(), sa.LinearReward(6), 2), rewards=sa.LinearReward
    )
    with pytest.raises(TypeError, match="Rigid has no add_arms"):
        session.add_arms([6])
    session.explain(session.ask())


@pytest.mark.parametrize(
    "belief",
    [
        sa.BetaBelief,
        sa.DiscountedBetaBelief,
        sa.SlidingBetaBelief,
        lambda n: sa.PositionBiasedBelief(n, [0.9, 0.5]),
        sa.GaussianBelief,
        sa.UCBBelief,
        sa.KLUCBBelief,
    ],
)
def test_a_belief_that_grew_is_one_that_was_larger_all_along(belief):
    grown, large, rng = belief(4), belief(7), np.random.default_rng(0)
    for one in (grown, large):
        one.update([0, 3], [1.0, 0.0], rng=rng)
    grown.add_arms(3)
    for one in (grown, large):
        one.update([6, 1], [1.0, 0.0], rng=rng)
    assert json.dumps(grown.state()) == json.dumps(large.state())
    with pytest.raises((TypeError, ValueError)):
        grown.add_arms(0)
    with pytest.raises((TypeError, ValueError)):
        grown.add_arms(1, prior="high")
    assert json.dumps(grown.state()) == json.dumps(large.state())


def test_posteriors_are_those_of_scipy():
    arms = np.array([0, 2, 3])
    belief = sa.BetaBelief(4, prior=([0.5, 1, 2, 300], [3, 1, 2, 40]))
    law = stats.beta(belief.a[arms], belief.b[arms])
    posterior = belief.posterior(arms)
    np.testing.assert_allclose(posterior.mean(), law.mean(), rtol=1e-12)
    np.testing.assert_allclose(posterior.interval(), law.interval(0.95), rtol=1e-9)
    gaussian = sa.GaussianBelief(4)
    for _ in range(9):
        gaussian.update([0, 2], [1.0, 0.25], rng=np.random.default_rng(0))
    location, std = gaussian.location()[arms], np.sqrt(gaussian.var()[arms])
    law = stats.truncnorm(-location / std, (1 - location) / std, location, std)
    posterior = gaussian.posterior(arms)
    np.testing.assert_allclose(posterior.mean(), law.mean(), rtol=1e-9)
    np.testing.assert_allclose(posterior.interval(0.8), law.interval(0.8), rtol=1e-9)


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
    with pytest.raises(sa.UnknownDecisionError):
        session.tell(decisions[0], {})


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


def test_names_of_numpy_become_plain():
    session = sa.Session(make(), [*np.arange(3), *np.array(["x", "y", "z"])], seed=0)
    assert session.names == (0, 1, 2, "x", "y", "z")
    assert {type(name) for name in session.names} == {int, str}


def test_without_a_seed_sessions_differ():
    assert sa.Session(make()).ask().id != sa.Session(make()).ask().id


@pytest.mark.parametrize(
    "oracle",
    [
        sa.LazySingletons,
        sa.LazyGreedy,
        sa.LocalSearch,
        lambda: sa.Rarely(sa.LazySingletons(), when=2),
        lambda: sa.GroupTesting(delta=0.25, n_tests=9, decoder="regression"),
    ],
)
def test_oracles_go_on_from_their_state_bit_for_bit(oracle):
    reward, rng = (
        sa.Counted(sa.NetworkReward.random(40, rng=np.random.default_rng(0))),
        np.random.default_rng(1),
    )
    played, fresh = oracle(), oracle()
    assert fresh.state() == oracle().state()
    for _ in range(8):
        played.select(reward, rng.random(40).round(1), 3, rng=rng)
    fresh.load(json.loads(json.dumps(played.state())))
    other = sa.Counted(reward.uncounted)
    for seed in range(8):
        theta, before = rng.random(40).round(1), reward.evaluations
        arms = [
            one.select(worth, theta, 3, rng=np.random.default_rng(seed))
            for one, worth in ((played, reward), (fresh, other))
        ]
        assert np.array_equal(*arms)
        assert reward.evaluations - before == other.evaluations
        other.evaluations = 0
    assert json.dumps(played.state()) == json.dumps(fresh.state())
    with pytest.raises(ValueError, match="that of a"):
        played.load({"oracle": "none"})
    played.forget()
    played.select(
        sa.LinearReward(12), np.linspace(0, 1, 12), 3, rng=rng
    )  # begins anew, with other arms


def test_constraints_by_name_hold_for_one_round():
    session = sa.Session(make(), NAMES, seed=2)
    heavy = dict.fromkeys(NAMES, 1.0) | {"ant": 5.0}
    for _ in range(20):
        assert "bee" in session.ask(feasible=session.feasible(must=["bee"])).arms
        assert not {"bee", "cat"} & set(
            session.ask(feasible=session.feasible(must_not=["bee", "cat"])).arms
        )
        assert set(session.ask(feasible=session.feasible(available=["dog", "eel"])).arms) == {
            "dog",
            "eel",
        }
        assert "ant" not in session.ask(feasible=session.feasible(weights=heavy, budget=3.0)).arms
        pets = sa.Group(["cat", "dog"], least=1, most=1)
        one_pet = session.ask(feasible=session.feasible(groups=[pets]))
        assert len({"cat", "dog"} & set(one_pet.arms)) == 1
        assert len(session.ask(feasible=session.feasible(3)).arms) == 3
    assert len(session.ask().arms) == 2
    assert all(len(decision.arms) == 1 for decision in session.ask(4, feasible=1))


def test_what_cannot_be_chosen_is_refused_before_anything_happens():
    session = sa.Session(make(), NAMES, seed=2)
    session.retire("ant")
    before = session._unlocked.rng.bit_generator.state
    for feasible in (session.feasible(must=["ant"]), session.feasible(6)):
        with pytest.raises(ValueError, match="clash"):
            session.ask(feasible=feasible)
    with pytest.raises(ValueError, match="must be of the session's arms, got 'gnu'"):
        session.feasible(must=["gnu"])
    assert session._unlocked.rng.bit_generator.state == before
    assert session.rounds == session.policy.evaluations == 0


def test_arms_of_a_structure_cannot_be_retired():
    policy = sa.cts(sa.LinearReward(3), sa.SpanningTrees([0, 1, 0], [1, 2, 2]))
    session = sa.Session(policy, seed=1)
    assert len(session.ask().arms) == 2
    with pytest.raises(ValueError, match="got SpanningTrees"):
        session.retire(0)
    assert session.retired == ()


def test_retiring_arms_costs_no_answers():
    """What a lazy oracle remembers of the others stays good."""
    instance = sa.network_instance(60, 3, 0.1, rng=np.random.default_rng(0))
    session = sa.Session(sa.cts(instance.reward, 3, oracle=sa.LazySingletons()), seed=3)
    for _ in range(200):
        decision = session.ask()
        outcomes = instance.pull(np.array(decision.arms), rng=np.random.default_rng(1))
        session.tell(decision, dict(zip(decision.arms, outcomes.tolist(), strict=True)))
    spent = session.policy.evaluations
    session.retire(*decision.arms)
    later = session.ask()
    assert later.certified
    assert not set(later.arms) & set(decision.arms)
    assert session.policy.evaluations - spent < 20


class Heedless:
    """An oracle that takes constraints and does not keep to them."""

    report = None

    def select(self, reward, theta, k, *, rng):
        return np.array([0, 1])


def test_a_set_that_breaks_the_constraints_is_refused():
    session = sa.Session(
        sa.Policy(sa.BetaBelief(6), Heedless(), sa.LinearReward(6), 2), NAMES, seed=2
    )
    with pytest.raises(ValueError, match="Heedless must pick a set that is feasible"):
        session.ask(feasible=session.feasible(must=["eel"]))
    assert session.open == []
    assert session.rounds == 0


def test_a_decision_of_no_arms_is_told_at_once():
    session = sa.Session(sa.cts(sa.LinearReward(3), k=2), list("abc"), seed=1)
    nothing = session.feasible(at_most=True, weights=dict.fromkeys("abc", 2.0), budget=1.0)
    decision = session.ask(feasible=nothing)
    assert (decision.arms, session.status(decision), session.n_open) == ((), "told", 0)
    assert session.tell(decision, {}) == ()
    other = sa.Session(sa.cts(sa.LinearReward(3), k=2), list("abc"), seed=1)
    other.adopt([decision], session.mark(), feasible=nothing)
    assert other.status(decision) == "told"
