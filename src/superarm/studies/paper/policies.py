"""The policies that several experiments compare: labels, and specifications for `make_policy`."""

from __future__ import annotations

from typing import Any

import numpy as np

from superarm.core.arguments import FloatArray
from superarm.studies.study import Rows

N_TESTS = 302  # section 5's "approximately 302 reward evaluations"
QUICK_N_TESTS = 60

RANDOM, CTS = "random", "CTS"
LAZY = "CTS, lazy"
REGRESSION = "GT+QTS, regression"
RARELY = "CTS, lazy, rarely"
LAZY_GREEDY = "CTS, lazy greedy"
LOCAL_SEARCH = "CTS, local search"

# The paper's own algorithm in all its settings. The paper's claims are about these.
LITERAL = ("GT+QTS, p=1/2", "GT+QTS, p=2/3", "GT+QTS, p=K/m", "GT+QTS, p=1/m", "GT+QTS, 426 tests")


def literal(
    delta: float, p: float | str = 0.5, n_tests: int = N_TESTS, **options: Any
) -> dict[str, Any]:
    """The specification of a GT+QTS as the paper has it."""
    return {"name": "gt_qts", "delta": delta, "p": p, "n_tests": n_tests, **options}


def compared(delta: float, n_tests: int = N_TESTS) -> dict[str, dict[str, Any]]:
    """The policies of figures 2A and 2B."""
    return {
        RANDOM: {"name": "random"},
        "CUCB": {"name": "cucb"},
        "GT+QTS, p=1/2": literal(delta, 0.5, n_tests),
        "GT+QTS, p=2/3": literal(delta, 2 / 3, n_tests),
        "GT+QTS, p=K/m": literal(delta, "K/m", n_tests),
        "GT+QTS, p=1/m": literal(delta, "1/m", n_tests),
        "naive GT, p=1/2": literal(delta, 0.5, n_tests, quantize=False),
        "centred, p=1/2": literal(delta, 0.5, n_tests, decoder="centred"),
        "centred, p=K/m": literal(delta, "K/m", n_tests, decoder="centred"),
        CTS: {"name": "cts"},
    }


def beyond(delta: float, n_tests: int = N_TESTS) -> dict[str, dict[str, Any]]:
    """The policies that keep the paper's promise on any problem."""
    return {
        LAZY: {"name": "cts lazy"},
        REGRESSION: {"name": "gt_qts", "delta": delta, "n_tests": n_tests, "decoder": "regression"},
    }


def further(family: str, n_tests: int = N_TESTS) -> dict[str, dict[str, Any]]:
    """Other oracles: one that is asked on a schedule, and two that see more than single arms.

    On a linear reward, greedy and swaps decide as Oracle+ does and need more evaluations. So they
    play the network only.
    """
    if family == "linear":
        return {RARELY: {"name": "cts rarely"}}
    return {
        RARELY: {"name": "cts rarely"},
        LAZY_GREEDY: {"name": "cts lazy greedy"},
        LOCAL_SEARCH: {"name": "cts local search", "budget": n_tests},
    }


def of_label(rows: Rows, label: str) -> Rows:
    """The rows of one policy in the order of the runs."""
    return sorted((row for row in rows if row["label"] == label), key=lambda row: row["run"])


def curves(rows: Rows, column: str, label: str) -> FloatArray:
    """Shape (n_runs, n_checkpoints): a recorded column of one policy, in the order of the runs."""
    return np.array([row[column] for row in of_label(rows, label)], np.float64)


def finals(rows: Rows, column: str, label: str) -> FloatArray:
    """Shape (n_runs,): a recorded column of one policy at the last checkpoint."""
    return curves(rows, column, label)[:, -1]


def labels(rows: Rows) -> list[str]:
    """The labels that occur, in the order of the cells."""
    return list(dict.fromkeys(row["label"] for row in rows))
