"""The theory in numbers: tests of Lemma 1, separable networks (Theorem 2), Theorem 1's bound."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from superarm import theory
from superarm.reporting.figures import Look, logarithmic, name_curves, panels
from superarm.reporting.palette import BLUE, GREEN, ORANGE, RED
from superarm.reporting.statistics import share_interval
from superarm.reporting.tables import Table
from superarm.studies.cell import Cell, Rows, Scale
from superarm.studies.cells.swap_search import BETTER
from superarm.studies.paper.experiments import fig2a
from superarm.studies.paper.policies import GT_QTS, spec
from superarm.studies.study import Findings

TITLE = "The theory in numbers"

SIZES = (50, 500, 5000, 50_000, 500_000)
PAPER_SIZE = 5000
STDS = (1.0, 0.3, 0.1, 0.03, 0.01)
N_RUNS = 20
# Recorded column, name in the picture, look.
_RULES = {
    "lemma_m_is_n_arms": ("Lemma 1, M = m", Look(RED)),
    "lemma_m_is_k": ("Lemma 1, M = K", Look(ORANGE)),
    "order": ("order-wise rule", Look(GREEN)),
}
_ORACLE_PLUS = Look(BLUE)


def cells(scale: Scale) -> list[Cell]:
    """Numbers of tests for several m, networks of several steepnesses, GT+QTS for the bound."""
    rules = [{"n_arms": n_arms, "k": 5, "delta": 0.25, "failure": 1e-4} for n_arms in SIZES]
    networks = [
        {
            "n_arms": scale.pick(1000, 200, 60),
            "k": 5,
            "n_hidden": 20,
            "std": std,
            "n_thetas": scale.pick(10, 4, 2),
        }
        for std in STDS
    ]
    played = fig2a.played(scale)
    bound = [{**played, "label": GT_QTS, "policy": spec("gt-qts", fig2a.DELTA)}]
    return [
        # One cell each: a formula gives the same number in every run.
        *(Cell("rules", settings, scale.seed, 0) for settings in rules),
        *scale.cells("swap_search", networks, runs=N_RUNS, quick_runs=4),
        *scale.cells("play", bound, runs=N_RUNS),
    ]


def analyse(rows: Rows, times: Rows) -> Findings:
    """Growth of the number of tests, violations of separability, and bound next to regret."""
    counted = [row for row in rows if row["kind"] == "rules"]
    # The nearest size, so that a list of sizes without the paper's own does not fail.
    at_paper = min(counted, key=lambda row: abs(row["n_arms"] - PAPER_SIZE))
    numbers: dict[str, Any] = {
        "sizes": [float(row["n_arms"]) for row in counted],
        "rules": {name: [row[name] for row in counted] for name in _RULES},
        "growth": {name: _exponent(counted, name) for name in _RULES},
        "at_paper": {
            **{name: at_paper[name] for name in ("n_arms", *_RULES)},
            "log10_q": _log10_q(at_paper),
        },
        "networks": _networks([row for row in rows if row["kind"] == "swap_search"]),
        "bound": _bound([row for row in rows if row["kind"] == "play"]),
    }
    tables = [_rules_table(counted), _networks_table(numbers), _bound_table(numbers)]
    return Findings(numbers, tables, lambda figure: _draw(figure, numbers))


def _exponent(counted: Rows, name: str) -> float:
    """The b of tests ~ m^b that fits best on logarithmic scales."""
    sizes = [row["n_arms"] for row in counted]
    return float(np.polyfit(np.log(sizes), np.log([row[name] for row in counted]), 1)[0])


def _log10_q(counted: dict[str, Any]) -> float:
    """The decimal logarithm of a bound on q at p = 1/2, for a sum of all arms with B = 1."""
    n_levels = math.ceil(2 * counted["n_arms"] / counted["delta"])  # L = 2BM / Delta, M = m
    return theory.log10_q_limit(n_arms=counted["n_arms"], n_levels=n_levels, p=0.5)


def _networks(searched: Rows) -> dict[str, Any]:
    """How often swaps improved on Oracle+'s set, by steepness, the steepest first."""
    found = {}
    for std in sorted({row["std"] for row in searched}, reverse=True):
        losses = np.concatenate([row["losses"] for row in searched if row["std"] == std])
        improved = int((losses > BETTER).sum())
        found[str(std)] = {
            "improved": improved,
            "thetas": len(losses),
            "share": share_interval(improved, len(losses))._asdict(),
            "mean_loss": float(losses.mean()),
        }
    return found


