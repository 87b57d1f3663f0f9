"""Concave values of arms: bounds from noisy averages, next to linear programs and the truth."""

import numpy as np
import pytest
from scipy.optimize import linprog

import superarm as sa
from superarm.oracles import NoisySingletons
from superarm.oracles._noise import Known
from superarm.oracles._noisy_answers import Answers
from superarm.oracles._noisy_concave import Concave

M, STD = 10, 0.1


def extreme(x, places, average, *, monotone, at_zero, sign):
    """The largest (sign 1) or least (-1) f(x) of all concave f >= 0 with this average at places."""
    knots = np.unique([0.0, 1.0, x, *places])
    at, n = {knot: i for i, knot in enumerate(knots)}, len(knots)
    bends, steps = [], np.diff(knots)
    for i in range(1, n - 1):
        # The slope after a knot is at most the slope before it.
        row = np.zeros(n)
        row[i - 1], row[i + 1] = 1 / steps[i - 1], 1 / steps[i]
        row[i] = -row[i - 1] - row[i + 1]
        bends.append(row)
    if monotone:
        bends += list(np.eye(n)[:-1] - np.eye(n)[1:])
    mean = np.zeros(n)
    for place in places:
        mean[at[place]] += 1 / len(places)
    # The largest value has an average of at most this, the least one of at least this.
    bends.append(sign * mean)
    limits = np.append(np.zeros(len(bends) - 1), sign * average)
    cost = np.zeros(n)
    cost[at[x]] = -sign
    bounds = [(at_zero if knot == 0 else 0.0, 100.0) for knot in knots]
    found = linprog(cost, A_ub=np.array(bends), b_ub=limits, bounds=bounds)
    return None if found.status == 2 else -sign * found.fun


@pytest.mark.parametrize("monotone", [True, False])
def test_the_bounds_are_those_of_a_linear_program(monotone):
    rng, n_tight = np.random.default_rng(4), 0
    for case in range(40):
        places = rng.random(rng.integers(1, 5)).round(3)
        # Half of the cases have all answers on the same side of x.
        x = [rng.random(), places.max(), places.min() / 2, (1 + places.max()) / 2][case % 4]
        x, at_zero, average = float(np.round(x, 3)), 0.2 * (case % 3), 0.5 + rng.random()
        at_zero = at_zero if monotone else 0.0
        over, under = np.maximum(places - x, 0).mean(), np.maximum(x - places, 0).mean()
        shape = Concave(*map(np.array, (x, places.mean(), over, under)), monotone, at_zero)
        how = {"monotone": monotone, "at_zero": at_zero}
        # No function has a steeper slope than 1,000 here, so lipschitz does not matter.
        least = float(shape.least(np.array(average), np.array(1e3)))
        lowest = extreme(x, places, average, sign=-1, **how)
        assert least == pytest.approx(lowest, abs=1e-6)
        most, highest = (
            float(shape.most(np.array(average))),
            extreme(x, places, average, **how, sign=1),
        )
        assert most >= highest - 1e-6 or highest > 99
        n_tight += most == pytest.approx(highest, abs=1e-6) or (most == np.inf and highest > 99)
    assert n_tight >= 30


@pytest.mark.parametrize("monotone", [True, False])
def test_bounds_from_exact_averages_contain_the_truth_and_are_never_wider(monotone):
    rng, narrower = np.random.default_rng(5), 0
    for _ in range(60):
        bend, top = 0.05 + rng.random(), 1.0 if monotone else rng.random()

        def f(x, bend=bend, top=top):
            return 0.3 + np.sqrt(bend + 1) - np.sqrt(bend + np.abs(top - x) ** 2)

        answers, noise = Answers.none(1, 4), Known(1e-9)
        for x in rng.random(rng.integers(1, 8)):
            answers.add(0, x, np.full(3, f(x)), noise)
        at, zero = rng.random(1), np.zeros(1, int)
        settings = {"lipschitz": np.ones(1), "monotone": monotone, "delta": 0.1, "noise": noise}
        plain = answers.bounds(zero, at, upper=3.0, **settings)
        lower, upper = answers.bounds(zero, at, upper=3.0, concave=True, at_zero=0.1, **settings)
        assert plain[0] <= lower <= f(at) + 1e-6
        assert f(at) - 1e-6 <= upper <= plain[1]
        narrower += (upper - lower)[0] < 0.9 * (plain[1] - plain[0])[0]
    assert narrower >= 15


