"""Each verdict follows from numbers by a rule: made-up numbers on both sides of every rule."""

import numpy as np
import pytest
from scipy import stats as scipy_stats

from superarm.experiments import claims
from superarm.experiments.claims import Verdict
from superarm.experiments.stats import mean_interval, paired_difference, paired_ratio, share_interval

YES, PARTLY, NO, OPEN = Verdict.REPRODUCED, Verdict.CONDITIONALLY, Verdict.NOT_REPRODUCED, Verdict.UNDECIDED


def interval(low, high):
    return {"mean": (low + high) / 2, "low": low, "high": high}


def policy(low=1.0, high=1.0, evaluations=302.0, of_random=0.5):
    return {
        "of_cts": interval(low, high),
        "of_random": interval(of_random, of_random),
        "evaluations_a_round": evaluations,
    }


@pytest.mark.parametrize(("evaluations", "verdict"), [(302, YES), (312.5, YES), (313, NO), (5000, NO)])
def test_fewer_evaluations(evaluations, verdict):
    numbers = {"policies": {"CTS": policy(evaluations=5000), "GT+QTS, p=1/2": policy(evaluations=evaluations)}}
    assert claims.fewer_evaluations(numbers).verdict is verdict


@pytest.mark.parametrize(
    ("low", "high", "verdict"), [(1.0, 1.2, YES), (1.3, 1.6, NO), (1.1, 1.4, OPEN), (5.0, 6.0, NO), (0.9, 1.0, YES)]
)
def test_slightly_larger_regret(low, high, verdict):
    numbers = {"policies": {"CTS": policy(), "GT+QTS, p=1/2": policy(8, 9), "GT+QTS, p=1/m": policy(low, high)}}
    claim = claims.slightly_larger_regret("linear", numbers)
    assert claim.verdict is verdict
    if high < 8:
        assert "p=1/m" in claim.measured  # the most favourable setting is judged


@pytest.mark.parametrize(
    ("ratio", "chance", "verdict"),
    [
        ((0.99, 1.02), (0.3, 0.4), YES),
        ((0.99, 1.02), (0.95, 1.0), PARTLY),
        ((1.06, 1.1), (0.3, 0.4), NO),
        ((0.8, 0.9), (0.3, 0.4), NO),
        ((0.94, 1.02), (0.95, 1.0), OPEN),
    ],
)
def test_fewer_tests_suffice(ratio, chance, verdict):
    found = {"200_of_310": interval(*ratio), "310_of_random": interval(*chance)}
    claim = claims.fewer_tests_suffice({"families": {"GT+QTS, p=1/2": found}})
    assert claim.verdict is verdict
    assert ("neither learns" in claim.because) is (verdict is PARTLY)


@pytest.mark.parametrize(
    ("growths", "verdict"),
    [
        ([(2, 3), (1.1, 1.2)], YES),
        ([(2, 3), (0.5, 0.9)], PARTLY),
        ([(0.8, 0.9), (0.5, 0.9)], NO),
        ([(0.8, 1.1), (0.5, 0.9)], OPEN),
    ],
)
def test_non_separable_rounds(growths, verdict):
    found = {f"policy {i}": {"growth_over_log": interval(*ends)} for i, ends in enumerate(growths)}
    claim = claims.non_separable_rounds({"found": found})
    assert claim.verdict is verdict
    assert ("policy 0" in claim.because) is (verdict is PARTLY)


@pytest.mark.parametrize(
    ("single", "batch", "verdict"),
    [
        ((3.5, 4.5), (2.0, 2.0), YES),
        ((3.5, 4.5), (0.5, 0.5), PARTLY),
        ((1.0, 2.0), (2.0, 2.0), NO),
        ((6.0, 7.0), (2.0, 2.0), NO),
        ((2.0, 4.0), (2.0, 2.0), OPEN),
    ],
)
def test_less_time(single, batch, verdict):
    numbers = {"ratio": {"single": interval(*single), "batch": interval(*batch)}}
    assert claims.less_time(numbers).verdict is verdict


@pytest.mark.parametrize(
    ("improved", "verdict"), [({"1.0": 3, "0.1": 0}, NO), ({"1.0": 0, "0.1": 0}, OPEN), ({"1.0": 0, "0.1": 1}, PARTLY)]
)
def test_networks_are_separable(improved, verdict):
    networks = {std: {"improved": count, "share": interval(count / 20, count / 20)} for std, count in improved.items()}
    claim = claims.networks_are_separable({"networks": networks})
    assert claim.verdict is verdict


@pytest.mark.parametrize(("fixed", "real", "verdict"), [(0.1, 0.1, YES), (0.1, 2.0, PARTLY), (1.0, 2.0, NO)])
def test_logarithmic_tests(fixed, real, verdict):
    numbers = {
        "growth": {"lemma_m_is_k": fixed, "lemma_m_is_n_arms": real},
        "at_paper": {"n_arms": 5000, "lemma_m_is_k": 10, "lemma_m_is_n_arms": 10},
    }
    assert claims.logarithmic_tests(numbers).verdict is verdict


def test_only_claims_whose_numbers_are_there_are_judged():
    assert claims.judge({}) == []
    networks = {"1.0": {"improved": 1, "share": interval(0.05, 0.05)}}
    growth = {"lemma_m_is_k": 0.1, "lemma_m_is_n_arms": 2.0}
    paper = {"n_arms": 5000, "lemma_m_is_k": 10, "lemma_m_is_n_arms": 10}
    found = claims.judge({"theory": {"networks": networks, "growth": growth, "at_paper": paper}})
    assert [claim.verdict for claim in found] == [NO, PARTLY]


def test_mean_interval_is_students():
    values = np.random.default_rng(0).normal(3, 2, 12)
    found = mean_interval(values)
    low, high = scipy_stats.t.interval(0.95, 11, loc=values.mean(), scale=scipy_stats.sem(values))
    assert (found.mean, found.low, found.high) == pytest.approx((values.mean(), low, high))
    assert mean_interval([2.0]).high == np.inf


def test_intervals_cover_as_they_should():
    """Over 2,000 samples, 95% within 5 standard errors (0.0049 each); error 6e-7."""
    rng = np.random.default_rng(0)
    covered = [mean_interval(rng.normal(1, 1, 8)) for _ in range(2000)]
    share = np.mean([found.low <= 1 <= found.high for found in covered])
    assert abs(share - 0.95) < 5 * np.sqrt(0.95 * 0.05 / 2000)


def test_paired_intervals_see_through_what_pairs_share():
    rng = np.random.default_rng(0)
    base = rng.normal(100, 30, 20)
    found = paired_difference(base + 1 + rng.normal(0, 0.1, 20), base)
    assert 0.9 < found.low < 1 < found.high < 1.1
    assert str(paired_ratio(2 * base, base)) == "2.00 (2.00 to 2.00)"


@pytest.mark.parametrize(("hits", "trials"), [(0, 20), (3, 20), (20, 20)])
def test_share_interval_is_exact(hits, trials):
    expected = scipy_stats.binomtest(hits, trials).proportion_ci(0.95, "exact")
    found = share_interval(hits, trials)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
