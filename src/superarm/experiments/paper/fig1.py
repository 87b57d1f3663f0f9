"""Figure 1: in how many rounds theta(t) is not C-separable, against log(t) / gap².

The paper does not say at which size. At figure 2A's, and at smaller ones, down to m = 10, where separable rounds are
common. C is the separation at the true means, which for a linear reward is the instance's gap.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from superarm.experiments.catalogue import Analysis, Rows, Scale
from superarm.experiments.cell import Cell
from superarm.experiments.figures import band, label_ends, plain
from superarm.experiments.paper import fig2a
from superarm.experiments.paper._policies import compared, curves
from superarm.experiments.stats import mean_interval, paired_ratio

TITLE = "Figure 1: rounds that are not C-separable"

POLICIES = ("CTS", "GT+QTS, p=1/2")
_COLOURS = ("#0072B2", "#009E73", "#CC79A7", "#D55E00")


def sweep(scale: Scale) -> list[Cell]:
    """CTS and GT+QTS at four sizes, 20 runs; those at figure 2A's size are its own cells."""
    large = fig2a.problem(scale)
    specs = compared(delta=0.25)
    settings = [
        {
            "problem": problem,
            "horizon": scale.pick(10_000, 1500),
            "label": label,
            "policy": specs[label],
        }
        for problem in (*({**large, "n_arms": n_arms} for n_arms in (10, 20, 100)), large)
        for label in POLICIES
    ]
    return scale.cells("play", settings, runs=20)


def analyse(rows: Rows, times: Rows) -> Analysis:
    """How much the count grows in the last tenfold of rounds: next to log(t) / gap², and to the tenfold before."""
    sizes = sorted({row["problem"]["n_arms"] for row in rows})
    found: dict[str, Any] = {}
    body = []
    for n_arms in sizes:
        for label in POLICIES:
            part = _part(rows, n_arms, label)
            at = np.array(part[0]["checkpoints"])
            horizon = int(at[-1])
            counts = curves(part, "non_separable", label)
            last, middle, first = (
                np.array([np.interp(t, at, run) for run in counts])
                for t in (horizon, horizon / 10, horizon / 100)
            )
            reference = np.array(
                [math.log(10) / row["gap"] ** 2 for row in sorted(part, key=lambda row: row["run"])]
            )
            # Of log(t) both are 1: its growth over a tenfold of rounds is the same everywhere.
            over_reference = paired_ratio(last - middle, reference)
            over_before = paired_ratio(last - middle, np.maximum(middle - first, 1.0))
            found[f"{label}, m={n_arms}"] = {
                "count": last.tolist(),
                "share": float((last / horizon).mean()),
                "growth_over_reference": vars(over_reference),
                "growth_over_before": vars(over_before),
            }
            share = f"{(last / horizon).mean():.1%}"
            body.append(
                [
                    f"{label}, m={n_arms:,}",
                    str(mean_interval(last)),
                    share,
                    str(over_reference),
                    str(over_before),
                ]
            )
    heading = [
        "policy",
        "non-separable rounds",
        "of all rounds",
        "last tenfold's growth, as a multiple of log(t) / gap²'s",
        "the same, of the tenfold before",
    ]
    return Analysis(
        {"sizes": sizes, "found": found},
        [
            (
                f"Rounds in which theta(t) is not C-separable, up to T = {horizon:,} (95% intervals)",
                [heading, *body],
            )
        ],
        lambda figure: _draw(figure, rows, sizes),
        [
            f"The last tenfold is t = {horizon // 10:,} to {horizon:,}. Growth like log(t) would have 1 in the last "
            f"column; growth in proportion to t, where every round is non-separable, has 10."
        ],
    )


def _part(rows: Rows, n_arms: int, label: str) -> Rows:
    return [row for row in rows if row["problem"]["n_arms"] == n_arms and row["label"] == label]


def _draw(figure: Any, rows: Rows, sizes: list[int]) -> None:
    for axis, label in zip(figure.subplots(1, len(POLICIES)), POLICIES, strict=True):
        ends = {}
        for n_arms, colour in zip(sizes, _COLOURS, strict=True):
            part = _part(rows, n_arms, label)
            at = np.array(part[0]["checkpoints"])
            counts = curves(part, "non_separable", label)
            band(axis, at, counts, colour)
            ends[f"m = {n_arms:,}"] = (counts[:, -1].mean(), colour)
        gap = np.mean([row["gap"] for row in rows])
        axis.plot(at, np.log(at) / gap**2, color="#555555", linestyle=":", linewidth=1.5)
        ends["log(t) / gap²"] = (np.log(at[-1]) / gap**2, "#555555")
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_ylim(1, None)
        plain(axis, "round t", "non-separable rounds up to t")
        axis.set_title(label, loc="left")
        label_ends(axis, ends, log=True)
