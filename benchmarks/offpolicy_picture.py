"""The picture of `offpolicy.py`: coverage of 95% intervals by design and estimator."""

from __future__ import annotations

from typing import Any

from scipy import stats

from superarm.reporting.palette import BLUE, GREEN, INK, ORANGE, PINK, RED, SKY

# By arm, in the order of the legend; the other estimators are in the table only.
LOOKS = {
    "ips": BLUE,
    "snips": SKY,
    "snips, stabilised": ORANGE,
    "doubly robust, past": GREEN,
    "doubly robust, stabilised": PINK,
    "doubly robust, contexts": RED,
}


def picture(results: list[dict[str, Any]], figure: Any) -> None:
    """Coverage of each estimator in every design, with its interval, beside the nominal 95%."""
    axis = figure.subplots()
    designs = list(dict.fromkeys(row["design"] for row in results))
    z = stats.norm.ppf(0.975)
    axis.axvline(95, color=INK, linewidth=1)
    for number, (name, colour) in enumerate(LOOKS.items()):
        rows = [row for row in results if row["estimator"] == name and "coverage" in row]
        axis.errorbar(
            [100 * row["coverage"] for row in rows],
            [-designs.index(row["design"]) - 0.13 * (number - len(LOOKS) / 2) for row in rows],
            xerr=[100 * z * row["error"] for row in rows],
            fmt="o",
            ms=4,
            color=colour,
            label=name,
        )
    axis.set_yticks([-place for place in range(len(designs))], designs)
    axis.set_xlim(right=100)
    axis.set(xlabel="coverage of 95% intervals, %")
    axis.legend(loc="upper left", bbox_to_anchor=(0.0, -0.06))
