"""A learned belief stays with arms that do well, and finds the k largest values exactly."""

import numpy as np
import pytest
from scipy import stats

from superarm.beliefs import LearnedBetaBelief, _sorted_arms
from superarm.beliefs._equal_arms import EqualArms
from superarm.beliefs._scores import largest_score
from superarm.beliefs._sorted_arms import SortedArms


class NaiveStreaks:
    """For each arm: whether its last outcomes were all at least the mean it then had, if its mean
    is not uniform on [0, 1].
    """

    def __init__(self, n_arms):
        self.good, self.belief = [[] for _ in range(n_arms)], LearnedBetaBelief(n_arms)

    def update(self, arms, outcomes):
        posterior = self.belief.posterior(arms)
        means = posterior.a / (posterior.a + posterior.b)
        for arm, outcome, mean in zip(arms, outcomes, means, strict=True):
            self.good[arm].append(outcome >= mean)
        self.belief.update(arms, outcomes, rng=np.random.default_rng(0))

    def held(self, stay_after):
        return [len(each) >= stay_after and all(each[-stay_after:]) for each in self.good]


@pytest.mark.parametrize("stay_after", [1, 2, 3])
@pytest.mark.parametrize("measured", [False, True])
def test_an_arm_is_held_while_its_last_outcomes_were_good(stay_after, measured):
    rng = np.random.default_rng(0)
    belief, naive = LearnedBetaBelief(8, stay_after=stay_after), NaiveStreaks(8)
    for _ in range(60):
        arms = np.sort(rng.choice(8, 3, replace=False))
        outcomes = rng.random(3) if measured else (rng.random(3) < 0.6).astype(float)
        naive.update(arms, outcomes)
        belief.update(arms, outcomes, rng=rng)
        assert belief._is_held().tolist() == naive.held(stay_after)


def test_a_held_arm_has_a_fixed_own_score_and_the_common_noise():
    """Kolmogorov-Smirnov of 4,000 samples of a held arm and of another arm; error 1e-6 each."""
    belief, rng = LearnedBetaBelief(20, optimism=0.0, wide=False), np.random.default_rng(0)
    belief.update([3, 4], [1.0, 1.0], rng=rng)
    belief.update([3, 4], [1.0, 0.0], rng=rng)
    posterior = belief.posterior(np.arange(20))
    draws = np.array([belief.sample(rng=rng) for _ in range(4000)])
    own = 0.5 * np.sqrt(0.2)
    laws = {
        3: stats.norm(own * np.sqrt(2 * np.log(20)), 0.5 * np.sqrt(0.8)),
        4: stats.norm(0.0, 0.5),
    }
    for arm, law in laws.items():
        scores = stats.norm.ppf(stats.beta(posterior.a[arm], posterior.b[arm]).cdf(draws[:, arm]))
        assert stats.kstest(scores, law.cdf).pvalue > 1e-6


def test_with_stay_after_0_no_arm_is_held():
    belief, rng = LearnedBetaBelief(4, stay_after=0), np.random.default_rng(0)
    for _ in range(5):
        belief.update([0, 1], [1.0, 1.0], rng=rng)
    assert not belief._is_held().any()


def test_the_largest_score_is_an_upper_bound_on_average():
    """The mean of 2,000 largest scores is below the bound by more than 5 standard errors."""
    rng = np.random.default_rng(0)
    for n in (2, 30, 1000):
        largest = rng.standard_normal((2000, n)).max(axis=1)
        below = largest_score(n) - largest.mean()
        assert below > 5 * largest.std() / np.sqrt(2000)
        assert below < 0.7


def test_groups_that_moved_are_those_built_anew():
    rng = np.random.default_rng(0)
    x, y = np.zeros(30), np.zeros(30)
    groups = EqualArms(x, y)
    for _ in range(200):
        arms = rng.choice(30, 3, replace=False)
        before = list(zip(x[arms].tolist(), y[arms].tolist(), strict=True))
        x[arms] += 1
        y[arms] += rng.random(3) < 0.3
        after = list(zip(x[arms].tolist(), y[arms].tolist(), strict=True))
        groups.move(arms.tolist(), before, after)
    again = EqualArms(x, y)
    assert groups.keys == again.keys
    assert all(list(groups.arms_of(i)) == list(again.arms_of(i)) for i in range(len(again.keys)))
    np.testing.assert_array_equal(groups.sizes(), again.sizes())


def test_sorted_arms_are_those_of_a_sorted_list(monkeypatch):
    """Blocks of 4, so that they are split and emptied often."""
    monkeypatch.setattr(_sorted_arms, "_BLOCK", 4)
    rng = np.random.default_rng(0)
    slow = sorted(rng.choice(1000, 50, replace=False).tolist())
    arms = SortedArms(np.array(slow))
    for step in range(600):
        # At first more arms come than go, and in the end all go.
        if step > 300 or rng.random() < 0.3:
            if slow:
                arms.remove(slow.pop(rng.integers(len(slow))))
        elif (arm := int(rng.integers(1000))) not in slow:
            arms.add(arm)
            slow = sorted([*slow, arm])
        assert list(arms) == slow
        assert len(arms) == len(slow)
        assert [arms.at(place) for place in range(len(slow))] == slow
    assert not slow
    with pytest.raises(IndexError):
        arms.at(0)
