"""Figure 1: the number of rounds in which theta(t) is not C-separable, against log(t) / gap².

The paper does not give the size. Here it is that of figure 2A, and smaller sizes down to m = 10,
where separable rounds are common. C is the separation at the true means, which for a linear reward
is the gap of the instance.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from superarm.reporting.figures import Look, band, logarithmic, name_curves, panels
from superarm.reporting.palette import BLUE, GREEN, INK, PINK, RED
from superarm.reporting.statistics import Interval, mean_interval, paired_ratio
from superarm.reporting.tables import Table
from superarm.studies.cell import Cell, Rows, Scale
from superarm.studies.paper.experiments import fig2a
from superarm.studies.paper.policies import (
    COMPARED,
    CTS,
    GT_QTS,
    curves,
    labelled,
    of_label,
    value_at,
)
from superarm.studies.study import Findings

TITLE = "Figure 1: rounds that are not C-separable"

POLICIES = (CTS, GT_QTS)
SMALL_SIZES = (10, 20, 100)
N_RUNS = 20
_LOOKS = (Look(BLUE), Look(GREEN), Look(PINK), Look(RED))
_REFERENCE = Look(INK, ":")


def cells(scale: Scale) -> list[Cell]:
    """CTS and GT+QTS at four sizes. At the largest, they are cells of figure 2A."""
    linear = fig2a.played(scale)
    large = linear["problem"]
    specs = labelled(COMPARED, fig2a.DELTA)
    settings = [
        {
            **linear,
            "problem": problem,
            "label": label,
            "policy": specs[label],
        }
        # The settings at the largest size must equal those of figure 2A to the letter: the cells
        # have the same keys then, and are played once.
        for problem in (*({**large, "n_arms": n_arms} for n_arms in SMALL_SIZES), large)
        for label in POLICIES
    ]
    return scale.cells("play", settings, runs=N_RUNS)


def analyse(rows: Rows, times: Rows) -> Findings:
    """How much the count grows over the last tenfold of rounds.

    The growth is compared with that of log(t) / gap², and with the growth over the tenfold before.
    """
    sizes = sorted({row["problem"]["n_arms"] for row in rows})
    found = {
        f"{label}, m={n_arms}": _growth(_part(rows, n_arms, label), label)
        for n_arms in sizes
        for label in POLICIES
    }
    horizon = rows[0]["checkpoints"][-1]
    note = (
        f"The last tenfold is t = {horizon // 10:,} to {horizon:,}. Growth like log(t) would have "
        f"1 in the last column. Growth in proportion to t, with non-separable rounds only, has 10."
    )
    return Findings(
        {"sizes": sizes, "n_arms": sizes[-1], "horizon": horizon, "found": found},
        [_table(found, horizon)],
        lambda figure: _draw(figure, rows, sizes),
        [note],
    )


def _growth(part: Rows, label: str) -> dict[str, Any]:
    """What the rows of one policy at one size say."""
    at = np.array(part[0]["checkpoints"])
    horizon = int(at[-1])
    counts = curves(part, "non_separable")[label]
    last, middle, first = (value_at(counts, at, t) for t in (horizon, horizon / 10, horizon / 100))
    # log(t) / gap² grows by log(10) / gap² over a tenfold of rounds.
    reference = np.array([math.log(10) / row["gap"] ** 2 for row in of_label(part, label)])
    # For log(t) both ratios are 1: it grows by the same amount over every tenfold of rounds.
    return {
        "count": last.tolist(),
        "share": float((last / horizon).mean()),
        "growth_over_reference": paired_ratio(last - middle, reference)._asdict(),
        # At least 1, since early rounds may have no non-separable round to divide by.
        "growth_over_before": paired_ratio(
            last - middle, np.maximum(middle - first, 1.0)
        )._asdict(),
    }


def _table(found: dict[str, Any], horizon: int) -> Table:
    heading = [
        "policy",
        "non-separable rounds",
        "of all rounds",
        "last tenfold's growth, as a multiple of log(t) / gap²'s",
        "the same, of the tenfold before",
    ]
    body = [
        [
            label,
            str(mean_interval(one["count"])),
            f"{one['share']:.1%}",
            str(Interval(**one["growth_over_reference"])),
            str(Interval(**one["growth_over_before"])),
        ]
        for label, one in found.items()
    ]
    caption = (
        f"Rounds in which theta(t) is not C-separable, up to T = {horizon:,}, with 95% intervals"
    )
    return Table(heading, body, caption=caption)


def _part(rows: Rows, n_arms: int, label: str) -> Rows:
    return [row for row in rows if row["problem"]["n_arms"] == n_arms and row["label"] == label]


def _draw(figure: Any, rows: Rows, sizes: list[int]) -> None:
    # One reference for the picture. The table uses the gap of each instance.
    gap = np.mean([row["gap"] for row in rows])
    for axis, label in zip(panels(figure, len(POLICIES), n_names=3), POLICIES, strict=True):
        ends = {}
        for n_arms, size_look in zip(sizes, _LOOKS, strict=False):
            part = _part(rows, n_arms, label)
            at = np.array(part[0]["checkpoints"])
            counts = curves(part, "non_separable")[label]
            band(axis, at, counts, size_look)
            ends[f"m = {n_arms:,}"] = (counts[:, -1].mean(), size_look)
        # From round 2 on: log(1) is 0, which would be drawn as a vertical line. More rounds than
        # checkpoints, because the first few are far apart on this axis.
        drawn = np.geomspace(2, at[-1], 200)
        axis.plot(
            drawn, np.log(drawn) / gap**2, color=INK, linestyle=_REFERENCE.dash, linewidth=1.5
        )
        ends["log(t) / gap²"] = (np.log(at[-1]) / gap**2, _REFERENCE)
        logarithmic(axis)
        axis.set_ylim(1, None)
        axis.set(xlabel="round t", ylabel="non-separable rounds up to t")
        axis.set_title(label, loc="left")
        name_curves(axis, ends)
