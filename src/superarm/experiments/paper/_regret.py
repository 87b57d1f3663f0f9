"""What figures 2A and 2B have in common: regret curves of many policies, in a picture and in a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from superarm.experiments.catalogue import Analysis, Rows
from superarm.experiments.figures import band, label_ends, plain, style
from superarm.experiments.paper._policies import curves, finals, labels
from superarm.experiments.stats import Interval, mean_interval, paired_difference, paired_ratio


def analyse_regret(rows: Rows, title: str) -> Analysis:
    """Regret at the horizon of every policy, next to chance and to CTS, over paired runs."""
    horizon = rows[0]["checkpoints"][-1]
    exact, chance = finals(rows, "regret", "CTS"), finals(rows, "regret", "random")
    policies = {}
    for label in labels(rows):
        final = finals(rows, "regret", label)
        policies[label] = {
            "regret": final.tolist(),
            "minus_cts": vars(paired_difference(final, exact)),
            "of_cts": vars(paired_ratio(final, exact)),
            "of_random": vars(paired_ratio(final, chance)),
            "evaluations_a_round": float(finals(rows, "evaluations", label).mean() / horizon),
        }
    order = sorted(policies, key=lambda label: -np.mean(policies[label]["regret"]))
    heading = ["policy", "regret", "minus CTS's", "× CTS's", "× chance's", "evaluations a round"]
    body = [
        [
            label,
            str(mean_interval(policies[label]["regret"])),
            *(
                str(Interval(**policies[label][name]))
                for name in ("minus_cts", "of_cts", "of_random")
            ),
            f"{policies[label]['evaluations_a_round']:,.0f}",
        ]
        for label in order
    ]
    caption = (
        f"Cumulative regret at T = {horizon:,}, means over {len(exact)} paired runs (95% intervals)"
    )
    gap = float(np.min([row["gap"] for row in rows]))
    numbers = {"policies": policies, "horizon": horizon, "n_runs": len(exact), "gap": gap}
    return Analysis(
        numbers, [(caption, [heading, *body])], lambda figure: _draw(figure, rows, title)
    )


def _draw(figure: Any, rows: Rows, title: str) -> None:
    left, right = figure.subplots(1, 2)
    at = np.array(rows[0]["checkpoints"])
    for axis in (left, right):
        for label in labels(rows):
            band(axis, at, curves(rows, "regret", label), *style(label))
        plain(axis, "round t", "cumulative regret")
    left.set_title(title, loc="left")
    right.set_title("the same, both axes logarithmic", loc="left")
    right.set_xscale("log")
    right.set_yscale("log")
    ends = {
        label: (finals(rows, "regret", label).mean(), style(label)[0]) for label in labels(rows)
    }
    label_ends(left, ends)
    label_ends(right, ends, log=True)
