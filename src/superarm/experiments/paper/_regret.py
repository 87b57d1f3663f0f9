"""What figures 2A and 2B have in common: regret curves of many policies, in a picture and in a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from superarm.experiments.catalogue import Analysis, Rows
from superarm.experiments.figures import band, label_ends, plain
from superarm.experiments.paper._policies import STYLES, curves, finals, labels
from superarm.experiments.stats import mean_interval, paired_ratio


def analyse_regret(rows: Rows, times: Rows, title: str) -> Analysis:
    """Regret at the horizon of every policy, next to chance and to CTS, over paired runs."""
    seconds = {
        label: float(np.mean([row["ask_s"][-1] for row in times if row["label"] == label])) for label in labels(rows)
    }
    horizon = rows[0]["checkpoints"][-1]
    policies = {}
    for label in labels(rows):
        final = finals(rows, "regret", label)
        policies[label] = {
            "regret": final.tolist(),
            "of_cts": vars(paired_ratio(final, finals(rows, "regret", "CTS"))),
            "of_random": vars(paired_ratio(final, finals(rows, "regret", "random"))),
            "evaluations_a_round": float(finals(rows, "evaluations", label).mean() / horizon),
        }
    order = sorted(policies, key=lambda label: -np.mean(policies[label]["regret"]))
    heading = ["policy", "regret", "× CTS", "× random", "evaluations a round", "ms a round"]
    body = [
        [
            label,
            str(mean_interval(policies[label]["regret"])),
            _ratio(policies[label]["of_cts"]),
            _ratio(policies[label]["of_random"]),
            f"{policies[label]['evaluations_a_round']:,.0f}",
            f"{1000 * seconds[label] / horizon:.2f}",
        ]
        for label in order
    ]
    n_runs = len(policies["CTS"]["regret"])
    caption = f"Cumulative regret at T = {horizon:,}, means over {n_runs} paired runs (95% intervals)"
    gaps = [row["gap"] for row in rows]
    numbers = {"policies": policies, "horizon": horizon, "n_runs": n_runs, "gap": float(np.min(gaps))}
    return Analysis(numbers, [(caption, [heading, *body])], lambda figure: _draw(figure, rows, title))


def _ratio(interval: dict[str, float]) -> str:
    return f"{interval['mean']:.2f} ({interval['low']:.2f} to {interval['high']:.2f})"


def _draw(figure: Any, rows: Rows, title: str) -> None:
    left, right = figure.subplots(1, 2)
    at = np.array(rows[0]["checkpoints"])
    for axis in (left, right):
        for label in labels(rows):
            colour, dash = STYLES[label]
            band(axis, at, curves(rows, "regret", label), colour, dash)
        plain(axis, "round t", "cumulative regret")
    left.set_title(title, loc="left")
    right.set_title("the same, both axes logarithmic", loc="left")
    right.set_xscale("log")
    right.set_yscale("log")
    ends = {label: (finals(rows, "regret", label).mean(), STYLES[label][0]) for label in labels(rows)}
    label_ends(left, ends)
    label_ends(right, ends, log=True)