def _bound(played: Rows) -> dict[str, float]:
    """Decimal logarithms of the bound, of the largest possible and of the measured regret."""
    logs = [
        # In logarithms: the bound itself overflows.
        theory.regret_bound(
            n_arms=row["problem"]["n_arms"],
            k=row["problem"]["k"],
            horizon=row["horizon"],
            gap_min=row["gap"],
            gap_max=row["gap_max"],
            lipschitz=1.0,
            log=True,
        )
        / math.log(10)
        for row in played
    ]
    worst = [row["horizon"] * row["gap_max"] for row in played]
    return {
        "Theorem 1": float(np.mean(logs)),
        "losing the most in every round": math.log10(float(np.mean(worst))),
        "measured": math.log10(float(np.mean([row["regret"][-1] for row in played]))),
    }


def _rules_table(counted: Rows) -> Table:
    body = [
        [
            f"{row['n_arms']:,}",
            f"{row['order']:,}",
            f"{row['lemma_m_is_k']:,}",
            f"{row['lemma_m_is_n_arms']:.3g}",
            f"{row['lemma_m_is_k'] / row['n_arms']:,.0f}",
        ]
        for row in counted
    ]
    return Table(
        ["m", "order-wise rule", "Lemma 1, M = K", "Lemma 1, M = m", "Lemma 1 (M = K) / m"],
        body,
        caption="Tests per round, B = 1, Delta = 0.25, K = 5, p = 2/3, q = 1, failure 1/10,000",
    )


def _networks_table(numbers: dict[str, Any]) -> Table:
    body = [
        [
            std,
            f"{found['improved']} of {found['thetas']}",
            "{mean:.0%} ({low:.0%} to {high:.0%})".format(**found["share"]),
            f"{found['mean_loss']:.4f}",
        ]
        for std, found in numbers["networks"].items()
    ]
    return Table(
        [
            "weights scaled by",
            "Oracle+'s set improved by swaps",
            "share (95% interval)",
            "mean loss of Oracle+",
        ],
        body,
        caption="Theorem 2 by search: two-layer networks, theta uniform",
    )


def _bound_table(numbers: dict[str, Any]) -> Table:
    return Table(
        ["", "log10"],
        [[label, f"{value:,.1f}"] for label, value in numbers["bound"].items()],
        caption="Theorem 1's bound (alpha = 1) next to the measured regret of GT+QTS, p = 1/2",
    )


def _draw(figure: Any, numbers: dict[str, Any]) -> None:
    tests, networks = panels(figure, 2, n_names=2)
    sizes = np.array(numbers["sizes"])
    ends = {"Oracle+: m": (sizes[-1], _ORACLE_PLUS)}
    for name, (label, rule_look) in _RULES.items():
        tests.plot(sizes, numbers["rules"][name], color=rule_look.colour, marker="o")
        ends[label] = (numbers["rules"][name][-1], rule_look)
    tests.plot(sizes, sizes, color=_ORACLE_PLUS.colour)
    logarithmic(tests)
    tests.set(xlabel="arms m", ylabel="evaluations per round")
    tests.set_title("number of tests", loc="left")
    name_curves(tests, ends)
    shares = [found["share"] for found in numbers["networks"].values()]
    means = np.array([share["mean"] for share in shares])
    reach = [
        means - [share["low"] for share in shares],
        np.array([share["high"] for share in shares]) - means,
    ]
    stds = [float(std) for std in numbers["networks"]]
    networks.errorbar(stds, means, np.abs(reach), color=BLUE, marker="o", capsize=3)
    logarithmic(networks, y=False)
    networks.set_ylim(-0.03, 1.03)
    networks.set(xlabel="scale of the hidden weights", ylabel="share of theta")
    networks.set_title("how often a swap beats Oracle+ on a network", loc="left")
