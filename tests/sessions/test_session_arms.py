"""The arms of a session: names, constraints by name, new and retired arms."""

import pickle
import re
from decimal import Decimal

import numpy as np
import pytest

import superarm as sa
from superarm.oracles import Scheduled
from superarm.sessions import arms
from superarm.sets import SpanningTrees

NAMES = ["ant", "bee", "cat", "dog", "eel", "fox"]


def make(oracle=None, n_arms=6, k=2):
    return sa.cts(sa.LinearReward(n_arms), k, oracle=oracle)


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


@pytest.mark.parametrize("inside", [lambda oracle: oracle, lambda oracle: Scheduled(oracle, 3)])
def test_tests_that_are_fixed_cannot_grow(inside):
    tests = sa.Pools.random(20, 6, 0.5, rng=np.random.default_rng(0))
    oracle = inside(sa.GroupTesting(delta=0.2, pools=tests))
    policy = sa.Policy(sa.BetaBelief(6), oracle, sa.LinearReward(6), 2)
    session = sa.Session(policy, seed=0, rewards=sa.LinearReward)
    with pytest.raises(ValueError, match="of the reward's arms, got pools over 6"):
        session.add_arms([6])
    assert len(session.names) == len(policy.belief.a) == 6
    session.ask()


def test_names_of_numpy_become_plain():
    session = sa.Session(make(), [*np.arange(3), *np.array(["x", "y", "z"])], seed=0)
    assert session.names == (0, 1, 2, "x", "y", "z")
    assert {type(name) for name in session.names} == {int, str}


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
    policy = sa.cts(sa.LinearReward(3), SpanningTrees([0, 1, 0], [1, 2, 2]))
    session = sa.Session(policy, seed=1)
    assert len(session.ask().arms) == 2
    with pytest.raises(ValueError, match="got SpanningTrees"):
        session.retire(0)
    assert session.retired == ()


def test_retiring_arms_costs_no_answers():
    """A lazy oracle keeps what it remembers of the other arms."""
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
    """An oracle that accepts constraints and violates them."""

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


def test_a_grown_policy_chooses_among_all_arms():
    session = sa.Session(sa.cts(sa.LinearReward(4), 2), list("abcd"), seed=1)
    session.add_arms(["e", "f"], reward=sa.LinearReward(6))
    assert session.policy.feasible.n_arms == 6
    assert len(session.policy.ask(rng=np.random.default_rng(0))) == 2
    session.retire("a", "b", "c", "d")
    assert sorted(session.ask().arms) == ["e", "f"]


def plain_only(n_arms=5):
    """Policies whose oracle chooses among all sets of k arms only."""
    reward = sa.LinearReward(n_arms)
    rounding = sa.beliefs.Exp3Belief(n_arms, 2, gamma=0.3), sa.oracles.DependentRounding()
    return {
        "lucb": sa.policies.lucb(reward, 2),
        "successive accepts": sa.policies.successive_accepts(reward, 2, horizon=30),
        "exp3": sa.policies.exp3(reward, 2, horizon=30),
        "exp3, scheduled": sa.Policy(
            rounding[0], sa.oracles.Scheduled(rounding[1], when=2), reward, 2
        ),
    }


@pytest.mark.parametrize("name", plain_only())
def test_arms_that_the_oracle_cannot_leave_out_cannot_be_retired(name):
    now = [0.0]
    session = sa.Session(
        plain_only()[name], seed=1, expiry=sa.sessions.Expiry(after_s=1.0), clock=lambda: now[0]
    )
    session.ask()
    now[0] = 2.0  # so that an ask that is not refused beforehand closes the first decision
    before = session.to_bytes()
    within = session.feasible(must_not=[4])
    for call in (
        lambda: session.retire(4),
        lambda: session.ask(feasible=within),
        lambda: session.check(within),
    ):
        with pytest.raises(TypeError, match=r"k must be a whole number.* no retired arms"):
            call()
        assert session.to_bytes() == before
    assert len(session.ask().arms) == 2


