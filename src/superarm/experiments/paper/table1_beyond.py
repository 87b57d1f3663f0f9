"""Beyond the paper: table 1 with the better oracles. Time a round = overhead + evaluations · cost of one evaluation."""

from __future__ import annotations

from typing import Any

import numpy as np

from superarm.experiments.catalogue import Analysis, Rows, Scale
from superarm.experiments.cell import Cell
from superarm.experiments.figures import label_ends, plain, style
from superarm.experiments.paper import fig2b, table1
from superarm.experiments.paper._policies import RARELY, beyond, further, labels

TITLE = "Beyond the paper: computation time"

PART = 2


def sweep(scale: Scale) -> list[Cell]:
    """The cells of table 1, and the better oracles with single calls and with batches, 3 runs."""
    settings = [
        {
            "problem": fig2b.problem(scale),
            "horizon": scale.pick(5000, 60),
            "label": label,
            "policy": spec,
            "calls": calls,
            "purpose": "time",
        }
        for calls in table1.CALLS
        for label, spec in {**beyond(delta=0.2), RARELY: further("network")[RARELY]}.items()
    ]
    return [*table1.sweep(scale), *scale.cells("play", settings, runs=3, quick_runs=2)]


def analyse(rows: Rows, times: Rows) -> Analysis:
    """Seconds in ask with each kind of call, evaluations, and the model of time against the cost of an evaluation."""
    horizon = rows[0]["checkpoints"][-1]
    found = {}
    for label in labels(rows):
        seconds = {
            calls: float(
                np.mean(
                    [t["ask_s"][-1] for t in times if t["calls"] == calls and t["label"] == label]
                )
            )
            for calls in table1.CALLS
        }
        evaluations = (
            float(np.mean([row["evaluations"][-1] for row in rows if row["label"] == label]))
            / horizon
        )
        found[label] = {"seconds": seconds, "evaluations_a_round": evaluations}
    numbers = {"horizon": horizon, "policies": found}
    heading = ["policy", *table1.CALLS.values(), "evaluations a round"]
    body = [
        [
            label,
            *(f"{one['seconds'][calls]:,.3g}" for calls in table1.CALLS),
            f"{one['evaluations_a_round']:,.2f}",
        ]
        for label, one in found.items()
    ]
    caption = f"Seconds in ask over T = {horizon:,} rounds, means over the runs, by how evaluations are made"
    return Analysis(numbers, [(caption, [heading, *body])], lambda figure: _draw(figure, numbers))


def _draw(figure: Any, numbers: dict[str, Any]) -> None:
    axis = figure.subplots()
    costs = np.geomspace(1e-8, 1.0, 200)
    ends = {}
    for label, one in numbers["policies"].items():
        overhead = one["seconds"]["batch"] / numbers["horizon"]
        time = overhead + one["evaluations_a_round"] * costs
        axis.plot(costs, time, color=style(label)[0], linestyle=style(label)[1], linewidth=1.8)
        ends[label] = (time[-1], style(label)[0])
    axis.set_xscale("log")
    axis.set_yscale("log")
    plain(axis, "cost of one evaluation, seconds", "modelled seconds a round")
    axis.set_title("time a round = overhead + evaluations × cost", loc="left")
    label_ends(axis, ends, log=True)
