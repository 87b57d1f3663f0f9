"""Figure 2A: regret with a linear reward. m = 5000, K = 5, gap and quantization level 0.25, T = 10,000."""

from __future__ import annotations

from superarm.experiments.catalogue import Analysis, Rows, Scale
from superarm.experiments.cell import Cell
from superarm.experiments.paper._policies import compared
from superarm.experiments.paper._regret import analyse_regret

TITLE = "Figure 2A: linear reward"


def problem(scale: Scale) -> dict[str, object]:
    """The paper's linear problem."""
    return {"family": "linear", "n_arms": scale.pick(5000, 1000), "k": 5, "gap": 0.25}


def sweep(scale: Scale) -> list[Cell]:
    """Every policy on the linear problem, 20 runs."""
    shared = {"problem": problem(scale), "horizon": scale.pick(10_000, 1500)}
    settings = [
        {**shared, "label": label, "policy": spec} for label, spec in compared(delta=0.25).items()
    ]
    return scale.cells("play", settings, runs=20)


def analyse(rows: Rows, times: Rows) -> Analysis:
    """Regret curves, next to chance and to CTS."""
    return analyse_regret(rows, "(A) linear reward")
