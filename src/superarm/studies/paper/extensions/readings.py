"""Other readings of the algorithm, on figure 2A's problem.

The paper leaves p open, writes GTO(A, ·) with one test matrix A, decodes all tests (Algorithm 2) or
the non-repeated ones (section 3), and sets the failure probability to 1/t² in Theorem 1. Every
reading meets the instances of figure 2A. With an estimated q the number of tests is nearly the same
(q is estimated to be about 0.99 here), so that this is no reading of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from superarm.reporting.figures import panels
from superarm.reporting.palette import BLUE, FAINT, RED
from superarm.studies.cell import Cell, Rows, Scale
from superarm.studies.cells.readings import READING
from superarm.studies.paper.experiments import fig2a
from superarm.studies.paper.policies import (
    COMPARED,
    CTS,
    LITERAL,
    N_TESTS,
    RANDOM,
    Spec,
    labelled,
    regret_numbers,
    regret_table,
)
from superarm.studies.study import Findings

TITLE = "Other readings of the algorithm"

N_RUNS = 20
_HALF, _K, _ONE, _TENTH = {"p": 0.5}, {"mean_size": 5}, {"mean_size": 1}, {"mean_size": 0.1}
_NON_REPEATED = {"n_tests": N_TESTS, "tests": "non_repeated"}
_FIXED = {"n_tests": N_TESTS, "fixed": True}
_BY_ROUND = {"n_tests": "order", "failure": "round"}
READINGS: dict[str, Spec] = {
    "p=0.1/m": {**_TENTH, "n_tests": N_TESTS},
    "non-repeated tests, p=1/2": {**_HALF, **_NON_REPEATED},
    "non-repeated tests, p=1/m": {**_ONE, **_NON_REPEATED},
    "failure 1/t², p=1/2": {**_HALF, **_BY_ROUND},
    "failure 1/t², p=1/m": {**_ONE, **_BY_ROUND},
    "tests drawn once, p=1/2": {**_HALF, **_FIXED},
    "tests drawn once, p=K/m": {**_K, **_FIXED},
    "tests drawn once, p=1/m": {**_ONE, **_FIXED},
    "tests drawn once, p=0.1/m": {**_TENTH, **_FIXED},
}


def cells(scale: Scale) -> list[Cell]:
    """Every reading, and the settings of figure 2A, which are its cells."""
    shared = fig2a.played(scale)
    usual = labelled(COMPARED, fig2a.DELTA)
    policies = {label: usual[label] for label in (RANDOM, CTS, *LITERAL) if label in usual}
    policies |= {
        label: {"name": READING, "delta": fig2a.DELTA, **options}
        for label, options in READINGS.items()
    }
    settings = [{**shared, "label": label, "policy": spec} for label, spec in policies.items()]
    return scale.cells("play", settings, runs=N_RUNS, quick_runs=2)


def analyse(rows: Rows, times: Rows) -> Findings:
    """Regret of every reading, next to the random baseline and to CTS."""
    numbers = regret_numbers(rows)
    note = (
        "With tests drawn once, the arms in the most tests have the largest grades in nearly every "
        "round, whatever theta is, and arms in no test have the grade 0. So a few arms are picked "
        "again and again, and the regret depends on which arms these are."
    )
    return Findings(numbers, [regret_table(numbers)], lambda figure: _draw(figure, numbers), [note])


def _draw(figure: Any, numbers: dict[str, Any]) -> None:
    """One line per reading: its regret as a multiple of the random baseline's."""
    found = numbers["policies"]
    order = sorted(
        (label for label in found if label != RANDOM), key=lambda x: _of_random(found, x)
    )
    (axis,) = panels(figure, 1, height=1.2 + 0.26 * len(order))
    ratios = [found[label]["of_random"] for label in order]
    means = np.array([ratio["mean"] for ratio in ratios])
    reach = [means - [r["low"] for r in ratios], np.array([r["high"] for r in ratios]) - means]
    for place, label in enumerate(order):
        colour = RED if label in READINGS else BLUE
        ends = np.array(reach)[:, place : place + 1]
        axis.errorbar(means[place], place, xerr=ends, fmt="o", color=colour, capsize=3)
    axis.axvline(1.0, color=FAINT, linestyle=":")
    axis.set_yticks(range(len(order)), order)
    axis.set_xlim(0, 1.05)
    axis.set(xlabel="regret / random baseline (less is better)")
    axis.set_title(f"T = {numbers['horizon']:,} (blue: figure 2A)", loc="left")


def _of_random(found: dict[str, Any], label: str) -> float:
    return float(found[label]["of_random"]["mean"])
