import numpy as np
import pytest

import naive
import superarm as sa
from superarm.oracles.epsilon_random import decaying
from superarm.policies import escb, exp3, explore_then_commit


def test_cts_is_the_ten_line_program_bit_for_bit():
    """Decision by decision, with one generator for everything."""
    mu = np.random.default_rng(0).random(200)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        arms, a, b = naive.thompson(mu, 5, 400, rng, rng)
        ours = np.random.default_rng(seed)
        policy = sa.cts(sa.LinearReward(200), 5)
        trace = sa.simulate(policy, sa.BernoulliArms(mu), horizon=400, rng=ours)
        np.testing.assert_array_equal(trace.arms, arms)
        np.testing.assert_array_equal(policy.belief.a, a)
        np.testing.assert_array_equal(policy.belief.b, b)
        assert ours.bit_generator.state == rng.bit_generator.state
        assert (trace.evaluations == 200).all()


def test_cts_is_the_ten_line_program_at_the_papers_size():
    it = sa.linear_instance(5000, 5, 0.25, rng=np.random.default_rng(0))
    rngs = np.random.default_rng(1), np.random.default_rng(2)
    arms, _, _ = naive.thompson(it.mu, 5, 300, *rngs)
    ours = np.random.default_rng(1), np.random.default_rng(2)
    trace = sa.simulate(sa.cts(it.reward, 5), it, horizon=300, rng=ours[0], world_rng=ours[1])
    np.testing.assert_array_equal(trace.arms, arms)


def test_gt_qts_is_algorithm_1():
    """With singletons as tests and no quantizer, the paper's two algorithms are the same."""
    it = sa.linear_instance(30, 3, 0.2, rng=np.random.default_rng(0))
    pools = sa.Pools.singletons(np.arange(30), 30)
    traces = [
        sa.simulate(policy, it, horizon=200, rng=np.random.default_rng(1))
        for policy in (
            sa.cts(it.reward, 3),
            sa.gt_qts(it.reward, 3, delta=0.2, quantize=False, pools=pools),
        )
    ]
    np.testing.assert_array_equal(traces[0].arms, traces[1].arms)


def test_cts_learns_and_the_others_are_in_order():
    """On an easy problem CTS is far below CUCB, and CUCB below the random baseline. Means of 2
    paired runs; the differences are 6 and more standard errors wide (random 1,790 ± 30, CUCB
    1,000 ± 50, CTS 90 ± 16 at this size).
    """

    def final(policy):
        def make(rng):
            it = sa.linear_instance(50, 3, 0.3, rng=rng)
            return policy(it), it

        return np.mean(
            [trace.regret()[-1] for trace in sa.replicate(make, n_runs=2, horizon=1000, seed=0)]
        )

    chance = final(lambda it: sa.random_sets(it.reward, 3))
    cucb = final(lambda it: sa.cucb(it.reward, 3))
    cts = final(lambda it: sa.cts(it.reward, 3))
    assert cts < 0.2 * cucb < 0.2 * chance


def test_policies_are_what_they_say():
    reward = sa.LinearReward(9)
    greedy = sa.Greedy()
    assert isinstance(sa.cts(reward, 2).oracle, sa.Singletons)
    assert sa.cts(reward, 2, oracle=greedy).oracle is greedy
    assert isinstance(sa.cucb(reward, 2).belief, sa.UCBBelief)
    oracle = sa.gt_qts(reward, 2, delta=0.3, p=0.2, n_tests=7, decoder="centred").oracle
    assert (oracle.delta, oracle.p, oracle.n_tests, oracle.decoder) == (0.3, 0.2, 7, "centred")
    assert sa.random_sets(reward, 2).ask(rng=np.random.default_rng(0)).shape == (2,)


def test_the_policys_reward_is_counted_once():
    reward = sa.LinearReward(4)
    first = sa.cts(reward, 2)
    assert isinstance(first.reward, sa.Counted)
    assert first.reward.uncounted is reward
    second = sa.cts(first.reward, 2)
    second.ask(rng=np.random.default_rng(0))
    assert (first.evaluations, second.evaluations) == (0, 4)
    first.reward([0], [0.5])
    assert first.evaluations == 1


