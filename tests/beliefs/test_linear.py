"""LinearBelief: its posterior is that of a dense Gaussian solve, in every structure."""

import json

import numpy as np
import pytest

from superarm.beliefs import LinearBelief, LogisticBelief
from superarm.beliefs._variances import INTERCEPT_VAR, is_due
from superarm.testing import check_belief

N_ARMS, N_FEATURES, N_CONTEXT = 12, 3, 2
STRUCTURES = [None, "shared", "bilinear", "disjoint"]


def make(structure, **settings):
    rng = np.random.default_rng(5)
    features = rng.normal(3.0, 2.0, (N_ARMS, N_FEATURES))
    if structure is None:
        return LinearBelief(features, **settings)
    given = N_ARMS if structure == "disjoint" else features
    return LinearBelief(given, context=N_CONTEXT, structure=structure, **settings)


def a_context(structure, rng):
    """A vector, or one row per arm."""
    if structure is None:
        return None
    return rng.normal(1.0, 3.0, (N_ARMS, N_CONTEXT) if structure == "shared" else N_CONTEXT)


def play(belief, structure, n_rounds, seed=0):
    """Some rounds of random feedback: the arms, contexts and outcomes."""
    rng, history = np.random.default_rng(seed), []
    for _ in range(n_rounds):
        arms = rng.choice(N_ARMS, 3, replace=False)
        context, outcomes = a_context(structure, rng), rng.random(3)
        belief.at(context).update(arms, outcomes, rng=rng)
        history.append((arms, context, outcomes))
    return history


def dense_posterior(belief, history, context):
    """Means and covariances of all arms by one Gaussian solve, with no use of the structure."""
    design, variances = belief._design, belief.variances
    arms = np.concatenate([one[0] for one in history])
    rows = np.vstack([design.rows(one[1], one[0]) for one in history])
    outcomes = np.concatenate([one[2] for one in history])
    now = design.rows(None if context is None else np.asarray(context), np.arange(N_ARMS))
    every, all_rows = np.append(arms, np.arange(N_ARMS)), np.vstack([rows, now])
    same = every[:, None] == every
    scale = prior_variances(design, variances)
    if design.structure == "disjoint":
        prior = same * ((all_rows * scale) @ all_rows.T)
        center = 0.5 + all_rows @ belief._model.center
    else:
        prior = (all_rows * scale) @ all_rows.T + variances.own * same
        center = np.full(len(all_rows), 0.5)
    n = len(arms)
    solve = np.linalg.solve(prior[:n, :n] + variances.noise * np.eye(n), prior[:n, n:])
    mean = center[n:] + solve.T @ (outcomes - center[:n])
    return mean, prior[n:, n:] - prior[n:, :n] @ solve


def prior_variances(design, variances):
    """The prior variance of each coefficient, written out."""
    n_features, features = design.features.shape[1] - 1, variances.weights
    if design.structure == "disjoint":
        return np.array([variances.own, *design.n_context * [features]])
    if design.structure == "bilinear":
        of_one = [INTERCEPT_VAR, *design.n_context * [variances.context]]
        of_feature = [features, *design.n_context * [variances.products]]
        return np.array(of_one + n_features * of_feature)
    n_context = design.n_context if design.structure == "shared" else 0
    return np.array([INTERCEPT_VAR, *n_features * [features], *n_context * [variances.context]])


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("n_rounds", [1, 2, 15, 60])
def test_the_posterior_is_that_of_a_dense_solve(structure, n_rounds):
    belief = make(structure)
    history = play(belief, structure, n_rounds)
    context = a_context(structure, np.random.default_rng(9))
    now = belief.at(context)
    mean, covariance = dense_posterior(belief, history, context)
    posterior = now.posterior(np.arange(N_ARMS))
    np.testing.assert_allclose(posterior.location, mean, atol=1e-9)
    np.testing.assert_allclose(posterior.var, np.diag(covariance), atol=1e-9)
    np.testing.assert_allclose(now.mean(), np.clip(mean, 0, 1), atol=1e-9)


