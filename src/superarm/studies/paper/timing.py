"""The model behind table 1: seconds per round = overhead + evaluations × seconds per evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from superarm.reporting.figures import logarithmic, look, name_curves, panels
from superarm.reporting.palette import FAINT

# From a few instructions to a simulation that takes a second.
_COSTS = np.geomspace(1e-8, 1.0, 200)  # seconds per evaluation that are drawn


def draw_model(
    figure: Any,
    overhead_s: Mapping[str, float],
    evaluations: Mapping[str, float],
    break_even_s: float | None = None,
) -> None:
    """One curve per policy; both mappings are per round, by label."""
    (axis,) = panels(figure, 1, n_names=(len(overhead_s) + 1) // 2)
    ends = {}
    for label, overhead in overhead_s.items():
        time = overhead + evaluations[label] * _COSTS
        axis.plot(_COSTS, time, color=look(label).colour, linestyle=look(label).dash, linewidth=1.8)
        ends[label] = (time[-1], look(label))
    if break_even_s is not None and break_even_s > 0:
        axis.axvline(break_even_s, color=FAINT, linewidth=1)
        axis.annotate(" break-even", (break_even_s, 0.03), xycoords=("data", "axes fraction"))
    logarithmic(axis)
    axis.set(xlabel="seconds per evaluation", ylabel="modelled seconds per round")
    axis.set_title("overhead + evaluations × cost", loc="left")
    name_curves(axis, ends)
