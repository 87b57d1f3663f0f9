"""Figure 2C: regret at T = 10,000 against the number of tests, with a linear reward."""

from __future__ import annotations

from typing import Any

import numpy as np

from superarm.catalog import POLICIES
from superarm.reporting.figures import logarithmic, look, name_curves, panels
from superarm.reporting.palette import FAINT
from superarm.reporting.statistics import mean_interval, paired_ratio
from superarm.reporting.tables import Table
from superarm.studies.cell import Cell, Rows, Scale
from superarm.studies.paper.experiments import fig2a
from superarm.studies.paper.policies import COMPARED, CTS, RANDOM, finals, labelled, spec
from superarm.studies.study import Findings

TITLE = "Figure 2C: regret against the number of tests"

FAMILIES = {POLICIES[name].label: name for name in ("gt-qts", "gt-qts-k-of-m")}
FEWER, ALL = 200, 310  # the paper: 200 tests are as good as 310
N_RUNS = 10


def cells(scale: Scale) -> list[Cell]:
    """From 25 to 2,500 tests, for p = 1/2 and p = K/m.

    CTS and the random baseline are cells of figure 2A.
    """
    # 200 and 310 are at every size, since the claim compares them.
    counts = scale.pick(
        [25, 50, 100, FEWER, ALL, 650, 1250, 2500],
        [25, 100, FEWER, ALL, 1000],
        [25, FEWER, ALL],
    )
    shared = fig2a.played(scale)
    lines = labelled(COMPARED, fig2a.DELTA)
    settings = [{**shared, "label": label, "policy": lines[label]} for label in (RANDOM, CTS)]
    settings += [
        {**shared, "label": f"{family}, {count} tests", "policy": spec(name, fig2a.DELTA, count)}
        for family, name in FAMILIES.items()
        for count in counts
    ]
    return scale.cells("play", settings, runs=N_RUNS)


def analyse(rows: Rows, times: Rows) -> Findings:
    """Regret at the horizon for each number of tests, and how close 200 tests come to 310."""
    counts = sorted({row["policy"]["n_tests"] for row in rows if "n_tests" in row["policy"]})
    by_label = finals(rows, "regret")
    random, exact = by_label[RANDOM], by_label[CTS]
    families: dict[str, Any] = {}
    for family in FAMILIES:
        regret = {count: by_label[f"{family}, {count} tests"] for count in counts}
        families[family] = {
            "regret": {str(count): values.tolist() for count, values in regret.items()},
            # Ratios of the same run: instances differ in how hard they are.
            "200_of_310": paired_ratio(regret[FEWER], regret[ALL])._asdict(),
            "310_of_random": paired_ratio(regret[ALL], random)._asdict(),
            "310_of_cts": paired_ratio(regret[ALL], exact)._asdict(),
        }
    numbers = {
        "counts": counts,
        "families": families,
        "random": random.tolist(),
        "cts": exact.tolist(),
        "horizon": rows[0]["checkpoints"][-1],
        "n_arms": rows[0]["problem"]["n_arms"],
    }
    return Findings(numbers, [_table(numbers)], lambda figure: _draw(figure, numbers))


def _table(numbers: dict[str, Any]) -> Table:
    body = [
        [
            f"{count:,}",
            *(
                str(mean_interval(found["regret"][str(count)]))
                for found in numbers["families"].values()
            ),
        ]
        for count in numbers["counts"]
    ]
    body += [
        ["random baseline", str(mean_interval(numbers["random"])), ""],
        [CTS, str(mean_interval(numbers["cts"])), ""],
    ]
    caption = (
        f"Regret at T = {numbers['horizon']:,}, means over {len(numbers['random'])} paired runs "
        f"with 95% intervals. Less is better."
    )
    return Table(["tests", *FAMILIES], body, caption=caption)


def _draw(figure: Any, numbers: dict[str, Any]) -> None:
    (axis,) = panels(figure, 1, n_names=2)
    ends = {}
    for family, found in numbers["families"].items():
        intervals = [mean_interval(found["regret"][str(count)]) for count in numbers["counts"]]
        means = np.array([interval.mean for interval in intervals])
        reach = np.array([interval.high - interval.mean for interval in intervals])
        colour = look(family).colour
        axis.errorbar(numbers["counts"], means, reach, color=colour, marker="o", capsize=3)
        ends[family] = (means[-1], look(family))
    for label, column in ((RANDOM, "random"), (CTS, "cts")):
        level = float(np.mean(numbers[column]))
        axis.axhline(level, color=look(label).colour, linewidth=1.2)
        ends[label] = (level, look(label))
    for marked in (FEWER, ALL):
        axis.axvline(marked, color=FAINT, linewidth=0.8, zorder=0)
        axis.annotate(f"{marked}", (marked, 0.02), xycoords=("data", "axes fraction"))
    logarithmic(axis, y=False)
    # From 0, so that the heights can be compared by eye.
    axis.set_ylim(0)
    axis.set(xlabel="tests per round", ylabel=f"cumulative regret at T = {numbers['horizon']:,}")
    axis.set_title("(C) regret against the number of tests", loc="left")
    name_curves(axis, ends)
