"""Verdicts on separability and on the lemmas: made-up numbers on both sides of every rule."""

import pytest

from claim_numbers import NO, OPEN, PARTLY, YES, at_paper, interval
from superarm.studies.paper.claims import lemmas, separability


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
    judged = separability.non_separable_rounds({"found": found})
    assert judged.verdict is verdict
    assert ("policy 0" in judged.because) is (verdict is PARTLY)


@pytest.mark.parametrize(
    ("improved", "verdict"),
    [({"1.0": 3, "0.1": 0}, NO), ({"1.0": 0, "0.1": 0}, OPEN), ({"1.0": 0, "0.1": 1}, PARTLY)],
)
def test_networks_are_separable(improved, verdict):
    networks = {
        std: {"improved": count, "share": interval(count / 20, count / 20)}
        for std, count in improved.items()
    }
    judged = separability.networks_are_separable({"networks": networks})
    assert judged.verdict is verdict


@pytest.mark.parametrize(
    ("fixed", "real", "log10_q", "verdict"),
    [
        (0.25, 0.25, -1.0, YES),
        (0.1, 0.26, 0.0, PARTLY),
        (0.1, 0.1, -1.1, PARTLY),
        (0.1, 2.0, -1497.0, PARTLY),
        (0.26, 2.0, 0.0, NO),
    ],
)
def test_logarithmic_tests(fixed, real, log10_q, verdict):
    numbers = {
        "growth": {"lemma_m_is_k": fixed, "lemma_m_is_n_arms": real},
        "at_paper": at_paper(log10_q),
    }
    judged = lemmas.logarithmic_tests(numbers)
    assert judged.verdict is verdict
    if verdict is PARTLY:
        assert ("M stays fixed" in judged.because) is (real > 0.25)
        assert (f"10^{log10_q:,.0f}" in judged.because) is (log10_q < -1)


@pytest.mark.parametrize(
    ("violated", "refuted", "verdict"), [(1, 1, NO), (1, 0, OPEN), (0, 1, OPEN), (0, 0, OPEN)]
)
@pytest.mark.parametrize("mended", [True, False])
def test_lemma_1(violated, refuted, verdict, mended):
    found = {
        "printed": {"violated": violated, "refuted": refuted, "played": 9, "promised": 9},
        "repaired": {"violated": 0 if mended else 1, "refuted": 0, "promised": 8, "played": 8},
    }
    judged = lemmas.tests_find_the_best_arm({"found": found, "n_problems": 10, "failure": 0.1})
    assert judged.verdict is verdict
    assert ("no counter-example in 8 problems" in judged.because) is mended


@pytest.mark.parametrize(
    ("sums", "half", "verdict"),
    [
        ((0.1, 0.2), (0.1, 0.2), YES),
        ((0.1, 0.2), (0.21, 0.3), PARTLY),
        ((0.21, 0.3), (0.21, 0.3), NO),
        ((0.1, 0.2), (0.1, 0.3), OPEN),
        ((0.1, 0.3), (0.21, 0.3), NO),
    ],
)
def test_lemma_2(sums, half, verdict):
    """With gamma = 0.1, a share of 0.2 may fail."""
    found = [
        {"reward": name, "gamma": 0.1, "failed": interval(*ends)}
        for name, ends in (("sum", sums), ("half", half))
    ]
    judged = lemmas.quantization_keeps_the_optimum({"found": found})
    assert judged.verdict is verdict
    assert ("the condition: sum; it fails for half" in judged.because) is (verdict is PARTLY)
