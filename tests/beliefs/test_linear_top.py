"""sample_top of LinearBelief: bounds decide the same as all scores of the same draws."""

import copy

import numpy as np
import pytest
from scipy import stats

from superarm.beliefs import LinearBelief, _linear_memory, _linear_round, _linear_top
from superarm.beliefs._linear_top import LinearTop
from superarm.beliefs._own_noise import OwnNoise
from superarm.core.k_of_m import top_k


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Fewer arms than the default have bounds here, so that the tests are fast."""
    monkeypatch.setattr(_linear_round, "_FEW", 1000)


@pytest.fixture
def eager(monkeypatch):
    """Bounds from the first rounds on, and in small steps."""
    for name, value in {"_COST": 5.0, "_RARELY": 1.0, "BLOCK": 128}.items():
        monkeypatch.setattr(_linear_memory, name, value)
    monkeypatch.setattr(_linear_top, "BLOCK", 128)


def dense(belief, k, rng, context=None):
    """The slow twin: all scores from the same draws, with no bound and no memory."""
    model, law = belief._model, belief._law()
    weights = model.draw_weights(law.spread, rng=rng)
    common = law.common_std * rng.standard_normal()
    noise = OwnNoise(belief.n_arms, rng=rng).of(np.arange(belief.n_arms))
    values, std = model.given(belief._design.rows(context, slice(None)), weights)
    values = 0.5 + values + std * (law.rise(std) + common + law.own_std * noise)
    arms = top_k(values, k, rng=rng)
    return arms, np.clip(values[arms], 0, 1)


def n_remembered(belief):
    """How many contexts have bounds."""
    return sum(np.isfinite(one.radius) for one in belief._top._memories._all)


@pytest.mark.parametrize("is_eager", [True, False])
@pytest.mark.parametrize("own", [0.0, 0.05])
@pytest.mark.parametrize("settings", [{}, {"shared": 0.0, "spread": 1.0}, {"shared": 1.0}])
def test_no_decision_differs_from_the_dense_twin(own, settings, is_eager, request):
    if is_eager:
        request.getfixturevalue("eager")
    rng = np.random.default_rng(0)
    features = rng.normal(size=(4000, 6))
    means = np.clip(0.3 + features @ rng.normal(0, 0.04, 6) + own * rng.normal(size=4000), 0, 1)
    belief = LinearBelief(features, **settings)
    for t in range(100):
        if t == 70:  # new arms in the middle of a run
            belief.add_arms(3, features[:3])
            means = np.append(means, means[:3])
        expected, values = dense(belief, 5, np.random.default_rng(t))
        arms, found = belief.sample_top(5, rng=np.random.default_rng(t))
        np.testing.assert_array_equal(arms, expected)
        np.testing.assert_allclose(found, values, atol=1e-12)
        belief.update(arms, rng.random(5) < means[arms], rng=rng)
    assert n_remembered(belief) == 1 or not is_eager


def a_context(kind, t, rng):
    """One of three kinds of visitors, a context that moves little, or a new one."""
    if kind == "moving":
        return np.array([1.0, 0.01 * np.sin(t), 0.2])
    return np.eye(3)[t % 3] if kind == "repeated" else rng.normal(size=3)


@pytest.mark.parametrize("kind", ["repeated", "moving", "new"])
@pytest.mark.parametrize("structure", ["bilinear", "shared"])
def test_no_decision_differs_in_contexts(structure, kind, eager):
    rng = np.random.default_rng(0)
    features, weights = rng.normal(size=(1500, 4)), rng.normal(0, 0.04, (3, 4))
    belief = LinearBelief(features, context=3, structure=structure)
    for t in range(60):
        context = a_context(kind, t, rng)
        expected, values = dense(belief, 5, np.random.default_rng(t), context)
        arms, found = belief.at(context).sample_top(5, rng=np.random.default_rng(t))
        np.testing.assert_array_equal(arms, expected)
        np.testing.assert_allclose(found, values, atol=1e-12)
        means = np.clip(0.3 + features[arms] @ (context @ weights), 0, 1)
        belief.at(context).update(arms, rng.random(5) < means, rng=rng)
    assert n_remembered(belief) >= 1


def test_few_arms_are_scored_late_in_a_run():
    rng, n_different = np.random.default_rng(0), 0
    features = rng.normal(size=(8000, 6))
    means = np.clip(0.3 + features @ rng.normal(0, 0.04, 6), 0, 1)
    belief, scored = LinearBelief(features), []
    for t in range(700):
        arms, _ = belief.sample_top(5, rng=np.random.default_rng(t))
        scored.append(belief._top.n_scored)
        if t % 50 == 0:
            n_different += not np.array_equal(arms, dense(belief, 5, np.random.default_rng(t))[0])
        belief.update(arms, rng.random(5) < means[arms], rng=rng)
    assert n_different == 0
    assert np.median(scored[-100:]) < 0.05 * 8000


def test_the_memory_changes_nothing():
    rng = np.random.default_rng(1)
    features = rng.normal(size=(5000, 4))
    belief = LinearBelief(features)
    for t in range(60):
        arms, _ = belief.sample_top(10, rng=np.random.default_rng(t))
        belief.update(arms, rng.random(10) < 0.3, rng=rng)
        belief._top, kept = LinearTop(), belief._top
        again, same = belief.sample_top(10, rng=np.random.default_rng(1000 + t))
        belief._top = kept
        np.testing.assert_array_equal(
            belief.sample_top(10, rng=np.random.default_rng(1000 + t)), (again, same)
        )


def test_the_law_is_that_of_sample():
    rng = np.random.default_rng(2)
    features = rng.normal(size=(3200, 3))
    belief = LinearBelief(features)
    for _ in range(100):
        arms = rng.choice(3200, 20, replace=False)
        belief.update(arms, rng.random(20) < 0.4 + 0.02 * features[arms, 0], rng=rng)
    n = 400
    lazy = [belief.sample_top(10, rng=rng) for _ in range(n)]
    whole = [belief.sample(rng=rng) for _ in range(n)]
    # The sum of the ten largest, and the sum of their first features: two tests of level 1e-4.
    largest = [top_k(theta, 10, rng=rng) for theta in whole]
    sums = [theta[arms].sum() for theta, arms in zip(whole, largest, strict=True)]
    assert stats.ks_2samp([values.sum() for _, values in lazy], sums).pvalue > 1e-4
    first = [features[arms, 0].sum() for arms, _ in lazy]
    assert stats.ks_2samp(first, [features[arms, 0].sum() for arms in largest]).pvalue > 1e-4


@pytest.mark.parametrize("n_arms", [10, 700, 50_000])
def test_own_noise_is_standard_normal(n_arms):
    rng, every = np.random.default_rng(3), np.arange(n_arms)
    rounds = [OwnNoise(n_arms, rng=rng) for _ in range(200_000 // n_arms)]
    values = np.array([noise.of(every) for noise in rounds])
    # Levels of 1e-4: the law, and no correlation between neighbours or rounds.
    assert stats.kstest(values.ravel(), "norm").pvalue > 1e-4
    for one, other in ((values[:, :-1], values[:, 1:]), (values[:-1], values[1:])):
        pairs = (one * other).ravel()
        assert abs(pairs.mean()) * np.sqrt(len(pairs)) < 4
    noise, some = rounds[0], np.array([7, 2])
    np.testing.assert_array_equal(noise.of(some), values[0, some])
    others = np.setdiff1d(every, noise.large)
    assert (values[0, others] <= noise.level).all()
    assert (values[0, noise.large] >= noise.level).all()


def test_copies_of_a_belief_do_not_copy_the_memory():
    belief = LinearBelief(np.random.default_rng(0).normal(size=(4000, 2)))
    drawn = belief.sample_top(3, rng=np.random.default_rng(1))
    other = copy.deepcopy(belief)
    assert other._top._memories is None
    np.testing.assert_array_equal(other.sample_top(3, rng=np.random.default_rng(1)), drawn)


def test_few_arms_are_compared_before_the_cut():
    belief, rng = LinearBelief(4, optimism=0.0, spread=0.0), np.random.default_rng(0)
    for _ in range(50):
        belief.update([0, 1, 2, 3], [1.0, 1.0, 0.2, 0.1], rng=rng)
    assert belief.sample_top(2, rng=rng)[0].tolist() == [0, 1]
    with pytest.raises(ValueError, match="k must be between 1 and 4"):
        belief.sample_top(5, rng=rng)
    with pytest.raises(ValueError, match="needs a context"):
        LinearBelief(4, context=2).sample_top(2, rng=rng)


def test_forgetting_the_bounds_changes_no_decision_if_arms_tie(eager):
    rng = np.random.default_rng(0)
    belief = LinearBelief(np.eye(4)[rng.integers(4, size=3500)], shared=1.0)
    for t in range(40):
        forgetful = copy.deepcopy(belief)  # without the memory
        arms = belief.sample_top(5, rng=np.random.default_rng(t))[0]
        np.testing.assert_array_equal(
            arms, forgetful.sample_top(5, rng=np.random.default_rng(t))[0]
        )
        belief.update(arms, rng.random(5) < 0.3, rng=rng)
