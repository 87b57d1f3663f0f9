"""Figure 1: in how many rounds theta(t) is not C-separable, against log(t) / gap².

The paper does not say at which size. At figure 2A's, and at m = 100, where separable rounds are common. C is the
separation at the true means, which for a linear reward is the instance's gap.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from superarm.experiments.catalogue import Analysis, Rows, Scale
from superarm.experiments.cell import Cell
from superarm.experiments.figures import band, label_ends, plain
from superarm.experiments.paper import fig2a
from superarm.experiments.paper._policies import STYLES, compared, curves
from superarm.experiments.stats import paired_ratio

TITLE = "Figure 1: rounds that are not C-separable"

POLICIES = ("CTS", "GT+QTS, p=1/2")


def sweep(scale: Scale) -> list[Cell]:
    """CTS and GT+QTS at both sizes, 20 runs; those at figure 2A's size are its own cells."""
    large = fig2a.problem(scale)
    specs = compared(delta=0.25)
    settings = [
        {"problem": problem, "horizon": scale.pick(10_000, 1500), "label": label, "policy": specs[label]}
        for problem in ({**large, "n_arms": 100}, large)
        for label in POLICIES
    ]
    return scale.cells("play", settings, runs=20)


def analyse(rows: Rows, times: Rows) -> Analysis:
    """The counts, and how they grow between a tenth of the horizon and its end, next to log(t) / gap²."""
    sizes = sorted({row["problem"]["n_arms"] for row in rows})
    numbers: dict[str, Any] = {"sizes": sizes, "found": {}}
    body = []
    for n_arms in sizes:
        part = [row for row in rows if row["problem"]["n_arms"] == n_arms]
        at = np.array(part[0]["checkpoints"])
        early = int(np.searchsorted(at, at[-1] / 10))
        gaps = np.array([row["gap"] for row in part if row["label"] == "CTS"])
        reference = np.log(at) / gaps.mean() ** 2
        for label in POLICIES:
            counts = curves(part, "non_separable", label)
            share = float((counts[:, -1] / at[-1]).mean())
            # Growth of the count over growth of the logarithm, run by run: above 1 is faster than log(t).
            growth = paired_ratio(
                counts[:, -1] / np.maximum(counts[:, early], 1),
                np.full(len(counts), np.log(at[-1]) / np.log(at[early])),
            )
            numbers["found"][f"{label}, m={n_arms}"] = {
                "count": counts[:, -1].tolist(),
                "share": share,
                "growth_over_log": vars(growth),
                "reference": float(reference[-1]),
                "from": int(at[early]),
                "to": int(at[-1]),
            }
            body.append(
                [
                    f"{label}, m={n_arms:,}",
                    f"{counts[:, -1].mean():,.0f}",
                    f"{share:.0%}",
                    f"{reference[-1]:,.0f}",
                    str(growth),
                ]
            )
    heading = ["policy", "non-separable rounds", "of all rounds", "log(T) / gap²", "growth, as a multiple of log's"]
    return Analysis(
        numbers,
        [(f"Rounds in which theta(t) is not C-separable, up to T = {at[-1]:,}", [heading, *body])],
        lambda figure: _draw(figure, rows, sizes),
        [f"Growth is from t = {at[early]:,} to t = {at[-1]:,}; above 1 means faster than log(t)."],
    )


def _draw(figure: Any, rows: Rows, sizes: list[int]) -> None:
    for axis, n_arms in zip(np.atleast_1d(figure.subplots(1, len(sizes))), sizes, strict=True):
        part = [row for row in rows if row["problem"]["n_arms"] == n_arms]
        at = np.array(part[0]["checkpoints"])
        ends = {}
        for label in POLICIES:
            counts = curves(part, "non_separable", label)
            band(axis, at, counts, STYLES[label][0], "-")
            ends[label] = (counts[:, -1].mean(), STYLES[label][0])
        gap = np.mean([row["gap"] for row in part])
        axis.plot(at, np.log(at) / gap**2, color="#555555", linestyle=":", linewidth=1.5)
        ends["log(t) / gap²"] = (np.log(at[-1]) / gap**2, "#555555")
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_ylim(1, None)
        plain(axis, "round t", "non-separable rounds up to t")
        axis.set_title(f"m = {n_arms:,}", loc="left")
        label_ends(axis, ends, log=True)