def test_a_session_with_retired_arms_that_its_oracle_cannot_leave_out_goes_on_without_them():
    """Earlier versions could save one."""
    session = sa.Session(plain_only()["lucb"], seed=1)
    session._unlocked.arms.is_retired = np.array([True, True, False, False, False])
    loaded = sa.Session.from_bytes(session.to_bytes(), plain_only()["lucb"])
    with pytest.raises(TypeError, match="retired"):
        loaded.ask()
    loaded.restore(0)
    loaded.restore(1)
    assert len(loaded.ask().arms) == 2


def test_constraints_that_the_oracle_refuses_change_nothing():
    oracle = sa.oracles.NoisySingletons(noise_std=1e-3, budget=500)
    session = sa.Session(sa.cts(sa.LinearReward(4), 2, oracle=oracle), seed=0, holdout=0.5)
    session.ask()
    before = session.to_bytes()
    for within in (session.feasible(at_most=True), session.feasible(groups=[sa.Group([0, 1], 1)])):
        with pytest.raises(TypeError, match="use NoisyGreedy or NoisyLocalSearch"):
            session.ask(feasible=within)
        assert session.to_bytes() == before


@pytest.mark.parametrize(
    "sets",
    [
        sa.Feasible(2, must=[1]),
        sa.Feasible(2, must_not=[0], groups=[sa.Group([1, 2], most=1)]),
        sa.Feasible(3, at_most=True),
        sa.core.KOfM(2, 4),
    ],
    ids=repr,
)
def test_constraints_of_the_policy_grow_with_the_arms(sets):
    def policy(n_arms):
        same = 2 if isinstance(sets, sa.core.KOfM) else sets
        return sa.thompson(sa.LinearReward(n_arms), sets if n_arms == 4 else same)

    code = {"rewards": sa.LinearReward, "clock": lambda: 0.0}
    session = sa.Session(policy(4), list("abcd"), seed=0, **code)
    session.add_arms(["e", "f"])
    session.retire("d")
    other = sa.Session.from_bytes(session.to_bytes(), policy, **code)
    asked = [session.ask() for _ in range(20)]
    assert asked == [other.ask() for _ in range(20)]
    assert {"e", "f"} <= {arm for decision in asked for arm in decision.arms}
    assert len(session.fork().ask().arms) >= 1


@pytest.mark.parametrize(
    ("sets", "says"),
    [
        (sa.Feasible(2, weights=np.ones(3), budget=2.0), "weights must have shape"),
        (sa.Feasible(2, available=[True, True, True]), "a bool for each of 4 arms"),
        (SpanningTrees([0, 1, 2], [1, 2, 0]), "SpanningTrees are of given arms"),
    ],
)
def test_arms_that_the_constraints_of_the_policy_do_not_know_are_refused(sets, says):
    policy = sa.cts(sa.LinearReward(3), sets, oracle=sa.TopK())
    session = sa.Session(policy, list("abc"), seed=0, rewards=sa.LinearReward)
    before = session.to_bytes()
    with pytest.raises(ValueError, match=rf"no arms can be added.*{says}.*a plain k"):
        session.add_arms(["d"])
    assert session.to_bytes() == before
    assert len(session.ask().arms) == 2


def test_top_two_keeps_as_many_arms_as_it_looks_for():
    policy = sa.policies.top_two(sa.LinearReward(3), k=1, best=2)
    session = sa.Session(policy, list("abc"), seed=0)
    for _ in range(9):
        decision = session.ask()
        session.tell(decision, dict.fromkeys(decision.arms, 1.0))
    session.retire("a")
    before = session.to_bytes()
    with pytest.raises(ValueError, match="a set must have 2 arms"):
        session.retire("b")
    with pytest.raises(ValueError, match="best=2 needs sets of a plain k"):
        session.ask(feasible=session.feasible(must=["b"]))
    assert session.to_bytes() == before
    assert len(session.ask().arms) == 1


