"""The comparison as a study: its cells, what they recorded, and the two ways to get its page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from superarm.reporting import RequestError
from superarm.reporting.files import need
from superarm.studies.cell import Cell, Rows, Scale, recorded_rows
from superarm.studies.code import versions
from superarm.studies.comparison import report
from superarm.studies.comparison.contestants import Contestant
from superarm.studies.comparison.problems import (
    LABELS,
    N_TESTS,
    NEEDED,
    with_others,
)
from superarm.studies.comparison.rehearsal import rehearse
from superarm.studies.run import record
from superarm.studies.store import Store
from superarm.studies.study import Done
from superarm.version import __version__

if TYPE_CHECKING:
    from rich.console import Console

NAME = "comparison"
N_RUNS, N_QUICK_RUNS = 6, 2
_RECORDED = ("regret", "chance", "evaluations")
_FLOORS = ("bayes", "first_failure", "asymptotic")


def cells(scale: Scale, others: Sequence[Contestant] = ()) -> list[Cell]:
    """Every policy on every problem, and the floors of every problem."""
    outside = {one.name: one for one in others if one.horizon is None}
    settings: list[dict[str, Any]] = []
    floors: list[dict[str, Any]] = []
    for name, problem in with_others(others).items():
        about = {"on": name, "problem": problem.sized(scale)}
        task = {"delta": problem.delta, "n_tests": N_TESTS}
        floors.append({**about, "label": "floor"})
        settings += [
            {**about, "policy": policy, "task": task, "label": LABELS[policy]}
            for policy in problem.policies
        ]
        # Its code is a part of the cell: a changed contestant plays again, and only it.
        settings += [
            {**about, "policy": one.name, "task": task, "label": one.label, "code": one.code}
            for one in outside.values()
        ]
    return [
        *scale.cells("floor", floors, runs=N_RUNS, quick_runs=N_QUICK_RUNS),
        *scale.cells("compare", settings, runs=N_RUNS, quick_runs=N_QUICK_RUNS),
    ]


def analyse(rows: Rows) -> dict[str, Any]:
    """For each problem and policy, the regret and the evaluations of every run; the floors."""
    floors: dict[str, Rows] = {}
    played: dict[str, dict[str, Rows]] = {}
    for row in rows:
        if row["kind"] == "floor":
            floors.setdefault(row["on"], []).append(row)
        elif "regret" in row:  # the row of a policy that does not play this problem is empty
            played.setdefault(row["on"], {}).setdefault(row["policy"], []).append(row)
    problems = {
        name: {
            "n_arms": own[0]["n_arms"],
            "k": own[0]["k"],
            "horizon": own[0]["problem"]["horizon"],
            "floors": {floor: _mean([row[floor] for row in own]) for floor in _FLOORS},
            "policies": {
                policy: {column: [row[column] for row in runs] for column in _RECORDED}
                for policy, runs in played.get(name, {}).items()
            },
        }
        for name, own in floors.items()
    }
    return {"problems": problems}


def _mean(floors: list[float | None]) -> float | None:
    # A problem has a floor in all runs or in none.
    return None if None in floors else float(np.mean(np.array(floors)))


def compare(
    scale: Scale,
    folder: Path,
    *,
    others: Sequence[Contestant] = (),
    workers: int = 2,
    console: Console | None = None,
) -> Done:
    """Record every cell that the folder does not have, and write the page.

    Parameters
    ----------
    scale, folder
        The sizes, and where everything is written. A folder with other settings is refused.
    others
        Policies and problems from outside. They may change from call to call: what is recorded of
        them belongs to the code that they had.
    workers
        The number of processes. The results are the same for any number.
    console
        Where to show progress.
    """
    _need_tables()
    sweeps = {NAME: cells(scale, others)}
    rehearse(sweeps[NAME])
    store = Store(folder)
    # Refuses a folder with other settings before anything is run.
    store.open(manifest_of(scale), {NAME: cells(scale)})
    record(sweeps, store, unit="runs", workers=workers, console=console)
    # After the runs, so that a page can be made of everything that the manifest names.
    store.note(outside=[asdict(one) for one in others])
    return report.write(results(store), store)


def rebuild(folder: Path) -> Done:
    """Make the page of a folder again, from its rows alone."""
    store = Store(folder)
    return report.write(results(store), store)


def manifest_of(scale: Scale) -> dict[str, Any]:
    """What a folder of rows is a folder of."""
    about = {"size": scale.size, "runs": scale.runs, "seed": scale.seed}
    return {**versions("compare", "floor"), "purpose": NAME, **about}


def results(store: Store) -> dict[str, Any]:
    """The findings of a folder as plain data, with the versions that recorded them."""
    manifest = store.manifest()
    if manifest is None or manifest.get("purpose") != NAME:
        raise RequestError(f"{store.folder} holds no comparison")
    # The rows of another version are rows of other cells (`Cell.key`).
    if manifest["superarm"] != __version__:
        raise RequestError(
            f"{store.folder} was recorded by superarm {manifest['superarm']}, this is {__version__}"
        )
    scale = Scale(manifest["size"], runs=manifest["runs"], seed=manifest["seed"])
    outside = manifest.get("outside", [])
    rows, _ = recorded_rows(cells(scale, [Contestant(**one) for one in outside]), store)
    about = {name: manifest[name] for name in ("superarm", "numpy", "scipy")}
    shape = {"quick": scale.size != "paper", "seed": scale.seed, "outside": _told_apart(outside)}
    return {**about, **shape, **analyse(rows)}


def _told_apart(outside: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Contestants, labelled MODULE:FUNCTION where another policy or problem has the same label."""
    labels = Counter([*LABELS.values(), *(one["label"] for one in outside)])
    return [one if labels[one["label"]] == 1 else {**one, "label": one["name"]} for one in outside]


def _need_tables() -> None:
    need("matplotlib", "plots", "the comparison draws a picture")
    need("jinja2", "plots", "the page is made from a template")
    for package, install in NEEDED.items():
        if find_spec(package) is None:
            raise RequestError(
                f"a table of the comparison comes with the package {package}: {install}"
            )
