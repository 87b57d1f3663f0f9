"""Beyond the paper: regret against evaluations, for the paper's policies and for better oracles.

`LazySingletons` decides as Oracle+ does, from remembered answers. So CTS with it is CTS, with fewer
evaluations. GT+QTS with the regression decoder makes the paper's tests, as many and as coarsely
quantized, and remembers them. "rarely" asks LazySingletons in rounds that are a factor of 1.1
apart. On the network, where a set is worth less than its arms together, two more oracles play:
greedy's decision (`LazyGreedy`), and swaps from Oracle+'s set with as many evaluations as the paper
has tests (`LocalSearch`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from superarm.reporting.figures import logarithmic, name_curves, panels, plain
from superarm.reporting.palette import look
from superarm.reporting.statistics import Interval, mean_interval, paired_ratio
from superarm.reporting.tables import Table
from superarm.studies.cell import Cell
from superarm.studies.paper.experiments import fig2a, fig2b
from superarm.studies.paper.policies import (
    CTS,
    LAZY,
    N_TESTS,
    QUICK_N_TESTS,
    REGRESSION,
    beyond,
    finals,
    further,
    of_label,
)
from superarm.studies.study import Findings, Rows, Scale

TITLE = "Beyond the paper: regret against evaluations"

N_RUNS = 20
_PANELS = {"linear": "linear reward", "network": "two-layer network reward"}


def cells(scale: Scale) -> list[Cell]:
    """The cells of figures 2A and 2B, and the better oracles on both problems."""
    n_tests = scale.pick(N_TESTS, QUICK_N_TESTS)
    better = [
        {
            "problem": of.problem(scale),
            "horizon": of.horizon(scale),
            "label": label,
            "policy": spec,
        }
        for of, family in ((fig2a, "linear"), (fig2b, "network"))
        for label, spec in {
            **beyond(of.DELTA, n_tests),
            **further(family, of.DELTA, n_tests),
        }.items()
    ]
    return [*fig2a.cells(scale), *fig2b.cells(scale), *scale.cells("play", better, runs=N_RUNS)]


def analyse(rows: Rows, times: Rows) -> Findings:
    """Regret and evaluations of every policy, and whether the lazy oracle's regret is CTS's."""
    numbers = {
        family: _found([row for row in rows if row["problem"]["family"] == family])
        for family in _PANELS
    }
    return Findings(
        numbers,
        [_table(title, numbers[family]) for family, title in _PANELS.items()],
        lambda figure: _draw(figure, numbers),
        _notes(numbers),
    )


def _found(part: Rows) -> dict[str, Any]:
    """What the rows of one problem say."""
    regret, evaluations = finals(part, "regret"), finals(part, "evaluations")
    policies = {
        label: {
            "regret": runs.tolist(),
            "evaluations": evaluations[label].tolist(),
            "of_cts": vars(paired_ratio(runs, regret[CTS])),
        }
        for label, runs in regret.items()
    }
    # Equal to the last bit, not within an interval: lazy evaluation must not change a decision.
    same = all(
        row["regret"] == other["regret"]
        for row, other in zip(of_label(part, LAZY), of_label(part, CTS), strict=True)
    )
    return {"policies": policies, "lazy_is_cts": same, "horizon": part[0]["checkpoints"][-1]}


def _table(title: str, found: dict[str, Any]) -> Table:
    horizon, policies = found["horizon"], found["policies"]
    body = [
        [
            label,
            str(mean_interval(one["regret"])),
            f"{one['of_cts']['mean']:.2f}",
            f"{np.mean(one['evaluations']):,.0f}",
            f"{np.mean(one['evaluations']) / horizon:,.2f}",
        ]
        for label, one in sorted(policies.items(), key=lambda item: np.mean(item[1]["evaluations"]))
    ]
    return Table(
        ["policy", "regret", "× CTS's", "evaluations in all", "evaluations per round"],
        body,
        caption=f"{title}, T = {horizon:,}, {len(policies[CTS]['regret'])} paired runs, "
        f"fewest evaluations first. Less is better.",
    )


def _notes(numbers: dict[str, Any]) -> list[str]:
    notes = [
        f"{title}: in every run and at every recorded round, the regret of CTS with LazySingletons "
        f"is {'' if numbers[family]['lazy_is_cts'] else 'not '}that of CTS with Oracle+, "
        f"to the last bit."
        for family, title in _PANELS.items()
    ]
    return notes + [
        f"{title}: with the paper's number of tests, the regression decoder has "
        f"{Interval(**numbers[family]['policies'][REGRESSION]['of_cts'])} times the regret of CTS."
        for family, title in _PANELS.items()
    ]


def _draw(figure: Any, numbers: dict[str, Any]) -> None:
    n_names = max(len(found["policies"]) for found in numbers.values()) // 2 + 1
    for axis, (family, title) in zip(
        panels(figure, len(_PANELS), n_names=n_names), _PANELS.items(), strict=True
    ):
        ends = {}
        for label, one in numbers[family]["policies"].items():
            # A logarithmic axis has no place for 0.
            spent = max(1.0, float(np.mean(one["evaluations"])))
            regret = float(np.mean(one["regret"]))
            filled = "full" if look(label).dash == "-" else "none"
            axis.plot(spent, regret, "o", color=look(label).colour, markersize=8, fillstyle=filled)
            ends[label] = (regret, look(label))
        logarithmic(axis)
        plain(
            axis,
            "evaluations in all (none is drawn at 1)",
            f"regret at T = {numbers[family]['horizon']:,}",
        )
        axis.set_title(f"{title} (hollow: dashed below)", loc="left")
        name_curves(axis, ends)