def test_without_features_it_is_the_gaussian_hierarchy():
    belief = LinearBelief(N_ARMS)
    history = play(belief, None, 40)
    mean, covariance = dense_posterior(belief, history, None)
    posterior = belief.posterior(np.arange(N_ARMS))
    np.testing.assert_allclose(posterior.location, mean, atol=1e-9)
    np.testing.assert_allclose(posterior.var, np.diag(covariance), atol=1e-9)
    # The same as a belief whose only feature is constant, and so adds nothing to the intercept.
    constant = LinearBelief(np.full((N_ARMS, 1), 7.0))
    play(constant, None, 40)
    np.testing.assert_allclose(constant.mean(), belief.mean(), atol=1e-9)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_samples_have_the_law_of_the_posterior(structure):
    belief = make(structure, optimism=0.0, spread=1.0, shared=0.0)
    history = play(belief, structure, 60)
    context, rng = a_context(structure, np.random.default_rng(9)), np.random.default_rng(1)
    # A mean outside [0, 1] is cut: only arms inside by five deviations are compared.
    mean, covariance = dense_posterior(belief, history, context)
    std = np.sqrt(np.diag(covariance))
    inside = np.flatnonzero((mean - 5 * std > 0) & (mean + 5 * std < 1))
    assert len(inside) >= 3
    n = 4000
    draws = np.array([belief.at(context).sample(rng=rng) for _ in range(n)])[:, inside]
    # Five standard errors for at most 12 means and 144 covariances: a false alarm is less likely
    # than 1 in 10,000.
    error = (draws.mean(axis=0) - mean[inside]) / std[inside] * np.sqrt(n)
    assert np.abs(error).max() < 5
    scale = np.outer(std, std)[np.ix_(inside, inside)]
    expected = covariance[np.ix_(inside, inside)] / scale
    found = np.cov(draws.T) / scale
    assert (np.abs(found - expected) * np.sqrt(n / (1 + expected**2))).max() < 5


def test_a_million_updates_agree_with_a_fresh_solve():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(1000, 20))
    means = np.clip(0.4 + 0.02 * features @ rng.normal(size=20), 0, 1)
    belief = LinearBelief(features)
    for _ in range(1000):
        belief.update(np.arange(1000), rng.random(1000) < means, rng=rng)
    model = belief._model
    assert model.counts.sum() == 1e6
    before, weights = model.precision.copy(), model.factor()[1]
    # Fresh: one weighted row per arm, the sum of the arms' precisions.
    variances = belief.variances
    share = model.counts / (variances.noise + model.counts * variances.own)
    fresh = (model.rows * share[:, None]).T @ model.rows
    fresh += np.diag(np.append(1 / INTERCEPT_VAR, np.full(20, 1 / variances.weights)))
    ratio = share * model.sums / model.counts
    np.testing.assert_allclose(before, fresh, rtol=1e-8, atol=1e-8 * np.abs(fresh).max())
    solved = np.linalg.solve(fresh, model.rows.T @ ratio)
    np.testing.assert_allclose(weights, solved, rtol=1e-7, atol=1e-10)


