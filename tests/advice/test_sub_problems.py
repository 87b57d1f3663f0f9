"""Recommended oracles next to all sets of random sub-problems, and warnings that follow."""

import itertools
import warnings

import numpy as np
import pytest

import superarm as sa
from spoiled_rewards import box
from superarm.advice.evaluator import Evaluator
from superarm.advice.random_inputs import RandomInputs
from superarm.advice.sub_problems import SubChecks, size


def pairs(arms, means):
    """An arm is worth something only with its partner, apart from next to nothing."""
    mean = dict(zip(arms.tolist(), means.tolist(), strict=True))
    return float(sum(mean[a] * mean.get(a ^ 1, 0.0) for a in mean) + 1e-3 * means.sum())


@pytest.mark.parametrize("n_arms", [6, 30])
def test_ratios_are_those_of_the_real_oracles(n_arms):
    """The same arms and means are drawn again, and every set is looked at one by one."""
    reward = sa.CoverageReward(np.random.default_rng(1).random((n_arms, 4)) ** 4)
    evaluate = Evaluator(reward)
    checks = SubChecks(reward, evaluate, RandomInputs(n_arms, 3, np.random.default_rng(5)))
    checks.run(3)
    n, k, most = size(n_arms, 3)
    assert evaluate.n_evaluated == 3 * most
    draw = RandomInputs(n_arms, 3, np.random.default_rng(5))
    alone, greedy = [], []
    for _ in range(3):
        arms = np.sort(draw.arms(n))
        top = draw.rng.random() < 0.5
        means = dict(
            zip(arms.tolist(), draw.top_means(n) if top else draw.inner_means(n), strict=True)
        )

        def value(chosen, means=means):
            chosen = sorted(chosen)
            return reward(chosen, [means[arm] for arm in chosen])

        best = max(map(value, itertools.combinations(arms.tolist(), k)))
        worth = sorted(arms.tolist(), key=lambda arm: -value([arm]))
        alone.append(value(worth[:k]) / best)
        chosen = []
        for _ in range(k):
            left = [arm for arm in arms.tolist() if arm not in chosen]
            chosen.append(max(left, key=lambda arm: value([*chosen, arm])))
        greedy.append(value(chosen) / best)
    assert checks.ratios["Singletons"] == pytest.approx(alone)
    assert checks.ratios["Greedy"] == pytest.approx(greedy)
    assert checks.of("LazyGreedy").worst_ratio == pytest.approx(min(greedy))
    assert checks.of("LazySingletons").mean_ratio == pytest.approx(np.mean(alone))
    assert checks.of("Exhaustive") is None
    lost = max(1 - np.array(alone))
    assert (checks.better.excess > 0) == (lost > 1e-12)


def test_complements_get_local_search_with_a_warning():
    """Of 30 arms, where 142,506 sets are too many to look up."""
    reward = box(pairs, n_arms=30, lipschitz=2.1, upper=31.0)
    for seed in range(5):
        found = sa.inspect(reward, k=5, budget=1_000, rng=np.random.default_rng(seed))
        advice = found.recommendation
        assert advice.oracle == "LocalSearch"
        assert "worth more together than alone" in advice.warnings[0]
        assert "Warning: LocalSearch can miss the best set" in str(found)
        assert found.check.oracle == "LocalSearch"
        assert found.check.worst_ratio <= found.check.mean_ratio <= 1
        assert str(found.check) in str(found)
    with pytest.warns(UserWarning, match="can miss the best set"):
        sa.auto(reward, 5, budget=1_000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sa.auto(sa.AnySuccess(30), 5, budget=2_000)


def test_a_better_set_of_a_sub_problem_shows_that_a_reward_is_not_separable():
    """No swap of one arm helps, but a swap of two does: both of the first two arms, or neither."""

    def both(arms, means):
        mean = dict(zip(arms.tolist(), means.tolist(), strict=True))
        extra = 5.0 if 0 in mean and 1 in mean else 0.0
        alone = sum(0.01 * x if arm < 2 else 1 + 0.01 * x for arm, x in mean.items())
        return float(alone + extra)

    reward = box(both, n_arms=8, lipschitz=1.0, upper=20.0)
    found = sa.inspect(reward, k=3, budget=3_000)
    assert found["separable"].verdict == "fails"
    assert "another set of 3 is better" in found["separable"].witness.what
    assert found.recommendation.case == "small"


def test_a_reward_that_fails_is_not_checked():
    fails = box(lambda arms, means: 1 / 0 if len(arms) == 3 else 0.0)
    assert sa.inspect(fails, k=3, probes=4).check is None
    assert sa.inspect(fails, k=3, budget=500).check is None
