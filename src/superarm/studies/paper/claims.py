"""The paper's claims, and the rules by which recorded numbers judge them.

No verdict is written by hand. A rule is a function of the numbers of one experiment. It says what
was measured and gives a `Verdict`. Thresholds for words such as "slightly" and "about" are
constants.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from superarm.reporting.statistics import LEVEL, paired_ratio
from superarm.studies.paper.policies import CTS, LITERAL

Numbers = Mapping[str, Any]

FEWER = 16  # times fewer evaluations, in the paper's abstract
SLIGHTLY = 1.25  # "slightly larger": at most a quarter more
ABOUT = 0.25  # "about": within a quarter
LESS_TIME = 4  # "about 4 times less time"
SAME_ORDER = 0.1  # exponents of t that differ by less are of the same order
# A logarithm grows by a third from 1,000 to 10,000 rounds, like t^0.125; twice that is allowed.
LOGARITHMIC_REGRET = 0.25
WITHIN = 0.05  # "within 5%"
LIKE_RANDOM = (
    0.9  # above nine tenths of the random baseline's regret, nothing measurable is learned
)
LOGARITHMIC = 0.25  # an exponent of m below this is logarithmic over the sizes that were tried


class Verdict(StrEnum):
    """What the numbers say about a claim."""

    REPRODUCED = "reproduced"
    CONDITIONALLY = "reproduced under a condition"
    NOT_REPRODUCED = "not reproduced"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Claim:
    """A claim, what was measured, and the verdict that follows."""

    sentence: str
    measured: str
    interval: str
    verdict: Verdict
    because: str


def fewer_evaluations(fig2a: Numbers) -> Claim:
    """16 times fewer evaluations: a count. It holds under a condition if the regret is larger."""
    policies = fig2a["policies"]
    ratio = policies[CTS]["evaluations_a_round"] / policies[LITERAL[0]]["evaluations_a_round"]
    regret = slightly_larger_regret(fig2a)
    verdict, because = Verdict.NOT_REPRODUCED, f"reproduced if the ratio is at least {FEWER}"
    if ratio >= FEWER:
        verdict = (
            Verdict.REPRODUCED if regret.verdict is Verdict.REPRODUCED else Verdict.CONDITIONALLY
        )
        because += (
            "; the number of tests is a setting; "
            "the condition: whatever the tests find (see the next claim)"
        )
    return Claim(
        f"GT+QTS needs {FEWER} times fewer reward evaluations per round than CTS.",
        f"CTS evaluates {ratio:.1f} times as many sets per round",
        "a count, without error",
        verdict,
        because,
    )


def slightly_larger_regret(fig2a: Numbers, sensitivity: Numbers | None = None) -> Claim:
    """Regret slightly larger than CTS's: the best literal setting must stay below the limit.

    Where it does not under the conditional law of figure 2A, the claim may still hold for other
    instances and horizons. Then the condition says how much CTS itself has learned there.
    """
    policies = fig2a["policies"]
    found = {label: policies[label] for label in LITERAL if label in policies}
    # Bonferroni: with the error divided by the number of settings, all intervals hold together.
    level = 1 - (1 - LEVEL) / len(found)
    ratios = {
        label: vars(paired_ratio(one["regret"], policies[CTS]["regret"], level))
        for label, one in found.items()
    }
    best = min(ratios, key=lambda label: ratios[label]["mean"])
    more = found[best]["minus_cts"]
    verdict = _below(ratios[best], SLIGHTLY)
    because = (
        f"reproduced if the best setting's interval (for all settings together) is below "
        f"{SLIGHTLY}, not if above"
    )
    if verdict is not Verdict.REPRODUCED and sensitivity is not None:
        near = [one for one in sensitivity["found"] if one["of_cts"]["high"] <= SLIGHTLY]
        if near:
            least = min(near, key=lambda one: one["cts_of_random"]["mean"])
            verdict = Verdict.CONDITIONALLY
            because += (
                f"; the condition: other instances or shorter runs, which the paper does not "
                f"exclude. There CTS itself still has at least "
                f"{least['cts_of_random']['mean']:.0%} of the random baseline's regret "
                f"({least['law']}, T = {least['t']:,})"
            )
    return Claim(
        "GT+QTS has a slightly larger regret than CTS (section 5, linear rewards).",
        f"best of {len(found)} settings ({best}): {ratios[best]['mean']:.2f} × CTS's regret, "
        f"{more['mean']:+,.0f} ({more['low']:+,.0f} to {more['high']:+,.0f}); "
        f"{found[best]['of_random']['mean']:.0%} of the random baseline's",
        _interval(ratios[best], " × CTS"),
        verdict,
        because,
    )


def same_order(fig2b: Numbers) -> Claim:
    """The same order in T on the network: the exponents of the last tenfold must agree."""
    policies = fig2b["policies"]
    found = {label: policies[label] for label in LITERAL if label in policies}
    best = min(found, key=lambda label: abs(found[label]["exponent_minus_cts"]["mean"]))
    apart, mine, exact = (
        found[best]["exponent_minus_cts"],
        found[best]["exponent"]["mean"],
        policies[CTS]["exponent"]["mean"],
    )
    return Claim(
        "The regrets of CTS and GT+QTS follow the same order in T (section 5, network rewards).",
        f"regret grows like t^{exact:.2f} for CTS and like t^{mine:.2f} for the nearest of "
        f"{len(found)} settings ({best}), over the last tenfold of rounds",
        _interval(apart, " of the exponent"),
        _inside(apart, -SAME_ORDER, SAME_ORDER),
        f"reproduced if the difference of the exponents is within ±{SAME_ORDER:g}; 1 is the "
        f"exponent of a policy that does not learn",
    )


def logarithmic_regret(fig2a: Numbers, theory: Numbers) -> Claim:
    """Theorem 1's order, m log T: the growth over the last tenfold, as far as a horizon can tell."""
    policies = fig2a["policies"]
    found = {label: policies[label] for label in LITERAL if label in policies}
    best = min(found, key=lambda label: found[label]["exponent"]["mean"])
    grown = found[best]["exponent"]
    bound = theory["bound"]
    beyond = bound["Theorem 1"] - bound["losing the most in every round"]
    return Claim(
        "GT+QTS has regret O(m log T), the order of CTS with an exact oracle (Theorem 1).",
        f"the flattest of {len(found)} settings ({best}) grows like t^{grown['mean']:.2f} over the "
        f"last tenfold of rounds; CTS like t^{policies[CTS]['exponent']['mean']:.2f}",
        _interval(grown, " is the exponent"),
        _below(grown, LOGARITHMIC_REGRET),
        f"reproduced at this horizon if the exponent is below {LOGARITHMIC_REGRET:g}; the bound "
        f"itself is 10^{beyond:,.0f} times the largest possible regret here, so the theorem says "
        f"nothing at this size",
    )


