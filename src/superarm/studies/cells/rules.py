"""The cell that computes numbers of tests: Lemma 1 and the order-wise rule."""

from __future__ import annotations

from superarm import theory
from superarm.studies.cell import Cell, Recorded

LIPSCHITZ, P = 1.0, 2 / 3  # a sum, and the inclusion probability at which Lemma 1 is smallest


def run(cell: Cell) -> Recorded:
    """The number of tests by Lemma 1, with M = K and with M = m, and by the order-wise rule."""
    settings = cell.settings
    common = {name: settings[name] for name in ("n_arms", "k", "delta", "failure")}
    lemma = {"lipschitz": LIPSCHITZ, "p": P}
    row = {
        "order": theory.n_tests_order(**common),
        "lemma_m_is_k": theory.n_tests(**common, **lemma, upper=settings["k"]),
        "lemma_m_is_n_arms": theory.n_tests(**common, **lemma, upper=settings["n_arms"]),
    }
    return Recorded(row, {})
