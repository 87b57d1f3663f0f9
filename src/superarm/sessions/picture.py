"""The picture of an explanation. Needs ``superarm[plots]``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from superarm.sessions.explain import Explanation

_IN, _OUT, _SAMPLED = "#0072B2", "#999999", "#D55E00"  # Okabe and Ito's colours


def draw_reasons(explanation: Explanation) -> Any:
    """One row an arm: the interval of its posterior, its mean, and what was sampled; the best left out below."""
    from matplotlib.figure import Figure

    rows = [
        *explanation.reasons,
        *([] if explanation.best_left_out is None else [explanation.best_left_out]),
    ]
    n_in = len(explanation.reasons)
    figure = Figure(figsize=(7.5, 1.5 + 0.42 * len(rows)), layout="constrained")
    axis = figure.subplots()
    for row, reason in enumerate(rows):
        colour = _IN if row < n_in else _OUT
        if reason.low is not None and reason.high is not None:
            axis.plot(
                [reason.low, reason.high],
                [row, row],
                color=colour,
                linewidth=3,
                solid_capstyle="round",
            )
        if reason.mean is not None:
            axis.plot(reason.mean, row, "o", color=colour, markersize=7, markeredgecolor="white")
        if reason.value is not None:
            axis.plot(
                reason.value,
                row,
                "D",
                color=_SAMPLED,
                markersize=6,
                markeredgecolor="white",
                zorder=3,
            )
    labels = [
        f"{reason.arm}" if row < n_in else f"{reason.arm} (left out)"
        for row, reason in enumerate(rows)
    ]
    axis.set_yticks(range(len(rows)), labels)
    axis.set_ylim(len(rows) - 0.4, -0.6)
    axis.set_xlim(-0.02, 1.02)
    axis.set_xlabel("mean outcome")
    axis.grid(axis="x", color="#e5e5e5", linewidth=0.8)
    axis.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)
    axis.tick_params(axis="y", length=0)
    if n_in < len(rows):
        axis.axhline(n_in - 0.5, color="#bbbbbb", linewidth=0.8, linestyle="--")
    keys = [
        axis.plot(
            [],
            [],
            color=_IN,
            linewidth=3,
            marker="o",
            markeredgecolor="white",
            label="posterior, 95%",
        )[0],
        axis.plot([], [], "D", color=_SAMPLED, markeredgecolor="white", label="sampled")[0],
    ]
    figure.legend(handles=keys, loc="outside lower center", ncols=2, frameon=False)
    sure = "certified" if explanation.decision.certified else "not certified"
    axis.set_title(f"Decision {explanation.decision.id}, {sure}", loc="left", fontsize=11)
    return figure
