"""TopK, and the theta that is drawn when the oracle reads it."""

import numpy as np
import pytest

import superarm as sa


def test_a_look_is_the_belief_s_sample_drawn_once():
    belief, rng, other = sa.BetaBelief(5), np.random.default_rng(0), np.random.default_rng(0)
    expected = belief.sample(rng=other)
    theta = sa.core.Sample(belief, rng)
    assert rng.bit_generator.state == np.random.default_rng(0).bit_generator.state  # nothing yet
    assert len(theta) == 5
    np.testing.assert_array_equal(np.asarray(theta), expected)
    np.testing.assert_array_equal(np.array(theta, np.float32), expected.astype(np.float32))
    assert rng.bit_generator.state == other.bit_generator.state


@pytest.mark.parametrize(
    "look",
    [
        lambda theta: theta[[2, 0]],
        lambda theta: theta[1],
        lambda theta: list(theta),
        lambda theta: theta.argsort(),
        lambda theta: theta.shape,
        lambda theta: 2 * theta - 1,
        lambda theta: theta > 0.5,
        lambda theta: np.sort(theta)[::-1],
        lambda theta: np.log(theta).sum(),
        lambda theta: theta @ np.ones(5),
        lambda theta: np.concatenate([theta, [0.0]]),
    ],
)
def test_oracles_may_use_it_as_an_array(look):
    belief = sa.BetaBelief(5)
    found = look(sa.core.Sample(belief, np.random.default_rng(1)))
    np.testing.assert_array_equal(found, look(belief.sample(rng=np.random.default_rng(1))))


class Keeps:
    """A user's oracle that records the theta it gets, and reads it with ``look``."""

    def __init__(self, look):
        self.look, self.report = look, None

    def select(self, reward, theta, k, *, rng):
        self.look(theta)
        self.report = theta
        return np.arange(k.n_most)


def test_a_first_look_after_the_round_is_refused():
    policy, rng = (
        sa.Policy(sa.BetaBelief(5), Keeps(len), sa.LinearReward(5), 2),
        np.random.default_rng(0),
    )
    policy.ask(rng=rng)
    assert rng.bit_generator.state == np.random.default_rng(0).bit_generator.state
    with pytest.raises(ValueError, match="before select returns"):
        policy.oracle.report[0]
    with pytest.raises(ValueError, match="before select returns"):
        policy.oracle.report.top(2)


def test_what_was_drawn_in_the_round_stays():
    policy, rng = (
        sa.Policy(sa.BetaBelief(5), Keeps(np.asarray), sa.LinearReward(5), 2),
        np.random.default_rng(0),
    )
    arms = policy.ask(rng=rng)
    before = np.array(policy.oracle.report)
    policy.tell(arms, [1.0, 1.0], rng=rng)
    np.testing.assert_array_equal(policy.oracle.report, before)
    with pytest.raises(ValueError, match="before select returns"):  # a tie would need the generator
        policy.oracle.report.top(2)


def test_top_and_whole_agree_or_are_refused():
    theta = sa.core.Sample(sa.BetaBelief(50), np.random.default_rng(0))
    whole = np.asarray(theta)
    arms, values = theta.top(3)
    assert arms.tolist() == np.sort(np.argsort(whole)[-3:]).tolist()
    np.testing.assert_array_equal(values, whole[arms])
    theta = sa.core.Sample(sa.BetaBelief(50), np.random.default_rng(0))
    assert theta.top(3) is theta.top(3)
    with pytest.raises(ValueError, match="only the 3 largest were drawn"):
        theta[0]
    with pytest.raises(ValueError, match="only the 3 largest were drawn"):
        theta.top(4)


def test_beliefs_without_sample_top_are_drawn_as_a_whole():
    belief = sa.GaussianBelief(30)
    arms, values = sa.core.Sample(belief, np.random.default_rng(0)).top(4)
    theta = belief.sample(rng=np.random.default_rng(0))
    assert arms.tolist() == np.sort(np.argsort(theta)[-4:]).tolist()
    np.testing.assert_array_equal(values, theta[arms])


def test_top_k_needs_an_additive_reward():
    reward = sa.LinearReward(4, weights=[1, 2, 3, 4])
    with pytest.raises(ValueError, match="reward must be additive"):
        sa.TopK().select(reward, np.ones(4) / 2, 2, rng=np.random.default_rng(0))


def test_top_k_reports_the_means_it_picked():
    oracle = sa.TopK()
    assert oracle.select(
        sa.LinearReward(4), [0.1, 0.8, 0.3, 0.6], 2, rng=np.random.default_rng(0)
    ).tolist() == [1, 3]
    assert oracle.report.values.tolist() == [0.8, 0.6]
    assert oracle.report.certified


def regret(oracle, n_arms, horizon, n_runs, k=3):
    def make(rng):
        instance = sa.linear_instance(n_arms, k, 0.2, rng=rng)
        return sa.Policy(sa.BetaBelief(n_arms), oracle(), instance.reward, k), instance

    return np.array(
        [t.regret() for t in sa.replicate(make, n_runs=n_runs, horizon=horizon, seed=7)]
    )


class SingletonsOfASum:
    """The decisions of Singletons for a plain sum, where arms need not be evaluated."""

    report = None

    def select(self, reward, theta, k, *, rng):
        return k.best(np.asarray(theta), rng=rng)


def test_with_few_arms_every_decision_is_that_of_singletons():
    singletons = regret(sa.Singletons, 40, 200, 2)
    np.testing.assert_array_equal(regret(sa.TopK, 40, 200, 2), singletons)
    np.testing.assert_array_equal(regret(SingletonsOfASum, 40, 200, 2), singletons)
    many = regret(sa.Singletons, 2100, 50, 1)
    np.testing.assert_array_equal(regret(SingletonsOfASum, 2100, 50, 1), many)


def test_with_many_arms_regret_is_that_of_singletons():
    """Other draws of the same law.

    Mean regret at three times, 16 paired runs, within 5 standard errors of the mean difference (t
    with 15 degrees of freedom: error 1.6e-4 each). The standard errors are below 1% of the regret.
    Sets of 12 arms teach as much in 300 rounds as sets of 3 in 1,200.
    """
    one, other = (regret(oracle, 2100, 300, 16, k=12) for oracle in (sa.TopK, SingletonsOfASum))
    assert not np.array_equal(one, other)
    for t in (60, 180, 299):
        difference = one[:, t] - other[:, t]
        error = difference.std(ddof=1) / 4
        assert abs(difference.mean()) < 5 * error, t
        assert error < 0.01 * other[:, t].mean()
    early, late = (runs.mean() for runs in (one[:, 59] / 60, (one[:, -1] - one[:, -61]) / 60))
    assert late < 0.8 * early  # it has begun to learn by then


def test_a_million_arms_need_no_evaluation():
    rng = np.random.default_rng(0)
    policy = sa.Policy(sa.BetaBelief(1_000_000), sa.TopK(), sa.LinearReward(1_000_000), 5)
    for _ in range(20):
        arms = policy.ask(rng=rng)
        policy.tell(arms, np.ones(5), rng=rng)
        assert (policy.oracle.report.values > 0.999).all()
    assert policy.evaluations == 0
