from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields

import numpy as np
import pytest

import superarm as sa
from worker_processes import worker_processes


def make(rng):
    it = sa.linear_instance(30, 3, 0.2, rng=rng)
    return sa.gt_qts(it.reward, 3, delta=0.2, n_tests=20), it


def make_cts(rng):
    it = sa.linear_instance(30, 3, 0.2, rng=rng)
    return sa.cts(it.reward, 3), it


def broken(rng):
    raise RuntimeError("no such problem")


def same(one, other):
    return all(
        np.array_equal(getattr(one, field.name), getattr(other, field.name), equal_nan=True)
        for field in fields(one)
        if field.name != "ask_s"
    )


def test_a_trace_records_every_round():
    it = sa.linear_instance(30, 3, 0.2, rng=np.random.default_rng(0))
    policy = sa.cts(it.reward, 3)
    trace = sa.simulate(policy, it, horizon=50, rng=np.random.default_rng(1))
    assert trace.arms.shape == trace.outcomes.shape == (50, 3)
    np.testing.assert_allclose(trace.values, it.mu[trace.arms].sum(axis=1))
    np.testing.assert_allclose(trace.regret(), np.cumsum(it.best_value - trace.values))
    np.testing.assert_allclose(trace.regret(10.0), np.cumsum(10 - trace.values))
    assert trace.evaluations.tolist() == [30] * 50
    assert (trace.ask_s > 0).all()
    counts = np.bincount(trace.arms.ravel(), minlength=30)
    np.testing.assert_array_equal(policy.belief.a + policy.belief.b - 2, counts)


def test_the_truth_costs_no_evaluations_and_each_set_is_asked_once():
    asked = []

    def worth(arms, means):
        asked.append(tuple(arms))
        return float(means.sum())

    it = sa.linear_instance(6, 2, 0.2, rng=np.random.default_rng(0))
    truth = sa.BlackBox(worth, n_arms=6, lipschitz=1, upper=6)
    policy = sa.cts(it.reward, 2)
    trace = sa.simulate(policy, it, horizon=200, rng=np.random.default_rng(1), reward=truth)
    assert policy.evaluations == trace.evaluations.sum() == 1200
    assert len(asked) == len(set(asked)) <= 15
    np.testing.assert_allclose(trace.values, it.mu[trace.arms].sum(axis=1))


def test_without_known_means_values_are_of_the_outcomes():
    class Coins:
        n_arms = 4

        def pull(self, arms, *, rng):
            return rng.random(len(arms))

    trace = sa.simulate(
        sa.cts(sa.LinearReward(4), 2), Coins(), horizon=20, rng=np.random.default_rng(0)
    )
    np.testing.assert_allclose(trace.values, trace.outcomes.sum(axis=1))
    with pytest.raises(ValueError, match=r"regret needs best_value.*ChangingInstance\("):
        trace.regret()


def test_one_stream_or_two():
    it = sa.linear_instance(30, 3, 0.2, rng=np.random.default_rng(0))
    shared = np.random.default_rng(1)
    one = sa.simulate(sa.cts(it.reward, 3), it, horizon=20, rng=shared, world_rng=shared)
    two = sa.simulate(sa.cts(it.reward, 3), it, horizon=20, rng=np.random.default_rng(1))
    assert same(one, two)


def test_progress_is_called_after_every_round():
    it = sa.linear_instance(30, 3, 0.2, rng=np.random.default_rng(0))
    calls = []
    sa.simulate(
        sa.cts(it.reward, 3), it, horizon=3, rng=np.random.default_rng(1), progress=calls.append
    )
    assert calls == [1, 2, 3]


def test_no_rounds():
    it = sa.linear_instance(30, 3, 0.2, rng=np.random.default_rng(0))
    trace = sa.simulate(sa.cts(it.reward, 3), it, horizon=0, rng=np.random.default_rng(1))
    assert trace.arms.shape == (0, 3)
    assert trace.regret().shape == (0,)


def test_replicate_is_the_same_for_any_executor_and_number_of_workers():
    options = {"n_runs": 5, "horizon": 40, "seed": 7}
    alone = sa.replicate(make, **options)
    calls = []
    with ThreadPoolExecutor(3) as executor:
        threads = sa.replicate(make, **options, executor=executor, progress=calls.append)
    assert calls == [1, 2, 3, 4, 5]
    assert all(map(same, alone, threads))
    for workers in (1, 2):
        with worker_processes(workers) as executor:
            assert all(map(same, alone, sa.replicate(make, **options, executor=executor)))


