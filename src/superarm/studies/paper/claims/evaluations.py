"""Claims of section 5 about evaluations, tests and time."""

from __future__ import annotations

from superarm.studies.paper.claims.growth import slightly_larger_regret
from superarm.studies.paper.policies import CTS, GT_QTS, LITERAL, N_TESTS, N_TESTS_ORDER
from superarm.studies.paper.verdicts import (
    Judged,
    Numbers,
    Statement,
    Verdict,
    above,
    inside,
    shown_interval,
)

FEWER = 16  # times fewer evaluations
WITHIN = 0.05  # "within 5%"
# Above nine tenths of the random baseline's regret, nothing measurable is learned.
LIKE_RANDOM = 0.9
LESS_TIME, ABOUT = 4, 0.25  # table 1's ratio of times, and "about": within a quarter


def fewer_evaluations(fig2a: Numbers, readings: Numbers, sensitivity: Numbers) -> Judged:
    """16 times fewer evaluations: a count. It holds under a condition if the regret is larger."""
    policies = fig2a["policies"]
    ratio = policies[CTS]["evaluations_per_round"] / policies[LITERAL[0]]["evaluations_per_round"]
    verdict, because = Verdict.NOT_REPRODUCED, f"reproduced if the ratio is at least {FEWER}"
    if ratio >= FEWER:
        regret = slightly_larger_regret(fig2a, readings, sensitivity).verdict
        verdict = Verdict.REPRODUCED if regret is Verdict.REPRODUCED else Verdict.CONDITIONALLY
        because += "; the number of tests is a setting"
        if verdict is Verdict.CONDITIONALLY:
            because += "; the condition: whatever the tests find (see the claim about regret)"
    return Judged(
        f"CTS evaluates {ratio:.1f} times as many sets per round",
        "a count, without error",
        verdict,
        because,
    )


def fewer_tests_suffice(fig2c: Numbers) -> Judged:
    """200 tests within 5% of 310: under a condition unless 310 beat the random baseline."""
    family = LITERAL[0]
    found = fig2c["families"][family]
    ratio, of_random = found["200_of_310"], found["310_of_random"]
    low, high = 1 - WITHIN, 1 + WITHIN
    verdict = inside(ratio, low, high)
    because = f"reproduced if the interval of the ratio is within {low:g} and {high:g}"
    # Two policies that learn nothing have the same regret. This supports the words of the claim,
    # but not what it is meant to say.
    if verdict is Verdict.REPRODUCED and of_random["high"] >= LIKE_RANDOM:
        verdict = Verdict.CONDITIONALLY
        because += (
            f"; the condition: neither learns anything measurable "
            f"(310 tests have {of_random['mean']:.0%} of the random baseline's regret)"
        )
    return Judged(
        f"200 tests have {ratio['mean']:.3f} × the regret of 310 ({family})",
        shown_interval(ratio, " ×", digits=3),
        verdict,
        because,
    )


def less_time(table1: Numbers) -> Judged:
    """Less time with single calls; under a condition if not 4 times, or not with other calls."""
    ratios = table1["ratio"]
    verdict = above(ratios["single"], 1.0)
    because = "reproduced if the interval with single calls is above 1"
    if verdict is Verdict.REPRODUCED and (conditions := _conditions(ratios)):
        verdict = Verdict.CONDITIONALLY
        because += f"; the condition: {'; '.join(conditions)}"
    return Judged(
        f"CTS takes {ratios['single']['mean']:.2f} × as long with single calls, "
        f"{ratios['by size']['mean']:.2f} × if the cost of a call grows with its set, "
        f"{ratios['batch']['mean']:.2f} × with batches",
        shown_interval(ratios["single"], " ×"),
        verdict,
        f"{because}; {_implied(table1)}",
    )


def _conditions(ratios: Numbers) -> list[str]:
    """What GT+QTS's advantage with single calls is bound to."""
    conditions = []
    low, high = LESS_TIME * (1 - ABOUT), LESS_TIME * (1 + ABOUT)
    if inside(ratios["single"], low, high) is not Verdict.REPRODUCED:
        # The words of the claim hold, the number of the table does not.
        factor = ratios["single"]["mean"]
        conditions.append(f"the factor is {factor:.1f}, not {low:g} to {high:g} as in table 1")
    # An advantage that other ways of calling undo is an advantage over that way of calling, not of
    # the algorithm.
    undone = [calls for calls in ("by size", "batch") if ratios[calls]["low"] < 1]
    if undone:
        conditions.append(
            "one call per evaluation, each at the cost of the whole network "
            f"(it is not faster with calls {' nor '.join(undone)})"
        )
    return conditions


def _implied(table1: Numbers) -> str:
    """What the counts of evaluations say about the paper's ratio."""
    exact, tested = (table1["evaluations_per_round"][label] for label in (CTS, GT_QTS))
    implied = table1["implied_tests"]
    known = {f"{N_TESTS} of section 5": N_TESTS, f"{N_TESTS_ORDER} of the rule": N_TESTS_ORDER}
    # Within 5%: the paper's own seconds vary by as much from horizon to horizon.
    fits = [name for name, count in known.items() if abs(count / implied - 1) <= WITHIN]
    which = f"fits the {' and the '.join(fits)}" if fits else f"fits none of {', '.join(known)}"
    return (
        f"where evaluations dominate, {exact:,.0f} / {tested:,.0f} = "
        f"{table1['evaluations_ratio']:.1f} bounds the ratio; the paper's "
        f"{table1['paper_ratio']:.2f} implies about {implied:,.0f} tests, which {which}"
    )


_LINEAR = {"n_arms": 5000, "horizon": 10_000}
EVALUATIONS = (
    Statement(
        f"GT+QTS needs {FEWER} times fewer reward evaluations per round than CTS.",
        "the baseline method (CTS) requires 16× more reward evaluations compared to GT+QTS",
        "Section 5, Linear rewards",
        "The number of tests is a setting: the order-wise rule gives it, without its constants.",
        ("fig2a", "readings", "sensitivity"),
        fewer_evaluations,
        dict.fromkeys(("fig2a", "readings", "sensitivity"), _LINEAR),
    ),
    Statement(
        "200 tests are enough for a regret within 5% of that of 310 tests.",
        "as few as ℓ=200 tests are sufficient for the regret to be within 5%",
        "Section 5, Linear rewards, second paragraph, and figure 2(C)",
        "The paper does not state p, which is 1/2 here.",
        ("fig2c",),
        fewer_tests_suffice,
        {"fig2c": _LINEAR},
    ),
    Statement(
        "GT+QTS takes less time than CTS, about 4 times less in table 1.",
        "GT+QTS is significantly more efficient compared to CTS",
        "Section 5, last paragraph, and table 1",
        "The factor is that of the seconds in table 1 at T = 5,000; about means within a quarter. "
        "The paper does not say how the reward is called: here once per evaluation.",
        ("table1",),
        less_time,
        {"table1": {"n_arms": 1000, "horizon": 5000}},
    ),
)
