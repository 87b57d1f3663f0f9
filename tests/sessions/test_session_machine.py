"""Asks, feedback, expiry, changing arms, saves and loads in any order, against a model."""

import tempfile
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import superarm as sa
from superarm.beliefs import DiscountedBetaBelief, SlidingBetaBelief
from superarm.errors import ConflictError, ExpiredDecisionError, UnknownDecisionError
from superarm.oracles import RandomSets, Scheduled
from superarm.sessions import Expiry
from superarm.sessions.state import session_state

K = 2


KEEP = 4


def network(n_arms):
    return sa.NetworkReward.random(n_arms, rng=np.random.default_rng(n_arms))


def regression():
    return sa.GroupTesting(delta=0.25, n_tests=8, decoder="regression")


# Name: belief, oracle, and the reward of so many arms.
VARIANTS = {
    "beta, singletons": (sa.BetaBelief, sa.Singletons, sa.LinearReward),
    "beta, top k": (sa.BetaBelief, sa.TopK, sa.LinearReward),
    "beta, lazy singletons": (sa.BetaBelief, sa.LazySingletons, network),
    "ucb, lazy singletons with ties": (sa.UCBBelief, sa.LazySingletons, sa.LinearReward),
    "beta, lazy greedy": (sa.BetaBelief, sa.LazyGreedy, network),
    "kl-ucb, lazy greedy with ties": (
        sa.KLUCBBelief,
        lambda: sa.LazyGreedy(budget=9),
        sa.AnySuccess,
    ),
    "gaussian, group testing": (
        sa.GaussianBelief,
        lambda: sa.GroupTesting(delta=0.25, n_tests=8),
        network,
    ),
    "gaussian, regression": (sa.GaussianBelief, regression, sa.LinearReward),
    "beta, regression now and then": (
        sa.BetaBelief,
        lambda: Scheduled(regression(), when=3),
        sa.LinearReward,
    ),
    "kl-ucb, local search": (sa.KLUCBBelief, sa.LocalSearch, sa.AnySuccess),
    "discounted, singletons": (DiscountedBetaBelief, sa.Singletons, sa.LinearReward),
    "sliding, lazy singletons": (
        lambda n: SlidingBetaBelief(n, window=3),
        sa.LazySingletons,
        network,
    ),
    "ucb, random sets": (sa.UCBBelief, RandomSets, sa.LinearReward),
}


