"""Beyond the paper: group testing that remembers, on networks from steep to flat.

The hidden layer's weights are |N(0, 1)| times 1, 0.3 and 0.05, and the gap 0.2 times as much. A steep network
saturates, so that large tests all score the same; in a flat one a single arm is below the quantizer's step, so that
small tests do. The regression decoder finds the size by itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from superarm.experiments.catalogue import Analysis, Rows, Scale
from superarm.experiments.cell import Cell
from superarm.experiments.figures import band, label_ends, plain, style
from superarm.experiments.paper._policies import (
    LAZY,
    N_TESTS,
    beyond,
    curves,
    finals,
    labels,
    literal,
)
from superarm.experiments.stats import Interval, mean_interval, paired_ratio

TITLE = "Beyond the paper: steep and flat networks"

PART = 2
STDS = (1.0, 0.3, 0.05)


def sweep(scale: Scale) -> list[Cell]:
    """CTS, chance, the paper's decoder and the regression decoder at three steepnesses, 20 runs."""
    better = beyond(0.2, scale.pick(N_TESTS, 60))
    policies = {"random": {"name": "random"}, "GT+QTS, p=1/m": literal(0.2, "1/m"), **better}
    settings = [
        {
            "problem": {
                "family": "network",
                "n_arms": scale.pick(1000, 200),
                "k": 5,
                "gap": 0.2 * std,
                "n_hidden": 20,
                "std": std,
            },
            "horizon": scale.pick(5_000, 400),
            "label": label,
            "policy": spec,
        }
        for std in STDS
        for label, spec in policies.items()
    ]
    return scale.cells("play", settings, runs=20, quick_runs=2)


def analyse(rows: Rows, times: Rows) -> Analysis:
    """Regret next to that of CTS with Oracle+'s decisions, at each steepness."""
    numbers: dict[str, Any] = {}
    tables, notes = [], []
    for std in STDS:
        part = _part(rows, std)
        exact = finals(part, "regret", LAZY)
        found = {
            label: {
                "regret": finals(part, "regret", label).tolist(),
                "of_cts": vars(paired_ratio(finals(part, "regret", label), exact)),
                "evaluations": float(finals(part, "evaluations", label).mean()),
            }
            for label in labels(part)
        }
        horizon = part[0]["checkpoints"][-1]
        numbers[f"{std:g}"] = {"policies": found, "horizon": horizon}
        heading = ["policy", "regret", "× CTS's", "evaluations a round"]
        body = [
            [
                label,
                str(mean_interval(one["regret"])),
                str(Interval(**one["of_cts"])),
                f"{one['evaluations'] / horizon:,.2f}",
            ]
            for label, one in found.items()
        ]
        caption = (
            f"Weights times {std:g}, T = {horizon:,}, {len(exact)} paired runs (95% intervals)"
        )
        tables.append((caption, [heading, *body]))
        notes.append(
            f"Weights times {std:g}: the regression decoder has {body[-1][2]} times the regret of CTS."
        )
    return Analysis(numbers, tables, lambda figure: _draw(figure, rows), notes)


def _part(rows: Rows, std: float) -> Rows:
    return [row for row in rows if row["problem"]["std"] == std]


def _draw(figure: Any, rows: Rows) -> None:
    for axis, std in zip(figure.subplots(1, len(STDS)), STDS, strict=True):
        part = _part(rows, std)
        at = np.array(part[0]["checkpoints"])
        axis.set_xscale("log")
        axis.set_yscale("log")
        ends = {}
        for label in labels(part):
            band(axis, at, curves(part, "regret", label), *style(label))
            ends[label] = (finals(part, "regret", label).mean(), style(label)[0])
        plain(axis, "round t", "cumulative regret")
        axis.set_title(f"weights times {std:g}", loc="left")
        label_ends(axis, ends, log=True)
