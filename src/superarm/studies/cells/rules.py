"""The cell that computes numbers of tests: Lemma 1 and the order-wise rule."""

from __future__ import annotations

from typing import Any

from superarm import theory
from superarm.studies.cell import Cell, Recorded

LIPSCHITZ, P = 1.0, 2 / 3  # of a sum, and the p for which Lemma 1 needs the fewest tests


def run(cell: Cell) -> Recorded:
    """The number of tests by Lemma 1, with M = K and with M = m, and by the order-wise rule."""
    settings = cell.settings
    common: dict[str, Any] = {name: settings[name] for name in ("n_arms", "k", "delta", "failure")}
    lemma: dict[str, Any] = {**common, "lipschitz": LIPSCHITZ, "p": P}
    row = {
        "order": theory.n_tests_order(**common),
        "lemma_m_is_k": theory.n_tests(**lemma, upper=settings["k"]),
        "lemma_m_is_n_arms": theory.n_tests(**lemma, upper=settings["n_arms"]),
    }
    return Recorded(row, {})
