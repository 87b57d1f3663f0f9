"""What several experiments compare: policies of the catalog, and their regret.

A policy is a specification, as plain data. Its regret is a curve per run. Figures 2A and 2B show
the regret of many policies as numbers, table and picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from superarm.catalog import POLICIES
from superarm.core.arguments import FloatArray, IndexArray
from superarm.reporting.figures import band, logarithmic, look, name_curves, panels
from superarm.reporting.statistics import (
    Interval,
    mean_interval,
    paired_ratio,
)
from superarm.reporting.tables import Table
from superarm.studies.cell import Rows
from superarm.studies.study import Findings

N_TESTS = 302  # section 5's "approximately 302 reward evaluations"
QUICK_N_TESTS = 60
N_TESTS_ORDER = 426  # the order-wise rule's number of tests for the size of figure 2B

# Rows are sorted by run, because ratios and differences pair the runs of two policies by their
# places. Within a run, they stay in the order of the cells.
_BY_RUN = itemgetter("run")
_LEAST_GROWTH = 1e-9  # of regret over a tenfold of rounds; less is a rounding error

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
    """`curves` at the last checkpoint, each of shape (n_runs,)."""
    return {label: runs[:, -1] for label, runs in curves(rows, column).items()}


def analyse_regret(rows: Rows, times: Rows, *, title: str) -> Findings:
    """Regret at the horizon of every policy, next to the random baseline and to CTS; its growth."""
    numbers = regret_numbers(rows)
    return Findings(numbers, [regret_table(numbers)], lambda figure: _draw(figure, rows, title))


def regret_numbers(rows: Rows) -> dict[str, Any]:
    """What the rows of policies on one problem say, as plain data."""
    at = np.array(rows[0]["checkpoints"])
    horizon = int(at[-1])
    regret, evaluations = curves(rows, "regret"), curves(rows, "evaluations")
    exact, random = regret[CTS][:, -1], regret[RANDOM][:, -1]
    policies: dict[str, dict[str, Any]] = {}
    for label, runs in regret.items():
        exponents, tenfolds = growth(runs, at, horizon)
        policies[label] = {
            "regret": runs[:, -1].tolist(),
            "minus_cts": mean_interval(runs[:, -1] - exact)._asdict(),
            "of_cts": paired_ratio(runs[:, -1], exact)._asdict(),
            "of_random": paired_ratio(runs[:, -1], random)._asdict(),
            "evaluations_per_round": float(evaluations[label][:, -1].mean() / horizon),
            "exponents": exponents.tolist(),
            "tenfolds": tenfolds.tolist(),
        }
    return {
        "policies": policies,
        "horizon": horizon,
        "n_runs": len(exact),
        "n_arms": rows[0]["problem"]["n_arms"],
        "gap": float(np.min([row["gap"] for row in rows])),
    }


def growth(runs: FloatArray, at: IndexArray, t: float) -> tuple[FloatArray, FloatArray]:
    """How the regret of each run grows up to round t: exponents and tenfolds, of shape (n_runs,).

    The exponent is the b of regret ~ t^b between rounds t / 10 and t. It is 1 for regret in
    proportion to t, and near 0 for regret like log(t). The tenfold is what the last tenfold of
    rounds adds to the regret, over the one before. It is 1 for regret like log(t), and 10 for
    regret in proportion to t.
    """
    # Interpolated between checkpoints, as by `value_at`.
    last, middle, first = np.transpose([np.interp((t, t / 10, t / 100), at, run) for run in runs])
    # A policy that lost nothing early on has no growth to divide by.
    before = np.maximum(middle - first, _LEAST_GROWTH)
    return np.asarray(np.log10(last / middle)), np.asarray((last - middle) / before)


def value_at(runs: FloatArray, at: IndexArray, t: float) -> FloatArray:
    """Shape (n_runs,): a recorded column in round t, interpolated between checkpoints."""
    return np.array([np.interp(t, at, run) for run in runs])


def regret_table(numbers: dict[str, Any]) -> Table:
    """What `regret_numbers` found, for people."""
    policies = numbers["policies"]
    order = sorted(policies, key=lambda label: -np.mean(policies[label]["regret"]))
    body = [
        [
            label,
            str(mean_interval(policies[label]["regret"])),
            *(
                str(Interval(**policies[label][name]))
                for name in ("minus_cts", "of_cts", "of_random")
            ),
            str(mean_interval(policies[label]["exponents"])),
            f"{policies[label]['evaluations_per_round']:,.0f}",
        ]
        for label in order
    ]
    return Table(
        [
            "policy",
            "regret",
            "minus CTS's",
            "× CTS's",
            "× random baseline's",
            "exponent of t",
            "evaluations per round",
        ],
        body,
        caption=f"Cumulative regret at T = {numbers['horizon']:,}, means over {numbers['n_runs']} "
        f"paired runs with 95% intervals. The exponent is that of the last tenfold of rounds. "
        f"Less is better.",
    )


def _draw(figure: Any, rows: Rows, title: str) -> None:
    regret = curves(rows, "regret")
    looks = {label: look(label) for label in regret}
    plain_scale, log_scale = panels(figure, 2, n_names=len(looks) // 2 + 1)
    at = np.array(rows[0]["checkpoints"])
    for axis in (plain_scale, log_scale):
        for label, runs in regret.items():
            band(axis, at, runs, looks[label])
        axis.set(xlabel="round t", ylabel="cumulative regret")
    plain_scale.set_title(title, loc="left")
    log_scale.set_title("the same, both axes logarithmic", loc="left")
    logarithmic(log_scale)
    for axis in (plain_scale, log_scale):
        name_curves(
            axis, {label: (runs[:, -1].mean(), looks[label]) for label, runs in regret.items()}
        )
