"""Lemma 2: with Delta = F^-1(gamma), the quantized optimum is true with probability 1 - 2 gamma.

F is the distribution of the minimum gap. Here the reward is a sum of uniform means, F is estimated
from as many instances as are judged, and B = 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from superarm.reporting.figures import panels, plain
from superarm.reporting.palette import BLUE, FAINT
from superarm.reporting.statistics import share_interval
from superarm.reporting.tables import Table
from superarm.studies.cell import Cell
from superarm.studies.study import Findings, Rows, Scale

TITLE = "Lemma 2: quantization keeps the optimum"

GAMMAS = (0.01, 0.05, 0.1, 0.25, 0.5)
SIZES = (10, 100)
N_RUNS = 20


def cells(scale: Scale) -> list[Cell]:
    """Two sizes, five gammas."""
    settings = [
        {"n_arms": n_arms, "k": 5, "gamma": gamma, "n_instances": scale.pick(5000, 1000, 200)}
        for n_arms in SIZES
        for gamma in GAMMAS
    ]
    return scale.cells("lemma2", settings, runs=N_RUNS)


def analyse(rows: Rows, times: Rows) -> Findings:
    """The share of instances in which a set that is not optimal shares the largest level."""
    found = []
    for n_arms in SIZES:
        for gamma in GAMMAS:
            mine = [row for row in rows if row["n_arms"] == n_arms and row["gamma"] == gamma]
            failures = sum(row["failures"] for row in mine)
            share = share_interval(failures, sum(row["instances"] for row in mine))
            found.append({"n_arms": n_arms, "gamma": gamma, "failed": vars(share)})
    return Findings({"found": found}, [_table(found)], lambda figure: _draw(figure, found))


def _table(found: list[dict[str, Any]]) -> Table:
    body = [
        [
            str(one["n_arms"]),
            f"{one['gamma']:g}",
            "{mean:.3f} ({low:.3f} to {high:.3f})".format(**one["failed"]),
            f"{2 * one['gamma']:g}",
        ]
        for one in found
    ]
    return Table(
        ["m", "gamma", "failed, with 95% interval", "allowed, 2 gamma"],
        body,
        caption="Instances in which the largest quantized value belongs also to a set that is not "
        "optimal. Less is better.",
    )


def _draw(figure: Any, found: list[dict[str, Any]]) -> None:
    (axis,) = panels(figure, 1, n_names=1)
    for n_arms, dash in zip(SIZES, ("-", "--"), strict=True):
        mine = [one for one in found if one["n_arms"] == n_arms]
        gammas, means = np.array([(one["gamma"], one["failed"]["mean"]) for one in mine]).T
        axis.plot(gammas, means, color=BLUE, linestyle=dash, marker="o", label=f"m = {n_arms}")
    axis.plot([0, 0.5], [0, 1], color=FAINT, linestyle=":", label="allowed: 2 gamma")
    plain(axis, "gamma", "share of instances that fail")
    axis.set_title("how often quantization adds a wrong optimum", loc="left")
    axis.legend(loc="upper left")
