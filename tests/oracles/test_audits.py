"""Audits find wrong declarations that no two answers contradict, for a few evaluations."""

import json
import math
import warnings

import numpy as np
import pytest

import superarm as sa
from superarm.oracles._lazy.audits import arm_to_audit, margins
from superarm.oracles._lazy.single_arms import Audits

N_ARMS, K, ROUNDS = 60, 4, 200


def understated(seed, n_wrong=3):
    """A weighted sum whose declared B is half of the truth in a few arms."""
    rng = np.random.default_rng(seed)
    weights = 0.5 + rng.random(N_ARMS)
    slopes = weights.copy()
    slopes[rng.choice(N_ARMS, n_wrong, replace=False)] *= 2
    reward = sa.BlackBox(
        lambda arms, means: float(slopes[arms] @ means),
        n_arms=N_ARMS,
        lipschitz=weights,
        upper=200.0,
        monotone=True,
        zero_is_absent=True,
    )
    return reward, slopes, rng.random(N_ARMS)


def select_often(oracle, reward, theta, sets):
    """The last of 20 decisions at the same means."""
    rng = np.random.default_rng(0)
    return [oracle.select(reward, theta, sets, rng=rng) for _ in range(20)][-1]


def is_silent_and_wrong(seed, audits):
    """Whether the last of some rounds at nearly the same means is certified, wrong, unwarned."""
    (reward, slopes, mu), rng = understated(seed), np.random.default_rng(seed)
    lazy = sa.LazySingletons(audits=audits)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(ROUNDS):
            theta = np.clip(mu + 0.001 * rng.standard_normal(N_ARMS), 0, 1)
            arms = lazy.select(reward, theta, K, rng=rng)
    best = np.sort(np.argsort(-slopes * theta)[:K])
    return lazy.report.certified and not np.array_equal(arms, best) and not caught


def test_settled_means_and_a_wrong_b():
    """Half of the decisions are wrong in silence without audits, and hardly any with audits.

    Seeded. With other seeds, a share of 0.05 fails the second bound with probability 0.02.
    """
    n_before, n_after = (
        sum(is_silent_and_wrong(seed, audits) for seed in range(20)) for audits in (0, 2)
    )
    assert n_before >= 6
    assert n_after <= 3


@pytest.mark.parametrize("audits", [0.0, 0.5, 2.0])
def test_audits_are_few_and_draw_nothing(audits):
    """With true declarations, at most a multiple of the root of the rounds, and no other sets."""
    reward, rng = sa.Counted(sa.LinearReward(N_ARMS)), np.random.default_rng(0)
    lazy, plain = sa.LazySingletons(audits=audits), sa.LazySingletons(audits=0)
    ours, theirs = np.random.default_rng(1), np.random.default_rng(1)
    for number in range(1, 200):
        theta = rng.random(N_ARMS)
        arms = lazy.select(reward, theta, K, rng=ours)
        np.testing.assert_array_equal(arms, plain.select(reward.uncounted, theta, K, rng=theirs))
        assert lazy.report.audits <= math.ceil(audits * math.sqrt(number))
    assert ours.bit_generator.state == theirs.bit_generator.state
    assert lazy.report.audits == math.ceil(audits * math.sqrt(199))
    drawn = lazy.report.audits // 2
    assert lazy.report.excluded == pytest.approx(1 - 0.05 ** (1 / drawn) if drawn else 1.0)


def test_the_rate_that_audits_exclude_is_the_rule_of_three():
    audits = Audits()
    assert audits.excluded == 1.0
    audits.drawn = 300
    assert audits.excluded == pytest.approx(3 / 300, rel=0.01)
    # If this share of all arms were wrong, 300 arms at random would show none once in 20 times.
    assert (1 - audits.excluded) ** 300 == pytest.approx(0.05)


