"""The next samples at once: the law of samples one by one, and the same values with less work."""

from functools import cache

import numpy as np
import pytest
from scipy.stats import chi2_contingency, ks_2samp

from superarm.beliefs import BetaBelief, LearnedBetaBelief, _next_tops
from superarm.beliefs.beta_top_k import ArmsAbove
from superarm.core import top_k

N_ARMS, K = 2100, 3


def belief_of(n_likely):
    """Most arms are poor, some are good, and a few exceed every level that is in use."""
    rng = np.random.default_rng(5)
    a, b = np.ones(N_ARMS), rng.uniform(2, 8, N_ARMS)
    a[100:160] = rng.uniform(4, 9, 60)
    a[:n_likely], b[:n_likely] = 60.0, 3.0
    return BetaBelief(N_ARMS, prior=(a, b))


@cache
def whole(n_likely, n=1500):
    """The twin: whole samples, and their largest values."""
    belief, rng = belief_of(n_likely), np.random.default_rng(1)
    thetas = belief.sample_many(n, rng=rng)
    arms = np.array([top_k(theta, K, rng=rng) for theta in thetas])
    return arms, np.take_along_axis(thetas, arms, axis=1)


def check_law(arms, values, n_likely):
    """Two tests of the values and one of the arms: of 1,000 seeds, three fail one of them."""
    other_arms, other_values = whole(n_likely)
    for column in (0, -1):
        one, other = (np.sort(each, axis=1)[:, column] for each in (values, other_values))
        assert ks_2samp(one, other).pvalue > 0.001
    often = np.argsort(-np.bincount(other_arms.ravel(), minlength=N_ARMS))[:12]
    table = []
    for each in (arms, other_arms):
        found = [(each == arm).sum() for arm in often]
        table.append([*found, each.size - sum(found)])
    assert chi2_contingency(table).pvalue > 0.001


@pytest.mark.parametrize("n_likely", [0, 2])
@pytest.mark.parametrize("n", [7, 100])
def test_the_law_is_that_of_whole_samples(n_likely, n):
    belief, rng = belief_of(n_likely), np.random.default_rng(2)
    made = [belief.sample_tops(n, K, rng=rng) for _ in range(-(-1500 // n))]
    arms, values = (np.concatenate(part) for part in zip(*made, strict=True))
    assert belief.level is not None
    assert (np.diff(arms, axis=1) > 0).all()
    check_law(arms, values, n_likely)


def test_samples_with_fewer_values_above_the_level(monkeypatch):
    """A level that hardly any sample reaches. Afterwards there is a new one."""
    monkeypatch.setattr(ArmsAbove, "suits", lambda self, k: self._is_built or not self._build())
    belief, rng, made = belief_of(0), np.random.default_rng(3), []
    for _ in range(100):
        belief.level = K, 0.08
        made.append(belief.sample_tops(15, K, rng=rng))
        assert belief.level != (K, 0.08)
    arms, values = (np.concatenate(part) for part in zip(*made, strict=True))
    check_law(arms, values, 0)


@pytest.mark.parametrize("n_likely", [0, 2])
def test_what_is_left_out_is_not_among_the_largest(monkeypatch, n_likely):
    first, second = belief_of(n_likely), belief_of(n_likely)
    for belief in (first, second):
        belief.sample_top(K, rng=np.random.default_rng(0))
    few = first.sample_tops(40, K, rng=np.random.default_rng(1))
    # The twin inverts every tail.
    every = lambda above, row, arm, tail, n: np.arange(len(arm))  # noqa: E731
    monkeypatch.setattr(_next_tops, "_candidates", every)
    twin = second.sample_tops(40, K, rng=np.random.default_rng(1))
    for one, other in zip(few, twin, strict=True):
        assert (one == other).all()


@pytest.mark.parametrize(("kind", "n"), [(BetaBelief, 6), (LearnedBetaBelief, 3)])
def test_of_few_arms_they_are_those_of_sample_top(kind, n):
    """`LearnedBetaBelief` draws four samples or more at once."""
    first, second, rng = kind(50), kind(50), np.random.default_rng(1)
    arms, values = first.sample_tops(n, 4, rng=np.random.default_rng(1))
    for row in zip(arms, values, strict=True):
        alone = second.sample_top(4, rng=rng)
        assert all((one == other).all() for one, other in zip(row, alone, strict=True))


def test_what_is_learnt_counts():
    belief, rng = BetaBelief(N_ARMS), np.random.default_rng(0)
    belief.sample_tops(20, K, rng=rng)
    for _ in range(300):
        belief.update([7, 8, 9], [1.0, 1.0, 1.0], rng=rng)
    before = np.concatenate([belief.a, belief.b])
    arms, _ = belief.sample_tops(50, K, rng=rng)
    assert (np.bincount(arms.ravel())[7:10] > 5).all()  # 0.07 of each other arm
    assert (before == np.concatenate([belief.a, belief.b])).all()


@pytest.mark.parametrize("kind", [BetaBelief, LearnedBetaBelief])
def test_outcomes_that_are_learnt_together_keep_what_samples_need(kind):
    """Few arms change, so nothing is built anew, and samples are those of the twin."""
    together, alone, rng = kind(300), kind(300), np.random.default_rng(4)
    for _ in range(30):
        seed = int(rng.integers(1 << 30))
        drawn = [
            belief.sample_tops(4, 3, rng=np.random.default_rng(seed))
            for belief in (together, alone)
        ]
        assert all((one == other).all() for one, other in zip(*drawn, strict=True))
        arms, outcomes = list(drawn[0][0]), [(rng.random(3) < 0.4).astype(float) for _ in range(4)]
        together.update_many(arms, outcomes, rng=rng)
        for row in zip(arms, outcomes, strict=True):
            alone.update(*row, rng=rng)
        assert together.state() == alone.state()
    if kind is LearnedBetaBelief:
        assert together._groups is not None
        assert together._groups.keys == alone._groups.keys
