"""Beyond the paper: group testing that remembers, on networks from steep to flat.

The weights of the hidden layer are |N(0, 1)| times 1, 0.3 and 0.05, and the gap is 0.2 times as
much. A steep network saturates, so that all large tests score the same. In a flat network a single
arm is below the step of the quantizer, so that all small tests score the same. The regression
decoder finds the size by itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from superarm.reporting.figures import band, logarithmic, look, name_curves, panels
from superarm.reporting.statistics import Interval, mean_interval, paired_ratio
from superarm.reporting.tables import Table
from superarm.studies.cell import Cell, Rows, Scale
from superarm.studies.paper.experiments import fig2b
from superarm.studies.paper.policies import (
    LAZY,
    N_TESTS,
    QUICK_N_TESTS,
    REGRESSION,
    beyond,
    curves,
    finals,
    labelled,
)
from superarm.studies.study import Findings

TITLE = "Beyond the paper: steep and flat networks"

STDS = (1.0, 0.3, 0.05)
N_RUNS = 20


def cells(scale: Scale) -> list[Cell]:
    """CTS, the random baseline and both decoders at three steepnesses."""
    policies = {
        **labelled(("random", "gt-qts-one-of-m"), fig2b.DELTA),
        **beyond(fig2b.DELTA, scale.pick(N_TESTS, QUICK_N_TESTS)),
    }
    settings = [
        {
            # Values shrink with the weights. A gap that did not shrink could not be met by flat
            # networks.
            "problem": {**fig2b.played(scale)["problem"], "gap": 0.2 * std, "std": std},
            "horizon": scale.pick(5_000, 400, 20),
            "label": label,
            "policy": spec,
        }
        for std in STDS
        for label, spec in policies.items()
    ]
    return scale.cells("play", settings, runs=N_RUNS, quick_runs=2)


def analyse(rows: Rows, times: Rows) -> Findings:
    """Regret next to that of CTS with Oracle+'s decisions, at each steepness."""
    numbers = {f"{std:g}": _found(_part(rows, std)) for std in STDS}
    notes = [
        f"Weights times {std}: the regression decoder has "
        f"{Interval(**found['policies'][REGRESSION]['of_cts'])} times the regret of CTS."
        for std, found in numbers.items()
    ]
    tables = [_table(std, found) for std, found in numbers.items()]
    return Findings(numbers, tables, lambda figure: _draw(figure, rows), notes)


def _found(part: Rows) -> dict[str, Any]:
    """What the rows at one steepness say."""
    # CTS with LazySingletons decides as CTS with Oracle+ does, for a part of the evaluations.
    regret, evaluations = finals(part, "regret"), finals(part, "evaluations")
    policies = {
        label: {
            "regret": runs.tolist(),
            "of_cts": paired_ratio(runs, regret[LAZY])._asdict(),
            "evaluations": float(evaluations[label].mean()),
        }
        for label, runs in regret.items()
    }
    return {"policies": policies, "horizon": part[0]["checkpoints"][-1]}


def _table(std: str, found: dict[str, Any]) -> Table:
    horizon, policies = found["horizon"], found["policies"]
    body = [
        [
            label,
            str(mean_interval(one["regret"])),
            str(Interval(**one["of_cts"])),
            f"{one['evaluations'] / horizon:,.2f}",
        ]
        for label, one in policies.items()
    ]
    return Table(
        ["policy", "regret", "× CTS's", "evaluations per round"],
        body,
        caption=f"Weights times {std}, T = {horizon:,}, {len(policies[LAZY]['regret'])} paired "
        f"runs with 95% intervals. Less is better.",
    )


def _part(rows: Rows, std: float) -> Rows:
    return [row for row in rows if row["problem"]["std"] == std]


def _draw(figure: Any, rows: Rows) -> None:
    for axis, std in zip(panels(figure, len(STDS), n_names=2), STDS, strict=True):
        part = _part(rows, std)
        at = np.array(part[0]["checkpoints"])
        ends = {}
        for label, runs in curves(part, "regret").items():
            band(axis, at, runs, look(label))
            ends[label] = (runs[:, -1].mean(), look(label))
        logarithmic(axis)
        axis.set(xlabel="round t", ylabel="cumulative regret")
        axis.set_title(f"weights times {std:g}", loc="left")
        name_curves(axis, ends)
