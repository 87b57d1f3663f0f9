"""Comparing policies: run the cells, and collect what they recorded into one result, plain data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

from superarm.experiments.catalogue import RequestError, Scale
from superarm.experiments.cell import Cell
from superarm.experiments.comparison.contestants import CONTESTANTS
from superarm.experiments.comparison.problems import NEEDED, PROBLEMS
from superarm.experiments.engine import StartExecutor, run_cells, versions
from superarm.experiments.store import Store
from superarm.version import __version__

N_RUNS, N_QUICK_RUNS = 20, 2


def sweep(scale: Scale) -> dict[str, list[Cell]]:
    """The cells of every problem: each policy that can play it, in each run."""
    return {
        name: scale.cells(
            "compare",
            [
                {"problem": problem.sized(scale.quick), "delta": problem.delta, "label": label}
                for label, contestant in CONTESTANTS.items()
                if not (contestant.additive and problem.settings["family"] == "network")
            ],
            runs=N_RUNS,
            quick_runs=N_QUICK_RUNS,
        )
        for name, problem in PROBLEMS.items()
    }


def run(
    scale: Scale,
    store: Store,
    *,
    start: StartExecutor | None = None,
    progress: Callable[[Cell], None] | None = None,
) -> None:
    """Record every cell that the store does not have yet; refused where a package with a table is not installed."""
    for package, install in NEEDED.items():
        if find_spec(package) is None:
            raise RequestError(
                f"a table of the comparison comes with the package {package}: {install}"
            )
    sweeps = sweep(scale)
    manifest = {**versions(), "purpose": "comparison"}
    store.open({**manifest, "quick": scale.quick, "runs": scale.runs, "seed": scale.seed}, sweeps)
    run_cells(
        [cell for cells in sweeps.values() for cell in cells], store, start=start, progress=progress
    )


def results(store: Store) -> dict[str, Any]:
    """What was recorded: for each problem and policy the regret of every run, and the evaluations."""
    manifest = store.manifest()
    if manifest is None or manifest.get("purpose") != "comparison":
        raise RequestError(f"{store.folder} holds no comparison")
    if manifest["superarm"] != __version__:
        raise RequestError(
            f"{store.folder} was recorded by superarm {manifest['superarm']}, this is {__version__}"
        )
    scale = Scale(quick=manifest["quick"], runs=manifest["runs"], seed=manifest["seed"])
    found = {name: _collected(cells, store) for name, cells in sweep(scale).items()}
    about = {name: manifest[name] for name in ("superarm", "numpy", "scipy", "quick", "seed")}
    return {**about, "problems": found}


def _collected(cells: Sequence[Cell], store: Store) -> dict[str, Any]:
    policies: dict[str, dict[str, Any]] = {}
    for cell in cells:
        row = store.get(cell).row
        one = policies.setdefault(
            cell.settings["label"], {"regret": [], "chance": [], "evaluations": []}
        )
        for name in one:
            one[name].append(row[name])
    problem = cells[0].settings["problem"]
    about = {"n_arms": row["n_arms"], "k": problem["k"], "horizon": problem["horizon"]}
    return {**about, "policies": policies}