class Bending(sa.BlackBox):
    """A sum of concave values with normal noise; a batch is one step of numpy."""

    def __init__(self, seed, *, monotone, concave=True):
        super().__init__(
            lambda arms, means: float(self._each(arms, means).sum()),
            n_arms=M,
            lipschitz=3.0,
            upper=float(M),
            monotone=monotone,
            zero_is_absent=monotone,
            concave=concave,
            noisy=True,
        )
        self.rng = np.random.default_rng(seed)

    def _each(self, arms, means):
        weight = 0.4 + arms % 4 / 5
        if self.monotone:
            return weight * (np.sqrt(means + 0.03) - np.sqrt(0.03))
        return weight * (1 - (2 * means - arms % 3 / 2) ** 2 / 4)

    def batch(self, pools, theta):
        values = pools.sum(self._each(np.arange(M), np.asarray(theta)))
        return values + self.rng.normal(0, STD, len(pools))


@pytest.mark.parametrize("monotone", [True, False])
def test_wrong_bounds_are_at_most_delta(monotone):
    """12 runs of 4 rounds, each run with a wrong bound with probability 0.05 at most.

    Then more than 3 of the runs have one with probability 0.0022.
    """
    rng, wrong = np.random.default_rng(6), 0
    for run in range(12):
        reward, failed = Bending(run, monotone=monotone), False
        oracle = NoisySingletons(0.05, noise_std=STD, tolerance=0.15)
        for _ in range(4):
            theta = rng.random(M)
            oracle.select(reward, theta, 3, rng=rng)
            values = reward._each(np.arange(M), theta)
            failed |= (oracle.report.lower > values).any() or (oracle.report.upper < values).any()
            assert oracle.report.certified
        wrong += failed
    assert wrong <= 3


def test_declaring_it_saves_evaluations():
    """Over the same 15 samples of means; the answers of earlier rounds say more."""
    spent = {}
    for concave in (False, True):
        reward = sa.Counted(Bending(0, monotone=True, concave=concave))
        oracle = NoisySingletons(0.05, noise_std=STD, tolerance=0.05)
        rng = np.random.default_rng(7)
        for theta in rng.random((15, M)):
            oracle.select(reward, theta, 3, rng=rng)
        spent[concave] = reward.evaluations
    assert spent[True] < 0.95 * spent[False]


@pytest.mark.parametrize("settings", [{}, {"noise_std": STD}, {"answers_in": (-2.0, M + 2.0)}])
@pytest.mark.parametrize("monotone", [True, False])
def test_means_at_the_ends_have_bounds(monotone, settings):
    """Upper confidence bounds are often 1, and averages of few outcomes 0.

    Few answers of symmetric noise prove nothing, and nothing times 0 was no number.
    """
    reward, rng = Bending(0, monotone=monotone), np.random.default_rng(8)
    oracle = NoisySingletons(0.05, tolerance=0.15, budget=3_000, **settings)
    for _ in range(6):
        theta = np.round(rng.random(M))
        oracle.select(reward, theta, 3, rng=rng)
        values = reward._each(np.arange(M), theta)
        # Wrong with probability 0.05 for another seed, at most.
        assert (oracle.report.lower <= values + 1e-12).all()
        assert (oracle.report.upper >= values - 1e-12).all()
        oracle.select(reward, rng.random(M), 3, rng=rng)
