"""What figures 2A and 2B have in common: regret curves of many policies, as picture and table."""

from __future__ import annotations

from typing import Any

import numpy as np

from superarm.reporting.figures import band, logarithmic, name_curves, panels, plain
from superarm.reporting.palette import look
from superarm.reporting.statistics import (
    Interval,
    mean_interval,
    paired_difference,
    paired_ratio,
)
from superarm.reporting.tables import Table
from superarm.studies.paper.policies import CTS, RANDOM, curves, finals, labels
from superarm.studies.study import Findings, Rows


def analyse_regret(rows: Rows, title: str) -> Findings:
    """Regret at the horizon of every policy, next to the random baseline and to CTS."""
    horizon = rows[0]["checkpoints"][-1]
    exact, random = finals(rows, "regret", CTS), finals(rows, "regret", RANDOM)
    policies: dict[str, dict[str, Any]] = {}
    for label in labels(rows):
        final = finals(rows, "regret", label)
        policies[label] = {
            "regret": final.tolist(),
            "minus_cts": vars(paired_difference(final, exact)),
            "of_cts": vars(paired_ratio(final, exact)),
            "of_random": vars(paired_ratio(final, random)),
            "evaluations_per_round": float(finals(rows, "evaluations", label).mean() / horizon),
        }
    gap = float(np.min([row["gap"] for row in rows]))
    numbers = {"policies": policies, "horizon": horizon, "n_runs": len(exact), "gap": gap}
    return Findings(numbers, [_table(numbers)], lambda figure: _draw(figure, rows, title))


def _table(numbers: dict[str, Any]) -> Table:
    policies = numbers["policies"]
    order = sorted(policies, key=lambda label: -np.mean(policies[label]["regret"]))
    body = [
        [
            label,
            str(mean_interval(policies[label]["regret"])),
            *(
                str(Interval(**policies[label][name]))
                for name in ("minus_cts", "of_cts", "of_random")
            ),
            f"{policies[label]['evaluations_per_round']:,.0f}",
        ]
        for label in order
    ]
    return Table(
        [
            "policy",
            "regret",
            "minus CTS's",
            "× CTS's",
            "× random baseline's",
            "evaluations per round",
        ],
        body,
        caption=f"Cumulative regret at T = {numbers['horizon']:,}, means over {numbers['n_runs']} "
        f"paired runs with 95% intervals. Less is better.",
    )


def _draw(figure: Any, rows: Rows, title: str) -> None:
    names = labels(rows)
    plain_scale, log_scale = panels(figure, 2, n_names=len(names) // 2 + 1)
    at = np.array(rows[0]["checkpoints"])
    for axis in (plain_scale, log_scale):
        for label in names:
            band(axis, at, curves(rows, "regret", label), look(label))
        plain(axis, "round t", "cumulative regret")
    plain_scale.set_title(title, loc="left")
    log_scale.set_title("the same, both axes logarithmic", loc="left")
    logarithmic(log_scale)
    for axis in (plain_scale, log_scale):
        name_curves(
            axis, {label: (finals(rows, "regret", label).mean(), look(label)) for label in names}
        )