def test_many_updates_of_disjoint_models_agree_with_a_fresh_solve():
    rng = np.random.default_rng(0)
    belief = LinearBelief(3, context=15)
    for _ in range(3000):
        context = rng.normal(2.0, 3.0, 15)
        belief.at(context).update([0, 1, 2], (rng.random(3) < 0.5).astype(float), rng=rng)
    model = belief._model
    assert belief._n_fitted < 0.95 * 9000  # some hundred updates of rank one since the last fit
    covariances, means = model.covariances.copy(), model.means.copy()
    model.rebuild()
    np.testing.assert_allclose(covariances, model.covariances, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(means, model.means, rtol=1e-9, atol=1e-12)


def test_the_center_of_disjoint_models_is_that_of_a_dense_solve():
    """All coefficients at once: those of the center, and the deviations of each arm from it."""
    belief = make("disjoint")
    history = play(belief, "disjoint", 30)
    model, variances = belief._model, belief.variances
    model._find_center()
    d = 1 + N_CONTEXT
    arms = np.concatenate([one[0] for one in history])
    rows = np.vstack([belief._design.rows(one[1], one[0]) for one in history])
    outcomes = np.concatenate([one[2] for one in history]) - 0.5
    own = (np.arange(N_ARMS) == arms[:, None])[:, :, None] * rows[:, None, :]
    matrix = np.hstack([rows, own.reshape(len(rows), -1)])
    about_center = [INTERCEPT_VAR, *N_CONTEXT * [variances.context]]
    prior = np.concatenate([about_center, np.tile(prior_variances(belief._design, variances), 12)])
    precision = matrix.T @ matrix / variances.noise + np.diag(1 / prior)
    solved = np.linalg.solve(precision, matrix.T @ outcomes / variances.noise)
    np.testing.assert_allclose(model.center, solved[:d], atol=1e-10)
    together = solved[:d] + solved[d:].reshape(N_ARMS, d)
    np.testing.assert_allclose(model.means, together, atol=1e-10)


@pytest.mark.parametrize("structure", ["bilinear", "disjoint"])
def test_a_context_that_moves_all_arms_alike_says_nothing_about_arms(structure):
    rng, belief = np.random.default_rng(0), make(structure)
    for _ in range(100):
        context, arms = rng.normal(size=N_CONTEXT), rng.choice(N_ARMS, 6, replace=False)
        outcomes = 0.5 + 0.15 * context[0] + 0.05 * rng.normal(size=6)
        belief.at(context).update(arms, np.clip(outcomes, 0, 1), rng=rng)
    found = belief.variances
    of_some = found.products if structure == "bilinear" else found.weights
    assert of_some < found.context / 50


@pytest.mark.parametrize("own", [0.0, 0.1])
def test_variances_are_learned(own):
    rng = np.random.default_rng(3)
    features = rng.normal(size=(2000, 10))
    weights = rng.normal(0, 0.03, 10)
    means = 0.5 + features @ weights + own * rng.normal(size=2000)
    belief = LinearBelief(features)
    for _ in range(60):
        arms = rng.choice(2000, 200, replace=False)
        outcomes = means[arms] + 0.1 * rng.normal(size=200)
        belief.update(arms, np.clip(outcomes, 0, 1), rng=rng)
    found = belief.variances
    # A scaled column has the deviation 1/2. Ten coefficients give a variance within a factor of 3
    # (chi-square, 1 in 1,000), and 12,000 outcomes the others within 10%.
    assert 1 / 3 < found.weights / (4 * (weights**2).mean()) < 3
    assert found.noise == pytest.approx(0.01, rel=0.1)
    assert found.own == pytest.approx(own**2, rel=0.15, abs=2e-4)


def test_useless_features_are_recognised():
    rng = np.random.default_rng(4)
    means, features = rng.uniform(0.2, 0.6, 500), rng.normal(size=(500, 20))
    with_features, without = LinearBelief(features), LinearBelief(500)
    for _ in range(100):
        arms = rng.choice(500, 20, replace=False)
        outcomes = rng.random(20) < means[arms]
        for belief in (with_features, without):
            belief.update(arms, outcomes, rng=rng)
    # What 20 features say together has a deviation far below the 0.12 of the means.
    said = np.sqrt(20 * with_features.variances.weights / 4)
    assert said < 0.05
    error = [np.abs(belief.mean() - means).mean() for belief in (with_features, without)]
    assert error[0] < 1.05 * error[1]


def test_intervals_cover_the_means():
    rng, hits = np.random.default_rng(6), []
    for _ in range(20):
        features = rng.normal(size=(100, 5))
        means = 0.5 + features @ rng.normal(0, 0.04, 5) + 0.05 * rng.normal(size=100)
        belief = LinearBelief(features)
        for _ in range(150):
            arms = rng.choice(100, 20, replace=False)
            belief.update(arms, rng.random(20) < means[arms], rng=rng)
        low, high = belief.posterior(np.arange(100)).interval(0.9)
        hits.append(((low <= means) & (means <= high)).mean())
    # The variances are learned, so 90% is not exact; the standard error of 20 runs is about 1%.
    assert 0.86 < np.mean(hits) < 0.94


@pytest.mark.parametrize("structure", STRUCTURES)
def test_units_do_not_matter(structure):
    one, other = make(structure), make(structure)
    if structure != "disjoint":
        given = one._design.scaling
        raw = one._design.features[:, 1:] * given.width + given.center
        other = LinearBelief(
            raw * [10.0, 0.01, -3.0] + 7,
            context=None if structure is None else N_CONTEXT,
            structure=structure,
        )
    rng = np.random.default_rng(0)
    for _ in range(40):
        arms, context = rng.choice(N_ARMS, 3, replace=False), a_context(structure, rng)
        outcomes = rng.random(3)
        one.at(context).update(arms, outcomes, rng=rng)
        context = None if context is None else 100 * context - 5
        other.at(context).update(arms, outcomes, rng=rng)
    context = a_context(structure, rng)
    far = None if context is None else 100 * context - 5
    np.testing.assert_allclose(other.at(far).mean(), one.at(context).mean(), atol=1e-6)


@pytest.mark.parametrize("structure", ["shared", "bilinear", "disjoint"])
def test_the_contract_holds_in_contexts(structure):
    def of(n_arms):
        features = n_arms if structure == "disjoint" else np.arange(float(n_arms))[:, None] % 3
        return LinearBelief(features, context=2, structure=structure)

    check_belief(of, context=lambda n_arms: [1.0, -2.0])
    check_belief(of, context=lambda n_arms: np.arange(2.0 * n_arms).reshape(n_arms, 2) % 3)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_contributions_sum_to_the_mean(structure):
    belief = make(structure)
    play(belief, structure, 30)
    now = belief.at(a_context(structure, np.random.default_rng(9)))
    arms = np.array([4, 1])
    found = now.contributions(arms)
    total = found.base + found.columns.sum(axis=1) + found.own
    np.testing.assert_allclose(total, now.posterior(arms).location, atol=1e-12)


def test_columns_have_names_in_the_order_of_the_rows():
    features, context = ["1", "2", "3"], ["1", "2"]
    plain = [f"feature {one}" for one in features]
    known = [f"context {one}" for one in context]
    products = [[one] + [f"{one} x {other}" for other in known] for one in plain]
    bilinear = known + [name for row in products for name in row]
    wanted = {None: plain, "shared": plain + known, "bilinear": bilinear}
    wanted["disjoint"] = known
    for structure, names in wanted.items():
        design = make(structure)._design
        assert [design.name_of(column) for column in range(design.n_columns - 1)] == names


def test_a_feature_that_does_well_is_named():
    rng = np.random.default_rng(0)
    features = np.zeros((60, 2))
    features[:30, 0], features[::2, 1] = 1, 1
    means = np.where(features[:, 0] == 1, 0.6, 0.4)
    belief = LinearBelief(features)
    for _ in range(100):
        belief.update(np.arange(60), rng.random(60) < means, rng=rng)
    found = belief.contributions([0])
    # A half of the arms has the feature, and the columns are about the average arm.
    assert found.columns[0, 0] == pytest.approx(0.1, abs=0.03)
    assert found.name_of(int(found.columns[0].argmax())) == "feature 1"
    assert abs(found.columns[0, 1]) < 0.02
    assert found.base == pytest.approx(0.5, abs=0.02)


def test_new_arms_bring_their_features():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(100, 2))
    belief = LinearBelief(features)
    for _ in range(50):
        belief.update(np.arange(100), np.clip(0.5 + 0.1 * features[:, 0], 0, 1), rng=rng)
    belief.add_arms(2, [[1.0, 0.0], [-1.0, 5.0]])
    belief.add_arms(1)
    average = 0.5 + 0.1 * features[:, 0].mean()
    np.testing.assert_allclose(belief.mean()[100:], [0.6, 0.4, average], atol=0.01)
    belief.update([101], [1.0], rng=rng)
    for features, message in [([[1.0]], "shape"), ([[np.nan, 1.0]], "finite")]:
        with pytest.raises(ValueError, match=message):
            belief.add_arms(1, features)
    with pytest.raises(TypeError, match="no features"):
        LinearBelief(4).add_arms(1, [[1.0]])
    assert belief.n_arms == 103


