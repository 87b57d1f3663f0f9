"""The benchmark's two pictures. Need ``superarm[plots]``."""

from __future__ import annotations

from typing import Any

from superarm.bench.findings import names, of_part
from superarm.experiments.figures import label_ends, plain, render

Row = dict[str, Any]

_COLOURS = ["#0072B2", "#000000", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#56B4E9", "#999999"]


def thompson(results: Row) -> bytes:
    """Milliseconds of a round of Thompson sampling against m, one curve a program."""
    rows = of_part(results, "thompson")

    def draw(figure: Any) -> None:
        axis = figure.subplots()
        _curves(axis, rows, "median_s", 1000)
        plain(axis, "arms m", "milliseconds a round (median, quartiles)")

    return render(draw, size=(8.5, 4.8))


def oracles(results: Row) -> bytes:
    """Evaluations a round, and milliseconds without the reward, against m, one curve an oracle."""
    rows = of_part(results, "oracles")

    def draw(figure: Any) -> None:
        left, right = figure.subplots(1, 2)
        _curves(left, [row for row in rows if row["evaluations"] > 0], "evaluations", 1)
        plain(left, "arms m", "evaluations a round")
        _curves(right, rows, "median_s", 1000)
        plain(right, "arms m", "milliseconds a round, without the reward")

    return render(draw, size=(12.5, 5.2))


def _curves(axis: Any, rows: list[Row], key: str, unit: float) -> None:
    axis.set_xscale("log")
    axis.set_yscale("log")
    every = sorted({row["n_arms"] for row in rows})
    ends = {}
    early: dict[int, list[tuple[float, str, str]]] = {}
    for name, colour in zip(names(rows), _COLOURS * len(rows), strict=False):
        mine = [row for row in rows if row["name"] == name]
        x, y = [row["n_arms"] for row in mine], [unit * row[key] for row in mine]
        axis.plot(x, y, "o-", color=colour, linewidth=1.6, markersize=4)
        if key == "median_s":
            low, high = ([unit * row[end] for row in mine] for end in ("low_s", "high_s"))
            axis.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)
        if x[-1] == every[-1]:
            ends[name] = (y[-1], colour)
        else:
            early.setdefault(x[-1], []).append((y[-1], name, colour))
    label_ends(axis, ends, log=True)
    bottom, top = axis.get_ylim()
    step = (top / bottom) ** 0.05
    for m, labels in early.items():
        place = 0.0
        for y_end, name, colour in sorted(labels):
            place = max(y_end, place * step)
            axis.annotate(f"  {name}", (m, place), color=colour, fontsize=9, va="center")
