"""A session that adopts decisions and marks decides as the one that made them, whatever its parts.

Nothing is evaluated meanwhile: what the memory of an oracle depends on is in the marks.
"""

import json

import numpy as np
import pytest

import superarm as sa
from parts import BELIEFS, ORACLES
from superarm.catalog import POLICIES, Task
from superarm.core.replays import must_replay
from superarm.oracles import EpsilonRandom, ExploreThenCommit, LazySingletons, Scheduled
from superarm.oracles.epsilon_random import decaying

N_ARMS, K, BEFORE, AFTER = 6, 2, 25, 30
NESTED = {
    "scheduled, lazy": lambda: Scheduled(LazySingletons(), when=3),
    "epsilon, scheduled": lambda: EpsilonRandom(Scheduled(sa.Singletons(), when=4), 0.3),
    "epsilon, scheduled, lazy": lambda: EpsilonRandom(Scheduled(LazySingletons(), when=4), 0.3),
    "epsilon, decaying": lambda: EpsilonRandom(sa.Singletons(), decaying(5.0)),
    "commit after 5": lambda: ExploreThenCommit(sa.Singletons(), n_explore=5),
    "commit, lazy": lambda: ExploreThenCommit(LazySingletons(), n_explore=5),
    "lazy, budget": lambda: LazySingletons(budget=2),
    "search from scheduled": lambda: sa.LocalSearch(Scheduled(sa.Singletons(), when=3)),
    "group testing, round": lambda: sa.GroupTesting(delta=0.25, failure="round"),
}
EVERY = {name: factory for name, (factory, _) in ORACLES.items()} | NESTED
SUMS_ONLY = ("top k", "escb", "clucb", "lucb", "top two", "successive accepts")


class Watched:
    """A reward that counts all evaluations, also those that no policy counts."""

    def __init__(self, reward):
        self.reward, self.n_asked = reward, 0

    def __getattr__(self, name):
        return getattr(self.reward, name)

    def __call__(self, arms, means):
        self.n_asked += 1
        return self.reward(arms, means)

    def batch(self, pools, theta):
        self.n_asked += len(pools)
        return self.reward.batch(pools, theta)


def outcomes_of(decision, rng):
    return {arm: float(rng.random() < (arm + 1) / 8) for arm in decision.arms}


def check_twins(make, **options):
    """Lead and follow, then both decide. ``make(reward)`` makes a policy."""
    rewards = [Watched(make.reward(N_ARMS)) for _ in range(2)]
    first, second = (
        sa.Session(make(reward), seed=3, clock=lambda: 0.0, **options) for reward in rewards
    )
    rng = np.random.default_rng(5)
    for number in range(BEFORE):
        feasible = first.feasible(must_not=[number % 5]) if make.leaves_out(number) else None
        decisions = first.ask(1 + number % 2, feasible=feasible)
        second.adopt(decisions, json.loads(json.dumps(first.mark())), feasible=feasible)
        for decision in decisions:
            told = outcomes_of(decision, rng)
            first.tell(decision, told)
            second.tell(decision.id, told)
    assert rewards[1].n_asked == 0
    assert second.to_bytes() == first.to_bytes()
    for _ in range(AFTER):
        one, other = first.ask(), second.ask()
        assert other == one
        assert second.mark() == first.mark()
        told = outcomes_of(one, rng)
        first.tell(one, told)
        second.tell(other, told)
    return first


class Made:
    def __init__(self, policy, reward=sa.LinearReward, every=None):
        self.policy, self.reward, self.every = policy, reward, every

    def __call__(self, reward):
        return self.policy(reward)

    def leaves_out(self, number):
        return self.every is not None and number % self.every == self.every - 1


def of_oracle(oracle, **options):
    return Made(lambda reward: sa.Policy(sa.BetaBelief(N_ARMS), oracle(), reward, K), **options)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", EVERY)
def test_with_every_oracle(name):
    check_twins(of_oracle(EVERY[name]))
    if not name.startswith(SUMS_ONLY):
        check_twins(of_oracle(EVERY[name], reward=sa.AnySuccess))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NESTED)
def test_with_constraints_and_a_hold_out(name):
    check_twins(of_oracle(NESTED[name], reward=sa.AnySuccess, every=4), holdout=0.2)


@pytest.mark.parametrize("name", BELIEFS)
def test_with_every_belief(name):
    oracle = sa.oracles.DependentRounding if name == "exp3" else sa.TopK
    check_twins(Made(lambda reward: sa.Policy(BELIEFS[name](N_ARMS), oracle(), reward, K)))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", POLICIES)
def test_with_every_policy(name):
    def policy(reward):
        return POLICIES[name].make(Task(reward, K, horizon=60, delta=0.25, n_tests=12))

    check_twins(Made(policy))


def test_a_mark_without_answers_is_one_of_an_earlier_version():
    first, second = (
        sa.Session(sa.cts(sa.LinearReward(6), 2, oracle=LazySingletons()), seed=3) for _ in range(2)
    )
    decision, mark = first.ask(), first.mark()
    old = {name: mark[name] for name in ("rng", "evaluations")}
    second.adopt([decision], old)
    assert (second.policy.evaluations, second.rounds) == (first.policy.evaluations, 1)
    assert second.ask().arms == first.ask().arms  # the cache is empty, which costs evaluations


def test_answers_to_other_questions_are_not_remembered():
    """As when an `ask` between the two failed: the leader knows more than the log."""
    make = lambda: sa.cts(sa.AnySuccess(8), 3, oracle=LazySingletons())  # noqa: E731
    first, second = (sa.Session(make(), seed=3) for _ in range(2))
    decision = first.ask()
    second.adopt([decision], first.mark())
    known = second.policy.oracle.state()
    first.policy.oracle.forget()  # now it asks other questions than the log can explain
    decision = first.ask()
    second.adopt([decision], first.mark())
    assert second.policy.oracle.state() == known
    assert (second.rounds, second.policy.evaluations) == (2, first.policy.evaluations)


def test_many_answers_are_not_logged():
    session = sa.Session(sa.cts(sa.AnySuccess(200), 10, oracle=sa.LocalSearch(restarts=20)), seed=0)
    session.ask()
    assert session.policy.evaluations > 16_384
    assert set(session.mark()) == {"rng", "evaluations"}


def test_who_must_run_again():
    assert not must_replay(sa.TopK())
    assert not must_replay(EpsilonRandom(sa.TopK(), 0.1))
    assert must_replay(EpsilonRandom(Scheduled(sa.TopK(), 2), 0.1))
    assert not must_replay(Scheduled(sa.Singletons(), 2))
    assert not must_replay(sa.GroupTesting(delta=0.1))
    assert must_replay(sa.GroupTesting(delta=0.1, decoder="regression"))
