"""Each verdict follows from numbers by a rule: made-up numbers on both sides of every rule."""

import pytest

from claim_numbers import (
    NO,
    NO_READINGS,
    NOWHERE,
    OPEN,
    PARTLY,
    UNJUDGED,
    YES,
    at_paper,
    figure,
    interval,
    law,
    policy,
    sensitivity,
)
from superarm.studies.paper import claims
from superarm.studies.paper.claims import evaluations, growth
from superarm.studies.paper.policies import LITERAL
from superarm.studies.paper.reproduction import judge


@pytest.mark.parametrize(
    ("n_tests", "ratio", "verdict"),
    [(302, 1.1, YES), (312.5, 1.1, YES), (313, 1.1, NO), (5000, 1.1, NO), (302, 5.0, PARTLY)],
)
def test_fewer_evaluations(n_tests, ratio, verdict):
    ours = policy(ratio, evaluations=n_tests)
    numbers = {"policies": {"CTS": policy(evaluations=5000), "GT+QTS, p=1/2": ours}}
    assert evaluations.fewer_evaluations(numbers, NO_READINGS, NOWHERE).verdict is verdict


@pytest.mark.parametrize(
    ("ratio", "spread", "verdict"),
    [(1.1, 0.01, YES), (1.5, 0.01, NO), (1.25, 0.2, OPEN), (5.5, 0.5, NO), (0.9, 0.0, YES)],
)
def test_slightly_larger_regret(ratio, spread, verdict):
    numbers = figure(policy(ratio, spread))
    found = growth.slightly_larger_regret(numbers, NO_READINGS, NOWHERE)
    assert found.verdict is verdict
    assert "p=1/m" in found.measured  # the most favourable setting is judged
    assert "best of 2 settings" in found.measured


@pytest.mark.parametrize(
    ("of_cts", "cts", "verdict", "hardly"),
    [
        ((1.1, 1.25), 0.75, PARTLY, True),
        ((1.1, 1.25), 0.74, PARTLY, False),
        ((1.1, 1.26), 0.9, NO, False),
    ],
)
def test_slightly_larger_regret_elsewhere_is_a_condition_that_names_where(
    of_cts, cts, verdict, hardly
):
    elsewhere = sensitivity(law(), law("equal means", of_cts, cts=cts))
    found = growth.slightly_larger_regret(figure(policy(5.0)), NO_READINGS, elsewhere)
    assert found.verdict is verdict
    assert ("equal means (T = 2,000)" in found.because) is (verdict is PARTLY)
    assert (f"CTS itself has at least {cts:.0%}" in found.because) is (verdict is PARTLY)
    assert ("hardly learned" in found.because) is hardly


def test_the_network_is_no_condition_for_the_linear_claim():
    elsewhere = sensitivity(law(of_cts=(1.0, 1.1), family="network"))
    found = growth.slightly_larger_regret(figure(policy(5.0)), NO_READINGS, elsewhere)
    assert found.verdict is NO
    assert "not for any other instances" in found.because


def test_the_best_reading_counts_as_a_setting():
    readings = {"policies": {"CTS": policy(), "tests drawn once": policy(1.1, 0.01)}}
    found = growth.slightly_larger_regret(figure(policy(5.0)), readings, NOWHERE)
    assert found.verdict is YES
    assert "best of 3 settings and readings (tests drawn once)" in found.measured


def test_the_best_of_many_settings_is_judged_more_strictly():
    """An interval that suffices for one setting does not suffice for the best of five."""
    one = {"CTS": policy(), "GT+QTS, p=1/2": policy(1.14, 0.1)}
    many = {**one, **{name: policy(1.2, 0.1) for name in LITERAL[1:]}}
    for policies, verdict in ((one, YES), (many, OPEN)):
        numbers = {"policies": policies}
        found = growth.slightly_larger_regret(numbers, NO_READINGS, NOWHERE)
        assert found.verdict is verdict


@pytest.mark.parametrize(
    ("exponent", "spread", "verdict"),
    [(0.59, 0.0, YES), (0.62, 0.0, NO), (0.6, 0.05, OPEN), (0.2, 0.0, YES), (0.95, 0.01, NO)],
)
def test_same_order(exponent, spread, verdict):
    """The exponent of CTS is 0.5, and a difference of 0.1 is the same order."""
    found = growth.same_order(figure(policy(9, spread, exponent=exponent)), NOWHERE)
    assert found.verdict is verdict
    assert f"t^{exponent:.2f}" in found.measured
    assert "t^0.50 with CTS" in found.measured


@pytest.mark.parametrize(
    ("exponent", "family", "verdict"),
    [
        ((0.0, 0.1), "network", PARTLY),
        ((0.0, 0.11), "network", NO),
        ((0.0, 0.1), "linear", NO),
    ],
)
def test_same_order_elsewhere_is_a_condition(exponent, family, verdict):
    elsewhere = sensitivity(law("low arms", exponent=exponent, family=family))
    found = growth.same_order(figure(policy(9, exponent=0.95)), elsewhere)
    assert found.verdict is verdict
    assert ("low arms (T = 2,000)" in found.because) is (verdict is PARTLY)


