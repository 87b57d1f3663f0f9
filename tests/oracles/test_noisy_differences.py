"""Differences of two arms from unequally many noisy answers: bounds, decisions, old states."""

import json

import numpy as np
import pytest

import superarm as sa
from superarm.oracles import NoisySingletons
from superarm.oracles._noise import Bounded, Known, Symmetric
from superarm.oracles._noisy_round import NoisyRound

WALKS, STEPS, ALPHA, M, STD = 1000, 120, 0.05, 12, 0.1


def noisy(seed=0, *, n_arms=M):
    """The mean of an arm with normal noise; values of different arms may be close."""
    rng = np.random.default_rng(seed)

    class Means(sa.BlackBox):
        def batch(self, pools, theta):
            return pools.sum(np.asarray(theta)) + rng.normal(0, STD, len(pools))

    return Means(
        lambda arms, means: float(means.sum() + rng.normal(0, STD)),
        n_arms=n_arms,
        lipschitz=1.0,
        upper=float(n_arms),
        noisy=True,
    )


@pytest.mark.parametrize(
    ("law", "noise"),
    [("normal", Known(1.0)), ("normal", Symmetric(1.0)), ("signs", Symmetric(0.05))],
)
def test_bounds_of_differences_hold_at_all_times(law, noise):
    """1,000 pairs: at alpha = 0.05, more than 74 ever cross with probability below 5e-4.

    Whether the second arm of a pair gets another answer depends on the answers so far.
    """
    rng = np.random.default_rng(3)
    shape = 2, WALKS, STEPS
    answers = rng.normal(0, 1, shape) if law == "normal" else rng.choice([-1.0, 1.0], shape)
    sums, squares, n = np.zeros((2, WALKS)), np.zeros((2, WALKS)), np.zeros((2, WALKS))
    crossed, separate = np.zeros(WALKS, bool), np.inf
    for step in range(STEPS):
        goes_on = np.array([np.ones(WALKS, bool), (step == 0) | (sums[0] <= sums[1])])
        new = np.where(goes_on, answers[:, :, step], 0.0)
        n, sums, squares = n + goes_on, sums + new, squares + new**2
        means, v = sums / n, np.maximum(squares - sums**2 / n, 0.0)
        reach = np.abs(means) + 1.0
        s, logs = np.reshape(noise.parts(n.ravel(), v.ravel(), ALPHA, reach.ravel()), (2, *n.shape))
        off = np.sqrt(s.sum(axis=0) * logs.sum(axis=0))
        crossed |= np.abs(means[0] - means[1]) > off
        separate = noise.off(n, v, ALPHA / 2, reach, 0.0).sum(axis=0)
    assert crossed.sum() <= 74
    # Narrower than two bounds by themselves, of which each has half of alpha.
    known = np.isfinite(off)
    assert known.mean() > 0.4
    assert np.median(off[known] / separate[known]) < 0.95


def test_parts_of_known_noise_are_those_of_the_formula():
    s, logs = Known(2.0).parts(np.array([1.0, 50.0]), np.zeros(2), 0.01, np.ones(2))
    n, rho = np.array([1.0, 50.0]), 8 * 4.0
    w = n * 4.0 + rho
    off = np.sqrt((w / n**2).sum() * (np.log(w / rho).sum() - 2 * np.log(0.01)))
    assert np.sqrt(s.sum() * logs.sum()) == pytest.approx(off)
    assert np.isinf(Bounded(0, 1).parts(n, n, 0.01, n)).all()
    assert np.isinf(Symmetric().parts(n, n, 0.01, n)).all()


@pytest.mark.parametrize("noise", [Known(STD), Symmetric(STD**2)])
def test_symmetric_noise_excludes_what_a_search_of_all_means_excludes(noise):
    """The twin looks at the product of both mixtures for all pairs of means on a grid."""
    rng, alpha, upper = np.random.default_rng(4), 0.02, 1.0
    for n in ((40, 40), (60, 300), (500, 45)):
        answers = [0.5 + rng.normal(0, STD, each) for each in n]
        v = np.array([each.var() * len(each) for each in answers])
        means = np.array([each.mean() for each in answers])
        s, logs = noise.parts(np.array(n, float), v, alpha, np.abs(means) + upper)
        off = np.sqrt(s.sum() * logs.sum())
        errors, twice = np.linspace(-0.3, 0.3, 601), []
        for each, v_each in zip(n, v, strict=True):
            known = isinstance(noise, Known)
            big = each * STD**2 if known else v_each + each * errors**2
            w = big + 8 * STD**2
            twice.append((each * errors) ** 2 / w - np.log(w / (8 * STD**2)))
        possible = twice[0][:, None] + twice[1] < -2 * np.log(alpha)
        apart = np.abs(errors[:, None] - errors)[possible].max()
        assert apart <= off <= 1.15 * apart + 0.002


