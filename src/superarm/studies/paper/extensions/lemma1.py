"""Lemma 1, as printed and repaired: how often its number of tests finds the best arm.

Small random sums, half of them with two nearly equal best arms. The lemma bounds the expected
difference of two grades from below; whether the bound holds is looked up exactly. Then the numbers
of tests that the lemma asks for are played.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from superarm.core.special import bdtr
from superarm.reporting.figures import panels
from superarm.reporting.palette import BLUE, ORANGE
from superarm.reporting.statistics import share_interval
from superarm.reporting.tables import Table
from superarm.studies.cell import Cell, Rows, Scale
from superarm.studies.study import Findings

TITLE = "Lemma 1: the number of tests, as printed and repaired"

FAILURE = 0.1
N_RUNS = 20
PS = (0.5, 2 / 3)
_CHANCE = 1e-3  # that a lemma that holds is refuted
_COLOURS = {"printed": ORANGE, "repaired": BLUE}


def cells(scale: Scale) -> list[Cell]:
    """Problems of four and six arms at two p."""
    settings = [
        {
            "n_arms": n_arms,
            "p": p,
            "delta": 0.25,
            "failure": FAILURE,
            "n_problems": scale.pick(40, 10, 6),
            "n_trials": scale.pick(400, 100, 50),
        }
        for n_arms in (4, 6)
        for p in PS
    ]
    return scale.cells("lemma1", settings, runs=N_RUNS)


def analyse(rows: Rows, times: Rows) -> Findings:
    """How often the bound of the proof fails, and in how many problems too few trials succeed."""
    problems = [problem for row in rows for problem in row["problems"]]
    n_trials = rows[0]["n_trials"]
    found = {version: _judged(problems, version, n_trials) for version in _COLOURS}
    numbers: dict[str, Any] = {
        "n_problems": len(problems),
        "failure": FAILURE,
        "found": found,
        "counter_example": _counter_example(problems),
    }
    return Findings(
        numbers,
        [_table(found, len(problems))],
        lambda figure: _draw(figure, found),
        _notes(numbers["counter_example"]),
    )


def _judged(problems: list[dict[str, Any]], version: str, n_trials: int) -> dict[str, Any]:
    promised = [one for one in problems if one[f"n_{version}"] is not None]
    played = [one["success"][version] for one in promised if one["success"][version] is not None]
    violated = sum(not one[f"{version}_holds"] for one in problems)
    # Exact, and Bonferroni: if the lemma holds, some problem is refuted with probability 0.1%.
    chance = bdtr(np.round(np.array(played) * n_trials), n_trials, 1 - FAILURE)
    # Far below the promise: a share of successes of at most 3/4 where 9/10 is promised.
    failed = sum(share < 0.75 for share in played)
    tests = [one[f"n_{version}"] for one in promised]
    return {
        "violated": violated,
        "promised": len(promised),
        "played": len(played),
        "failed": failed,
        "refuted": int((chance < _CHANCE / max(1, len(played))).sum()),
        "failed_share": share_interval(failed, max(1, len(played)))._asdict(),
        "success": sorted(played),
        "median_tests": float(np.median(tests)),
    }


def _counter_example(problems: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The problem with the fewest successes of those in which the printed bound is violated."""
    found = [
        one
        for one in problems
        if not one["printed_holds"] and one["success"]["printed"] is not None
    ]
    if not found:
        return None
    worst = min(found, key=lambda one: one["success"]["printed"])
    columns = ("theta", "q", "q_pair", "difference", "n_printed")
    return {**{name: worst[name] for name in columns}, "success": worst["success"]["printed"]}


def _notes(example: dict[str, Any] | None) -> list[str]:
    if example is None:
        return []
    theta = ", ".join(f"{value:.4f}" for value in example["theta"])
    return [
        f"The worst counter-example that the search found: theta = ({theta}), q = "
        f"{example['q']:.3g}, q(s, t) = {example['q_pair']:.3g}. The {example['n_printed']:,} "
        f"tests of the printed lemma find the best arm in {example['success']:.0%} of the trials."
    ]


def _table(found: dict[str, Any], n_problems: int) -> Table:
    rows = [
        {
            "Lemma 1": version,
            "the proof's bound is violated": f"{one['violated']} of {n_problems}",
            "promises a number of tests": f"{one['promised']} of {n_problems}",
            "fewer than 75% successes with that number": f"{one['failed']} of {one['played']}",
            "median of the number": f"{one['median_tests']:,.0f}",
        }
        for version, one in found.items()
    ]
    return Table.of(
        rows,
        caption="Random sums of 4 and 6 arms, K = 1, Delta = 0.25; "
        f"{1 - FAILURE:.0%} successes are promised",
    )


def _draw(figure: Any, found: dict[str, Any]) -> None:
    (axis,) = panels(figure, 1, n_names=1)
    for version, one in found.items():
        shares = np.array(one["success"])
        at = (np.arange(len(shares)) + 1) / max(1, len(shares))
        axis.plot(at, shares, color=_COLOURS[version], label=version, linewidth=2)
    axis.axhline(1 - FAILURE, color="#9a9a9c", linestyle=":")
    axis.set_ylim(-0.03, 1.03)
    axis.set(xlabel="share of the problems, the worst first", ylabel="share of successes")
    axis.set_title("success with the promised number of tests", loc="left")
    axis.legend(loc="lower right")
