"""Bounds for known and for learned noise: they hold at all times, and how wide they are."""

import math

import numpy as np
import pytest

from superarm.oracles._boundaries import lines, one_sided
from superarm.oracles._noise import Bounded, Known, Symmetric, as_noise

WALKS, STEPS, ALPHA = 1000, 150, 0.05


def noise_of(law, rng):
    """Noise with mean 0, shape (WALKS, STEPS)."""
    shape = WALKS, STEPS
    if law == "normal":
        return rng.normal(0, 1, shape)
    if law == "signs":  # the worst case of symmetric noise
        return rng.choice([-1.0, 1.0], shape)
    if law == "heavy":  # with no variance
        return rng.standard_t(1.5, shape)
    if law == "uneven":  # the spread depends on the last answer
        signs, spread = rng.normal(0, 1, shape), np.ones(WALKS)
        for step in range(STEPS):
            signs[:, step] *= spread
            spread = np.where(signs[:, step] > 0, 0.1, 3.0)
        return signs
    return (rng.random(shape) < 0.05) - 0.05  # "coins": far from symmetric


def prefixes(noise, answers):
    """n and V of every walk at every time, as groups have them: shape (WALKS, STEPS) each."""
    n = np.broadcast_to(np.arange(1.0, STEPS + 1), (WALKS, STEPS))
    total = answers.cumsum(axis=1)
    if isinstance(noise, Bounded):
        guess = ((noise.low + noise.high) / 2 + total - answers) / n
        return n, ((answers - guess) ** 2).cumsum(axis=1)
    return n, np.maximum((answers**2).cumsum(axis=1) - total**2 / n, 0.0)


@pytest.mark.parametrize(
    ("law", "noise"),
    [
        ("normal", Known(1.0)),
        ("normal", Symmetric(1.0)),
        ("signs", Symmetric(0.01)),
        ("heavy", Symmetric(100.0)),
        ("uneven", Symmetric(1.0)),
        ("coins", Bounded(-0.05, 0.95)),
    ],
)
def test_bounds_hold_at_all_times(law, noise):
    """1,000 walks: at alpha = 0.05, more than 74 ever cross with probability below 5e-4."""
    answers = noise_of(law, np.random.default_rng(1))
    n, v = prefixes(noise, answers)
    means = answers.cumsum(axis=1) / n
    off = noise.off(n, v, ALPHA, np.abs(means) + 1.0, 0.0)
    assert (np.abs(means) > off).any(axis=1).sum() <= 74
    # Not by being infinitely wide: but for answers without a variance the bounds become narrow.
    assert law == "heavy" or np.median(off[:, -1]) < 0.8 * max(1.0, answers.std())


@pytest.mark.parametrize("noise", [Known(1.0), Symmetric(1.0), Bounded(0.0, 1.0)])
def test_bounds_of_differences_hold_at_all_times(noise):
    """120 pairs at 10 times: more than 14 cross with probability below 1e-3, at alpha = 0.05.

    Exponential noise is far from symmetric, but the difference of two answers is symmetric.
    """
    rng = np.random.default_rng(2)
    if isinstance(noise, Bounded):
        answers = (rng.random((2, 100, 120)) < 0.1).astype(float)
    elif isinstance(noise, Known):
        answers = rng.normal(0, 1, (2, 100, 120))
    else:
        answers = rng.exponential(1, (2, 100, 120))
    crossed = np.zeros(120, bool)
    for n in np.unique(np.geomspace(1, 100, 11).astype(int)):
        for pair in range(120):
            both = answers[:, :n, pair].T
            off = noise.off_pairs(both, 0, ALPHA, 1.0)
            crossed[pair] |= both[:, 0].mean() - both[:, 1].mean() > off[1]
    assert crossed.sum() <= 14


def test_v_is_that_of_all_answers_however_they_come():
    rng, noise = np.random.default_rng(3), Symmetric(1.0)
    answers = rng.normal(5, 2, 30)
    v, n, total = np.zeros(1), np.zeros(1), np.zeros(1)
    for new in np.split(answers, [1, 4, 20]):
        v = noise.grown(v, n, total, new)
        n, total = n + len(new), total + new.sum()
    assert v == pytest.approx(((answers - answers.mean()) ** 2).sum())
    bounded, v, n, total = Bounded(0.0, 10.0), np.zeros(1), np.zeros(1), np.zeros(1)
    clipped, slow = answers.clip(0, 10), 0.0
    for new in np.split(clipped, [1, 4, 20]):
        v = bounded.grown(v, n, total, new)
        n, total = n + len(new), total + new.sum()
    for place, answer in enumerate(clipped):
        slow += (answer - (5.0 + clipped[:place].sum()) / (1 + place)) ** 2
    assert v == pytest.approx(slow)