def test_runs_differ_but_more_runs_begin_like_fewer():
    few, more = (sa.replicate(make, n_runs=n, horizon=30, seed=1) for n in (2, 4))
    assert same(few[0], more[0])
    assert same(few[1], more[1])
    assert not same(more[0], more[1])
    assert not same(few[0], sa.replicate(make, n_runs=1, horizon=30, seed=2)[0])


class Fixed:
    """Always the same arms; makes ``n_draws`` draws in each round, as other policies do."""

    report = None

    def __init__(self, n_draws):
        self.n_draws = n_draws

    def select(self, reward, theta, k, *, rng):
        rng.random(self.n_draws)
        return np.arange(k.n_most)


@pytest.mark.parametrize("n_draws", [0, 7])
def test_policies_replicated_with_one_seed_are_pairs(n_draws):
    """The same instances and the same draws of the environment, whatever the policies draw."""

    def make_fixed(rng):
        it = sa.linear_instance(30, 3, 0.2, rng=rng)
        return sa.cts(it.reward, 3, oracle=Fixed(n_draws)), it

    def make_other(rng):
        it = sa.linear_instance(30, 3, 0.2, rng=rng)
        return sa.cucb(it.reward, 3, oracle=Fixed(3)), it

    ours, theirs = (
        sa.replicate(each, n_runs=3, horizon=30, seed=1) for each in (make_fixed, make_other)
    )
    for one, other in zip(ours, theirs, strict=True):
        assert one.best_value == other.best_value
        np.testing.assert_array_equal(one.outcomes, other.outcomes)


def test_a_policy_that_is_not_fresh_is_refused():
    it = sa.linear_instance(30, 3, 0.2, rng=np.random.default_rng(0))
    policy = sa.cts(it.reward, 3)
    with pytest.raises(ValueError, match="make must return a new policy"):
        sa.replicate(lambda rng: (policy, it), n_runs=2, horizon=5, seed=0)


def test_an_environment_that_answers_in_the_wrong_shape_is_refused():
    class Lazy:
        n_arms = 4

        def pull(self, arms, *, rng):
            return 1.0

    policy = sa.cts(sa.LinearReward(4), 2)
    with pytest.raises(
        ValueError,
        match=r"the outcomes that environment.pull returned must have shape \(2,\), got \(\)",
    ):
        sa.simulate(policy, Lazy(), horizon=1, rng=np.random.default_rng(0))
    assert policy.belief.a.tolist() == [1, 1, 1, 1]


def test_replicate_calls_progress_without_an_executor():
    calls = []
    sa.replicate(make, n_runs=3, horizon=2, seed=0, progress=calls.append)
    assert calls == [1, 2, 3]


@pytest.mark.parametrize("workers", [None, 2])
def test_a_failing_run_is_reported(workers):
    with ThreadPoolExecutor(2) as executor, pytest.raises(RuntimeError, match="no such problem"):
        sa.replicate(broken, n_runs=3, horizon=2, seed=0, executor=executor if workers else None)


def test_refuses():
    it = sa.linear_instance(30, 3, 0.2, rng=np.random.default_rng(0))
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="the same number of arms, got 5 and 30"):
        sa.simulate(sa.cts(sa.LinearReward(5), 3), it, horizon=2, rng=rng)
    with pytest.raises(ValueError, match="horizon must be at least 0"):
        sa.simulate(sa.cts(it.reward, 3), it, horizon=-1, rng=rng)
    with pytest.raises(TypeError, match="n_runs must be a whole number"):
        sa.replicate(make, n_runs=2.5, horizon=2, seed=0)


def test_going_on_after_save_and_load_is_the_same_bit_for_bit():
    import json

    it = sa.network_instance(20, 3, 0.1, rng=np.random.default_rng(0))
    whole = sa.simulate(sa.cts(it.reward, 3), it, horizon=60, rng=np.random.default_rng(1))
    rng = np.random.default_rng(1)
    first = sa.cts(it.reward, 3)
    sa.simulate(first, it, horizon=25, rng=rng)
    saved = json.dumps([first.belief.state(), rng.bit_generator.state])
    belief, generator = json.loads(saved)
    second, other = sa.cts(it.reward, 3), np.random.default_rng()
    second.belief.load(belief)
    other.bit_generator.state = generator
    rest = sa.simulate(second, it, horizon=35, rng=other)
    np.testing.assert_array_equal(rest.arms, whole.arms[25:])
    np.testing.assert_array_equal(rest.outcomes, whole.outcomes[25:])


