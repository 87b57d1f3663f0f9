"""The tables of docs/reproduction.md, made of the numbers that the experiments found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from superarm.reporting.statistics import Interval, mean_interval
from superarm.reporting.tables import Table
from superarm.studies.paper.claims.growth import SLIGHTLY
from superarm.studies.paper.experiments.table1 import CALLS
from superarm.studies.paper.extensions.readings import READINGS
from superarm.studies.paper.extensions.sensitivity import CONDITIONAL
from superarm.studies.paper.policies import CTS, GT_QTS, LAZY, REGRESSION
from superarm.studies.paper.verdicts import Claim

Numbers = Mapping[str, Any]
_MOST_LISTED = 2  # results or instances in a cell of the table of claims
_SHOWN_TESTS = (50, 200, 310, 2500)  # of the numbers of tests of figure 2C, where there are more


def span(interval: Interval | Mapping[str, float], digits: int | None = None) -> str:
    """A mean with its interval, as short as the tables of the docs have it."""
    found = interval if isinstance(interval, Interval) else Interval(**interval)
    if digits is None:
        text = str(found)
    else:
        mean, low, high = (f"{value:,.{digits}f}" for value in found)
        text = f"{mean} ({low} to {high})"
    # A dash after a minus sign could be taken for another one.
    return text if found.low < 0 else text.replace(" to ", "–")


def claims_table(claims: Sequence[Claim]) -> Table:
    """The paper's words and where they are, what was measured, and the verdict."""
    rows = [
        [
            f"“{one.quote}” ({one.where})",
            f"{_measured(one.measured)} ({one.interval})",
            f"**{one.verdict}**: {_because(one.because)}",
        ]
        for one in claims
    ]
    return Table(["the paper says", "measured", "verdict"], rows, n_texts=3)


def _measured(text: str) -> str:
    """What was measured, unless it is as long as a table of the page."""
    return text if text.count("; ") <= _MOST_LISTED else "in the table below"


def _because(text: str) -> str:
    """The reason without the rule, which the report has, and without a list of many instances."""
    parts = text.split("; ")
    reasons = [part for part in parts if not part.startswith("reproduced if")] or parts
    listed = [part for part in reasons if " (T = " in part]
    if len(listed) > _MOST_LISTED:
        first = reasons.index(listed[0])
        reasons = [part for part in reasons if part not in listed]
        reasons.insert(first, "[other instances](#other-instances-and-horizons)")
    # The verdict before it says that there is a condition.
    return "; ".join(part.removeprefix("the condition: ") for part in reasons)


def separable(fig1: Numbers) -> Table:
    """Figure 1 as a table."""
    rows = [
        [
            label,
            span(mean_interval(one["count"])),
            f"{one['share']:.1%}",
            span(one["growth_over_before"]),
        ]
        for label, one in fig1["found"].items()
    ]
    return Table(["policy", "non-separable rounds", "share", "growth"], rows)


def regret(found: Numbers) -> Table:
    """All policies on one problem, fewest evaluations first; with the floor where there is one."""
    policies, horizon, floors = found["policies"], found["horizon"], found["floors"]

    def evaluations(label: str) -> float:
        return float(np.mean(policies[label]["evaluations"])) / horizon

    def of_floor(label: str) -> str:
        return f"{np.mean(policies[label]['regret']) / floors['first_failure']:.2f}"

    # Among policies with as many evaluations, the largest regret comes first.
    order = sorted(policies, key=lambda one: (evaluations(one), -np.mean(policies[one]["regret"])))
    rows = [
        [
            label,
            span(mean_interval(policies[label]["regret"])),
            span(policies[label]["of_cts"]),
            *([of_floor(label)] if floors else []),
            per_round(evaluations(label)),
        ]
        for label in order
    ]
    more = ["× floor"] if floors else []
    return Table(["policy", "regret", "× CTS", *more, "evaluations per round"], rows)


def per_round(count: float) -> str:
    """Evaluations per round: two decimals unless it is a whole number."""
    return f"{count:,.0f}" if float(count).is_integer() else f"{count:,.2f}"


def by_tests(fig2c: Numbers) -> Table:
    """Figure 2C as a table, with some of its numbers of tests."""
    counts = [n for n in fig2c["counts"] if n in _SHOWN_TESTS] or fig2c["counts"]
    rows = [
        [
            f"{count:,}",
            *(span(mean_interval(one["regret"][str(count)])) for one in fig2c["families"].values()),
        ]
        for count in counts
    ]
    return Table(["tests", *fig2c["families"]], rows)


