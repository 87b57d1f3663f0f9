"""The law of each further belief and oracle, against slow twins, and what the policies made of them learn."""

import itertools
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import naive
import superarm as sa
from superarm.beliefs.exp3 import exp3_gamma
from superarm.oracles._root import largest_root
from superarm.oracles.dependent_rounding import _to_sum
from superarm.oracles.epsilon_random import decaying

# Single seed


def seeded():
    belief = sa.SingleSeedBelief(4, prior=([1.0, 0.5, 1.0, 1.0], [1.0, 2.0, 1.0, 1.0]))
    for outcome in (1.0, 1.0, 0.0, 1.0):
        belief.update([0], [outcome], rng=np.random.default_rng(0))
    return belief


def test_single_seed_samples_have_the_posterior_law_each():
    """Kolmogorov-Smirnov of 4,000 samples against each arm's Beta; error 1e-6 each."""
    belief, rng = seeded(), np.random.default_rng(0)
    draws = np.array([belief.sample(rng=rng) for _ in range(4000)])
    for arm, (a, b) in enumerate([(4, 2), (0.5, 2), (1, 1), (1, 1)]):
        assert stats.kstest(draws[:, arm], stats.beta(a, b).cdf).pvalue > 1e-6


def test_single_seed_draws_one_level_for_all_arms():
    belief, rng, twin = seeded(), np.random.default_rng(1), np.random.default_rng(1)
    for _ in range(50):
        theta, u = belief.sample(rng=rng), twin.random()
        expected = [stats.beta(a, b).ppf(u) for a, b in [(4, 2), (0.5, 2), (1, 1), (1, 1)]]
        np.testing.assert_allclose(theta, expected, rtol=1e-9, atol=1e-12)
        assert theta[2] == theta[3]  # equal posteriors, equal values
        assert rng.bit_generator.state == twin.bit_generator.state


# Means, epsilon-greedy, explore then commit


def test_means_are_means():
    belief, rng = sa.MeanBelief(3, unseen=0.25), np.random.default_rng(0)
    for outcome in (0.5, 1.0, 0.0, 0.1):
        belief.update([1], [outcome], rng=rng)
    np.testing.assert_allclose(belief.sample(rng=rng), [0.25, 0.4, 0.25])
    assert rng.bit_generator.state == np.random.default_rng(0).bit_generator.state


def explored(oracle, rounds, rng):
    reward, theta = sa.Counted(sa.LinearReward(30)), np.linspace(0, 1, 30)
    found = []
    for _ in range(rounds):
        before = reward.evaluations
        arms = oracle.select(reward, theta, 3, rng=rng)
        found.append(reward.evaluations == before)
        assert (oracle.report is None) == found[-1]
        assert found[-1] or arms.tolist() == [27, 28, 29]
    return np.array(found)


def test_epsilon_random_explores_with_probability_epsilon():
    """3,000 rounds, within 5 standard deviations of 600; error 6e-7."""
    found = explored(sa.EpsilonRandom(sa.Singletons(), 0.2), 3000, np.random.default_rng(0))
    assert abs(found.sum() - 600) < 5 * np.sqrt(3000 * 0.2 * 0.8)


def test_epsilon_random_explores_by_its_schedule():
    """Every round while c/t >= 1, and about c ln(T/c) of the others: within 5 standard deviations; error 6e-7."""
    found = explored(
        sa.EpsilonRandom(sa.Singletons(), decaying(20)), 3000, np.random.default_rng(0)
    )
    chances = np.minimum(1, 20 / np.arange(1, 3001))
    assert found[:20].all()
    assert abs(found.sum() - chances.sum()) < 5 * np.sqrt((chances * (1 - chances)).sum())


def test_epsilon_random_picks_any_set():
    """All 15 pairs of 6 arms equally often in 3,000 random sets: chi-square, error 1e-6."""
    oracle, rng = sa.EpsilonRandom(sa.Singletons(), 1.0), np.random.default_rng(0)
    sets = [
        tuple(oracle.select(sa.LinearReward(6), np.linspace(0, 1, 6), 2, rng=rng))
        for _ in range(3000)
    ]
    observed = [sets.count(pair) for pair in itertools.combinations(range(6), 2)]
    assert stats.chisquare(observed).pvalue > 1e-6


