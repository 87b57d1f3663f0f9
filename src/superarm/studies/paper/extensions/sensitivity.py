"""How the verdict on figures 2A and 2B depends on how the instances are drawn, and on the horizon.

The paper says that the gap is at least 0.25, and 0.2 for the network, but not where the best arms
are or how the other means are spread. Here the best arms of the linear problem have means from 0.7
to 1, and the other arms have means uniform below the gap, or all the same mean. The network's best
arms are planted at several heights. Everything else is as in figures 2A and 2B.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from superarm.reporting.figures import panels
from superarm.reporting.palette import FAINT, SERIES
from superarm.reporting.statistics import LEVEL, Interval, mean_interval, paired_ratio
from superarm.reporting.tables import Table
from superarm.studies.cell import Cell, Rows, Scale
from superarm.studies.paper.claims.growth import SLIGHTLY
from superarm.studies.paper.experiments import fig2a, fig2b
from superarm.studies.paper.policies import CTS, RANDOM, curves, growth, labelled, value_at
from superarm.studies.study import Findings

TITLE = 'Where "slightly larger than CTS" holds: other instances, other horizons'

N_RUNS = 20
BESTS = (0.95, 0.9, 0.8, 0.7)  # means of the best arms of the linear problem
HEIGHTS = (1.0, 0.8, 0.6)  # the best mean of a network
SHARES = (0.1, 0.2, 0.5, 1.0)  # of the horizon, at which regret is compared
CONDITIONAL = "uniform means, given the gap"
# Of the settings of GT+QTS, p = 1/m has the least regret in figure 2A.
_POLICIES = ("random", "cts", "gt-qts-one-of-m")


def laws(scale: Scale) -> dict[str, dict[str, Any]]:
    """The laws of the instances by name: the problem and its horizon."""
    linear, network = fig2a.played(scale), fig2b.played(scale)
    found = {CONDITIONAL: linear}
    planted = [(best, "uniform") for best in BESTS] + [(BESTS[1], "equal")]
    for best, others in scale.pick(planted, planted, planted[:1]):
        problem = {**linear["problem"], "family": "planted", "best": best, "others": others}
        name = f"best arms at {best:g}, others {others}"
        found[name] = {**linear, "problem": problem}
    for height in scale.pick(HEIGHTS, HEIGHTS, HEIGHTS[:1]):
        problem = network["problem"] if height == 1 else {**network["problem"], "best": height}
        name = f"network, best arms up to {height:g}"
        found[name] = {**network, "problem": problem}
    return found


def cells(scale: Scale) -> list[Cell]:
    """The random baseline, CTS and GT+QTS under every law."""
    settings = []
    for law in laws(scale).values():
        delta = law["problem"]["gap"]
        for label, spec in labelled(_POLICIES, delta).items():
            settings.append({**law, "label": label, "policy": spec})
    return scale.cells("play", settings, runs=N_RUNS)


def analyse(rows: Rows, times: Rows) -> Findings:
    """Ratios to CTS and to the random baseline, under every law and at several horizons."""
    parts = _by_law(rows)
    # Bonferroni: all ratios to CTS hold together, and so do all exponents, since the rules look for
    # the most favourable one.
    n_looks = len(parts) * len(SHARES) * (len(_POLICIES) - 2)
    level = 1 - (1 - LEVEL) / n_looks
    found = [one for law, part in parts.items() for one in _ratios(law, part, level)]
    numbers = {
        "found": found,
        # Those of the linear problem, which is the larger one.
        "n_arms": max(row["problem"]["n_arms"] for row in rows),
        "horizon": max(row["horizon"] for row in rows),
    }
    return Findings(numbers, [_table(found)], lambda figure: _draw(figure, found))


def law_of(row: dict[str, Any]) -> str:
    """The name of the law that an instance was drawn by."""
    problem = row["problem"]
    if problem["family"] == "planted":
        return f"best arms at {problem['best']:g}, others {problem['others']}"
    if problem["family"] == "network":
        return f"network, best arms up to {problem.get('best', 1.0):g}"
    return CONDITIONAL


def _by_law(rows: Rows) -> dict[str, Rows]:
    found: dict[str, Rows] = {}
    for row in rows:
        found.setdefault(law_of(row), []).append(row)
    return found


def _ratios(law: str, part: Rows, level: float) -> list[dict[str, Any]]:
    """One entry per horizon and setting of GT+QTS."""
    at = np.array(part[0]["checkpoints"])
    horizon = int(at[-1])
    played = curves(part, "regret")
    found = []
    for share in SHARES:
        t = round(share * horizon)
        regret = {label: value_at(runs, at, t) for label, runs in played.items()}
        exponents = {label: growth(runs, at, t)[0] for label, runs in played.items()}
        learned = paired_ratio(regret[CTS], regret[RANDOM])
        for label in played:
            if label in (CTS, RANDOM):
                continue
            found.append(
                {
                    "family": "network" if law.startswith("network") else "linear",
                    "law": law,
                    "t": t,
                    "label": label,
                    "of_cts": paired_ratio(regret[label], regret[CTS], level)._asdict(),
                    "of_random": paired_ratio(regret[label], regret[RANDOM])._asdict(),
                    "cts_of_random": learned._asdict(),
                    "exponent_minus_cts": mean_interval(
                        exponents[label] - exponents[CTS], level
                    )._asdict(),
                }
            )
    return found


def _table(found: list[dict[str, Any]]) -> Table:
    body = [
        [
            one["law"],
            f"{one['t']:,}",
            one["label"],
            *(str(Interval(**one[name])) for name in ("of_cts", "of_random", "cts_of_random")),
        ]
        for one in found
    ]
    return Table(
        ["instances", "T", "policy", "× CTS's", "× random baseline's", "CTS × random baseline's"],
        body,
        caption="Cumulative regret as a multiple, means over paired runs with 95% intervals. Where "
        "the last column is near 1, CTS has not learned either. Less is better.",
    )


def _draw(figure: Any, found: list[dict[str, Any]]) -> None:
    """One point per law and horizon: what CTS has learned, and how far GT+QTS is behind."""
    laws_found = list(dict.fromkeys(one["law"] for one in found))
    (axis,) = panels(figure, 1, n_names=len(laws_found) // 2 + 2, height=4.0)
    axis.axhspan(1.0, SLIGHTLY, color=FAINT, alpha=0.25, linewidth=0)
    axis.text(0.02, 1.02 * SLIGHTLY, f"at most {SLIGHTLY - 1:.0%} more than CTS", fontsize=9)
    for number, law in enumerate(laws_found):
        mine = [one for one in found if one["law"] == law]
        axis.scatter(
            [one["cts_of_random"]["mean"] for one in mine],
            [one["of_cts"]["mean"] for one in mine],
            s=[14 + 40 * one["t"] / max(other["t"] for other in mine) for one in mine],
            color=SERIES[number % len(SERIES)],
            marker="os^"[number // len(SERIES)],
            label=law,
            alpha=0.85,
        )
    axis.set_yscale("log")
    axis.set_yticks([1, SLIGHTLY, 2, 5], ["1", f"{SLIGHTLY:g}", "2", "5"])
    axis.minorticks_off()
    axis.set_xlim(0, 1.05)
    axis.set(
        xlabel="regret of CTS / random baseline (1: nothing learned)",
        ylabel="regret of GT+QTS / CTS",
    )
    axis.set_title("GT+QTS is near CTS where CTS has not learned", loc="left")
    axis.legend(loc="upper left", bbox_to_anchor=(0, -0.21), borderaxespad=0, handletextpad=0.2)