@pytest.mark.parametrize(
    ("tenfold", "spread", "verdict"), [(1.9, 0.0, YES), (2.1, 0.0, NO), (2.0, 0.2, OPEN)]
)
def test_order_of_regret(tenfold, spread, verdict):
    others = {"GT+QTS, p=1/2": policy(8, tenfold=10.0)}
    numbers = figure(policy(5, spread, tenfold=tenfold), **others)
    bound = {"bound": {"Theorem 1": 38.5, "losing the most in every round": 4.7}}
    found = growth.order_of_regret(numbers, NO_READINGS, bound)
    assert found.verdict is verdict
    assert "1.0 times with CTS" in found.measured
    assert "10^38.5" in found.measured
    assert ("up to T = 10,000" in found.because) is (verdict is NO)


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
    judged = evaluations.fewer_tests_suffice({"families": {"GT+QTS, p=1/2": found}})
    assert judged.verdict is verdict
    assert ("neither learns" in judged.because) is (verdict is PARTLY)


def timed(single=(3.5, 4.5), by_size=(2.0, 2.0), batch=(2.0, 2.0), implied=245.0):
    """Table 1 with 1,000 and 302 evaluations per round."""
    ratios = {"single": single, "by size": by_size, "batch": batch}
    return {
        "ratio": {calls: interval(*ends) for calls, ends in ratios.items()},
        "evaluations_per_round": {"CTS": 1000.0, "GT+QTS, p=1/2": 302.0},
        "evaluations_ratio": 1000 / 302,
        "paper_ratio": 1000 / implied,
        "implied_tests": implied,
    }


@pytest.mark.parametrize(
    ("single", "by_size", "batch", "verdict"),
    [
        ((3.0, 5.0), (2.0, 2.0), (2.0, 2.0), YES),
        ((3.5, 4.5), (2.0, 2.0), (0.5, 0.5), PARTLY),
        ((3.5, 4.5), (0.8, 1.9), (2.0, 2.0), PARTLY),
        ((2.5, 2.9), (2.0, 2.0), (2.0, 2.0), PARTLY),
        ((5.1, 7.0), (2.0, 2.0), (2.0, 2.0), PARTLY),
        ((2.9, 4.0), (2.0, 2.0), (2.0, 2.0), PARTLY),
        ((0.8, 0.9), (2.0, 2.0), (2.0, 2.0), NO),
        ((0.9, 1.1), (2.0, 2.0), (2.0, 2.0), OPEN),
    ],
)
def test_less_time(single, by_size, batch, verdict):
    judged = evaluations.less_time(timed(single, by_size, batch))
    assert judged.verdict is verdict
    assert "1,000 / 302 = 3.3 bounds the ratio" in judged.because


@pytest.mark.parametrize(
    ("implied", "fits"),
    [
        (245, "fits none of 302 of section 5, 426 of the rule"),
        (300, "fits the 302 of section 5"),
        (420, "fits the 426 of the rule"),
    ],
)
def test_the_tests_that_the_papers_ratio_implies(implied, fits):
    because = evaluations.less_time(timed(implied=float(implied))).because
    assert f"implies about {implied} tests, which {fits}" in because


def theory_numbers():
    networks = {"1.0": {"improved": 1, "share": interval(0.05, 0.05)}}
    exponents = {"lemma_m_is_k": 0.1, "lemma_m_is_n_arms": 2.0}
    return {"networks": networks, "growth": exponents, "at_paper": at_paper(-1497.0)}


def test_only_claims_whose_numbers_are_there_are_judged():
    assert judge({}) == []
    found = judge({"theory": theory_numbers()})
    assert [claim.verdict for claim in found] == [NO, PARTLY]


@pytest.mark.parametrize(
    ("n_arms", "horizon", "verdict"),
    [(1000, 5000, NO), (999, 5000, UNJUDGED), (1000, 4999, UNJUDGED), (2000, 9000, NO)],
)
def test_claims_are_not_judged_at_sizes_that_cannot_support_a_verdict(n_arms, horizon, verdict):
    numbers = {**timed(single=(0.5, 0.9)), "n_arms": n_arms, "horizon": horizon}
    (claim,) = judge({"table1": numbers})
    assert claim.verdict is verdict
    if verdict is UNJUDGED:
        assert claim.measured == claim.interval == ""
        assert f"(here {min(n_arms, horizon):,})" in claim.because or "here 4,999" in claim.because


def test_every_statement_quotes_the_paper_and_names_the_place():
    assert len({one.sentence for one in claims.STATEMENTS}) == len(claims.STATEMENTS)
    for one in claims.STATEMENTS:
        assert one.where.startswith("Section")
        assert 4 < len(one.quote.split()) < 25  # short quotations only
        assert one.reading.endswith(".")
        assert set(one.sizes) <= set(one.needs)