def lemma_1_suffices(lemma1: Numbers) -> Claim:
    """Lemma 1's number of tests: one violated promise refutes it, the repaired one is beside it."""
    printed, repaired = lemma1["found"]["printed"], lemma1["found"]["repaired"]
    refuted = printed["violated"] > 0 and printed["failed"] > 0
    return Claim(
        "The tests of Lemma 1 identify an optimal super-arm with probability at least 1 - delta.",
        f"the bound of the proof is violated in {printed['violated']} of {lemma1['n_problems']} "
        f"small problems, and in {printed['failed']} of {printed['played']} the printed number of "
        f"tests succeeds in less than 75% of the trials; repaired: {repaired['violated']} and "
        f"{repaired['failed']} of {repaired['played']}",
        "violations are exact; the share: {low:.0%} to {high:.0%}".format(
            **printed["failed_share"]
        ),
        Verdict.NOT_REPRODUCED if refuted else Verdict.UNDECIDED,
        "one violation refutes it; without one, small problems prove nothing",
    )


def lemma_2_holds(lemma2: Numbers) -> Claim:
    """Lemma 2 at every gamma: the share of failures must not be above 2 gamma."""
    found = lemma2["found"]
    worst = max(found, key=lambda one: one["failed"]["mean"] - 2 * one["gamma"])
    verdicts = {_below(one["failed"], 2 * one["gamma"]) for one in found}
    verdict = Verdict.REPRODUCED
    for one in (Verdict.NOT_REPRODUCED, Verdict.UNDECIDED):
        verdict = one if one in verdicts else verdict
    if Verdict.NOT_REPRODUCED in verdicts:
        verdict = Verdict.NOT_REPRODUCED
    return Claim(
        "With Delta = F^-1(gamma), quantization keeps the optimum with probability 1 - 2 gamma "
        "(Lemma 2).",
        f"at gamma = {worst['gamma']:g} and m = {worst['n_arms']}, the worst of {len(found)}, "
        f"{worst['failed']['mean']:.1%} of the instances fail",
        "{low:.1%} to {high:.1%}".format(**worst["failed"]),
        verdict,
        "reproduced if the share is below 2 gamma at every gamma and size tried (sums, B = 1)",
    )


