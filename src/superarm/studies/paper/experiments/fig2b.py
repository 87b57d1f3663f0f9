"""Figure 2B: regret with a network reward.

20 neurons, m = 1,000 arms, gap and quantization level 0.2, T = 5,000 rounds. The paper does not
give K; it is 5 here, as in figure 2A. The paper does not give the number of tests either; it is 302
here, as in figure 2A, and 426, which is the order-wise rule's number for this size.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from superarm.studies.cell import Cell, Scale
from superarm.studies.paper.policies import (
    COMPARED,
    MORE_TESTS,
    N_TESTS_ORDER,
    analyse_regret,
    labelled,
    spec,
)

TITLE = "Figure 2B: two-layer network reward"

DELTA = 0.2
N_RUNS = 20


def played(scale: Scale) -> dict[str, Any]:
    """The paper's network problem, and the number of rounds on it."""
    problem = {
        "family": "network",
        "n_arms": scale.pick(1000, 200, 60),
        "k": 5,
        "gap": DELTA,
        "n_hidden": 20,
    }
    return {"problem": problem, "horizon": scale.pick(5_000, 1000, 100)}


def cells(scale: Scale) -> list[Cell]:
    """The policies of figure 2A, CTS with greedy, and GT+QTS with more tests."""
    policies = {
        **labelled(COMPARED, DELTA),
        MORE_TESTS: spec("gt-qts", DELTA, N_TESTS_ORDER),
        **labelled(["cts-greedy"], DELTA),
    }
    shared = played(scale)
    settings = [{**shared, "label": label, "policy": spec} for label, spec in policies.items()]
    return scale.cells("play", settings, runs=N_RUNS)


# Regret curves, next to the random baseline and to CTS.
analyse = partial(analyse_regret, title="(B) two-layer network reward")