class SessionMachine(RuleBasedStateMachine):
    """``plain`` is never saved, ``saved`` is saved and loaded; the two must never differ."""

    variant = "beta, singletons"

    def policy(self, n_arms):
        belief, oracle, reward = VARIANTS[self.variant]
        return sa.Policy(belief(n_arms), oracle(), reward(n_arms), K)

    @initialize(
        after_s=st.none() | st.integers(1, 9),
        after_rounds=st.none() | st.integers(1, 4),
        late=st.sampled_from(["refuse", "ignore"]),
        missing=st.sampled_from([None, 0.0, 1.0]),
        seed=st.integers(0, 9),
    )
    def begin(self, after_s, after_rounds, late, missing, seed):
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "session"
        self.now = 100.0
        self.expiry = Expiry(after_s, after_rounds, late, missing)
        _, _, self.rewards = VARIANTS[self.variant]
        names = [f"arm {number}" for number in range(5)]
        self.plain, self.saved = (
            sa.Session(
                self.policy(5),
                names,
                seed=seed,
                expiry=self.expiry,
                rewards=self.rewards,
                keep=KEEP,
                clock=lambda: self.now,
            )
            for _ in range(2)
        )
        # The model.
        self.names, self.retired, self.rounds = names, set(), 0
        self.open, self.closed, self.forgotten = OrderedDict(), OrderedDict(), []
        self.learned, self.are_coins = {name: [1.0, 1.0] for name in names}, True

    def teardown(self):
        if hasattr(self, "folder"):
            self.folder.cleanup()

    def both(self, action):
        """Do the same with both sessions. The results or errors must be the same."""
        answers = []
        for session in (self.plain, self.saved):
            try:
                answers.append(action(session))
            except ValueError as error:
                answers.append((type(error), str(error)))
        assert answers[0] == answers[1]
        return answers[0]

    def refused(self, action, kind):
        before = session_state(self.plain._unlocked)
        answer = self.both(action)
        assert isinstance(answer, tuple), answer
        assert answer[0] is kind, answer
        assert session_state(self.plain._unlocked) == before

    def learn(self, name, outcome):
        self.are_coins &= outcome in (0, 1)  # a belief may flip a coin for others
        self.learned[name][0] += outcome
        self.learned[name][1] += 1 - outcome

    def close(self, id, status):
        entry = self.open.pop(id)
        entry["status"] = status
        self.closed[id] = entry
        while len(self.closed) > KEEP:
            self.forgotten.append(self.closed.popitem(last=False)[0])

    def is_due(self, entry):
        after_s, after_rounds = self.expiry.after_s, self.expiry.after_rounds
        by_time = after_s is not None and self.now - entry["time"] >= after_s
        return by_time or (
            after_rounds is not None and self.rounds - entry["round"] >= after_rounds
        )

    def expire_model(self):
        due = [id for id, entry in self.open.items() if self.is_due(entry)]
        for id in due:
            if self.expiry.missing is not None:
                for name in self.open[id]["arms"]:
                    if name not in self.open[id]["told"]:
                        self.learn(name, self.expiry.missing)
            self.close(id, "expired")
        return due

    @rule(n=st.none() | st.integers(1, 3))
    def ask(self, n):
        decisions = self.both(lambda session: session.ask() if n is None else session.ask(n))
        decisions = [decisions] if n is None else decisions
        assert len(decisions) == (1 if n is None else n)
        self.expire_model()
        self.rounds += 1
        for decision in decisions:
            assert decision.id not in self.open | self.closed
            assert decision.id not in self.forgotten
            assert len(set(decision.arms)) == K
            assert set(decision.arms) <= set(self.names) - self.retired
            assert decision.round == self.rounds
            assert decision.time == self.now
            self.open[decision.id] = {
                "arms": decision.arms,
                "told": {},
                "round": self.rounds,
                "time": self.now,
            }

    @precondition(lambda self: self.open or self.closed)
    @rule(data=st.data(), repeat=st.booleans())
    def tell(self, data, repeat):
        id = data.draw(st.sampled_from([*self.open, *self.closed]))
        entry = self.open.get(id) or self.closed[id]
        told = {
            name: data.draw(st.sampled_from([0.0, 1.0, 0.25]))
            for name in data.draw(st.lists(st.sampled_from(entry["arms"]), unique=True))
            if name not in entry["told"]
        }
        news = dict(told)
        if repeat:
            told.update(entry["told"])
        late = entry.get("status") == "expired" or (id in self.open and self.is_due(entry))
        if news and late and self.expiry.late == "refuse":
            self.refused(lambda session: session.tell(id, told), ExpiredDecisionError)
            return
        answer = self.both(lambda session: session.tell(id, told))
        if late:
            assert answer == ()
            return
        assert set(answer) == set(news)
        for name, outcome in news.items():
            self.learn(name, outcome)
        entry["told"].update(news)
        if id in self.open and len(entry["told"]) == K:
            self.close(id, "told")

    @precondition(lambda self: any(entry["told"] for entry in (self.open | self.closed).values()))
    @rule(data=st.data())
    def contradict(self, data):
        known = {id: entry for id, entry in (self.open | self.closed).items() if entry["told"]}
        id = data.draw(st.sampled_from([*known]))
        name = data.draw(st.sampled_from([*known[id]["told"]]))
        told = dict.fromkeys(known[id]["arms"], 1.0) | {name: 1 - known[id]["told"][name]}
        self.refused(lambda session: session.tell(id, told), ConflictError)

    @precondition(lambda self: self.forgotten)
    @rule(data=st.data())
    def tell_forgotten(self, data):
        id = data.draw(st.sampled_from(self.forgotten))
        self.refused(lambda session: session.tell(id, {}), UnknownDecisionError)

    @precondition(lambda self: self.open)
    @rule(bad=st.sampled_from([float("nan"), -0.5, 1.5]))
    def tell_nonsense(self, bad):
        id = next(iter(self.open))
        arms = self.open[id]["arms"]
        untold = {name: 1.0 for name in arms if name not in self.open[id]["told"]}
        self.refused(lambda session: session.tell(id, {**untold, arms[1]: bad}), ValueError)
        self.refused(lambda session: session.tell(id, {**untold, "nobody": 1.0}), ValueError)
        self.refused(lambda session: session.tell("nothing-1", untold), UnknownDecisionError)
        self.refused(lambda session: session.ask(0), ValueError)

    @rule(seconds=st.integers(1, 5))
    def wait(self, seconds):
        self.now += seconds

    @rule()
    def expire(self):
        answer = self.both(lambda session: session.expire())
        assert [decision.id for decision in answer] == self.expire_model()

    @precondition(lambda self: len(self.names) < 9)
    @rule(n=st.integers(1, 2), own=st.booleans())
    def add_arms(self, n, own):
        new = [f"arm {len(self.names) + place}" for place in range(n)]
        is_beta = VARIANTS[self.variant][0] is sa.BetaBelief
        prior = (3.0, 2.0) if own and is_beta else None
        self.both(lambda session: session.add_arms(new, prior=prior))
        self.names = [*self.names, *new]
        self.learned.update({name: [3.0, 2.0] if prior else [1.0, 1.0] for name in new})
        self.refused(lambda session: session.add_arms(["another", new[0]]), ValueError)

    @rule(data=st.data())
    def retire(self, data):
        name = data.draw(st.sampled_from(self.names))
        if len(self.names) - len(self.retired | {name}) < K:
            self.refused(lambda session: session.retire(name), ValueError)
            return
        self.both(lambda session: session.retire(name))
        self.retired.add(name)

    @precondition(lambda self: self.retired)
    @rule(data=st.data())
    def restore(self, data):
        name = data.draw(st.sampled_from(sorted(self.retired)))
        self.both(lambda session: session.restore(name))
        self.retired.remove(name)

    @rule()
    def save_and_load(self):
        self.saved.save(self.path)
        self.saved = sa.Session.load(
            self.path, self.policy, rewards=self.rewards, clock=lambda: self.now
        )

    @rule()
    def fork(self):
        forks = [session.fork() for session in (self.plain, self.saved)]
        for _ in range(2):
            one, other = (fork.ask() for fork in forks)
            assert one == other
            assert one.id not in self.open | self.closed
            assert set(one.arms) <= set(self.names) - self.retired
            for fork in forks:
                fork.tell(one, dict.fromkeys(one.arms, 1.0))
        assert session_state(forks[0]._unlocked) == session_state(forks[1]._unlocked)

    @invariant()
    def nothing_differs(self):
        if not hasattr(self, "plain"):
            return
        assert session_state(self.plain._unlocked) == session_state(self.saved._unlocked)

    @invariant()
    def the_model_holds(self):
        if not hasattr(self, "plain"):
            return
        session = self.plain
        assert [decision.id for decision in session.open] == list(self.open)
        assert session.names == tuple(self.names)
        assert set(session.retired) == self.retired
        assert session.rounds == self.rounds
        for id, entry in (self.open | self.closed).items():
            assert session.outcomes(id) == entry["told"]
        if isinstance(session.policy.belief, sa.BetaBelief):
            a, b = np.array([self.learned[name] for name in self.names]).T
            assert np.array_equal(session.policy.belief.a + session.policy.belief.b, a + b)
            assert np.array_equal(session.policy.belief.a, a) or not self.are_coins
        elif hasattr(session.policy.belief, "outcomes"):
            seen = [sum(self.learned[name]) - 2 for name in self.names]
            assert np.array_equal(session.policy.belief.outcomes.counts, seen)


@pytest.mark.parametrize("variant", VARIANTS)
def test_sessions_keep_to_the_model_and_survive_files(variant):
    machine = type("Machine", (SessionMachine,), {"variant": variant}).TestCase
    machine.settings = settings(
        max_examples=25, stateful_step_count=30, deadline=None, derandomize=True
    )
    machine("runTest").runTest()