def seconds(table1: Numbers) -> Table:
    """Table 1 at its first and last horizon."""
    horizons = table1["horizons"]
    names = dict(zip(CALLS, ("single calls", "cost grows with the set", "batches"), strict=True))
    rows = []
    for calls, name in names.items():
        means = {label: np.mean(table1["seconds"][calls][label], axis=0) for label in (CTS, GT_QTS)}
        rows.append([name, *(f"{means[of][at]:.3g}" for of in means for at in (0, -1))])
    paper = table1["paper"]
    rows.append(
        ["as printed in the paper", *(f"{paper[of][at]:g}" for of in paper for at in (0, -1))]
    )
    heading = [f"{label}, T = {horizons[at]:,}" for label in (CTS, GT_QTS) for at in (0, -1)]
    return Table(["calls", *heading], rows)


def seconds_beyond(found: Numbers) -> Table:
    """Table 1 at its last horizon, for the better oracles too."""
    rows = [
        [label, *(f"{one['seconds'][calls]:.3g}" for calls in CALLS)]
        for label, one in found["policies"].items()
    ]
    return Table(["policy", "single calls", "cost grows with the set", "batches"], rows)


def readings(found: Numbers) -> Table:
    """Other readings of the algorithm, the least regret first."""
    policies = {label: found["policies"][label] for label in READINGS}
    rows = [
        [label, span(one["of_random"]), per_round(one["evaluations_per_round"])]
        for label, one in sorted(policies.items(), key=lambda item: item[1]["of_random"]["mean"])
    ]
    return Table(["reading", "× random baseline", "evaluations per round"], rows)


def instances(sensitivity: Numbers) -> Table:
    """One row per law of the instances, at a fifth of the horizon and at the horizon."""
    rows = []
    for law in dict.fromkeys(one["law"] for one in sensitivity["found"]):
        mine = [one for one in sensitivity["found"] if one["law"] == law]
        last = max(one["t"] for one in mine)
        at = {one["t"] / last: one for one in mine}
        name = f"{law}, as in figure 2A" if law == CONDITIONAL else law
        rows.append(
            [
                name,
                span(at[0.2]["of_cts"]),
                span(at[1.0]["of_cts"]),
                f"{at[1.0]['cts_of_random']['mean']:.2f}",
            ]
        )
    return Table(["instances", "× CTS at T/5", "× CTS at T", "CTS × random baseline at T"], rows)


def least_learned(sensitivity: Numbers) -> float:
    """The least regret of CTS over the random baseline's where GT+QTS is slightly above CTS."""
    found = [one for one in sensitivity["found"] if one["of_cts"]["high"] < SLIGHTLY]
    return float(min(one["cts_of_random"]["mean"] for one in found))


def steepness(found: Numbers) -> Table:
    """One column per scale of the weights."""
    policies = {std: one["policies"] for std, one in found.items()}
    rows = [
        [label, *(span(mean_interval(one[label]["regret"])) for one in policies.values())]
        for label in next(iter(policies.values()))
    ]
    rows.append(
        ["regression × CTS", *(span(one[REGRESSION]["of_cts"]) for one in policies.values())]
    )
    rows.append(
        [
            "lazy, evaluations per round",
            *(
                f"{one['policies'][LAZY]['evaluations'] / one['horizon']:.2f}"
                for one in found.values()
            ),
        ]
    )
    return Table(["policy", *(f"weights × {std}" for std in found)], rows)


def headline(found: Numbers) -> Table:
    """The table of the README."""
    names = {
        "random": "random baseline",
        "CUCB": "CUCB with Oracle+",
        GT_QTS: "GT+QTS, p = 1/2, the paper's literal algorithm",
        "GT+QTS, p=K/m": "GT+QTS, p = K/m",
        "GT+QTS, p=1/m": "GT+QTS, p = 1/m",
        REGRESSION: 'GT+QTS with remembered tests, `decoder="regression"`',
        CTS: "CTS with Oracle+",
        LAZY: "CTS with `LazySingletons`",
    }
    policies = found["policies"]
    random = np.mean(policies["random"]["regret"])
    rows = [
        [
            name,
            f"{np.mean(policies[label]['regret']):,.0f}",
            f"{np.mean(policies[label]['regret']) / random:.2f}",
            per_round(float(np.mean(policies[label]["evaluations"])) / found["horizon"]),
        ]
        for label, name in names.items()
    ]
    heading = ["policy", "regret", "as a multiple of random", "evaluations per round"]
    return Table(heading, rows)