@pytest.mark.parametrize(
    "make",
    [
        lambda: sa.EpsilonRandom(sa.Rarely(sa.Singletons(), when=7), decaying(8)),
        lambda: sa.ExploreThenCommit(sa.Rarely(sa.Singletons(), when=7), 2),
    ],
)
def test_they_go_on_after_save_and_load(make):
    plain, saved = make(), make()
    rngs = [np.random.default_rng(0), np.random.default_rng(0)]
    for theta in np.random.default_rng(1).random((40, 20)):
        text = json.dumps(saved.state())
        saved = make()
        saved.load(json.loads(text))
        results = [
            one.select(sa.LinearReward(20), theta, 3, rng=rng)
            for one, rng in zip((plain, saved), rngs, strict=True)
        ]
        np.testing.assert_array_equal(*results)
    plain.forget()
    assert len(plain.select(sa.LinearReward(20), theta, 3, rng=rngs[0])) == 3


@pytest.mark.parametrize(
    ("n_arms", "k", "n"), [(20, 3, 2), (7, 7, 3), (10, 4, 1), (5, 1, 4), (6, 2, 0)]
)
def test_explore_then_commit_picks_every_arm_so_often_and_then_one_set(n_arms, k, n):
    reward, rng = sa.Counted(sa.LinearReward(n_arms)), np.random.default_rng(0)
    oracle, rounds = sa.ExploreThenCommit(sa.Singletons(), n), -(-n * n_arms // k)
    picked = np.zeros(n_arms, int)
    for _ in range(rounds):
        assert picked.min() < n
        picked[oracle.select(reward, rng.random(n_arms), k, rng=rng)] += 1
        assert oracle.report is None
        assert picked.max() - picked.min() <= 1
    assert picked.min() >= n
    assert reward.evaluations == 0
    theta = rng.random(n_arms)
    committed = oracle.select(reward, theta, k, rng=rng)
    np.testing.assert_array_equal(committed, np.sort(np.argsort(theta)[-k:]))
    for _ in range(20):  # what is believed later is ignored
        np.testing.assert_array_equal(
            oracle.select(reward, rng.random(n_arms), k, rng=rng), committed
        )
    assert reward.evaluations == n_arms


@pytest.mark.parametrize(
    "choices",
    [
        sa.Feasible(3, must=[1], groups=[sa.Group([0, 1, 2], most=2)], must_not=[6]),
        sa.Feasible(4, at_most=True, weights=np.array([1.0, 3, 1, 2, 1, 3, 1]), budget=4.0),
        sa.Paths([0, 0, 1, 2, 1, 3, 4], [1, 2, 3, 3, 4, 5, 5], 0, 5),
        sa.SpanningTrees([0, 1, 2, 3, 4, 0, 1], [1, 2, 3, 4, 0, 2, 3]),
    ],
)
def test_exploring_within_choices_ends(choices):
    """Every arm that is in some set and not in all is picked three times, in at most three rounds each."""
    oracle, rng, known = (
        sa.ExploreThenCommit(sa.TopK(), 3),
        np.random.default_rng(0),
        choices.for_arms(7),
    )
    picked, rounds = np.zeros(7, int), 0
    while True:
        arms = oracle.select(sa.LinearReward(7), rng.random(7), choices, rng=rng)
        assert known.is_feasible(arms)
        if oracle.report is not None:
            break
        picked[arms] += 1
        rounds += 1
    assert (picked[known.undecided] >= 3).all()
    assert rounds <= 3 * known.undecided.sum()


# ESCB


def told(counts, means, n_updates=40):
    """A MeanBelief with these counts, means and number of updates."""
    belief = sa.MeanBelief(len(counts))
    belief.outcomes.counts, belief.outcomes.sums = (
        np.array(counts, float),
        np.array(counts, float) * means,
    )
    belief.outcomes.rounds = n_updates
    return belief


@pytest.mark.parametrize("c", [0.0, 4.0])
def test_escb_finds_the_largest_index(c):
    """Random problems of up to 11 arms, a third of them with few distinct means and counts, so with ties."""
    rng = np.random.default_rng(0)
    for trial in range(150):
        m = int(rng.integers(3, 12))
        k = int(rng.integers(1, m))
        counts = rng.integers(1, 4 if trial % 3 == 0 else 200, m)
        means = rng.integers(0, 3, m) / 2 if trial % 3 == 0 else rng.random(m)
        belief = told(counts, means, n_updates=int(rng.integers(1, 1000)))
        oracle, theta = sa.ESCBIndex(belief, c=c), belief.sample(rng=rng)
        arms = oracle.select(sa.LinearReward(m), theta, k, rng=rng)
        best, sets = naive.escb(theta, counts, belief.outcomes.rounds, k, c)
        assert tuple(arms) in sets
        assert oracle.report.index == pytest.approx(best)
        assert oracle.report.certified


def test_the_search_is_exact_where_sets_are_too_many_to_look_up_at_once():
    """6 to 11 of 18 arms, so that it bounds and branches: 20 problems against all of up to 48,620 sets."""
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
    """Many nearly equal sets and one node: the set is good, the bound holds, and nothing is certified."""
    rng = np.random.default_rng(0)
    counts, means = rng.integers(20, 40, 300), 0.5 + 0.01 * rng.random(300)
    belief = told(counts, means)
    oracles = [sa.ESCBIndex(belief, limit=limit) for limit in (1, 10_000)]
    theta = belief.sample(rng=rng)
    for oracle in oracles:
        oracle.select(sa.LinearReward(300), theta, 30, rng=np.random.default_rng(0))
    hasty, patient = (oracle.report for oracle in oracles)
    assert patient.certified
    assert hasty.index <= patient.index <= hasty.bound + 1e-9
    assert hasty.certified == (hasty.index >= patient.index - 1e-9)


def test_escb_tries_every_arm_first_and_then_learns():
    """Seen once each after m/k rounds. Two arms of mean 1 among ten of mean 0.3 are nearly always picked at the end."""
    mu = np.full(12, 0.3)
    mu[[4, 9]] = 1.0
    policy, rng = sa.escb(sa.LinearReward(12), 2), np.random.default_rng(0)
    trace = sa.simulate(policy, sa.BernoulliArms(mu), horizon=600, rng=rng)
    assert sorted(trace.arms[:6].ravel().tolist()) == list(range(12))
    assert (trace.arms[-200:] == [4, 9]).all(axis=1).mean() > 0.8
    assert policy.evaluations == 0


def test_escb_within_choices_is_exact_and_refuses_too_many():
    rng = np.random.default_rng(0)
    choices = sa.Feasible(3, groups=[sa.Group([0, 1, 2], most=1)])
    for _ in range(30):
        counts, means = rng.integers(1, 50, 7), rng.random(7)
        belief = told(counts, means)
        arms = sa.ESCBIndex(belief).select(sa.LinearReward(7), means, choices, rng=rng)
        level = np.log(41) / 2
        index = {
            tuple(s.tolist()): means[s].sum() + np.sqrt(level * (1 / counts[s]).sum())
            for s in choices.for_arms(7).sets()
        }
        assert tuple(arms.tolist()) == max(index, key=index.get)
    with pytest.raises(ValueError, match="more than its limit of 5"):
        sa.ESCBIndex(belief, limit=5).select(sa.LinearReward(7), means, choices, rng=rng)


def test_a_fork_of_a_session_reads_its_own_counts():
    session = sa.Session(sa.escb(sa.LinearReward(4), 2), seed=1)
    fork = session.fork()
    assert fork.policy.oracle.belief is fork.policy.belief is not session.policy.belief
    for one in (session, fork):
        decision = one.ask()
        one.tell(decision.id, dict.fromkeys(decision.arms, 1.0))
    assert (
        session.policy.belief.outcomes.counts.sum() == fork.policy.belief.outcomes.counts.sum() == 2
    )


# Exp3.M


@given(
    logs=st.lists(st.floats(0, 12), min_size=3, max_size=9),
    gamma=st.floats(0.01, 0.99),
    data=st.data(),
)
@settings(max_examples=200)
def test_exp3_probabilities_are_those_of_the_paper(logs, gamma, data):
    k = data.draw(st.integers(1, len(logs) - 1))
    belief = sa.Exp3Belief(len(logs), k, gamma=gamma)
    belief.log_weights = np.array(logs)
    p, lowered = belief._probabilities()
    expected, _ = naive.exp3_probabilities(np.exp(logs).tolist(), k, gamma)
    np.testing.assert_allclose(p, expected, atol=1e-7)
    assert p.sum() == pytest.approx(k)
    assert p.min() >= k * gamma / len(logs) - 1e-12
    assert (p[lowered] == 1).all()


def test_exp3_updates_as_the_paper_does():
    belief, rng = sa.Exp3Belief(5, 2, gamma=0.3), np.random.default_rng(0)
    for _ in range(60):
        p, before = belief.sample(rng=rng), belief.log_weights.copy()
        arms = np.sort(rng.choice(5, 2, replace=False))
        outcomes = rng.random(2) ** arms.clip(0, 1)
        belief.update(arms, outcomes, rng=rng)
        grown = belief.log_weights - before
        for i in range(5):
            x = outcomes[arms.tolist().index(i)] / p[i] if i in arms else 0.0
            assert grown[i] == pytest.approx(0.0 if p[i] == 1 else 0.3 * 2 / 5 * x)
    assert exp3_gamma(6, 6, 100) == exp3_gamma(1000, 1, 1) == 1.0
    np.testing.assert_array_equal(sa.Exp3Belief(4, 4, gamma=1.0).sample(rng=rng), 1.0)


@given(p=st.lists(st.floats(0, 1), min_size=2, max_size=7), data=st.data())
@settings(max_examples=100)
def test_dependent_rounding_keeps_every_chance(p, data):
    """By the law of all its outcomes, enumerated: chances exact, always k arms, pairs no likelier than apart."""
    k = data.draw(st.integers(1, len(p)))
    margins = _to_sum(np.array(p), k)
    assert margins.sum() == pytest.approx(k)
    assert margins.max() <= 1
    law = naive.rounding_law(margins.tolist())
    assert {len(arms) for arms in law} == {k}
    for i in range(len(p)):
        assert sum(chance for arms, chance in law.items() if i in arms) == pytest.approx(
            margins[i], abs=1e-9
        )
        for j in range(i):
            both = sum(chance for arms, chance in law.items() if i in arms and j in arms)
            assert both <= margins[i] * margins[j] + 1e-9


def test_chances_of_tiny_means_are_chances():
    """Means so small that the factor to make chances of them is no float any more."""
    theta = np.array([1.0] * 5 + [2.2e-309, 2.2e-309])
    np.testing.assert_allclose(_to_sum(theta, 6), [1.0] * 5 + [0.5, 0.5])
    np.testing.assert_allclose(_to_sum(np.array([5e-324, 0.0, 1.5e-323]), 1), [0.25, 0.0, 0.75])


def test_dependent_rounding_has_that_law():
    """8,000 sets against the enumerated law, chi-square; error 1e-6."""
    p, rng, oracle = (
        [0.9, 0.2, 0.5, 0.35, 0.6, 0.45],
        np.random.default_rng(0),
        sa.DependentRounding(),
    )
    law = naive.rounding_law(p)
    sets = [tuple(oracle.select(sa.LinearReward(6), p, 3, rng=rng).tolist()) for _ in range(8000)]
    observed = np.array([sets.count(arms) for arms in law])
    assert observed.sum() == len(sets)
    assert stats.chisquare(observed, 8000 * np.array(list(law.values()))).pvalue > 1e-6
    np.testing.assert_array_equal(oracle.report.margins, p)


def test_dependent_rounding_of_many_arms():
    """1,000 arms of random chances, 1,000 sets: always 40 arms; no arm too often or too rarely; error 2e-6."""
    rng, oracle = np.random.default_rng(0), sa.DependentRounding()
    theta = _to_sum(rng.random(1000) ** 3, 40)
    counts = np.zeros(1000)
    for _ in range(1000):
        arms = oracle.select(sa.LinearReward(1000), theta, 40, rng=rng)
        assert len(arms) == 40
        counts[arms] += 1
    law = stats.binom(1000, theta)
    assert np.minimum(law.cdf(counts), law.sf(counts - 1)).min() > 1e-9


def test_importance_weights_are_unbiased():
    """The mean of x_i/p_i over the sets of one law is x: within 5 standard errors over 8,000 sets; error 3e-6."""
    belief, rng = sa.Exp3Belief(5, 2, gamma=0.4), np.random.default_rng(0)
    belief.log_weights = np.array([0.0, 0.5, 1.0, 2.0, 0.2])
    p, x = belief.sample(rng=rng), np.array([0.1, 0.9, 0.5, 0.7, 0.3])
    picked = np.zeros(5)
    for _ in range(8000):
        picked[sa.DependentRounding().select(sa.LinearReward(5), p, 2, rng=rng)] += 1
    error = x / p * np.sqrt(p * (1 - p) / 8000)
    assert (np.abs(x * picked / 8000 / p - x) < 5 * error).all()


# In use


@pytest.mark.parametrize(
    "make",
    [sa.MeanBelief, sa.SingleSeedBelief, lambda n: sa.Exp3Belief(n, 2, gamma=0.2)],
    ids=["mean", "single seed", "exp3"],
)
def test_arms_join_later(make):
    belief, rng = make(3), np.random.default_rng(0)
    belief.update([0, 1], [1.0, 0.0], rng=rng)
    belief.add_arms(2)
    assert belief.n_arms == 5
    theta = belief.sample(rng=rng)
    assert theta.shape == (5,)
    assert theta[3] == theta[4] == theta[2]  # as little is known of them
    belief.update([4], [1.0], rng=rng)
    twin = make(5)
    twin.load(belief.state())
    assert twin.state() == belief.state()
    if not isinstance(belief, sa.SingleSeedBelief):
        with pytest.raises(TypeError, match="no prior"):
            belief.add_arms(1, prior=(1.0, 1.0))


@pytest.mark.parametrize(
    "build",
    [
        lambda reward: sa.single_seed_ts(reward, 2),
        lambda reward: sa.escb(reward, 2),
        lambda reward: sa.epsilon_greedy(reward, 2, epsilon=0.5),
        lambda reward: sa.explore_then_commit(reward, 2, n_explore=2),
        lambda reward: sa.exp3(reward, 2, gamma=0.2),
    ],
    ids=["single seed", "escb", "epsilon", "commit", "exp3"],
)
def test_a_session_with_each_goes_on_from_its_file(build, tmp_path):
    session = sa.Session(build(sa.LinearReward(6)), seed=3)
    for t in range(15):
        session.save(tmp_path / "one.json")
        again = sa.Session.load(tmp_path / "one.json", build(sa.LinearReward(6)))
        decision = session.ask()
        assert again.ask().arms == decision.arms
        assert session.explain(decision).reasons
        session.tell(decision.id, {arm: float(t % 3 == 0) for arm in decision.arms})


# What the policies learn


def test_they_learn():
    """Means of 4 paired runs, each policy below 0.6 of chance, which is many standard errors wide."""

    def final(build):
        def make(rng):
            it = sa.linear_instance(30, 3, 0.3, rng=rng)
            return build(it.reward), it

        return np.mean(
            [trace.regret()[-1] for trace in sa.replicate(make, n_runs=4, horizon=500, seed=0)]
        )

    chance = final(lambda reward: sa.random_sets(reward, 3))
    built = {
        "single seed": lambda reward: sa.single_seed_ts(reward, 3, oracle=sa.TopK()),
        "escb": lambda reward: sa.escb(reward, 3),
        "epsilon": lambda reward: sa.epsilon_greedy(reward, 3, oracle=sa.TopK()),
        "decaying": lambda reward: sa.epsilon_greedy(
            reward, 3, epsilon=decaying(50), oracle=sa.TopK()
        ),
        "commit": lambda reward: sa.explore_then_commit(reward, 3, n_explore=8, oracle=sa.TopK()),
        "exp3": lambda reward: sa.exp3(reward, 3, horizon=500),
    }
    found = {name: final(build) / chance for name, build in built.items()}
    assert max(value for name, value in found.items() if name != "exp3") < 0.6
    assert found["exp3"] < 0.9


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: sa.MeanBelief(3, unseen=2), "unseen must be in"),
        (lambda: sa.EpsilonRandom(sa.TopK(), 1.5), "epsilon must be in"),
        (lambda: sa.EpsilonRandom(sa.TopK(), 0.5).load({"oracle": "Other"}), "EpsilonRandom"),
        (lambda: decaying(0), "c must be"),
        (lambda: sa.ExploreThenCommit(sa.TopK(), -1), "n_explore must be at least 0"),
        (lambda: sa.ExploreThenCommit(sa.TopK(), 1).load({}), "ExploreThenCommit"),
        (lambda: sa.ESCBIndex(sa.BetaBelief(3)), "must have outcomes"),
        (lambda: sa.ESCBIndex(sa.MeanBelief(3), c=-1), "c must be at least 0"),
        (lambda: ask(sa.escb(sa.AnySuccess(4), 2)), "reward must be additive"),
        (
            lambda: ask(
                sa.Policy(sa.MeanBelief(4), sa.ESCBIndex(sa.MeanBelief(3)), sa.LinearReward(4), 2)
            ),
            "4 arms",
        ),
        (lambda: sa.Exp3Belief(3, 4, gamma=0.1), "k must be between"),
        (lambda: sa.Exp3Belief(3, 2, gamma=0), "gamma must be in"),
        (lambda: sa.exp3(sa.LinearReward(4), 2), "either horizon or gamma"),
        (lambda: sa.exp3(sa.LinearReward(4), 2, horizon=10, gamma=0.1), "either horizon or gamma"),
        (
            lambda: ask(sa.exp3(sa.LinearReward(4), 2, gamma=0.1), feasible=sa.Feasible(2)),
            "constraints are not known",
        ),
    ],
)
def test_refuses(call, says):
    with pytest.raises((ValueError, TypeError), match=says):
        call()


def ask(policy, **options):
    return policy.ask(rng=np.random.default_rng(0), **options)
