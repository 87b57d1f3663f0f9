"""The two pictures of the benchmark. Need ``superarm[plots]``."""

from __future__ import annotations

from typing import Any

from suite.ratios import names, of_part
from superarm.reporting.figures import Look, logarithmic, name_curves, panels, render
from superarm.reporting.palette import BLUE, GREEN, GREY, INK, ORANGE, PINK, RED, SKY

Row = dict[str, Any]

_COLOURS = (BLUE, INK, RED, GREEN, ORANGE, PINK, SKY, GREY)
_LOOKS = [Look(colour, dash) for dash in ("-", "--") for colour in _COLOURS]


def thompson(results: Row) -> str:
    """Milliseconds per round of Thompson sampling against m, one curve per program."""
    rows = of_part(results, "thompson")

    def draw(figure: Any) -> None:
        (axis,) = panels(figure, 1, n_names=len(names(rows)))
        axis.set(xlabel="arms m", ylabel="milliseconds per round")
        _curves(axis, rows, "median_s", 1000)

    return render(draw)


def oracles(results: Row) -> str:
    """Evaluations per round, and milliseconds without the reward, against m."""
    rows = of_part(results, "oracles")

    def draw(figure: Any) -> None:
        evaluations, times = panels(figure, 2, n_names=(len(names(rows)) + 1) // 2)
        evaluations.set(xlabel="arms m", ylabel="evaluations per round")
        _curves(evaluations, [row for row in rows if row["evaluations"] > 0], "evaluations", 1)
        times.set(xlabel="arms m", ylabel="milliseconds per round")
        times.set_title("without the reward", loc="left")
        _curves(times, rows, "median_s", 1000)

    return render(draw)


def _curves(axis: Any, rows: list[Row], key: str, unit: float) -> None:
    ends = {}
    for name, look in zip(names(rows), _LOOKS, strict=False):
        mine = [row for row in rows if row["name"] == name]
        x, y = [row["n_arms"] for row in mine], [unit * row[key] for row in mine]
        axis.plot(x, y, marker="o", color=look.colour, linestyle=look.dash, markersize=4)
        if key == "median_s":
            low, high = ([unit * row[end] for row in mine] for end in ("low_s", "high_s"))
            axis.fill_between(x, low, high, color=look.colour, alpha=0.2, linewidth=0)
        ends[name] = (y[-1], look)
    logarithmic(axis)
    name_curves(axis, ends)
