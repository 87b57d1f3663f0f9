"""The picture of `learning.py`: the gap that each policy closes on each problem."""

from __future__ import annotations

from typing import Any

import numpy as np

from superarm.reporting.palette import BLUE, GREEN, INK, ORANGE, PINK
from superarm.reporting.statistics import mean_interval

LOOKS = {
    "thompson": (GREEN, "o"),
    "CTS": (INK, "x"),
    "single seed": (BLUE, "s"),
    "epsilon-greedy": (ORANGE, "^"),
    "CUCB, not cut": (PINK, "+"),
}


def picture(found: dict[str, dict[str, np.ndarray]], figure: Any) -> None:
    """One line per problem and one mark per policy; thompson with its 95% interval."""
    axis = figure.subplots()
    names = list(found)
    for label, (colour, marker) in LOOKS.items():
        means = [mean_interval(found[name][label]) for name in names]
        # Below 0 a policy is worse than random sets; how much does not matter here.
        x = [max(-5.0, each.mean) for each in means]
        y = np.arange(len(names), 0, -1)
        axis.plot(x, y, marker, color=colour, ms=5, linestyle="", label=label, clip_on=False)
        if label == "thompson":
            ends = ([each.low for each in means], [each.high for each in means])
            axis.hlines(y, *ends, color=colour, linewidth=1.5)
    axis.set_yticks(np.arange(len(names), 0, -1), names)
    axis.set_xlim(-5, 100)
    axis.set(xlabel="gap closed, %")
    axis.legend(loc="upper left", bbox_to_anchor=(-0.3, -0.07), ncols=3)
