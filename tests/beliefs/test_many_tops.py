"""Many samples at a time: the same law as one by one, and the same posteriors."""

from functools import cache

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import chi2_contingency, kstest

from superarm.beliefs import BetaBelief, LearnedBetaBelief, _many_tops
from superarm.beliefs._many_tops import ArmsAboveLevel, Ladder, ManyTops, Scored
from superarm.beliefs._scores import PlainPosteriors, SharedScores, largest_score
from superarm.core import top_k
from superarm.core.bulk import WorksInBulk


def played(kind, n_arms, n_rounds, seed=0, k=3, **options):
    """A belief that has learned some rounds."""
    rng = np.random.default_rng(seed)
    belief, mu = kind(n_arms, **options), rng.beta(1, 3, n_arms)
    for _ in range(n_rounds):
        arms = top_k(belief.sample(rng=rng), k, rng=rng)
        belief.update(arms, (rng.random(k) < mu[arms]).astype(float), rng=rng)
    return belief


def tops_of(belief):
    if isinstance(belief, BetaBelief):
        nothing = np.zeros(belief.n_arms)
        return ManyTops(PlainPosteriors(belief.a, belief.b), nothing, nothing > 0, SharedScores(0))
    counts, sums = belief.outcomes.counts, belief.outcomes.sums
    shift = belief._optimism(counts)
    return ManyTops(belief._mixed(counts, sums), shift, belief._is_held(), belief.scores.law)


KINDS = {
    "beta": (BetaBelief, {}),
    "learned": (LearnedBetaBelief, {}),
    "narrow": (LearnedBetaBelief, {"wide": False, "shared": 0.0, "spread": 1.0, "optimism": 0.0}),
    "one seed": (LearnedBetaBelief, {"shared": 1.0}),
    "no spread": (LearnedBetaBelief, {"spread": 0.0}),
}


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("n_rounds", [0, 5, 100])
def test_what_is_left_out_is_not_among_the_largest(name, n_rounds):
    """The twin computes all quantiles. But for rounding this holds for every draw."""
    kind, options = KINDS[name]
    rng, tops = np.random.default_rng(1), tops_of(played(kind, 60, n_rounds, **options))
    ladder = Ladder.of(tops, 3, rng=rng)
    # From far below the ladder to far above it.
    common = 3 * tops.law.common_std * rng.standard_normal(100)
    scores = tops.scores(common, np.arange(60), rng=rng)
    rows, arms = (each.ravel() for each in np.indices(scores.shape))
    kept = ladder.pruned(Scored(rows, arms, scores.ravel()), 3)
    for row in range(len(common)):
        values = tops.values(np.arange(60), scores[row])
        third = np.sort(values)[-3]
        found = kept.arms[kept.row == row]
        # All arms that are surely among the three, and enough of those at the third place.
        assert set(np.flatnonzero(values > third)) <= set(found)
        assert (values[found] >= third).sum() >= 3


@pytest.mark.parametrize("name", ["learned", "one seed"])
def test_arms_above_a_level_have_their_probabilities(name):
    """2,000 samples: five deviations for each of 60 arms, of which one in 30,000 seeds fails."""
    kind, options = KINDS[name]
    rng, tops = np.random.default_rng(1), tops_of(played(kind, 60, 30, **options))
    thresholds = Ladder.of(tops, 3, rng=rng).thresholds[12]
    common = tops.law.common_std * np.linspace(0.2, 0.6, 2000)
    above = ArmsAboveLevel(tops, thresholds, common)
    # With k = 0 no sample lacks arms, and with k = 60 all do.
    found, whole = (above.draw(k, rng=rng) for k in (0, 60))
    assert (found.scores >= thresholds[found.arms] - 1e-9).all()
    own = np.full(60, 0.0) + np.where(tops.held, largest_score(60), 0.0)
    for counts in (
        np.bincount(found.arms, minlength=60),
        np.bincount(whole.arms[whole.scores >= thresholds[whole.arms]], minlength=60),
    ):
        missing = thresholds[:, None] - common
        own_std = tops.law.own_std
        chances = ndtr(-missing / own_std) if own_std else (missing <= 0) * 1.0
        fixed = missing <= own_std * own[:, None]
        chances = np.where(tops.held[:, None], fixed, chances)
        std = (chances * (1 - chances)).sum(axis=1) ** 0.5
        assert (np.abs(counts - chances.sum(axis=1)) <= 5 * std + 1e-9).all()
    # Every arm of every sample once.
    assert len(whole.row) == 60 * 2000
    assert len(np.unique(60 * whole.row + whole.arms)) == 60 * 2000


