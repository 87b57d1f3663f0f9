"""Table 1: seconds for T = 1000 ... 5000 rounds on the network problem.

The paper evidently made a call for each evaluation. So do we: once on a vector of all arms, at the same cost for every
set, as one would write it first; once on the arms of the set, at a cost that grows with it; and once more with batches.
Cells are timed alone. Times are of this machine; what carries over is the ratio, and the model: time a round =
overhead + evaluations · cost of one evaluation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from superarm.experiments.catalogue import Analysis, Rows, Scale
from superarm.experiments.cell import Cell
from superarm.experiments.figures import label_ends, plain, style
from superarm.experiments.paper import fig2b
from superarm.experiments.paper._policies import compared
from superarm.experiments.stats import paired_ratio

TITLE = "Table 1: computation time"

PAPER = {
    "CTS": {1000: 222.7, 2000: 458.5, 3000: 723.8, 4000: 972.6, 5000: 1172.5},
    "GT+QTS, p=1/2": {1000: 55.95, 2000: 120.21, 3000: 173.52, 4000: 229.80, 5000: 287.35},
}
CALLS = {
    "single": "one call an evaluation",
    "by size": "one call an evaluation, its cost growing with the set",
    "batch": "batches",
}


def sweep(scale: Scale) -> list[Cell]:
    """CTS and GT+QTS, with single calls and with batches, 3 runs."""
    specs = compared(delta=0.2)
    settings = [
        {
            "problem": fig2b.problem(scale),
            "horizon": scale.pick(5000, 60),
            "label": label,
            "policy": specs[label],
            "calls": calls,
            "purpose": "time",
        }
        for calls in CALLS
        for label in PAPER
    ]
    return scale.cells("play", settings, runs=3, quick_runs=2)


def analyse(rows: Rows, times: Rows) -> Analysis:
    """Seconds at each horizon, their ratio, and the cost of an evaluation at which the two break even."""
    at = np.array(rows[0]["checkpoints"])
    horizons = [int(at[-1] * share / 5) for share in range(1, 6)]
    seconds: dict[str, dict[str, Any]] = {calls: {} for calls in CALLS}
    for calls in CALLS:
        for label in PAPER:
            runs = np.array(
                [t["ask_s"] for t in times if t["calls"] == calls and t["label"] == label]
            )
            seconds[calls][label] = np.array(
                [np.interp(horizons, at, run) for run in runs]
            ).tolist()
    ratio = {
        calls: vars(
            paired_ratio(
                np.array(seconds[calls]["CTS"])[:, -1],
                np.array(seconds[calls]["GT+QTS, p=1/2"])[:, -1],
            )
        )
        for calls in CALLS
    }
    horizon = int(at[-1])
    evaluations = {
        label: float(
            np.mean([row["evaluations"][-1] for row in rows if row["label"] == label]) / horizon
        )
        for label in PAPER
    }
    overhead_s = {
        label: float(np.mean(seconds["batch"][label], axis=0)[-1] / horizon) for label in PAPER
    }
    cheaper = evaluations["CTS"] - evaluations["GT+QTS, p=1/2"]
    dearer = overhead_s["GT+QTS, p=1/2"] - overhead_s["CTS"]
    numbers: dict[str, Any] = {
        "horizons": horizons,
        "seconds": seconds,
        "ratio": ratio,
        "evaluations_a_round": evaluations,
        "overhead_s": overhead_s,
        "break_even_s": dearer / cheaper if cheaper > 0 else None,
        "paper": {label: list(found.values()) for label, found in PAPER.items()},
    }
    heading = ["", *(f"T = {horizon:,}" for horizon in horizons)]
    body = [
        [f"{label}, {name}", *(f"{value:,.3g}" for value in np.mean(seconds[calls][label], axis=0))]
        for calls, name in CALLS.items()
        for label in PAPER
    ]
    if horizons == list(PAPER["CTS"]):
        body += [
            [f"{label}, as printed", *map(str, found.values())] for label, found in PAPER.items()
        ]
    takes = "; ".join(
        f"{ratio[calls]['mean']:.2f} times with {name}" for calls, name in CALLS.items()
    )
    notes = [f"CTS takes, of the time of GT+QTS: {takes}. In the paper, 4.08 times at T = 5,000."]
    if numbers["break_even_s"] is not None and numbers["break_even_s"] > 0:
        notes.append(
            f"GT+QTS becomes the faster of the two where an evaluation costs more than "
            f"{1e6 * numbers['break_even_s']:.3g} microseconds beyond what it costs in a batch here."
        )
    return Analysis(
        numbers,
        [("Seconds in ask, means over the runs", [heading, *body])],
        lambda figure: _draw(figure, numbers),
        notes,
    )


def _draw(figure: Any, numbers: dict[str, Any]) -> None:
    axis = figure.subplots()
    costs = np.geomspace(1e-8, 1.0, 200)
    ends = {}
    for label in PAPER:
        time = numbers["overhead_s"][label] + numbers["evaluations_a_round"][label] * costs
        axis.plot(costs, time, color=style(label)[0], linewidth=1.8)
        ends[label] = (time[-1], style(label)[0])
    if numbers["break_even_s"]:
        axis.axvline(numbers["break_even_s"], color="#bbbbbb", linewidth=1)
        axis.annotate(
            " break-even",
            (numbers["break_even_s"], 0.03),
            xycoords=("data", "axes fraction"),
            fontsize=8,
        )
    axis.set_xscale("log")
    axis.set_yscale("log")
    plain(axis, "cost of one evaluation, seconds", "modelled seconds a round")
    axis.set_title("time a round = overhead + evaluations × cost", loc="left")
    label_ends(axis, ends, log=True)
