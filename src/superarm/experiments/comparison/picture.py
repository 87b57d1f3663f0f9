"""The picture of the comparison: a panel a problem, a row a policy, the gap closed with its interval."""

from __future__ import annotations

from typing import Any

from superarm.experiments.comparison.contestants import CONTESTANTS
from superarm.experiments.comparison.findings import gap_closed
from superarm.experiments.comparison.problems import PROBLEMS
from superarm.experiments.figures import plain, render

_COLOURS = {
    "chance": "#000000",
    "CTS": "#0072B2",
    "GT+QTS": "#E69F00",
    "GT+QTS, regression": "#882255",
}
_OTHERS = "#009E73"


def comparison(found: dict[str, Any]) -> bytes:
    """The bytes of a PNG file. Needs ``superarm[plots]``."""
    return render(lambda figure: _draw(figure, found), size=(12.5, 7.6))


def _draw(figure: Any, found: dict[str, Any]) -> None:
    labels = list(CONTESTANTS)
    axes = figure.subplots(2, 3, sharey=True).ravel()
    for axis, (name, problem) in zip(axes, found["problems"].items(), strict=True):
        for place, label in enumerate(labels):
            if label not in problem["policies"]:
                axis.annotate("sums only", (0.02, place), color="#999999", va="center", fontsize=8)
                continue
            interval = gap_closed(problem["policies"][label])
            colour = _COLOURS.get(label, _OTHERS)
            axis.plot(
                [100 * interval.low, 100 * interval.high],
                [place, place],
                color=colour,
                linewidth=2.2,
            )
            axis.plot(100 * interval.mean, place, "o", color=colour, markersize=5)
        axis.axvline(0, color="#bbbbbb", linewidth=0.8, zorder=0)
        axis.set_yticks(range(len(labels)), labels)
        axis.invert_yaxis() if not axis.yaxis_inverted() else None
        axis.set_title(PROBLEMS[name].title, loc="left")
        plain(axis, "gap closed, %", "")
