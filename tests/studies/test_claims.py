"""Each verdict follows from numbers by a rule: made-up numbers on both sides of every rule."""

import pytest

from superarm.studies.paper import claims
from superarm.studies.paper.claims import Verdict

YES, PARTLY, NO, OPEN = (
    Verdict.REPRODUCED,
    Verdict.CONDITIONALLY,
    Verdict.NOT_REPRODUCED,
    Verdict.UNDECIDED,
)


def interval(low, high):
    return {"mean": (low + high) / 2, "low": low, "high": high}


def policy(ratio=1.0, spread=0.0, evaluations=302.0):
    """Regret of five runs about ``ratio`` × that of CTS, which is 100 in each."""
    return {
        "regret": [100 * (ratio + step * spread) for step in (-1, -0.5, 0, 0.5, 1)],
        "minus_cts": interval(100 * ratio - 100, 100 * ratio - 100),
        "of_random": interval(0.5, 0.5),
        "evaluations_per_round": evaluations,
    }


@pytest.mark.parametrize(
    ("evaluations", "ratio", "verdict"),
    [(302, 1.1, YES), (312.5, 1.1, YES), (313, 1.1, NO), (5000, 1.1, NO), (302, 5.0, PARTLY)],
)
def test_fewer_evaluations(evaluations, ratio, verdict):
    ours = policy(ratio, evaluations=evaluations)
    numbers = {"policies": {"CTS": policy(evaluations=5000), "GT+QTS, p=1/2": ours}}
    assert claims.fewer_evaluations(numbers).verdict is verdict


@pytest.mark.parametrize(
    ("ratio", "spread", "verdict"),
    [(1.1, 0.01, YES), (1.5, 0.01, NO), (1.25, 0.2, OPEN), (5.5, 0.5, NO), (0.9, 0.0, YES)],
)
def test_slightly_larger_regret(ratio, spread, verdict):
    numbers = {
        "policies": {
            "CTS": policy(),
            "GT+QTS, p=1/2": policy(8),
            "GT+QTS, p=1/m": policy(ratio, spread),
        }
    }
    claim = claims.slightly_larger_regret("linear", numbers)
    assert claim.verdict is verdict
    assert "p=1/m" in claim.measured  # the most favourable setting is judged


def test_the_best_of_many_settings_is_judged_more_strictly():
    """An interval that suffices for one setting does not suffice for the best of five."""
    one = {"CTS": policy(), "GT+QTS, p=1/2": policy(1.15, 0.1)}
    many = {**one, **{name: policy(1.2, 0.1) for name in claims.LITERAL[1:]}}
    assert claims.slightly_larger_regret("linear", {"policies": one}).verdict is YES
    assert claims.slightly_larger_regret("linear", {"policies": many}).verdict is OPEN


@pytest.mark.parametrize(
    ("ratio", "chance", "verdict"),
    [
        ((0.99, 1.02), (0.3, 0.4), YES),
        ((0.99, 1.02), (0.95, 1.0), PARTLY),
        ((0.99, 1.02), (0.85, 1.1), PARTLY),
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
        ([((2, 3), (5, 9)), ((1.1, 1.2), (1.1, 1.2))], YES),
        ([((2, 3), (5, 9)), ((2, 3), (0.5, 0.9))], PARTLY),
        ([((2, 3), (5, 9)), ((0.2, 0.3), (5, 9))], PARTLY),
        ([((2, 3), (0.5, 0.9)), ((0.2, 0.3), (5, 9))], NO),
        ([((2, 3), (0.8, 1.1)), ((0.2, 0.3), (5, 9))], OPEN),
    ],
)
def test_non_separable_rounds(growths, verdict):
    found = {
        f"policy {i}": {
            "growth_over_reference": interval(*ends),
            "growth_over_before": interval(*before),
            "share": 0.5,
        }
        for i, (ends, before) in enumerate(growths)
    }
    claim = claims.non_separable_rounds({"found": found})
    assert claim.verdict is verdict
    assert ("policy 0" in claim.because) is (verdict is PARTLY)


@pytest.mark.parametrize(
    ("single", "by_size", "batch", "verdict"),
    [
        ((3.5, 4.5), (2.0, 2.0), (2.0, 2.0), YES),
        ((3.5, 4.5), (2.0, 2.0), (0.5, 0.5), PARTLY),
        ((3.5, 4.5), (0.8, 1.9), (2.0, 2.0), PARTLY),
        ((1.0, 2.0), (2.0, 2.0), (2.0, 2.0), NO),
        ((6.0, 7.0), (2.0, 2.0), (2.0, 2.0), NO),
        ((2.0, 4.0), (2.0, 2.0), (2.0, 2.0), OPEN),
    ],
)
def test_less_time(single, by_size, batch, verdict):
    numbers = {
        "ratio": {
            "single": interval(*single),
            "by size": interval(*by_size),
            "batch": interval(*batch),
        }
    }
    assert claims.less_time(numbers).verdict is verdict


@pytest.mark.parametrize(
    ("improved", "verdict"),
    [({"1.0": 3, "0.1": 0}, NO), ({"1.0": 0, "0.1": 0}, OPEN), ({"1.0": 0, "0.1": 1}, PARTLY)],
)
def test_networks_are_separable(improved, verdict):
    networks = {
        std: {"improved": count, "share": interval(count / 20, count / 20)}
        for std, count in improved.items()
    }
    claim = claims.networks_are_separable({"networks": networks})
    assert claim.verdict is verdict


@pytest.mark.parametrize(
    ("fixed", "real", "verdict"), [(0.1, 0.1, YES), (0.1, 2.0, PARTLY), (1.0, 2.0, NO)]
)
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
