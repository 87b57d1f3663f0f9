"""Figure 2B: regret with a network reward. 20 neurons, m = 1000, gap and quantization level 0.2, T = 5,000.

The paper does not say K; 5, as in figure 2A. Its number of tests it does not say either: 302, as in figure 2A, and
426, the order-wise rule's for this size.
"""

from __future__ import annotations

from superarm.experiments.catalogue import Analysis, Rows, Scale
from superarm.experiments.cell import Cell
from superarm.experiments.paper._policies import compared, literal
from superarm.experiments.paper._regret import analyse_regret

TITLE = "Figure 2B: two-layer network reward"


def problem(scale: Scale) -> dict[str, object]:
    """The paper's network problem."""
    return {
        "family": "network",
        "n_arms": scale.pick(1000, 200),
        "k": 5,
        "gap": 0.2,
        "n_hidden": 20,
    }


def sweep(scale: Scale) -> list[Cell]:
    """The policies of figure 2A, CTS with greedy, and GT+QTS with more tests, 20 runs."""
    policies = {
        **compared(delta=0.2),
        "GT+QTS, 426 tests": literal(0.2, n_tests=426),
        "CTS, greedy": {"name": "cts greedy"},
    }
    shared = {"problem": problem(scale), "horizon": scale.pick(5_000, 1000)}
    settings = [{**shared, "label": label, "policy": spec} for label, spec in policies.items()]
    return scale.cells("play", settings, runs=20)


def analyse(rows: Rows, times: Rows) -> Analysis:
    """Regret curves, next to chance and to CTS."""
    return analyse_regret(rows, "(B) two-layer network reward")
