"""Lemma 1 by enumeration and simulation: false as printed, true as repaired; signal over noise."""

import numpy as np
import pytest

import superarm as sa
from superarm import theory
from superarm.theory.decoding import decodability, n_tests_repaired, signal_to_noise

DELTA = 0.25


def quantizer(n_arms):
    return sa.Quantizer(DELTA, 1.0, float(n_arms))


def separable_cases(n, seed=0):
    """Linear problems, which are separable; every third theta has two nearly equal arms."""
    rng = np.random.default_rng(seed)
    for number in range(n):
        n_arms = int(rng.integers(3, 7))
        theta = rng.random(n_arms)
        if number % 3 == 0:
            theta[1] = max(theta[0] - 0.002 * rng.random(), 0.0)
        yield n_arms, theta, int(rng.integers(1, n_arms)), float(rng.choice([0.25, 0.5, 2 / 3]))


def violations(n, bound):
    """In how many problems the expected difference of two grades is below a bound on it."""
    found = 0
    for n_arms, theta, k, p in separable_cases(n):
        it = decodability(sa.LinearReward(n_arms), theta, k, p=p, score=quantizer(n_arms))
        found += it.difference < bound(it, p) - 1e-12
    return found


def test_the_search_finds_counter_examples_to_lemma_1_as_printed():
    """The proof's last line: E[Z] >= Delta / 2B · p² (1 - p) q."""
    assert violations(600, lambda it, p: DELTA / 2 * p**2 * (1 - p) * it.q) > 20


def test_the_same_search_finds_none_for_the_repaired_lemma():
    assert violations(600, lambda it, p: DELTA / 2 * p * (1 - p) * it.q_pair) == 0


def test_the_counter_example_is_separable_and_hopeless():
    reward, theta = sa.LinearReward(3), [0.501, 0.5, 0.0]
    assert theory.separation(reward, theta, 1) > 0
    it = decodability(reward, theta, 1, p=0.5, score=quantizer(3))
    assert (it.q, it.q_pair, it.difference) == (0.5, 0.0, 0.0)
    n_tests = theory.n_tests(
        n_arms=3, k=1, delta=DELTA, lipschitz=1, upper=3, p=0.5, failure=0.1, q=0.5
    )
    assert n_tests == 883_478
    # The grades are sums over independent tests, so the eight sets' counts are multinomial.
    oracle_scores = quantizer(3)([sum(np.array(theta)[list(s)]) for s in SUBSETS])
    rng = np.random.default_rng(0)
    counts = rng.multinomial(n_tests, np.full(8, 1 / 8), size=400)
    grades = (counts * oracle_scores) @ INSIDE
    found = float((grades[:, 0] > grades[:, 1:].max(axis=1)).mean())
    # The two arms have grades of the same law: 1/2, and 400 trials are within 0.13 of it but for
    # one seed in a million.
    assert abs(found - 0.5) < 0.13


SUBSETS = [[], [0], [1], [0, 1], [2], [0, 2], [1, 2], [0, 1, 2]]
INSIDE = np.array([[arm in subset for arm in range(3)] for subset in SUBSETS], float)


def test_the_repaired_number_of_tests_suffices():
    """Where q(s, t) > 0 the best arm has the best grade in all trials but a share of `failure`."""
    theta, p, failure = np.array([0.9, 0.5, 0.1]), 0.5, 0.1
    it = decodability(sa.LinearReward(3), theta, 1, p=p, score=quantizer(3))
    assert it.q_pair == 1
    n_tests = n_tests_repaired(
        n_arms=3, k=1, step=DELTA / 2, upper=3.0, p=p, failure=failure, q=it.q_pair
    )
    scores = quantizer(3)([theta[s].sum() for s in SUBSETS])
    counts = np.random.default_rng(1).multinomial(n_tests, np.full(8, 1 / 8), size=400)
    grades = (counts * scores) @ INSIDE
    assert (grades[:, 0] > grades[:, 1:].max(axis=1)).mean() >= 1 - failure