def test_a_discount_forgets():
    rng, belief, stays = np.random.default_rng(0), LinearBelief(4, discount=0.9), LinearBelief(4)
    for outcome in (1.0, 0.0):
        for _ in range(50):
            for one in (belief, stays):
                one.update([0, 1], [outcome, 0.5], rng=rng)
    assert belief.mean()[0] < 0.1
    assert stays.mean()[0] == pytest.approx(0.5, abs=0.1)
    # The sums are those of a geometric series, and the precision is made of them.
    assert belief._model.counts[1] == pytest.approx((1 - 0.9**100) / 0.1)


def test_variances_are_learned_as_often_as_evidence_is_replaced():
    rng, belief, fits = np.random.default_rng(0), LinearBelief(4, discount=0.9), []
    for _ in range(300):
        belief.update([0, 1], rng.random(2), rng=rng)
        fits.append(belief._n_fitted)
    # 2 / (1 - 0.9) = 20 outcomes are kept, and a quarter of them comes in three rounds.
    assert np.count_nonzero(np.diff(fits[100:])) in (66, 67)
    # Nothing is forgotten with a discount of 1: each time a quarter more.
    assert is_due(10.0, 8.0, 10.0)
    assert not is_due(9.0, 8.0, 9.0)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_saved_belief_goes_on_in_the_same_way(structure):
    belief = make(structure)
    play(belief, structure, 25)
    features = None if structure == "disjoint" else np.ones((2, N_FEATURES))
    belief.add_arms(2, features)
    state = json.loads(json.dumps(belief.state()))
    other = LinearBelief(N_ARMS + 2)  # the features are in the state
    other.load(state)
    for seed in (1, 2):
        rngs = [np.random.default_rng(seed) for _ in range(2)]
        for one, rng in zip((belief, other), rngs, strict=True):
            context = None if structure is None else rng.normal(size=N_CONTEXT)
            one.at(context).update([0, N_ARMS], [0.3, 1.0], rng=rng)
        context = None if structure is None else [1.0, 2.0]
        samples = [
            one.at(context).sample(rng=rng) for one, rng in zip((belief, other), rngs, strict=True)
        ]
        np.testing.assert_array_equal(*samples)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: LinearBelief([[1.0], [np.inf]]), "features must be finite"),
        (lambda: LinearBelief([1.0, 2.0]), "array of 2 dimension"),
        (lambda: LinearBelief(3, structure="shared"), "without a context"),
        (lambda: LinearBelief(3, context=2, structure="joint"), "must be one of"),
        (lambda: LinearBelief([[1.0]], context=2, structure="disjoint"), "the context alone"),
        (lambda: LinearBelief(3, context=0), "at least 1"),
        (lambda: LinearBelief(3, discount=0.0), "discount"),
        (lambda: LinearBelief(3).at([1.0]), "made without contexts"),
        (lambda: LinearBelief(3, context=2).at([1.0]), "must have 2 numbers, got 1"),
        (lambda: LinearBelief(3, context=2).at(None), "needs a context of 2 numbers"),
        (lambda: LinearBelief(3, context=2).sample(rng=None), "needs a context of 2 numbers"),
        (lambda: LinearBelief(3, context=2).update([0], [1.0], rng=None), "needs a context"),
        (lambda: LinearBelief(3, context=2).mean(), "needs a context"),
    ],
)
def test_refusals(wrong, message):
    with pytest.raises((ValueError, TypeError), match=message):
        wrong()


@pytest.mark.parametrize("belief", [LinearBelief, LogisticBelief])
def test_a_new_arm_in_a_wrong_unit_breaks_nothing(belief):
    rng = np.random.default_rng(1)
    beliefs = belief(1e9 + rng.normal(size=(40, 3)))
    beliefs.add_arms(1, [[1.0, 1.0, 1.0]])
    for _ in range(20):
        beliefs.update(np.arange(36, 41), np.full(5, 0.5), rng=rng)
        assert np.isfinite(beliefs.sample(rng=rng)).all()


@pytest.mark.parametrize("structure", ["shared", "bilinear", "disjoint"])
def test_contexts_far_from_zero_are_as_good_as_others(structure):
    def means(far):
        rng, belief = np.random.default_rng(0), make(structure)
        for _ in range(30):
            arms = np.sort(rng.choice(belief.n_arms, 3, replace=False))
            now = belief.at(far + a_context(structure, rng))
            now.update(arms, rng.random(3), rng=rng)
        return belief.at(far + np.full_like(a_context(structure, rng), 0.5)).mean()

    np.testing.assert_allclose(means(1e11), means(2e3), atol=1e-3)