class Blinking:
    """The means swap in every third round, and the outcome of arm 0 is never seen."""

    n_arms = 4

    def __init__(self):
        self.rounds, self.environments = (
            0,
            (np.array([0.1, 0.9, 0.5, 0.3]), np.array([0.9, 0.1, 0.5, 0.7])),
        )

    @property
    def mu(self):
        return self.environments[self.rounds // 3 % 2]

    @property
    def best_value(self):
        return float(np.sort(self.mu)[-2:].sum())

    def pull(self, arms, *, rng):
        self.rounds += 1
        return np.where(arms == 0, np.nan, 1.0)


def test_a_changing_environment_is_judged_by_the_means_of_each_round():
    environment = Blinking()
    trace = sa.simulate(
        sa.random_sets(sa.LinearReward(4), 2), environment, horizon=20, rng=np.random.default_rng(0)
    )
    means = [environment.environments[t // 3 % 2] for t in range(20)]
    values = [mu[arms].sum() for mu, arms in zip(means, trace.arms, strict=True)]
    best = [np.sort(mu)[-2:].sum() for mu in means]
    np.testing.assert_allclose(trace.values, values)
    np.testing.assert_allclose(trace.best_value, best)
    np.testing.assert_allclose(trace.regret(), np.cumsum(np.subtract(best, values)))


def test_what_is_not_seen_is_not_told():
    policy = sa.random_sets(sa.LinearReward(4), 2)
    policy.belief = sa.BetaBelief(4)
    trace = sa.simulate(policy, Blinking(), horizon=50, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(np.isnan(trace.outcomes), trace.arms == 0)
    np.testing.assert_array_equal(
        policy.belief.a, 1 + np.bincount(trace.arms[trace.arms > 0], minlength=4)
    )
    np.testing.assert_array_equal(policy.belief.b, np.ones(4))


def test_masked_outcomes_are_refused_and_not_learned():
    class Masking(sa.BernoulliArms):
        def pull(self, arms, *, rng):
            return np.ma.array(super().pull(arms, rng=rng), mask=np.asarray(arms) == 0)

    policy = sa.cts(sa.LinearReward(3), 3)
    with pytest.raises(ValueError, match=r"pull returned must have no masked values, got 1"):
        sa.simulate(policy, Masking([1, 1, 1]), horizon=2, rng=np.random.default_rng(0))
    assert (policy.belief.a == 1).all()


def test_a_constant_environment_is_judged_once():
    asked = []

    def total(arms, means):
        asked.append(tuple(arms))
        return float(means.sum())

    reward = sa.BlackBox(total, n_arms=5, lipschitz=1.0, upper=5.0)
    environment = sa.BernoulliArms([0.1, 0.2, 0.3, 0.4, 0.5])
    trace = sa.simulate(
        sa.random_sets(reward, 2), environment, horizon=200, rng=np.random.default_rng(0)
    )
    assert len(asked) == len(set(asked)) == len(np.unique(trace.arms, axis=0))
    assert np.isnan(trace.best_value)


class Telling:
    """An environment with these means, which may be of any kind."""

    n_arms = 3

    def __init__(self, mu):
        self.mu = mu

    def pull(self, arms, *, rng):
        return np.ones(len(arms))


class KnownOnly(sa.LinearReward):
    """A sum of the means that are known."""

    def batch(self, pools, theta):
        return super().batch(pools, np.nan_to_num(np.asarray(theta, float)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, object])
def test_means_that_nobody_knows_are_not_taken_for_written_means(dtype):
    environment = Telling(np.array([0.9, np.nan, 0.5], dtype))
    policy, rng = sa.random_sets(sa.LinearReward(3), 2), np.random.default_rng(0)
    trace = sa.simulate(policy, environment, horizon=30, rng=rng, reward=KnownOnly(3))
    assert set(trace.values.round(6)) == {0.9, 0.5, 1.4}


def test_means_that_change_in_the_same_list_are_refused():
    class Rising(Telling):
        def pull(self, arms, *, rng):
            self.mu[0] += 0.1
            return np.ones(len(arms))

    policy, rng = sa.random_sets(sa.LinearReward(3), 2), np.random.default_rng(0)
    with pytest.raises(ValueError, match="new array when the means change"):
        sa.simulate(policy, Rising([0.1, 0.2, 0.3]), horizon=3, rng=rng)
    trace = sa.simulate(policy, Telling([0.1, 0.2, 0.3]), horizon=3, rng=rng)
    assert trace.values.min() >= 0.3


def test_means_of_other_arms_are_refused():
    policy, rng = sa.random_sets(sa.LinearReward(3), 2), np.random.default_rng(0)
    with pytest.raises(
        ValueError, match=r"mu of the environment must have shape \(3,\).*got \(2,\)"
    ):
        sa.simulate(policy, Telling([0.1, 0.2]), horizon=3, rng=rng)


class Walking:
    """Means that change after the tenth pull: in the same array, or in a new one."""

    n_arms = 3

    def __init__(self, new):
        self.mu, self.new, self.n_pulls = np.array([0.9, 0.1, 0.1]), new, 0

    def pull(self, arms, *, rng):
        outcomes = (rng.random(len(arms)) < self.mu[arms]).astype(float)
        self.n_pulls += 1
        if self.n_pulls == 10 and self.new:
            self.mu = self.mu[::-1].copy()
        elif self.n_pulls == 10:
            self.mu[:] = self.mu[::-1].copy()
        return outcomes


@pytest.mark.parametrize("horizon", [10, 40])
def test_means_that_change_in_the_same_array_are_refused(horizon):
    """All rounds would be valued with the last means."""
    policy, rng = sa.cts(sa.LinearReward(3), 1), np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"new array when the means change.*\+= step"):
        sa.simulate(policy, Walking(new=False), horizon=horizon, rng=rng)
    trace = sa.simulate(policy, Walking(new=True), horizon=horizon, rng=rng)
    assert trace.values.max() == 0.9


@pytest.mark.parametrize("shared", ["policy", "belief"])
def test_a_belief_that_has_played_is_refused(shared):
    """A sum needs no evaluations, so their number does not tell that a policy has played."""
    reward, world = sa.LinearReward(4), sa.BernoulliArms([0.1, 0.2, 0.8, 0.9])
    policy = sa.thompson(reward, 2)

    def make(rng):
        new = sa.Policy(policy.belief, sa.TopK(), reward, 2)
        return policy if shared == "policy" else new, world

    with pytest.raises(ValueError, match=r"new belief for each run.*create both inside make"):
        sa.replicate(make, n_runs=2, horizon=5, seed=1)


@pytest.mark.parametrize("made", [None, sa.BernoulliArms([0.5]), (sa.BernoulliArms([0.5]), None)])
def test_make_must_return_a_policy_and_an_environment(made):
    with pytest.raises(TypeError, match="make must return a policy and an environment, got"):
        sa.replicate(lambda rng: made, n_runs=2, horizon=5, seed=1)


def test_make_may_return_a_list():
    options = {"n_runs": 2, "horizon": 5, "seed": 1}
    for one, other in zip(
        sa.replicate(make_cts, **options),
        sa.replicate(lambda rng: list(make_cts(rng)), **options),
        strict=True,
    ):
        assert same(one, other)


def test_compare_refuses_what_it_cannot_play():
    reward = sa.LinearReward(4)

    def draw(rng):
        return sa.linear_instance(4, 2, 0.1, rng=rng)

    def bare(rng):
        return sa.BernoulliArms([0.1, 0.2, 0.8, 0.9])

    def played(policies, draw=draw):
        return sa.compare(policies, draw, n_runs=2, horizon=5)

    with pytest.raises(TypeError, match="policies must be a dict with a name for each"):
        played([sa.thompson])
    with pytest.raises(TypeError, match="'mine' must be a function of a reward and k"):
        played({"mine": sa.thompson(reward, 2)})
    with pytest.raises(TypeError, match=r"draw must return an Instance.*ChangingInstance\("):
        played({"mine": sa.thompson}, bare)

    def instance(rng):
        return sa.simulation.ChangingInstance(bare(rng), reward, 2)

    assert (played({"mine": sa.thompson}, instance).final()["mine"] >= 0).all()