def test_tell_takes_any_distinct_arms_in_any_order():
    policy, rng = sa.cts(sa.LinearReward(5), 2), np.random.default_rng(0)
    policy.tell([4, 0, 2], [1.0, 0.0, 1.0], rng=rng)
    policy.tell([], [], rng=rng)
    assert policy.belief.a.tolist() == [1, 1, 2, 1, 2]
    assert policy.belief.b.tolist() == [2, 1, 1, 1, 1]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: sa.cts(sa.LinearReward(4), 5), r"k must be between 1 and 4 \(n_arms\), got 5"),
        (lambda: sa.cts(sa.LinearReward(4), 0), "k must be between 1 and 4"),
        (lambda: sa.cts(sa.LinearReward(4), 2.0), "k must be a whole number, got 2.0"),
        (
            lambda: sa.Policy(sa.BetaBelief(3), sa.Singletons(), sa.LinearReward(4), 2),
            "got a belief of 3 and a reward of 4",
        ),
        (lambda: sa.gt_qts(sa.LinearReward(4), 2, delta=0.1, nonsense=1), "nonsense"),
    ],
)
def test_refuses(call, says):
    with pytest.raises((ValueError, TypeError), match=says):
        call()


@pytest.mark.parametrize(
    "build",
    [
        lambda reward: sa.single_seed_ts(reward, 2),
        lambda reward: escb(reward, 2),
        lambda reward: sa.epsilon_greedy(reward, 2, epsilon=0.5),
        lambda reward: explore_then_commit(reward, 2, n_explore=2),
        lambda reward: exp3(reward, 2, gamma=0.2),
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


def test_they_learn():
    """Means of 2 paired runs: each policy is below 0.6 of the random baseline, Exp3 below 0.9.

    In 8 other runs the means are at most 0.33 and 0.53, and the standard deviations of a run 0.07
    and 0.05: 5 and more standard errors.
    """

    def final(build):
        def make(rng):
            it = sa.linear_instance(30, 3, 0.3, rng=rng)
            return build(it.reward), it

        return np.mean(
            [trace.regret()[-1] for trace in sa.replicate(make, n_runs=2, horizon=500, seed=0)]
        )

    chance = final(lambda reward: sa.random_sets(reward, 3))
    built = {
        "single seed": lambda reward: sa.single_seed_ts(reward, 3, oracle=sa.TopK()),
        "escb": lambda reward: escb(reward, 3),
        "epsilon": lambda reward: sa.epsilon_greedy(reward, 3, oracle=sa.TopK()),
        "decaying": lambda reward: sa.epsilon_greedy(
            reward, 3, epsilon=decaying(50), oracle=sa.TopK()
        ),
        "commit": lambda reward: explore_then_commit(reward, 3, n_explore=8, oracle=sa.TopK()),
        "exp3": lambda reward: exp3(reward, 3, horizon=500),
    }
    found = {name: final(build) / chance for name, build in built.items()}
    assert max(value for name, value in found.items() if name != "exp3") < 0.6
    assert found["exp3"] < 0.9


def test_thompson_has_the_parts_that_the_reward_allows():
    linear, network = sa.LinearReward(6), sa.NetworkReward.random(6, rng=np.random.default_rng(0))
    policy = sa.thompson(linear, 4, horizon=100)
    assert (policy.belief.shared, policy.belief.horizon) == (0.8, 100)
    assert sa.thompson(sa.LinearReward(50), 10).belief.shared == 0.9
    assert type(policy.oracle) is sa.TopK
    assert type(sa.thompson(network, 2).oracle) is sa.LazySingletons
    policy = sa.thompson(linear, 1, prior=(1, 9), shared=0.3, oracle=sa.Singletons())
    assert type(policy.belief).__name__ == "SharedSeedBelief"
    np.testing.assert_allclose(policy.belief.mean(), 0.1)
    assert (policy.belief.shared, type(policy.oracle)) == (0.3, sa.Singletons)


def test_thompson_refuses_priors_that_it_does_not_know():
    for make in (sa.thompson, sa.cts, sa.auto):
        with pytest.raises(ValueError, match='prior must be "learned", "flat" or a pair'):
            make(sa.LinearReward(3), 1, prior="uniform")
    with pytest.raises(ValueError, match="horizon is used by the learned prior only"):
        sa.thompson(sa.LinearReward(3), 1, prior=(1, 1), horizon=5)


def test_every_policy_takes_the_same_priors():
    reward = sa.LinearReward(6)
    for make, prior, kind in (
        (sa.thompson, "flat", "SharedSeedBelief"),
        (sa.auto, (2, 8), "SharedSeedBelief"),
        (sa.cts, (2, 8), "BetaBelief"),
    ):
        belief = make(reward, 2, prior=prior).belief
        posterior = belief.posterior(np.arange(1))
        expected = [1, 1] if prior == "flat" else [2, 8]
        assert type(belief).__name__ == kind
        assert [posterior.a[0], posterior.b[0]] == expected
    assert type(sa.auto(reward, 2).belief).__name__ == "LearnedBetaBelief"


def test_cts_with_a_learned_prior_draws_each_arm_from_its_posterior():
    """Means and variances of 4,000 draws are within five standard errors of the posterior's, and
    the 15 correlations of the arms within 0.08: error rates of 1e-6 and 1e-6 per number.
    """
    policy, rng = sa.cts(sa.LinearReward(6), 2, prior="learned"), np.random.default_rng(3)
    for _ in range(50):
        policy.tell(np.arange(6), rng.random(6) < np.linspace(0.1, 0.6, 6), rng=rng)
    draws = np.array([policy.belief.sample(rng=rng) for _ in range(4000)])
    posterior = policy.belief.posterior(np.arange(6))
    var = posterior.a * posterior.b / (posterior.a + posterior.b) ** 2
    var /= posterior.a + posterior.b + 1
    assert (abs(draws.mean(axis=0) - posterior.mean()) < 5 * np.sqrt(var / 4000)).all()
    # The relative error of a variance is about sqrt(2 / 4000), as the kurtosis is close to normal.
    assert (abs(draws.var(axis=0) / var - 1) < 5 * np.sqrt(2.5 / 4000)).all()
    correlations = np.corrcoef(draws.T)[np.triu_indices(6, 1)]
    assert abs(correlations).max() < 0.08


def test_thompson_learns_rare_successes_where_cts_explores():
    """100 arms at 5% on average, 600 rounds of 5 arms: 30 outcomes per arm. The paired difference
    of the totals is 139 with a standard deviation of 46 in 20 other runs, so that the mean of 4
    runs is below 25 with an error of about 1e-6.
    """
    differences = []
    for seed in range(4):
        mu = np.random.default_rng(seed).beta(1, 19, 100)
        totals = []
        for policy in (sa.thompson(sa.LinearReward(100), 5), sa.cts(sa.LinearReward(100), 5)):
            rng = np.random.default_rng(100 + seed)
            trace = sa.simulate(policy, sa.BernoulliArms(mu), horizon=600, rng=rng)
            totals.append(mu[trace.arms].sum())
        differences.append(totals[0] - totals[1])
    assert np.mean(differences) > 25


def test_thompson_finds_the_better_of_two_long_ways():
    """Two disjoint ways of 20 edges, 0.7 and 0.9 per edge: plain Thompson sampling, with one draw
    per edge, may need a number of rounds that is exponential in the length (Zhang, Combes 2024).
    A wrong way costs 4 per round; all of 300 rounds cost 1,200, and half of them are allowed.
    """
    nodes = np.arange(19)
    ways = [np.concatenate([[0], 2 + 19 * way + nodes, [1]]) for way in range(2)]
    tails, heads = (np.concatenate([way[cut] for way in ways]) for cut in (np.s_[:-1], np.s_[1:]))
    mu = np.repeat([0.7, 0.9], 20)
    for seed in range(3):
        policy = sa.thompson(sa.LinearReward(40), sa.sets.Paths(tails, heads, 0, 1))
        rng = np.random.default_rng(seed)
        trace = sa.simulate(policy, sa.BernoulliArms(mu), horizon=300, rng=rng)
        assert (18 - mu[trace.arms].sum(axis=1)).sum() < 600