def test_the_boundary_is_solved_for_the_mean():
    """The slow twin tries many distances, and keeps the largest one that is not excluded."""
    rng = np.random.default_rng(4)
    for n in (30, 70, 400):
        answers, alpha, apart = rng.normal(0, 1, n), 1e-4, 0.3
        v = ((answers - answers.mean()) ** 2).sum()
        off = Symmetric(1.0).off(np.array([n]), np.array([v]), alpha, 5.0, apart)[0]
        tried = np.linspace(0, 5, 20_001)
        # The root of the sum of squares is at most that of one mean plus root(n) times apart.
        w = (np.sqrt(v + n * tried**2) + np.sqrt(n) * apart) ** 2 + 8.0
        open_ = n * tried < np.sqrt(w * (np.log(w / 8.0) - 2 * np.log(alpha)))
        slow = tried[open_].max()
        assert off >= slow - 1e-3
        assert n == 30 or off < 1.25 * slow


def test_learned_noise_costs_little_with_many_answers():
    n, v = np.array([100.0, 1000.0, 1e5]), np.array([100.0, 1000.0, 1e5])
    ratio = Symmetric(1.0).off(n, v, 1e-4, 50.0, 0.0) / Known(1.0).off(n, v, 1e-4, 50.0, 0.0)
    assert (np.diff(ratio) < 0).all()
    assert ratio[0] < 1.4
    assert 1.0 <= ratio[2] < 1.001


def test_lines_are_those_of_a_loop_and_weights_add_up():
    """The slow twin takes the least line; even infinitely many weights would not exceed 1."""
    alphas = [1e-9, 0.02, 0.3]
    for alpha in alphas:
        for v in (0.0, 0.4, 7.0, 5e3, 1e6):
            slow, total = math.inf, 0.0
            for i in range(24):
                slope, weight = 1 / (1 + 0.1 * 2**i) / 3.0, 4 / ((i + 4) * (i + 5))
                psi = (-math.log(1 - 3 * slope) - 3 * slope) / 9
                slow = min(slow, (psi * v - math.log(alpha * weight)) / slope)
                total += weight
            assert lines(np.array([v]), alpha, 3.0) == pytest.approx(slow)
            assert total <= 1
    # One alpha per group, as `Answers` has them.
    both = lines(np.full((2, 3), 7.0), np.array(alphas), 3.0)
    np.testing.assert_array_equal(both[1], [lines(7.0, alpha, 3.0) for alpha in alphas])


@pytest.mark.parametrize("p", [0.01, 0.5])
def test_lines_hold_for_coins_at_all_times(p):
    """1,000 walks of 400 coins, both sides: at alpha = 0.05, more than 74 cross with p < 5e-4."""
    answers = (np.random.default_rng(8).random((1000, 400)) < p).astype(float)
    n, total = np.arange(1.0, 401.0), answers.cumsum(axis=1)
    v = ((answers - (0.5 + total - answers) / n) ** 2).cumsum(axis=1)
    off = lines(v, ALPHA / 2, 1.0)
    assert (np.abs(total - p * n) >= off).any(axis=1).sum() <= 74


def test_one_sided_is_nearly_half_of_two_sided():
    assert one_sided(1e-4) == pytest.approx(2e-4, rel=1e-3)
    assert one_sided(0.5) == 0.5


def test_settings():
    assert isinstance(as_noise(None, None), Symmetric)
    assert as_noise(0.5, None) == Known(0.5)
    assert as_noise(None, (0, 2)) == Bounded(0.0, 2.0)
    for wrong in ((2, 0), (0, np.inf), (0, 1, 2)):
        with pytest.raises(ValueError, match="answers_in"):
            as_noise(None, wrong)
    with pytest.raises(ValueError, match="not both"):
        as_noise(0.5, (0, 1))
    with pytest.raises(ValueError, match=r"in \[0, 1\] \(answers_in\), got 2"):
        Bounded(0, 1).grown(np.zeros(1), np.zeros(1), np.zeros(1), np.array([0.5, 2.0]))
