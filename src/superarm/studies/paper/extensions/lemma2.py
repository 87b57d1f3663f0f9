"""Lemma 2: with Delta = F^-1(gamma), the quantized optimum is true with probability 1 - 2 gamma.

F is the distribution of the minimum gap. Here the reward is a sum of uniform means with B = 1, and
F is estimated from as many instances as are judged. A second reward is half the mean of one of two
arms, with B = 1/2, where the other arm is worthless: zero is no level of the quantizer.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from superarm.reporting.figures import panels
from superarm.reporting.palette import BLUE, FAINT, RED
from superarm.reporting.statistics import LEVEL, share_interval
from superarm.reporting.tables import Table
from superarm.studies.cell import Cell, Rows, Scale
from superarm.studies.study import Findings

TITLE = "Lemma 2: quantization keeps the optimum"

GAMMAS = (0.01, 0.05, 0.1, 0.25, 0.5)
SIZES = (10, 100)
HALF_GAMMA = 0.1
N_RUNS = 20
SUM, HALF = "sum, B = 1", "half a mean, B = 1/2"


def cells(scale: Scale) -> list[Cell]:
    """Sums of two sizes at five gammas, and half a mean at one gamma."""
    settings: list[dict[str, Any]] = [
        {"n_arms": n_arms, "k": 5, "gamma": gamma, "n_instances": scale.pick(5000, 1000, 200)}
        for n_arms in SIZES
        for gamma in GAMMAS
    ]
    half: dict[str, Any] = {"reward": "half", "n_arms": 2, "gamma": HALF_GAMMA}
    settings.append({**half, "n_instances": scale.pick(5000, 1000, 200)})
    return scale.cells("lemma2", settings, runs=N_RUNS)


def analyse(rows: Rows, times: Rows) -> Findings:
    """The share of instances in which a set that is not optimal shares the largest level."""
    groups: dict[tuple[str, int, float], Rows] = {}
    for row in rows:
        reward = HALF if row.get("reward") == "half" else SUM
        groups.setdefault((reward, row["n_arms"], row["gamma"]), []).append(row)
    # Bonferroni: all intervals hold together, since one above 2 gamma refutes the lemma.
    level = 1 - (1 - LEVEL) / len(groups)
    found = []
    for (reward, n_arms, gamma), mine in groups.items():
        failures, instances = (sum(row[name] for row in mine) for name in ("failures", "instances"))
        share = share_interval(failures, instances, level)._asdict()
        found.append({"reward": reward, "n_arms": n_arms, "gamma": gamma, "failed": share})
    return Findings({"found": found}, [_table(found)], lambda figure: _draw(figure, found))


def _table(found: list[dict[str, Any]]) -> Table:
    body = [
        [
            one["reward"],
            str(one["n_arms"]),
            f"{one['gamma']:g}",
            "{mean:.3f} ({low:.3f} to {high:.3f})".format(**one["failed"]),
            f"{2 * one['gamma']:g}",
        ]
        for one in found
    ]
    return Table(
        ["reward", "m", "gamma", "failed, with 95% interval", "allowed, 2 gamma"],
        body,
        caption="Instances in which the largest quantized value belongs also to a set that is not "
        "optimal. The intervals hold together. Less is better.",
    )


def _draw(figure: Any, found: list[dict[str, Any]]) -> None:
    (axis,) = panels(figure, 1, n_names=3)
    for n_arms, dash in zip(SIZES, ("-", "--"), strict=True):
        mine = [one for one in found if one["reward"] == SUM and one["n_arms"] == n_arms]
        gammas, means = np.array([(one["gamma"], one["failed"]["mean"]) for one in mine]).T
        axis.plot(gammas, means, color=BLUE, linestyle=dash, marker="o", label=f"sum, m = {n_arms}")
    for one in found:
        if one["reward"] == HALF:
            axis.plot(one["gamma"], one["failed"]["mean"], "s", color=RED, label=HALF)
    axis.plot([0, 0.5], [0, 1], color=FAINT, linestyle=":", label="allowed: 2 gamma")
    axis.set(xlabel="gamma", ylabel="share of instances that fail")
    axis.set_title("how often quantization adds a wrong optimum", loc="left")
    axis.legend(loc="upper left", bbox_to_anchor=(0, -0.2), ncols=2, borderaxespad=0)
