"""Pictures. Needs the extra ``superarm[plots]``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from superarm.experiments.demo import Result

# Okabe and Ito's colours, which colour-blind readers can tell apart; a policy keeps its colour in every panel.
_COLOURS = {
    "random": "#000000",
    "CUCB, Oracle+": "#999999",
    "GT+QTS, p=1/2": "#E69F00",
    "GT+QTS, p=K/m": "#CC79A7",
    "GT+QTS, p=K/m, centred": "#D55E00",
    "CTS, Oracle+": "#0072B2",
    "CTS, greedy": "#009E73",
}


def regret_curves(results: Sequence[Result], path: Path) -> None:
    """One panel a problem: mean cumulative regret against the round, with a band of two standard errors."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    titles = list(dict.fromkeys(result.problem.title for result in results))
    figure, axes = plt.subplots(1, len(titles), figsize=(6.6 * len(titles), 4.6), layout="constrained")
    for axis, title in zip(np.atleast_1d(axes), titles, strict=True):
        panel = [result for result in results if result.problem.title == title]
        for result in panel:
            _curve(axis, result)
        _label_ends(axis, panel)
        axis.set_title(title, loc="left")
        axis.set_xlabel("round")
        axis.spines[["top", "right"]].set_visible(False)
        axis.set_xlim(0, panel[0].regret.shape[1])
        axis.set_ylim(0)
    np.atleast_1d(axes)[0].set_ylabel("cumulative regret")
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _curve(axis: Any, result: Result) -> None:
    regret = result.regret
    rounds = np.arange(1, regret.shape[1] + 1)
    mean = regret.mean(axis=0)
    error = 2 * regret.std(axis=0, ddof=1) / np.sqrt(len(regret))
    colour = _COLOURS[result.policy]
    axis.plot(rounds, mean, color=colour, linewidth=1.8)
    axis.fill_between(rounds, mean - error, mean + error, color=colour, alpha=0.2, linewidth=0)


def _label_ends(axis: Any, panel: list[Result]) -> None:
    """Each curve's name at its end, moved apart where curves end close together."""
    top = max(result.mean for result in panel)
    place = -np.inf
    for result in sorted(panel, key=lambda result: result.mean):
        place = max(result.mean, place + 0.055 * top)
        axis.annotate(
            f" {result.policy} ({result.evaluations:.0f} evals)",
            (1.0, place),
            xycoords=("axes fraction", "data"),
            color=_COLOURS[result.policy],
            va="center",
            annotation_clip=False,
            fontsize=9,
        )