def test_the_pair_in_doubt_is_that_of_a_search_of_all_pairs():
    rng, seen = np.random.default_rng(5), set()
    for _ in range(200):
        k, tolerance = int(rng.integers(1, 6)), float(rng.choice([0.0, 0.2]))
        now = NoisyRound.__new__(NoisyRound)
        now.reward, now.theta, now.k, now.delta = noisy(n_arms=6), np.zeros(6), k, 0.05
        now.noise, now.n_rounds, now.v = Known(STD), 3, np.zeros(6)
        now.is_open = np.ones(6, bool)
        now.n = rng.integers(0, 40, 6).astype(float)
        now.sum_y = now.n * rng.random(6) * 2
        middle, width = now.sum_y / np.maximum(now.n, 1), rng.random(6)
        now.lower, now.upper = middle - width, middle + width
        arms = np.sort(np.argsort(middle)[6 - k :])
        alpha = 0.05 / 4 * 6 / (np.pi * 3) ** 2 / (k * (6 - k))
        excess = {}
        for i in arms:
            for j in np.setdiff1d(np.arange(6), arms):
                excess[i, j] = now.upper[j] - now.lower[i]
                if now.n[i] and now.n[j]:
                    two = np.array([i, j])
                    s, logs = now.noise.parts(now.n[two], now.v[two], alpha, np.ones(2))
                    off = np.sqrt(s.sum() * logs.sum())
                    excess[i, j] = min(excess[i, j], middle[j] - middle[i] + off)
        pair = now.in_doubt(arms, tolerance)
        doubts = [two for two, most in excess.items() if most > tolerance]
        assert bool(doubts) == bool(len(pair))
        if doubts:
            worst = max(excess, key=excess.get)
            wide = [arm for arm in worst if width[arm] >= 0.9 * max(width[list(worst)])]
            assert sorted(wide) == sorted(pair.tolist())
        n_arms = len({arm for two in doubts for arm in two})
        assert now.undecided(tolerance) == (f"{n_arms} of 6 arms" if doubts else "")
        seen.add(n_arms)
    assert {0, 2, 5} <= seen


@pytest.mark.parametrize(("settings", "saved"), [({"noise_std": STD}, 0.1), ({}, 0.05)])
def test_differences_save_evaluations_and_sets_are_right(settings, saved):
    """3 decisions with known means; a wrong set in a run has a probability of 0.05 at most."""
    spent, thetas = {}, np.random.default_rng(6).random((3, 40))
    for mode in ("single", "pairs"):
        oracle, rng = NoisySingletons(tolerance=0.03, **settings), np.random.default_rng(7)
        reward = sa.Counted(noisy(n_arms=40))
        for theta in thetas:
            oracle._meet(reward)
            oracle._n_rounds = None if mode == "single" else oracle._n_rounds
            arms = oracle.select(reward, theta, 3, rng=rng)
            assert oracle.report.certified
            inside = np.isin(np.arange(40), arms)
            assert theta[~inside].max() - theta[inside].min() <= 0.03
        spent[mode] = reward.evaluations
    assert spent["pairs"] < (1 - saved) * spent["single"]


def test_a_state_of_before_goes_on_without_differences():
    """Its single arms have used the share of delta that differences have now."""
    oracle, theta = NoisySingletons(noise_std=STD, tolerance=0.1), np.linspace(0, 1, M)
    oracle.select(noisy(), theta, 3, rng=np.random.default_rng(0))
    state = json.loads(json.dumps(oracle.state()))
    assert state["memory"].pop("n_rounds") == 1
    oracle.load(state)
    assert oracle._n_rounds is None
    oracle.select(noisy(1), theta, 3, rng=np.random.default_rng(0))
    assert "n_rounds" not in oracle.state()["memory"]
    oracle.forget()
    oracle.select(noisy(2), theta, 3, rng=np.random.default_rng(0))
    assert oracle.state()["memory"]["n_rounds"] == 1
