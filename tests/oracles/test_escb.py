"""ESCB's index: the set found is the best of all sets, or the report says that it may not be."""

import itertools

import numpy as np
import pytest

import naive
import superarm as sa
from superarm.beliefs import MeanBelief
from superarm.oracles import ESCBIndex
from superarm.oracles._branch_and_bound import largest_root
from superarm.policies import escb


def told(counts, means, n_updates=40):
    """A MeanBelief with these counts, means and number of updates."""
    belief = MeanBelief(len(counts))
    belief.outcomes.counts, belief.outcomes.sums = (
        np.array(counts, float),
        np.array(counts, float) * means,
    )
    belief.outcomes.rounds = n_updates
    return belief


@pytest.mark.parametrize("c", [0.0, 4.0])
def test_escb_finds_the_largest_index(c):
    """Random problems of up to 11 arms; a third of them have few distinct means and counts, so that
    there are ties.
    """
    rng = np.random.default_rng(0)
    for trial in range(150):
        m = int(rng.integers(3, 12))
        k = int(rng.integers(1, m))
        counts = rng.integers(1, 4 if trial % 3 == 0 else 200, m)
        means = rng.integers(0, 3, m) / 2 if trial % 3 == 0 else rng.random(m)
        belief = told(counts, means, n_updates=int(rng.integers(1, 1000)))
        oracle, theta = ESCBIndex(belief, c=c), belief.sample(rng=rng)
        arms = oracle.select(sa.LinearReward(m), theta, k, rng=rng)
        best, sets = naive.escb(theta, counts, belief.outcomes.rounds, k, c)
        assert tuple(arms) in sets
        assert oracle.report.index == pytest.approx(best)
        assert oracle.report.certified


def test_the_search_is_exact_where_sets_are_too_many_to_look_up_at_once():
    """6 to 11 of 18 arms, so that the search has to branch: 20 problems against all of up to 48,620
    sets.
    """
    rng = np.random.default_rng(1)
    for _ in range(20):
        a, b = rng.random(18), 0.05 * rng.random(18) ** 3 + 1e-4
        k = int(rng.integers(6, 12))
        sets = np.array(list(itertools.combinations(range(18), k)))
        values = a[sets].sum(axis=1) + np.sqrt(b[sets].sum(axis=1))
        found = largest_root(a, b, k, limit=10_000)
        assert found.value == pytest.approx(values.max(), abs=1e-11)
        assert found.bound == found.value
        np.testing.assert_array_equal(found.arms, sets[values.argmax()])


def test_escb_says_when_it_gave_up():
    """Many nearly equal sets and one node: the set is good, the bound holds, and nothing is
    certified."""
    rng = np.random.default_rng(0)
    counts, means = rng.integers(20, 40, 300), 0.5 + 0.01 * rng.random(300)
    belief = told(counts, means)
    oracles = [ESCBIndex(belief, limit=limit) for limit in (1, 10_000)]
    theta = belief.sample(rng=rng)
    for oracle in oracles:
        oracle.select(sa.LinearReward(300), theta, 30, rng=np.random.default_rng(0))
    hasty, patient = (oracle.report for oracle in oracles)
    assert patient.certified
    assert hasty.index <= patient.index <= hasty.bound + 1e-9
    assert hasty.certified == (hasty.index >= patient.index - 1e-9)


def test_escb_tries_every_arm_first_and_then_learns():
    """Every arm is seen after m/k rounds. Two arms of mean 1 among ten of mean 0.3 are nearly
    always chosen at the end.
    """
    mu = np.full(12, 0.3)
    mu[[4, 9]] = 1.0
    policy, rng = escb(sa.LinearReward(12), 2), np.random.default_rng(0)
    trace = sa.simulate(policy, sa.BernoulliArms(mu), horizon=600, rng=rng)
    assert sorted(trace.arms[:6].ravel().tolist()) == list(range(12))
    assert (trace.arms[-200:] == [4, 9]).all(axis=1).mean() > 0.8
    assert policy.evaluations == 0


def test_escb_within_constraints_is_exact_and_refuses_too_many():
    rng = np.random.default_rng(0)
    choices = sa.Feasible(3, groups=[sa.Group([0, 1, 2], most=1)])
    for _ in range(30):
        counts, means = rng.integers(1, 50, 7), rng.random(7)
        belief = told(counts, means)
        arms = ESCBIndex(belief).select(sa.LinearReward(7), means, choices, rng=rng)
        level = np.log(41) / 2
        index = {
            tuple(s.tolist()): means[s].sum() + np.sqrt(level * (1 / counts[s]).sum())
            for s in choices.for_arms(7).sets()
        }
        assert tuple(arms.tolist()) == max(index, key=index.get)
    with pytest.raises(ValueError, match="more than its limit of 5"):
        ESCBIndex(belief, limit=5).select(sa.LinearReward(7), means, choices, rng=rng)


def test_a_fork_of_a_session_reads_its_own_counts():
    session = sa.Session(escb(sa.LinearReward(4), 2), seed=1)
    fork = session.fork()
    assert fork.policy.oracle.belief is fork.policy.belief is not session.policy.belief
    for one in (session, fork):
        decision = one.ask()
        one.tell(decision.id, dict.fromkeys(decision.arms, 1.0))
    assert (
        session.policy.belief.outcomes.counts.sum() == fork.policy.belief.outcomes.counts.sum() == 2
    )


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: ESCBIndex(sa.BetaBelief(3)), "must have outcomes"),
        (lambda: ESCBIndex(MeanBelief(3), c=-1), "c must be at least 0"),
        (lambda: ask(escb(sa.AnySuccess(4), 2)), "reward must be additive"),
        (
            lambda: ask(sa.Policy(MeanBelief(4), ESCBIndex(MeanBelief(3)), sa.LinearReward(4), 2)),
            "4 arms",
        ),
    ],
)
def test_refuses(call, says):
    with pytest.raises((ValueError, TypeError), match=says):
        call()


def ask(policy, **options):
    return policy.ask(rng=np.random.default_rng(0), **options)
