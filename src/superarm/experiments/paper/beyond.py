"""Beyond the paper: regret against the evaluations that it took, every policy of figures 2A and 2B and better oracles.

`LazySingletons` decides as Oracle+ does, from remembered answers. So CTS with it is CTS, for fewer evaluations.
GT+QTS with the regression decoder makes the paper's tests, as many and as coarsely quantized, and remembers them.
"rarely" asks LazySingletons at rounds that are a factor of 1.1 apart. On the network, where sets are worth less than
their arms together, also greedy's decision (`LazyGreedy`), and swaps from Oracle+'s set with as many evaluations as
the paper has tests (`LocalSearch`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from superarm.experiments.catalogue import Analysis, Rows, Scale
from superarm.experiments.cell import Cell
from superarm.experiments.figures import label_ends, plain, style
from superarm.experiments.paper import fig2a, fig2b
from superarm.experiments.paper._policies import (
    LAZY,
    N_TESTS,
    RARELY,
    REGRESSION,
    beyond,
    finals,
    further,
    labels,
)
from superarm.experiments.stats import Interval, mean_interval, paired_ratio

TITLE = "Beyond the paper: regret against evaluations"

PART = 2
_PANELS = {"linear": "linear reward", "network": "two-layer network reward"}


def sweep(scale: Scale) -> list[Cell]:
    """The cells of figures 2A and 2B, and the better oracles on both problems, 20 runs."""
    problems = ((fig2a, scale.pick(10_000, 1500), 0.25), (fig2b, scale.pick(5_000, 1000), 0.2))
    better = [
        {"problem": of.problem(scale), "horizon": horizon, "label": label, "policy": spec}
        for of, horizon, delta in problems
        for label, spec in _better(
            of.problem(scale)["family"], delta, scale.pick(N_TESTS, 60)
        ).items()
    ]
    return [*fig2a.sweep(scale), *fig2b.sweep(scale), *scale.cells("play", better, runs=20)]


def analyse(rows: Rows, times: Rows) -> Analysis:
    """Regret and evaluations of every policy, and whether the lazy oracle's regret is CTS's to the last digit."""
    numbers: dict[str, Any] = {}
    tables = []
    for family, title in _PANELS.items():
        part = [row for row in rows if row["problem"]["family"] == family]
        horizon = part[0]["checkpoints"][-1]
        exact = finals(part, "regret", "CTS")
        found = {
            label: {
                "regret": finals(part, "regret", label).tolist(),
                "evaluations": finals(part, "evaluations", label).tolist(),
                "of_cts": vars(paired_ratio(finals(part, "regret", label), exact)),
            }
            for label in labels(part)
        }
        same = all(
            row["regret"] == other["regret"]
            for row, other in zip(_runs(part, LAZY), _runs(part, "CTS"), strict=True)
        )
        numbers[family] = {"policies": found, "lazy_is_cts": same, "horizon": horizon}
        body = [
            [
                label,
                str(mean_interval(one["regret"])),
                f"{one['of_cts']['mean']:.2f}",
                f"{np.mean(one['evaluations']):,.0f}",
                f"{np.mean(one['evaluations']) / horizon:,.2f}",
            ]
            for label, one in sorted(
                found.items(), key=lambda item: np.mean(item[1]["evaluations"])
            )
        ]
        heading = ["policy", "regret", "× CTS's", "evaluations in all", "evaluations a round"]
        caption = f"{title}, T = {horizon:,}, {len(exact)} paired runs, fewest evaluations first"
        tables.append((caption, [heading, *body]))
    notes = [
        f"{title}: in every run, at every recorded round, the regret of CTS with LazySingletons is "
        f"{'to the last bit' if numbers[family]['lazy_is_cts'] else 'not'} that of CTS with Oracle+."
        for family, title in _PANELS.items()
    ]
    notes += [
        f"{title}: with the paper's number of tests the regression decoder has "
        f"{Interval(**numbers[family]['policies'][REGRESSION]['of_cts'])} times the regret of CTS."
        for family, title in _PANELS.items()
    ]
    return Analysis(numbers, tables, lambda figure: _draw(figure, numbers), notes)


def _better(family: str, delta: float, n_tests: int) -> dict[str, dict[str, Any]]:
    return {**beyond(delta, n_tests), **further(family, n_tests)}


def _runs(rows: Rows, label: str) -> Rows:
    return sorted((row for row in rows if row["label"] == label), key=lambda row: row["run"])


def _draw(figure: Any, numbers: dict[str, Any]) -> None:
    for axis, (family, title) in zip(
        figure.subplots(1, len(_PANELS)), _PANELS.items(), strict=True
    ):
        axis.set_xscale("log")
        axis.set_yscale("log")
        ends = {}
        for label, one in numbers[family]["policies"].items():
            spent, regret = (
                max(1.0, float(np.mean(one["evaluations"]))),
                float(np.mean(one["regret"])),
            )
            colour = style(label)[0]
            axis.plot(spent, regret, "o", color=colour, markersize=7)
            if label in ("random", LAZY, RARELY):  # alone on their side, with room for the name
                axis.annotate(f"  {label}", (spent, regret), color=colour, va="center", fontsize=9)
            else:
                ends[label] = (regret, colour)
        axis.set_xlim(0.4, None)
        axis.set_ylim(axis.get_ylim()[0] / 1.5, axis.get_ylim()[1] * 1.3)
        plain(
            axis,
            "evaluations in all (none is drawn at 1)",
            f"regret at T = {numbers[family]['horizon']:,}",
        )
        axis.set_title(title, loc="left")
        label_ends(axis, ends, log=True)
