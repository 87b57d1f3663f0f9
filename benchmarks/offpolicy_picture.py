"""The picture of `offpolicy.py`: coverage of 95% intervals by design and estimator."""

from __future__ import annotations

from typing import Any

from scipy import stats

from superarm.reporting.figures import plain
from superarm.reporting.palette import BLUE, GREEN, INK, ORANGE, PINK, RED, SKY


def picture(
    results: list[tuple[str, str, dict[str, float]]], designs: list[str], n_logs: int, figure: Any
) -> None:
    """Coverage of every estimator in every design, with its interval, beside the nominal 95%."""
    axis = figure.subplots()
    names = list(dict.fromkeys(name for _, name, _ in results))
    colours = [BLUE, SKY, GREEN, INK, RED, ORANGE, PINK]
    z = stats.norm.ppf(0.975)
    axis.axvline(95, color=INK, linewidth=1)
    for number, name in enumerate(names):
        rows = [
            (designs.index(design), row)
            for design, other, row in results
            if other == name and "coverage" in row
        ]
        y = [len(designs) - place - 0.11 * (number - len(names) / 2) for place, _ in rows]
        x = [100 * row["coverage"] for _, row in rows]
        axis.errorbar(
            x,
            y,
            xerr=[100 * z * row["error"] for _, row in rows],
            fmt="o",
            ms=4,
            color=colours[number],
            label=name,
        )
    axis.set_yticks([len(designs) - place for place in range(len(designs))], designs)
    axis.set_xlim(right=100)
    plain(axis, f"coverage of 95% intervals over {n_logs:,} logs, %", "")
    axis.legend(loc="upper left", bbox_to_anchor=(0.0, -0.1))