def fewer_tests_suffice(fig2c: Numbers) -> Claim:
    """200 tests within 5% of 310: under a condition unless 310 beat the random baseline."""
    family = LITERAL[0]
    found = fig2c["families"][family]
    ratio, of_random = found["200_of_310"], found["310_of_random"]
    low, high = 1 - WITHIN, 1 + WITHIN
    verdict = _inside(ratio, low, high)
    because = f"reproduced if the interval of the ratio is within {low:g} and {high:g}"
    if verdict is Verdict.REPRODUCED and of_random["high"] >= LIKE_RANDOM:
        verdict = Verdict.CONDITIONALLY
        because += (
            f"; the condition: neither learns anything measurable "
            f"(310 tests have {of_random['mean']:.0%} of the random baseline's regret)"
        )
    return Claim(
        "200 tests are enough for a regret within 5% of that of 310 tests.",
        f"200 tests have {ratio['mean']:.3f} × the regret of 310 ({family})",
        _interval(ratio, " ×", digits=3),
        verdict,
        because,
    )


def non_separable_rounds(fig1: Numbers) -> Claim:
    """Non-separable rounds grow faster than log(t) / gap², and faster than one tenfold before."""
    found = fig1["found"]
    each = {
        label: _both(
            _above(one["growth_over_reference"], 1.0), _above(one["growth_over_before"], 1.0)
        )
        for label, one in found.items()
    }
    faster = [label for label, verdict in each.items() if verdict is Verdict.REPRODUCED]
    if len(faster) == len(each):
        verdict, because = (
            Verdict.REPRODUCED,
            "both growths are above log(t)'s for every policy and size",
        )
    elif faster:
        verdict, because = Verdict.CONDITIONALLY, f"the condition: {'; '.join(faster)}"
    elif any(one is Verdict.UNDECIDED for one in each.values()):
        verdict, because = (
            Verdict.UNDECIDED,
            "no policy's and size's intervals are above 1, and not all are below",
        )
    else:
        verdict, because = (
            Verdict.NOT_REPRODUCED,
            "a growth is below log(t)'s for every policy and size",
        )
    slowest = min(found, key=lambda label: found[label]["growth_over_before"]["mean"])
    shares = "; ".join(f"{label}: {one['share']:.0%}" for label, one in found.items())
    return Claim(
        "The number of rounds whose theta(t) is not C-separable grows faster than log(t) / gap².",
        f"share of all rounds: {shares}",
        f"last tenfold's growth over the one before, slowest ({slowest}): "
        f"{_interval(found[slowest]['growth_over_before'], ' ×')}",
        verdict,
        because,
    )


def less_time(table1: Numbers) -> Claim:
    """About 4 times less time with single calls, under a condition if other calls undo it."""
    ratios = table1["ratio"]
    low, high = LESS_TIME * (1 - ABOUT), LESS_TIME * (1 + ABOUT)
    verdict = _inside(ratios["single"], low, high)
    because = f"reproduced if the interval with single calls is within {low:g} and {high:g}"
    undone = [calls for calls in ("by size", "batch") if ratios[calls]["low"] < 1]
    if verdict is Verdict.REPRODUCED and undone:
        verdict = Verdict.CONDITIONALLY
        because += (
            "; the condition: one call per evaluation, each at the cost of the whole network "
            f"(GT+QTS is not faster with calls {' nor with calls '.join(undone)})"
        )
    return Claim(
        "GT+QTS takes about 4 times less time than CTS.",
        f"CTS takes {ratios['single']['mean']:.2f} × as long with single calls, "
        f"{ratios['by size']['mean']:.2f} × if the cost of a call grows with its set, "
        f"{ratios['batch']['mean']:.2f} × with batches",
        _interval(ratios["single"], " ×"),
        verdict,
        because,
    )


