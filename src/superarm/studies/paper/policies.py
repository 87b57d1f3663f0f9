"""The policies that several experiments compare: specifications of the catalog's policies."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from superarm.catalog import POLICIES
from superarm.core.arguments import FloatArray
from superarm.studies.cell import Rows

N_TESTS = 302  # section 5's "approximately 302 reward evaluations"
QUICK_N_TESTS = 60
N_TESTS_ORDER = 426  # the order-wise rule's number of tests for the size of figure 2B

# Rows are sorted by run, because ratios and differences pair the runs of two policies by their
# places. Within a run, they stay in the order of the cells.
_BY_RUN = itemgetter("run")

Spec = dict[str, Any]

RANDOM, CTS, GT_QTS = (POLICIES[name].label for name in ("random", "cts", "gt-qts"))
THOMPSON = POLICIES["thompson"].label
LAZY, RARELY = POLICIES["cts-lazy"].label, POLICIES["cts-rarely"].label
REGRESSION = POLICIES["gt-qts-regression"].label
MORE_TESTS = f"GT+QTS, {N_TESTS_ORDER} tests"

_LITERAL = ("gt-qts", "gt-qts-two-thirds", "gt-qts-k-of-m", "gt-qts-one-of-m")
# The policies of figures 2A and 2B.
COMPARED = ("random", "cucb", *_LITERAL, "gt-naive", "gt-centred", "gt-centred-k-of-m", "cts")

# The paper's own algorithm in all its settings. The paper's claims are about these.
LITERAL = (*(POLICIES[name].label for name in _LITERAL), MORE_TESTS)


def spec(name: str, delta: float, n_tests: int = N_TESTS) -> Spec:
    """The specification of a policy of the catalog, as plain data.

    The quantization level and the number of tests are for group testing. Local search may make as
    many evaluations as there are tests.
    """
    # Only options that the policy uses: an unused one would give equal cells different keys.
    options: Spec = {"delta": delta, "n_tests": n_tests} if name.startswith("gt-") else {}
    if name == "cts-local-search":
        options = {"n_tests": n_tests}
    return {"name": name, **options}


def labelled(names: Sequence[str], delta: float, n_tests: int = N_TESTS) -> dict[str, Spec]:
    """The specifications of policies of the catalog by their labels."""
    return {POLICIES[name].label: spec(name, delta, n_tests) for name in names}


def beyond(delta: float, n_tests: int = N_TESTS) -> dict[str, Spec]:
    """The policies that keep the paper's promise on any problem."""
    return labelled(("cts-lazy", "gt-qts-regression"), delta, n_tests)


def further(family: str, delta: float, n_tests: int = N_TESTS) -> dict[str, Spec]:
    """Other oracles: one that is asked on a schedule, and two that see more than single arms.

    On a linear reward, greedy and swaps decide as Oracle+ does and need more evaluations. So they
    play the network only.
    """
    more = () if family == "linear" else ("cts-lazy-greedy", "cts-local-search")
    return labelled(("cts-rarely", *more), delta, n_tests)


def default() -> dict[str, Spec]:
    """The default policy of the library, with the oracle that it takes by default."""
    return {THOMPSON: {"name": "thompson", "oracle": None}}


def of_label(rows: Rows, label: str) -> Rows:
    """The rows of one policy in the order of the runs."""
    return sorted([row for row in rows if row["label"] == label], key=_BY_RUN)


def curves(rows: Rows, column: str) -> dict[str, FloatArray]:
    """A recorded column of every policy by label, each of shape (n_runs, n_checkpoints)."""
    found: dict[str, list[Any]] = {}
    for row in sorted(rows, key=_BY_RUN):
        found.setdefault(row["label"], []).append(row[column])
    return {label: np.array(runs, np.float64) for label, runs in found.items()}


def finals(rows: Rows, column: str) -> dict[str, FloatArray]:
    """The same at the last checkpoint, each of shape (n_runs,)."""
    return {label: runs[:, -1] for label, runs in curves(rows, column).items()}
