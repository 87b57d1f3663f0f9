"""What figures 2A and 2B have in common: regret curves of many policies, as picture and table."""

from __future__ import annotations

from typing import Any

import numpy as np

from superarm.core.arguments import FloatArray, IndexArray
from superarm.reporting.figures import band, logarithmic, look, name_curves, panels
from superarm.reporting.statistics import (
    Interval,
    mean_interval,
    paired_difference,
    paired_ratio,
)
from superarm.reporting.tables import Table
from superarm.studies.cell import Rows
from superarm.studies.paper.policies import CTS, RANDOM, curves
from superarm.studies.study import Findings

_LEAST_GROWTH = 1e-9  # of regret over a tenfold of rounds; less is a rounding error


def analyse_regret(rows: Rows, times: Rows, *, title: str) -> Findings:
    """Regret at the horizon of every policy, next to the random baseline and to CTS; its growth."""
    numbers = regret_numbers(rows)
    return Findings(numbers, [regret_table(numbers)], lambda figure: _draw(figure, rows, title))


def regret_numbers(rows: Rows) -> dict[str, Any]:
    """What the rows of policies on one problem say, as plain data."""
    at = np.array(rows[0]["checkpoints"])
    horizon = int(at[-1])
    regret, evaluations = curves(rows, "regret"), curves(rows, "evaluations")
    exact, random = regret[CTS][:, -1], regret[RANDOM][:, -1]
    policies: dict[str, dict[str, Any]] = {}
    for label, runs in regret.items():
        policies[label] = {
            "regret": runs[:, -1].tolist(),
            "minus_cts": paired_difference(runs[:, -1], exact)._asdict(),
            "of_cts": paired_ratio(runs[:, -1], exact)._asdict(),
            "of_random": paired_ratio(runs[:, -1], random)._asdict(),
            "evaluations_per_round": float(evaluations[label][:, -1].mean() / horizon),
            "exponents": exponents(runs, at, horizon).tolist(),
            "tenfolds": tenfolds(runs, at, horizon).tolist(),
        }
    return {
        "policies": policies,
        "horizon": horizon,
        "n_runs": len(exact),
        "n_arms": rows[0]["problem"]["n_arms"],
        "gap": float(np.min([row["gap"] for row in rows])),
    }


def exponents(runs: FloatArray, at: IndexArray, t: float) -> FloatArray:
    """Shape (n_runs,): the b of regret ~ t^b between rounds t / 10 and t.

    It is 1 for regret in proportion to t, and near 0 for regret like log(t).
    """
    late, early = value_at(runs, at, t), value_at(runs, at, t / 10)
    return np.asarray(np.log10(late / early))


def tenfolds(runs: FloatArray, at: IndexArray, t: float) -> FloatArray:
    """Shape (n_runs,): what the last tenfold of rounds adds to the regret, over the one before.

    It is 1 for regret like log(t), and 10 for regret in proportion to t.
    """
    last, middle, first = (value_at(runs, at, round_) for round_ in (t, t / 10, t / 100))
    # A policy that lost nothing early on has no growth to divide by.
    return np.asarray((last - middle) / np.maximum(middle - first, _LEAST_GROWTH))


def value_at(runs: FloatArray, at: IndexArray, t: float) -> FloatArray:
    """Shape (n_runs,): a recorded column in round t, interpolated between checkpoints."""
    return np.array([np.interp(t, at, run) for run in runs])


def regret_table(numbers: dict[str, Any]) -> Table:
    """What `regret_numbers` found, for people."""
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
            str(mean_interval(policies[label]["exponents"])),
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
            "exponent of t",
            "evaluations per round",
        ],
        body,
        caption=f"Cumulative regret at T = {numbers['horizon']:,}, means over {numbers['n_runs']} "
        f"paired runs with 95% intervals. The exponent is that of the last tenfold of rounds. "
        f"Less is better.",
    )


def _draw(figure: Any, rows: Rows, title: str) -> None:
    regret = curves(rows, "regret")
    looks = {label: look(label) for label in regret}
    plain_scale, log_scale = panels(figure, 2, n_names=len(looks) // 2 + 1)
    at = np.array(rows[0]["checkpoints"])
    for axis in (plain_scale, log_scale):
        for label, runs in regret.items():
            band(axis, at, runs, looks[label])
        axis.set(xlabel="round t", ylabel="cumulative regret")
    plain_scale.set_title(title, loc="left")
    log_scale.set_title("the same, both axes logarithmic", loc="left")
    logarithmic(log_scale)
    for axis in (plain_scale, log_scale):
        name_curves(
            axis, {label: (runs[:, -1].mean(), looks[label]) for label, runs in regret.items()}
        )