def test_the_repaired_lemma_needs_no_tests_to_pick_all_arms():
    given = {"step": 0.125, "upper": 3.0, "p": 0.5, "failure": 0.1, "q": 0.5}
    assert n_tests_repaired(n_arms=3, k=3, **given) == 0


def test_without_a_quantizer_the_difference_is_that_of_the_means():
    it = decodability(sa.LinearReward(4), [0.5, 0.3, 0.1, 0.0], 2, p=0.25)
    assert it.difference == pytest.approx(0.25 * 0.75 * 0.2)
    assert it.q_pair == 1


def test_networks_agree_with_the_definition_written_out():
    rng = np.random.default_rng(3)
    reward, theta, p = sa.NetworkReward.random(5, n_hidden=3, rng=rng), rng.random(5), 0.4
    score = sa.Quantizer(0.2, theory_lipschitz(reward), reward.upper)
    arms = sa.Exhaustive().select(reward, theta, 2, rng=rng)
    differences = []
    for s in arms:
        for t in sorted(set(range(5)) - set(arms)):
            total = 0.0
            for mask in range(2**5):
                inside = [arm for arm in range(5) if mask >> arm & 1]
                weight = p ** len(inside) * (1 - p) ** (5 - len(inside))
                sign = (s in inside) - (t in inside)
                total += sign * weight * float(score([reward(inside, theta[inside])])[0])
            differences.append(total)
    assert decodability(reward, theta, 2, p=p, score=score).difference == pytest.approx(
        min(differences)
    )


def theory_lipschitz(reward):
    return float(np.max(reward.lipschitz))


@pytest.mark.parametrize("decoder", ["sum", "centred"])
@pytest.mark.parametrize("p", [0.1, 0.5, 0.8])
def test_signal_over_noise_is_that_of_simulated_grades(decoder, p):
    """40,000 decodings of 20 tests: the ratio is known within 1.3%; 5% is eight errors away."""
    rng = np.random.default_rng(4)
    theta, n_tests = rng.random(6), 20
    expected = signal_to_noise(theta, 0, 1, p=p, n_tests=n_tests, decoder=decoder)
    tests = rng.random((40_000, n_tests, 6)) < p
    scores = tests @ theta - (p * theta.sum() if decoder == "centred" else 0.0)
    z = ((tests[:, :, 0].astype(float) - tests[:, :, 1]) * scores).sum(axis=1)
    assert z.mean() / z.std() == pytest.approx(float(expected), abs=0.03)


def test_the_sum_decoder_cannot_see_the_best_arms_at_the_paper_size():
    """302 tests, theta = mu: the signal is below a tenth of the noise at every p."""
    mu = sa.linear_instance(5000, 5, 0.25, rng=np.random.default_rng(0)).mu
    order = np.argsort(mu)
    p = np.geomspace(1e-5, 0.99, 400)
    best, median, rival = order[-1], order[2500], order[-6]
    assert signal_to_noise(mu, best, median, p=p, n_tests=302).max() < 0.11
    assert signal_to_noise(mu, best, rival, p=p, n_tests=302).max() < 0.05


@pytest.mark.parametrize("n_arms", [17, 30])
def test_too_many_arms_are_refused(n_arms):
    with pytest.raises(ValueError, match="at most 16"):
        decodability(sa.LinearReward(n_arms), np.full(n_arms, 0.5), 1, p=0.5)


def test_all_arms_in_the_set_are_refused():
    with pytest.raises(ValueError, match="k must be below n_arms = 4"):
        decodability(sa.LinearReward(4), np.full(4, 0.5), 4, p=0.5)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"decoder": "centered"}, 'decoder must be "sum" or "centred", got \'centered\''),
        ({"p": [0.5, -0.1]}, r"p must be in \(0, 1\), got -0.1"),
        ({"p": 1.0}, r"p must be in \(0, 1\), got 1.0"),
        ({"theta": [0.9, np.nan, 0.1]}, "theta must be finite"),
    ],
)
def test_signal_over_noise_refuses_what_it_would_misread(given, why):
    with pytest.raises(ValueError, match=why):
        signal_to_noise(**{"theta": [0.9, 0.5, 0.1], "p": 0.5, **given}, arm=0, other=1, n_tests=9)
