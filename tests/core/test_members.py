"""What is no belief, oracle, reward or environment is refused by what it lacks."""

import numpy as np
import pytest

import superarm as sa
from superarm.policies import bg_cts, clucb, cts_gaussian, escb, exp3, explore_then_commit, lucb

REWARD = sa.LinearReward(4)


def value(arms, means):
    return float(np.sum(means))


class OnlyPulls:
    def pull(self, arms, *, rng):
        return np.zeros(len(arms))


class CannotBeSaved:
    """A belief of ten lines, for a simulation."""

    n_arms = 4

    def sample(self, *, rng):
        return rng.random(4)

    def update(self, arms, outcomes, *, rng):
        pass


@pytest.mark.parametrize(
    "make",
    [
        sa.thompson,
        sa.cts,
        sa.cucb,
        sa.single_seed_ts,
        sa.epsilon_greedy,
        sa.random_sets,
        lambda reward, k: sa.gt_qts(reward, k, delta=0.25),
        lambda reward, k: exp3(reward, k, horizon=10),
        lambda reward, k: explore_then_commit(reward, k, n_explore=10),
        bg_cts,
        cts_gaussian,
        escb,
        clucb,
        lucb,
        lambda reward, k: sa.Policy(sa.BetaBelief(4), sa.TopK(), reward, k),
    ],
)
def test_a_function_is_no_reward_and_the_error_says_how_to_make_one(make):
    with pytest.raises(TypeError, match=r"^reward must have n_arms, .*use superarm\.BlackBox\("):
        make(value, 2)


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ((sa.BetaBelief, sa.TopK(), REWARD), "belief must have .* class BetaBelief; call it"),
        ((np.ones(4), sa.TopK(), REWARD), "belief must have .* got ndarray without n_arms, sample"),
        (
            (sa.BetaBelief(4), sa.TopK, REWARD),
            "oracle must have select, report, got the class TopK; call",
        ),
        (
            (sa.BetaBelief(4), None, REWARD),
            "oracle must have .*, got NoneType without select, report",
        ),
        ((sa.BetaBelief(4), sa.TopK(), 4), "reward must have n_arms, batch, got int without"),
    ],
)
def test_parts_of_a_policy(parts, says):
    with pytest.raises(TypeError, match=says):
        sa.Policy(*parts, 2)


def test_an_environment_needs_a_number_of_arms():
    policy, rng = sa.thompson(REWARD, 2), np.random.default_rng(0)
    with pytest.raises(
        TypeError, match="environment must have n_arms, pull, got OnlyPulls without"
    ):
        sa.simulate(policy, OnlyPulls(), horizon=3, rng=rng)
    with pytest.raises(TypeError, match="policy must have ask, tell, reward, got LinearReward"):
        sa.simulate(REWARD, sa.BernoulliArms([0.5] * 4), horizon=3, rng=rng)


def test_a_session_is_saved_only_with_a_belief_that_can_be(tmp_path):
    session = sa.Session(sa.Policy(CannotBeSaved(), sa.TopK(), REWARD, 2), seed=1)
    session.ask()
    with pytest.raises(TypeError, match=r"saved must have state, load, got CannotBeSaved without"):
        session.save(tmp_path / "session")
    assert not list(tmp_path.iterdir())


class BestFirst:
    """An oracle of a few lines, whose sets are lists with the best arm first."""

    report = None

    def select(self, reward, theta, k, *, rng):
        return np.argsort(-np.asarray(theta))[:k].tolist()


def test_an_oracle_may_return_a_list_with_the_best_arm_first():
    """`ask` is an array in ascending order, as `simulate` and programs expect."""
    means = [0.2, 0.9, 0.4, 0.8]
    belief, rng = sa.BetaBelief.from_counts(np.array(means) * 1e6, [1e6] * 4), np.random.default_rng
    policy = sa.Policy(belief, BestFirst(), REWARD, 2)
    arms = policy.ask(rng=rng(0))
    assert isinstance(arms, np.ndarray)
    assert arms.tolist() == [1, 3]
    trace = sa.simulate(policy, sa.BernoulliArms(means), horizon=3, rng=rng(0))
    assert trace.arms.tolist() == [[1, 3]] * 3
    assert sorted(sa.Session(policy, seed=1).ask().arms) == [1, 3]


def test_an_oracle_without_a_report_is_refused_before_the_first_round():
    class Silent:
        select = BestFirst.select

    with pytest.raises(TypeError, match="oracle must have select, report, got Silent without repo"):
        sa.Policy(sa.BetaBelief(4), Silent(), REWARD, 2)


@pytest.mark.parametrize("oracle", [sa.TopK(), sa.Singletons(), BestFirst()])
def test_a_sample_of_the_wrong_size_is_refused_by_all_oracles(oracle):
    class Short(CannotBeSaved):
        def sample(self, *, rng):
            return np.ones(3)

    policy = sa.Policy(Short(), oracle, REWARD, 2)
    with pytest.raises(ValueError, match=r"must have shape \(4,\), got \(3,\)"):
        policy.ask(rng=np.random.default_rng(0))
