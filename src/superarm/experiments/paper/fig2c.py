"""Figure 2C: regret at T = 10,000 against the number of tests, linear reward, with CTS and chance as lines."""

from __future__ import annotations

from typing import Any

import numpy as np

from superarm.experiments.catalogue import Analysis, Rows, Scale
from superarm.experiments.cell import Cell
from superarm.experiments.figures import label_ends, plain, style
from superarm.experiments.paper import fig2a
from superarm.experiments.paper._policies import compared, finals, literal
from superarm.experiments.stats import mean_interval, paired_ratio

TITLE = "Figure 2C: regret against the number of tests"

FAMILIES: dict[str, float | str] = {"GT+QTS, p=1/2": 0.5, "GT+QTS, p=K/m": "K/m"}


def sweep(scale: Scale) -> list[Cell]:
    """From 25 to 2,500 tests, for p = 1/2 and K/m, 10 runs; CTS and chance are figure 2A's own cells."""
    counts = scale.pick([25, 50, 100, 200, 310, 650, 1250, 2500], [25, 100, 200, 310, 1000])
    shared = {"problem": fig2a.problem(scale), "horizon": scale.pick(10_000, 1500)}
    lines = compared(delta=0.25)
    settings = [{**shared, "label": label, "policy": lines[label]} for label in ("random", "CTS")]
    settings += [
        {**shared, "label": f"{family}, {count} tests", "policy": literal(0.25, p, count)}
        for family, p in FAMILIES.items()
        for count in counts
    ]
    return scale.cells("play", settings, runs=10)


def analyse(rows: Rows, times: Rows) -> Analysis:
    """Regret at the horizon for each number of tests, and how close 200 tests come to 310."""
    counts = sorted({row["policy"]["n_tests"] for row in rows if "n_tests" in row["policy"]})
    chance, exact = finals(rows, "regret", "random"), finals(rows, "regret", "CTS")
    families: dict[str, Any] = {}
    for family in FAMILIES:
        regret = {count: finals(rows, "regret", f"{family}, {count} tests") for count in counts}
        families[family] = {
            "regret": {str(count): values.tolist() for count, values in regret.items()},
            "200_of_310": vars(paired_ratio(regret[200], regret[310])),
            "310_of_random": vars(paired_ratio(regret[310], chance)),
            "310_of_cts": vars(paired_ratio(regret[310], exact)),
        }
    numbers = {
        "counts": counts,
        "families": families,
        "random": chance.tolist(),
        "cts": exact.tolist(),
        "horizon": rows[0]["checkpoints"][-1],
    }
    heading = ["tests", *FAMILIES]
    body = [
        [
            f"{count:,}",
            *(str(mean_interval(families[family]["regret"][str(count)])) for family in FAMILIES),
        ]
        for count in counts
    ]
    body += [["chance", str(mean_interval(chance)), ""], ["CTS", str(mean_interval(exact)), ""]]
    caption = f"Regret at T = {numbers['horizon']:,}, means over {len(chance)} paired runs (95% intervals)"
    return Analysis(numbers, [(caption, [heading, *body])], lambda figure: _draw(figure, numbers))


def _draw(figure: Any, numbers: dict[str, Any]) -> None:
    axis = figure.subplots()
    ends = {}
    for family, found in numbers["families"].items():
        intervals = [mean_interval(found["regret"][str(count)]) for count in numbers["counts"]]
        means = np.array([interval.mean for interval in intervals])
        reach = np.array([interval.high - interval.mean for interval in intervals])
        axis.errorbar(
            numbers["counts"], means, reach, color=style(family)[0], marker="o", capsize=3
        )
        ends[family] = (means[-1], style(family)[0])
    for label, column in (("random", "random"), ("CTS", "cts")):
        level = float(np.mean(numbers[column]))
        axis.axhline(level, color=style(label)[0], linewidth=1.2)
        ends[label] = (level, style(label)[0])
    for marked in (200, 310):
        axis.axvline(marked, color="#bbbbbb", linewidth=0.8, zorder=0)
        axis.annotate(
            f"{marked}",
            (marked, 0.02),
            xycoords=("data", "axes fraction"),
            color="#777777",
            fontsize=8,
        )
    axis.set_xscale("log")
    axis.set_ylim(0)
    plain(axis, "tests a round", f"cumulative regret at T = {numbers['horizon']:,}")
    axis.set_title("(C) regret against the number of tests", loc="left")
    label_ends(axis, ends)