@pytest.mark.parametrize("n_first", [None, 3])
@pytest.mark.parametrize("name", ["beta", "learned", "narrow"])
def test_the_law_is_that_of_whole_samples(name, n_first, monkeypatch):
    """Sets and largest values of 1,500 samples each; of other seeds 2 in 1,000 fail per check.

    If few arms are expected above the first level, most samples need all arms.
    """
    if n_first is not None:
        monkeypatch.setattr(_many_tops, "n_wanted", lambda k: n_first)
    kind, options = KINDS[name]
    belief = played(kind, 30, 60, k=2, **options)
    arms, values = belief.sample_top_many(1500, 2, rng=np.random.default_rng(2))
    sets, largest = whole_samples(name)
    assert (arms[:, 0] < arms[:, 1]).all()
    pair = [30 * arms[:, 0] + arms[:, 1], sets]
    common = [each for each in np.unique(sets) if (sets == each).sum() >= 20]
    table = np.array([[(each == one).sum() for one in common] for each in pair])
    rest = 1500 - table.sum(axis=1, keepdims=True)
    assert chi2_contingency(np.hstack([table, rest + 1])).pvalue > 1e-3
    assert kstest(values.max(axis=1), largest).pvalue > 1e-3


@cache
def whole_samples(name):
    """The twin: sets and largest values of samples of all arms."""
    kind, options = KINDS[name]
    belief, rng = played(kind, 30, 60, k=2, **options), np.random.default_rng(3)
    whole = [belief.sample(rng=rng) for _ in range(1500)]
    found = np.array([top_k(theta, 2, rng=rng) for theta in whole])
    return 30 * found[:, 0] + found[:, 1], [theta.max() for theta in whole]


def test_ties_are_broken_at_random():
    """Without outcomes and with one seed all values are equal. Five deviations: 1 in a million."""
    belief = LearnedBetaBelief(40, shared=1.0)
    arms, values = belief.sample_top_many(2000, 2, rng=np.random.default_rng(0))
    assert (values[:, 0] == values[:, 1]).all()
    counts = np.bincount(arms.ravel(), minlength=40)
    assert np.abs(counts - 100).max() <= 5 * (2000 * 0.05 * 0.95) ** 0.5


@pytest.mark.parametrize("name", ["beta", "learned"])
@pytest.mark.parametrize("fractions", [False, True])
def test_many_updates_are_one_after_the_other(name, fractions):
    kind, options = KINDS[name]
    one, many = (played(kind, 20, 10, **options) for _ in range(2))
    rng = np.random.default_rng(0)
    rows = [rng.choice(20, rng.integers(0, 5), replace=False) for _ in range(400)]
    told = [rng.random(len(row)) for row in rows]
    if not fractions:
        told = [(each < 0.4).astype(float) for each in told]
    coins = [np.random.default_rng(1) for _ in range(2)]
    for row, outcomes in zip(rows, told, strict=True):
        one.update(row, outcomes, rng=coins[0])
    for start in range(0, 400, 90):
        cut = slice(start, start + 90)
        many.update_many(rows[cut], told[cut], rng=coins[1])
    assert one.state() == many.state()
    many.update_many([], [], rng=rng)
    before = many.state()
    for bad in ([[0, 0]], [[20]], [[0, 1, 2]]):
        with pytest.raises(ValueError, match=r"arms|outcomes"):
            many.update_many([[1], *bad], [[1.0], [1.0, 0.0][: len(bad[0])]], rng=rng)
    assert many.state() == before


@pytest.mark.parametrize("k", [2, 300])
def test_many_updates_keep_what_draws_of_the_largest_depend_on(k):
    one, many = (BetaBelief(4000) for _ in range(2))
    rng, before = np.random.default_rng(0), [np.random.default_rng(1) for _ in range(2)]
    rows = [np.sort(rng.choice(4000, size, replace=False)) for size in (2, 0, k, 1)]
    told = [(rng.random(len(row)) < 0.5).astype(float) for row in rows]
    for belief, draws in zip((one, many), before, strict=True):
        belief.sample_top(2, rng=draws)
    for row in zip(rows, told, strict=True):
        one.update(*row, rng=rng)
    many.update_many(rows, told, rng=rng)
    assert one.state() == many.state()
    assert (one.level is None) == (k == 300)  # so many changes start afresh
    found = [
        belief.sample_top(2, rng=draws) for belief, draws in zip((one, many), before, strict=True)
    ]
    assert all((x == y).all() for x, y in zip(*found, strict=True))


def test_few_arms_and_subclasses_are_sampled_whole():
    class Fixed(BetaBelief):
        def sample(self, *, rng):
            return np.linspace(0, 1, self.n_arms)

        def update(self, arms, outcomes, *, rng):
            self.told = arms

    rng = np.random.default_rng(0)
    arms, values = Fixed(50).sample_top_many(4, 2, rng=rng)
    assert (arms == [48, 49]).all()
    belief = Fixed(50)
    belief.update_many([[1], [2, 3]], [[1.0], [0.0, 1.0]], rng=rng)
    assert belief.told == [2, 3]
    arms, values = BetaBelief(3).sample_top_many(5, 3, rng=rng)
    assert (arms == [0, 1, 2]).all()
    assert values.shape == (5, 3)
    assert isinstance(belief, WorksInBulk)


@pytest.mark.parametrize("kind", [BetaBelief, LearnedBetaBelief])
def test_with_very_many_arms_samples_are_drawn_one_by_one(kind):
    belief, other = kind(50_001), kind(50_001)
    arms, values = belief.sample_top_many(2, 3, rng=np.random.default_rng(0))
    rng = np.random.default_rng(0)
    for row in zip(arms, values, strict=True):
        assert all((x == y).all() for x, y in zip(row, other.sample_top(3, rng=rng), strict=True))