def test_an_aimed_audit_takes_the_arm_that_the_least_error_brings_in():
    """The slow twin: widen all bounds little by little until the set is no longer certain."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        middle, width = rng.random(12), 0.05 * rng.random(12)
        order = np.argsort(-middle)
        middle[order[:3]] += 0.2  # so that the set is certain
        lower, upper = middle - width / 2, middle + width / 2
        arms, others = np.sort(order[:3]), np.sort(order[3:])
        # Only one arm's bounds grow at a time; the others stay as they are.
        needed = {arm: (lower[arm] - upper[others].max()) / width[arm] for arm in arms}
        needed |= {arm: (lower[arms].min() - upper[arm]) / width[arm] for arm in others}
        first = min(needed, key=needed.get)
        assert np.argmin(margins(arms, lower, upper)) == first
        assert arm_to_audit(0, sa.sets.KOfM(3, 12), arms, lower, upper) == first


def test_within_constraints_the_least_known_arm_is_audited_if_no_error_of_b_matters():
    """Bounds a million times as far apart as they are wide: no widening leaves a doubt."""
    feasible = sa.Feasible(2, groups=[sa.Group([0, 2], most=1)]).for_arms(5)
    lower = np.array([1.0, 1.0, 0.0, 0.0, 0.0])
    upper = lower + 1e-6 * np.array([1.0, 2.0, 0.0, 3.0, 1.0])
    assert arm_to_audit(0, feasible, np.array([0, 1]), lower, upper) == 3


@pytest.mark.parametrize("choice", ["k", "groups"])
def test_a_round_that_finds_a_wrong_b_is_right_itself(choice):
    """The arm that the audit found is in the set of the same round."""
    reward = sa.BlackBox(
        lambda arms, means: float(np.where(arms == 7, 3.0, 1.0) @ means),
        n_arms=10,
        lipschitz=1.0,
        upper=30.0,
        monotone=True,
        zero_is_absent=True,
    )
    theta = np.array([0.9, 0.8, 0.1, 0.1, 0.1, 0.1, 0.1, 0.6, 0.1, 0.1])
    sets = 2 if choice == "k" else sa.Feasible(2, groups=[sa.Group([0, 1], most=1)], n_arms=10)
    lazy = sa.LazySingletons(audits=10)
    with pytest.warns(UserWarning, match="lipschitz is too small"):
        arms = select_often(lazy, reward, theta, sets)
    assert arms.tolist() == [0, 7]
    assert lazy._known.lipschitz.min() >= 3.0


def test_lazy_greedy_audits_what_arms_add_to_others():
    """Arm 2 adds more to arm 0 than alone: the reward is not submodular, and nothing shows it."""

    def value(arms, means):
        both = {0, 2} <= set(arms.tolist())
        return float((np.array([1.0, 0.8, 0.6, 0.5, 0.4])[arms] * means).sum() + 0.5 * both)

    reward = sa.BlackBox(
        value, n_arms=5, lipschitz=1.0, upper=5.0, monotone=True, zero_is_absent=True
    )
    theta, rng = np.full(5, 0.9), np.random.default_rng(0)
    silent, lazy = sa.LazyGreedy(audits=0), sa.LazyGreedy()
    wrong = select_often(silent, reward, theta, 2)
    with pytest.warns(UserWarning, match="not submodular"):
        arms = select_often(lazy, reward, theta, 2)
    assert wrong.tolist() == [0, 1]
    assert arms.tolist() == [0, 2] == sa.Greedy().select(reward, theta, 2, rng=rng).tolist()


def test_states_of_before_audits_are_loaded():
    reward, rng = sa.LinearReward(N_ARMS), np.random.default_rng(0)
    for make in (sa.LazySingletons, sa.LazyGreedy):
        oracle, fresh = make(), make()
        for _ in range(5):
            oracle.select(reward, rng.random(N_ARMS), K, rng=rng)
        state = json.loads(json.dumps(oracle.state()))
        assert state["audits"]["rounds"] == 5
        del state["audits"]
        fresh.load(state)
        assert fresh.state()["audits"] == {"rounds": 0, "made": 0, "drawn": 0}


@pytest.mark.parametrize("audits", [-1.0, float("nan"), "2"])
def test_refuses(audits):
    with pytest.raises((ValueError, TypeError), match="audits"):
        sa.LazySingletons(audits=audits)
