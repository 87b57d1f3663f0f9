"""The parts of the logistic belief equal slow twins: moments by sums, and one large Gaussian."""

import numpy as np
import pytest
from scipy.special import expit

from superarm.beliefs._logit_model import SiteModel
from superarm.beliefs._logit_sites import mean_of_logit_normal, sites, tilted

CASES = [
    (location, var, n, s)
    for var in (0.05, 1.0, 10.0)
    for n, s in ((1, 0), (1, 1), (20, 0), (20, 1), (1000, 3), (1000, 900), (1e6, 1e4), (0.5, 0.2))
    for location in (-5.0, 0.0, 2.0)
]


def on_a_grid(location, var, n, s, reach=8):
    """Mean and variance of the log-odds after the coins, by a fine sum."""
    side = 10 * var**0.5 + reach
    eta = np.linspace(location - side, location + side, 400_001)
    log_p = s * eta - n * np.logaddexp(0, eta) - (eta - location) ** 2 / (2 * var)
    p = np.exp(log_p - log_p.max())
    mean = (p * eta).sum() / p.sum()
    return mean, (p * (eta - mean) ** 2).sum() / p.sum()


@pytest.mark.parametrize(("location", "var", "n", "s"), CASES)
def test_moments_are_those_of_a_fine_sum(location, var, n, s):
    given = [np.array([float(value)]) for value in (location, var, n, s)]
    mean, after = tilted(*given)
    expected, expected_var = on_a_grid(location, var, n, s)
    assert abs(mean[0] - expected) < 0.003 * expected_var**0.5
    assert after[0] == pytest.approx(expected_var, rel=0.01)
    # The Gaussian in place of the coins leads to the same moments.
    weight, pull = sites(*given)
    assert weight[0] >= 0
    assert 1 / (1 / var + weight[0]) == pytest.approx(after[0], rel=1e-9)
    assert (location / var + pull[0]) * after[0] == pytest.approx(mean[0], rel=1e-6, abs=1e-9)


FAR = [(-300.0, 10.0, 1, 1), (118.0, 50.0, 1, 0), (1e6, 1e5, 1, 0), (200.0, 1.0, 5, 0)]


@pytest.mark.parametrize(("location", "var", "n", "s"), FAR)
def test_coins_that_surprise_a_sure_belief_move_it_by_their_number(location, var, n, s):
    """Far from 0 the log-odds of a head are as good as linear: the mean moves by n var at most."""
    given = [np.array([float(value)]) for value in (location, var, n, s)]
    mean, after = tilted(*given)
    assert mean[0] == pytest.approx(location + (s if location < 0 else s - n) * var, rel=1e-9)
    assert after[0] == pytest.approx(var, rel=1e-6)


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("n", [300, 1000])
def test_many_coins_move_a_sure_belief_from_afar_to_where_they_differ(n, sign):
    """From log-odds of 100 to about 2, where heads and tails are both likely."""
    location, var, s = -100.0 * sign, 1.0, n if sign > 0 else 0
    mean, after = tilted(*(np.array([float(value)]) for value in (location, var, n, s)))
    expected, expected_var = on_a_grid(location, var, n, s, reach=110)
    assert abs(expected) < 3
    assert abs(mean[0] - expected) < 0.003 * expected_var**0.5
    assert after[0] == pytest.approx(expected_var, rel=0.01)


def test_gaussians_in_place_of_coins_are_finite_for_any_belief():
    rng, n = np.random.default_rng(0), 20_000
    location = rng.normal(size=n) * 10 ** rng.uniform(-1, 5, n)
    var, heads = 10 ** rng.uniform(-4, 7, n), (rng.random(n) < 0.5).astype(float)
    weight, pull = sites(location, var, np.ones(n), heads)
    # A coin says at most p (1 - p) <= 1/4 about its log-odds, up to the error of the quadrature.
    assert (weight < 0.3).all()
    assert np.isfinite(pull).all()


def test_means_of_logit_normals():
    location, var = np.array([-4.0, 0.0, 3.0]), np.array([0.5, 2.0, 1.0])
    draws = expit(location + np.sqrt(var) * np.linspace(-8, 8, 20001)[:, None])
    density = np.exp(-(np.linspace(-8, 8, 20001) ** 2) / 2)
    expected = density @ draws / density.sum()
    np.testing.assert_allclose(mean_of_logit_normal(location, var), expected, rtol=1e-4)


