"""Beyond the paper: table 1 with the better oracles."""

from __future__ import annotations

from typing import Any

import numpy as np

from superarm.reporting.tables import Table
from superarm.studies.cell import Cell, Rows, Scale
from superarm.studies.paper.experiments import fig2b, table1
from superarm.studies.paper.policies import RARELY, beyond, further
from superarm.studies.paper.timing import draw_model
from superarm.studies.study import Findings

TITLE = "Beyond the paper: computation time"


def cells(scale: Scale) -> list[Cell]:
    """The cells of table 1, and the better oracles with each way of calling the reward."""
    better = {**beyond(fig2b.DELTA), RARELY: further("network", fig2b.DELTA)[RARELY]}
    return [*table1.cells(scale), *table1.timed_cells(scale, better)]


def analyse(rows: Rows, times: Rows) -> Findings:
    """Seconds in ask with each way of calling, and evaluations per round."""
    horizon = rows[0]["checkpoints"][-1]
    found = {
        label: {
            "seconds": {calls: _seconds(times, calls, label) for calls in table1.CALLS},
            "evaluations_per_round": table1.evaluations_per_round(rows, label),
        }
        for label in dict.fromkeys([row["label"] for row in rows])
    }
    numbers = {"horizon": horizon, "policies": found}
    return Findings(numbers, [_table(numbers)], lambda figure: _draw(figure, numbers))


def _seconds(times: Rows, calls: str, label: str) -> float:
    chosen = [t["ask_s"][-1] for t in times if t["calls"] == calls and t["label"] == label]
    return float(np.mean(chosen))


def _table(numbers: dict[str, Any]) -> Table:
    body = [
        [
            label,
            *(f"{one['seconds'][calls]:,.3g}" for calls in table1.CALLS),
            f"{one['evaluations_per_round']:,.2f}",
        ]
        for label, one in numbers["policies"].items()
    ]
    caption = (
        f"Seconds in ask over T = {numbers['horizon']:,} rounds, means over the runs, "
        f"by how evaluations are made. Less is better."
    )
    return Table(["policy", *table1.CALLS.values(), "evaluations per round"], body, caption=caption)


def _draw(figure: Any, numbers: dict[str, Any]) -> None:
    found = numbers["policies"]
    overhead_s = {
        label: one["seconds"]["batch"] / numbers["horizon"] for label, one in found.items()
    }
    evaluations = {label: one["evaluations_per_round"] for label, one in found.items()}
    draw_model(figure, overhead_s, evaluations)
