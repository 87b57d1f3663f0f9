"""Claims about the number of tests and the quantizer: Lemmas 1 and 2."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from superarm.studies.paper.verdicts import Judged, Numbers, Statement, Verdict, below

LOGARITHMIC = 0.25  # an exponent of m below this is logarithmic over the sizes that were tried
LEAST_LOG10_Q = -1.0  # where q may still be 1/10, it counts as bounded below


def logarithmic_tests(theory: Numbers) -> Judged:
    """Lemma 1 is O(log m): by the exponent of m, and by whether M and q are fixed."""
    # In the proof M bounds the reward of a pool. Pools have about pm arms, so that M grows with m
    # for a sum. The lemma divides by q², which the exponents take as 1.
    growth, paper = theory["growth"], theory["at_paper"]
    fixed, real = growth["lemma_m_is_k"], growth["lemma_m_is_n_arms"]
    conditions = []
    if real > LOGARITHMIC:
        conditions.append("M stays fixed as m grows (for a sum over pools of pm arms, M is m)")
    if paper["log10_q"] < LEAST_LOG10_Q:
        conditions.append(
            f"q is bounded below (at m = {paper['n_arms']:,} and p = 1/2 it is at most "
            f"10^{paper['log10_q']:,.0f})"
        )
    if fixed > LOGARITHMIC:
        verdict, because = (
            Verdict.NOT_REPRODUCED,
            "the exponent of m is above a logarithm's either way",
        )
    elif conditions:
        verdict, because = Verdict.CONDITIONALLY, f"the condition: {' and '.join(conditions)}"
    else:
        verdict, because = Verdict.REPRODUCED, "the exponent of m is that of a logarithm"
    return Judged(
        f"with q = 1, exponent of m: {fixed:.2f} with M = K, {real:.2f} with M = m; at "
        f"m = {paper['n_arms']:,} the lemma needs {paper['lemma_m_is_k']:,} or "
        f"{paper['lemma_m_is_n_arms']:.2g} tests",
        "a formula, without error",
        verdict,
        because,
    )


def tests_find_the_best_arm(lemma1: Numbers) -> Judged:
    """Lemma 1's number of tests succeeds with probability 1 - failure: one problem refutes it."""
    printed, repaired = lemma1["found"]["printed"], lemma1["found"]["repaired"]
    # One problem refutes a lemma. No number of problems in which it holds proves it.
    if printed["violated"] and printed["refuted"]:
        verdict, because = Verdict.NOT_REPRODUCED, "false by counter-example"
    else:
        verdict = Verdict.UNDECIDED
        because = "no counter-example was found, which does not prove that there is none"
    mended = not repaired["violated"] and not repaired["refuted"]
    because += (
        f"; with q as the probability that two arms score differently, "
        f"{'no counter-example' if mended else 'counter-examples'} in {repaired['promised']:,} "
        f"problems"
    )
    return Judged(
        f"the proof's bound is violated in {printed['violated']:,} of {lemma1['n_problems']:,} "
        f"small sums; the printed number of tests has too few successes in {printed['refuted']:,} "
        f"of {printed['played']:,}, where {1 - lemma1['failure']:.0%} are promised",
        "an exact search; successes by binomial tests with an error of 0.1% for all together",
        verdict,
        because,
    )


def quantization_keeps_the_optimum(lemma2: Numbers) -> Judged:
    """Lemma 2's failures are at most 2 gamma: for every reward, for some, or for none."""
    each: dict[str, list[Verdict]] = {}
    for one in lemma2["found"]:
        each.setdefault(one["reward"], []).append(below(one["failed"], 2 * one["gamma"]))
    holds = [name for name, all_ in each.items() if set(all_) == {Verdict.REPRODUCED}]
    fails = [name for name, all_ in each.items() if Verdict.NOT_REPRODUCED in all_]
    because = "reproduced if every interval of the share of failures is below 2 gamma"
    if len(holds) == len(each):
        verdict = Verdict.REPRODUCED
    elif fails and holds:
        verdict = Verdict.CONDITIONALLY
        because += f"; the condition: {' or '.join(holds)}; it fails for {' and '.join(fails)}"
    else:
        verdict = Verdict.NOT_REPRODUCED if fails else Verdict.UNDECIDED
    worst = max(lemma2["found"], key=_over)
    return Judged(
        f"worst of {len(lemma2['found'])} cases ({worst['reward']}, gamma = {worst['gamma']:g}): "
        f"{worst['failed']['mean']:.1%} of the instances fail, {2 * worst['gamma']:.0%} may",
        "{low:.1%} to {high:.1%}".format(**worst["failed"]),
        verdict,
        because,
    )


def _over(one: Mapping[str, Any]) -> float:
    """The share of failures as a multiple of what the lemma allows."""
    return float(one["failed"]["mean"] / (2 * one["gamma"]))


LEMMAS = (
    Statement(
        "The number of tests of Lemma 1 is O(log m).",
        "the GTO requires O(log m) tests to identify the optimal super-arm in each round",
        "Section 4, after Lemma 1",
        "M bounds the reward of a test here, not of a set of K arms, as the proof needs it.",
        ("theory",),
        logarithmic_tests,
    ),
    Statement(
        "The tests of Lemma 1 find the best set with probability 1 - failure.",
        "tests are sufficient for the GTO to identify an optimal super-arm in each round with "
        "probability at least 1−δ",
        "Section 4, Lemma 1",
        "A test is non-repeated if no other of all 2^m tests of its size has its score, as the "
        "proof needs it.",
        ("lemma1",),
        tests_find_the_best_arm,
    ),
    Statement(
        "With Delta = F⁻¹(gamma), quantization keeps the optimum with probability 1 - 2 gamma.",
        "with probability at least 1−2γ we have T_Q(μ) ⊆ T(μ)",
        "Section 4, Lemma 2",
        "The quantizer's domain is printed as [0, B]; rewards are in [0, M], and zero is no level.",
        ("lemma2",),
        quantization_keeps_the_optimum,
    ),
)