def test_errors_of_constraints_have_the_names_of_arms():
    session = sa.Session(sa.cts(sa.LinearReward(5), 2), ["ant", "bee", "cat", "dog", "{}"], seed=0)
    pair = sa.Group(["bee", "{}"], most=1, name="{0}")
    refused = {
        "must and must_not clash: arms 'bee' are in both": {"must": ["bee"], "must_not": ["bee"]},
        "arms 'ant' must be in, but are not available": {"must": ["ant"], "available": ["bee"]},
        "must: arms must be distinct, got arm 'bee' more than once": {"must": ["bee", "bee"]},
        "group 0: arms must be distinct, got arm 'cat'": {"groups": [sa.Group(["cat", "cat"])]},
        "must and the group '{0}' clash: it may have at most 1 arm(s), got arms 'bee', '{}'": {
            "must": ["{}", "bee"],
            "groups": [pair],
        },
    }
    for says, constraints in refused.items():
        with pytest.raises(ValueError, match=re.escape(says)) as found:
            session.feasible(**constraints)
        copied = pickle.loads(pickle.dumps(found.value))
        assert (type(copied), str(copied)) == (type(found.value), str(found.value))
    with pytest.raises(TypeError, match="groups must be of Group"):
        session.feasible(groups=[{"arms": ["ant"]}])
    session.retire("ant")
    with pytest.raises(ValueError, match="arms 'ant' must be in, but are not available"):
        session.ask(feasible=session.feasible(must=["ant"]))


def test_of_many_arms_an_error_names_a_few():
    names = [f"arm {number}" for number in range(20)]
    session = sa.Session(sa.cts(sa.LinearReward(20), 10), names, seed=0)
    with pytest.raises(ValueError, match=r"'arm 0', .*'arm 5' and 4 more are in both"):
        session.feasible(must=names[:10], must_not=names[:10])


def test_too_few_arms_are_no_clash_of_groups():
    session = sa.Session(sa.cts(sa.LinearReward(5), 2), list("abcde"), seed=0)
    groups = [sa.Group(["a", "b"], most=2), sa.Group(["b", "c"], most=2)]
    with pytest.raises(ValueError, match="a set must have 2 arms, but only 1 can be in one"):
        session.feasible(available=["a"], groups=groups)


def test_names_that_are_no_whole_characters_are_saved(tmp_path):
    """As Python reads names of files that are not UTF-8."""
    names = ["\udce4pfel", "birne", "é"]
    session = sa.Session(make(n_arms=3), names, seed=0)
    decision = session.ask()
    session.save(tmp_path / "session")
    loaded = sa.Session.load(tmp_path / "session", make(n_arms=3))
    assert (loaded.names, loaded.open) == (tuple(names), [decision])


def test_a_name_that_comes_twice_is_found_in_every_piece(monkeypatch):
    """Names are compared in pieces, so that other threads may run."""
    monkeypatch.setattr(arms, "_PIECE", 3)
    names = list("abcdefgh")
    assert arms.repeated(names) is None
    for n_names in range(1, 9):
        for place in range(n_names):
            again = [*names[:n_names], names[place], *names[:2]]
            assert arms.repeated(again) == names[place]
    assert arms.repeated([]) is None


def test_a_list_in_place_of_a_name_is_refused_with_the_way_to_write_it():
    session = sa.Session(make(), NAMES, seed=1)
    with pytest.raises(TypeError, match=re.escape("got ['ant', 'bee']; write *['ant', 'bee']")):
        session.retire(["ant", "bee"])
    # A tuple can be looked up, but not with a list in it.
    with pytest.raises(TypeError, match=re.escape("a whole number, got ('ant', ['bee'])")):
        session.retire("ant", ("ant", ["bee"]))
    assert session.retired == ()


@pytest.mark.parametrize("weight", ["3", None, "heavy"])
def test_weights_that_are_no_numbers_are_refused(weight):
    session = sa.Session(make(), NAMES, seed=1)
    with pytest.raises(TypeError, match=f"the weight of 'ant' must be a number, got {weight!r}"):
        session.feasible(weights={"ant": weight}, budget=2.0)
    heavy = session.feasible(weights={"ant": Decimal("2.5"), "bee": True}, budget=2.0)
    assert heavy.weights.tolist() == [2.5, 1.0, 0.0, 0.0, 0.0, 0.0]
    assert session.feasible(weights={}, budget=2.0).k == 2
