"""The files that ``superarm run`` writes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from superarm.beliefs import LinearBelief
from superarm.features import Encoder
from superarm.reporting import folders, lacks
from superarm.reporting.figures import render
from superarm.reporting.tables import as_csv
from superarm.studies.cells.knowing import shared_of
from superarm.studies.own_table import report
from superarm.studies.own_table.analysis import Analysis, numbers
from superarm.studies.own_table.messages import added, to_use


def write(
    found: Analysis,
    settings: dict[str, Any],
    folder: Path,
    encoder: Encoder | None,
    example: Mapping[str, str],
    options: str,
) -> Path:
    """Write all files of a run; returns the path of the page, or the folder without one."""
    plain = json.dumps(
        {**numbers(found, settings), **_contexts_add(found)}, indent=1, allow_nan=False
    )
    files = {
        "numbers.json": plain + "\n",
        "runs.csv": as_csv(found.run_rows),
        "arms.csv": as_csv(found.arms),
        "bandit.json": json.dumps(_bandit(found, settings), ensure_ascii=False) + "\n",
    }
    # Without the packages that draw, people still get their numbers.
    if not lacks("matplotlib", "jinja2"):
        svg = render(partial(report.draw, analysis=found))
        page = report.html(found, settings, svg, example, options)
        files |= {"picture.svg": svg, "report.html": page}
    if encoder is not None:
        state = json.dumps(encoder.state(), ensure_ascii=False)
        files = {"context.json": state + "\n", **files}
    # The page comes last: whoever sees it finds all other files complete.
    last = [folders.write(folder / name, text) for name, text in files.items()][-1]
    return last if "report.html" in files else folder


def _bandit(found: Analysis, settings: dict[str, Any]) -> dict[str, Any]:
    """The request that makes a bandit with these arms, for the service."""
    problem, prior, chosen = found.problem, settings.get("prior"), to_use(found)
    arms = list(problem.environment.names)
    bandit: dict[str, Any] = {"name": Path(settings["table"]).stem, "arms": arms, "k": problem.k}
    if chosen == "thompson":
        return bandit if prior is None else {**bandit, "prior": prior}
    kind = "linear" if problem.model is LinearBelief else "logistic"
    bandit["belief"] = {"kind": kind, "shared": shared_of(problem.k)}
    if problem.known.features is not None:
        bandit["features"] = problem.known.features.tolist()
    if chosen == "contexts":
        assert problem.known.contexts is not None
        bandit["belief"]["context"] = problem.known.contexts.shape[1]
    return bandit


def _contexts_add(found: Analysis) -> dict[str, Any]:
    """What contexts add per round, and to which policy."""
    difference = added(found, "contexts")
    if difference is None:
        return {}
    less, reward = difference
    return {"contexts_add": {"to": less, "reward": reward.numbers}}
