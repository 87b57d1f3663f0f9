"""Figure 2A: regret with a linear reward.

m = 5,000 arms, K = 5, gap and quantization level 0.25, T = 10,000 rounds.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from superarm.studies.cell import Cell, Scale
from superarm.studies.paper.policies import COMPARED, analyse_regret, labelled

TITLE = "Figure 2A: linear reward"

DELTA = 0.25  # the quantization level, which is the gap
N_RUNS = 20


def played(scale: Scale) -> dict[str, Any]:
    """The paper's linear problem, and the number of rounds on it."""
    problem = {"family": "linear", "n_arms": scale.pick(5000, 1000, 120), "k": 5, "gap": DELTA}
    return {"problem": problem, "horizon": scale.pick(10_000, 1500, 120)}


def cells(scale: Scale) -> list[Cell]:
    """Every policy on the linear problem."""
    shared, policies = played(scale), labelled(COMPARED, DELTA)
    settings = [{**shared, "label": label, "policy": spec} for label, spec in policies.items()]
    return scale.cells("play", settings, runs=N_RUNS)


# Regret curves, next to the random baseline and to CTS.
analyse = partial(analyse_regret, title="(A) linear reward")