class DenseModel:
    """The slow twin of `SiteModel`: one Gaussian for all weights, solved from all observations."""

    def __init__(self, n_arms, fixed_var, own_var):
        self.shape = n_arms, len(fixed_var), len(own_var)
        self.prior = np.concatenate([fixed_var, np.tile(own_var, n_arms)])
        self.rows, self.weights, self.pulls = [], [], []

    def row(self, arm, phi, psi):
        n_arms, n_fixed, n_own = self.shape
        full = np.zeros(n_fixed + n_arms * n_own)
        full[:n_fixed] = phi
        full[n_fixed + arm * n_own :][:n_own] = psi
        return full

    def observe(self, arms, phi, psi, weight, pull):
        self.rows += [self.row(*one) for one in zip(arms, phi, psi, strict=True)]
        self.weights += list(weight)
        self.pulls += list(pull)

    def predict(self, arms, phi, psi):
        x, w = np.array(self.rows), np.array(self.weights)
        cov = np.linalg.inv(np.diag(1 / self.prior) + x.T * w @ x)
        mean = cov @ (x.T @ np.array(self.pulls))
        new = np.array([self.row(*one) for one in zip(arms, phi, psi, strict=True)])
        return new @ mean, np.einsum("ij,jk,ik->i", new, cov, new)

    def evidence(self):
        """log N(targets; 0, prior + noise), with terms of the targets and weights alone left."""
        x, w = np.array(self.rows), np.array(self.weights)
        target = np.array(self.pulls) / w
        cov = x * self.prior @ x.T + np.diag(1 / w)
        return -(np.linalg.slogdet(cov)[1] + target @ np.linalg.solve(cov, target)) / 2


def observed(n_own=1, seed=0, discount=1.0):
    """A model and its twin after the same observations."""
    rng = np.random.default_rng(seed)
    variances = np.array([9.0, 0.5, 0.5]), np.linspace(1.0, 0.3, n_own)
    model, dense = SiteModel(5, *variances), DenseModel(5, *variances)
    for _ in range(12):
        arms = np.sort(rng.permutation(4)[:2])  # arm 4 has no observations
        phi, psi = rng.normal(size=(2, 3)), rng.normal(size=(2, n_own))
        psi[:, 0] = 1.0
        weight, pull = rng.random(2), rng.normal(size=2)
        if discount < 1:
            model.fade(discount)
            dense.weights = [discount * one for one in dense.weights]
            dense.pulls = [discount * one for one in dense.pulls]
        model.observe(arms, phi, psi, weight, pull)
        dense.observe(arms, phi, psi, weight, pull)
    return model, dense, rng


def assert_same(model, dense, rng, n_own):
    phi, psi = rng.normal(size=(5, 3)), rng.normal(size=(5, n_own))
    location, common, own = model.predict(np.arange(5), phi, psi)
    mean, var = dense.predict(np.arange(5), phi, psi)
    np.testing.assert_allclose(location, mean, atol=1e-9)
    np.testing.assert_allclose(common + own, var, rtol=1e-9)


@pytest.mark.parametrize("n_own", [1, 3])
@pytest.mark.parametrize("discount", [1.0, 0.9])
def test_the_model_equals_one_large_gaussian(n_own, discount):
    assert_same(*observed(n_own, discount=discount), n_own)


@pytest.mark.parametrize("n_own", [1, 3])
def test_new_variances_take_effect(n_own):
    model, dense, rng = observed(n_own)
    model.fixed_var, model.own_var = np.array([9.0, 2.0, 1e-6]), np.full(n_own, 0.1)
    dense.prior = np.concatenate([model.fixed_var, np.tile(model.own_var, 5)])
    model.refresh()
    assert_same(model, dense, rng, n_own)


@pytest.mark.parametrize("n_own", [1, 3])
def test_the_evidence_differs_by_a_constant(n_own):
    model, dense, _ = observed(n_own)
    apart = []
    for fixed, own in ((0.5, 1.0), (0.01, 0.2), (3.0, 0.05)):
        variances = np.array([9.0, fixed, fixed]), np.full(n_own, own)
        dense.prior = np.concatenate([variances[0], np.tile(variances[1], 5)])
        apart.append(model.evidence(*variances) - dense.evidence())
    assert np.ptp(apart) < 1e-8


def test_recoded_rows_are_the_same_model():
    model, dense, rng = observed(3)
    phi, psi = np.eye(3) + rng.normal(size=(3, 3)) / 5, np.diag([1.0, 2.0, 0.5])
    model.recode(phi, psi)
    dense.rows = [
        np.concatenate([phi @ row[:3], *(psi @ own for own in row[3:].reshape(5, 3))])
        for row in dense.rows
    ]
    assert_same(model, dense, rng, 3)


@pytest.mark.parametrize("n_own", [1, 2])
def test_sums_stay_exact_over_many_observations(n_own):
    rng = np.random.default_rng(13)
    model = SiteModel(4, np.array([9.0, 0.5, 0.5]), np.full(n_own, 0.3))
    for _ in range(5000):  # of all four arms: 20,000 observations
        arms, phi = np.arange(4), rng.normal(size=(4, 3))
        psi = np.hstack([np.ones((4, 1)), rng.normal(size=(4, n_own - 1))])
        # Coins of one round in a few: some weights are tiny.
        model.observe(arms, phi, psi, rng.random(4) ** 8, rng.normal(size=4))
    everything = np.arange(4), rng.normal(size=(4, 3)), np.ones((4, n_own))
    before = model.predict(*everything)
    model.refresh()
    for found, fresh in zip(before, model.predict(*everything), strict=True):
        np.testing.assert_allclose(found, fresh, rtol=1e-8, atol=1e-10)