def networks_are_separable(theory: Numbers) -> Claim:
    """Two-layer networks are separable: one violation with the paper's weights refutes it."""
    networks = theory["networks"]
    steepest = next(iter(networks))
    violated = [std for std, found in networks.items() if found["improved"]]
    clean = [std for std, found in networks.items() if not found["improved"]]
    if not violated:
        verdict, because = (
            Verdict.UNDECIDED,
            "no violation was found, which does not prove that there is none",
        )
    elif steepest in violated:
        verdict = Verdict.NOT_REPRODUCED
        flat = (
            f"no violation was found when scaled by {' or '.join(clean)}"
            if clean
            else "and at every scale tried"
        )
        because = f"violated with the paper's own weights, {flat}"
    else:
        verdict = Verdict.CONDITIONALLY
        because = (
            f"the condition: the paper's weights; violated when scaled by {' or '.join(violated)}"
        )
    share = networks[steepest]["share"]
    return Claim(
        "Two-layer networks with sigmoid neurons are separable (Theorem 2).",
        f"with weights |N(0, 1)| × {steepest}, a swap improves Oracle+'s set "
        f"for {share['mean']:.0%} of theta",
        f"{share['low']:.0%} to {share['high']:.0%}",
        verdict,
        because,
    )


def logarithmic_tests(theory: Numbers) -> Claim:
    """Lemma 1 is O(log m): by the exponent of m, with M fixed and with M for pools of pm arms."""
    growth, paper = theory["growth"], theory["at_paper"]
    fixed, real = growth["lemma_m_is_k"], growth["lemma_m_is_n_arms"]
    if real <= LOGARITHMIC:
        verdict, because = Verdict.REPRODUCED, "the exponent of m is that of a logarithm"
    elif fixed <= LOGARITHMIC:
        verdict = Verdict.CONDITIONALLY
        because = (
            f"the condition: M stays fixed as m grows (for a sum over pools of pm arms, M is m), "
            f"and q = 1, while q is below 10^{theory['log10_q']:,.0f} at the paper's size"
        )
    else:
        verdict, because = (
            Verdict.NOT_REPRODUCED,
            "the exponent of m is above a logarithm's either way",
        )
    return Claim(
        "The number of tests of Lemma 1 is O(log m).",
        f"exponent of m: {fixed:.2f} with M = K, {real:.2f} with M = m; at m = {paper['n_arms']:,} "
        f"it needs {paper['lemma_m_is_k']:,} or {paper['lemma_m_is_n_arms']:.2g} tests",
        "a formula, without error",
        verdict,
        because,
    )


# Each claim with the experiments whose numbers it needs.
RULES: list[tuple[tuple[str, ...], Callable[..., Claim]]] = [
    (("fig2a",), fewer_evaluations),
    (("fig2a", "sensitivity"), slightly_larger_regret),
    (("fig2b",), same_order),
    (("fig2c",), fewer_tests_suffice),
    (("fig1",), non_separable_rounds),
    (("table1",), less_time),
    (("theory",), networks_are_separable),
    (("theory",), logarithmic_tests),
    (("lemma1",), lemma_1_suffices),
    (("lemma2",), lemma_2_holds),
    (("fig2a", "theory"), logarithmic_regret),
]


def judge(numbers: Mapping[str, Numbers]) -> list[Claim]:
    """All claims whose numbers are known."""
    return [
        rule(*(numbers[name] for name in needs))
        for needs, rule in RULES
        if all(n in numbers for n in needs)
    ]


def _below(interval: Mapping[str, float], limit: float) -> Verdict:
    if interval["high"] <= limit:
        return Verdict.REPRODUCED
    return Verdict.NOT_REPRODUCED if interval["low"] > limit else Verdict.UNDECIDED


def _above(interval: Mapping[str, float], limit: float) -> Verdict:
    if interval["low"] > limit:
        return Verdict.REPRODUCED
    return Verdict.NOT_REPRODUCED if interval["high"] <= limit else Verdict.UNDECIDED


def _both(one: Verdict, other: Verdict) -> Verdict:
    if Verdict.NOT_REPRODUCED in (one, other):
        return Verdict.NOT_REPRODUCED
    return Verdict.UNDECIDED if Verdict.UNDECIDED in (one, other) else Verdict.REPRODUCED


def _inside(interval: Mapping[str, float], low: float, high: float) -> Verdict:
    if interval["low"] >= low and interval["high"] <= high:
        return Verdict.REPRODUCED
    outside = interval["high"] < low or interval["low"] > high
    return Verdict.NOT_REPRODUCED if outside else Verdict.UNDECIDED


def _interval(interval: Mapping[str, float], unit: str, digits: int = 2) -> str:
    return f"{interval['low']:.{digits}f} to {interval['high']:.{digits}f}{unit}"
