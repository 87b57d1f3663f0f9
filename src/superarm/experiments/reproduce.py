"""Reproducing the paper: run the sweeps, store the rows, then make pictures, numbers, verdicts and the report."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from superarm.experiments import batched, catalogue, report
from superarm.experiments.catalogue import Analysis, RequestError, Rows, Scale
from superarm.experiments.cell import Cell, canonical
from superarm.experiments.claims import Claim, judge
from superarm.experiments.engine import StartExecutor, processes, run_cells, versions
from superarm.experiments.figures import render
from superarm.experiments.store import Store
from superarm.version import __version__


def manifest_of(scale: Scale, engine: str = "process") -> dict[str, Any]:
    """What a folder of rows is a folder of."""
    return {
        **versions(),
        **batched.about(engine),
        "quick": scale.quick,
        "runs": scale.runs,
        "seed": scale.seed,
    }


def plan(names: Sequence[str], scale: Scale) -> dict[str, list[Cell]]:
    """The sweeps of the experiments asked for."""
    return {name: catalogue.load(name).sweep(scale) for name in names}


def run(
    names: Sequence[str],
    scale: Scale,
    store: Store,
    *,
    engine: str = "process",
    start: StartExecutor | None = None,
    progress: Callable[[Cell], None] | None = None,
) -> None:
    """Record every cell of the experiments that the store does not have yet.

    The engine "process" plays cells one by one; "batch" and "torch" play the runs of a setting together where they
    can, and the rest is played as ever.

    Cells that experiments share are run once. Dear cells come first, so that the workers finish together; cells that
    are timed come last, one at a time in a process of their own, so that nothing runs beside them.
    """
    sweeps = plan(names, scale)
    batched.check(engine, names)
    store.open(manifest_of(scale, engine), sweeps)
    distinct = {cell.key: cell for sweep in sweeps.values() for cell in sweep}
    if engine != "process":
        together = [cell for cell in distinct.values() if batched.can_play(cell)]
        batched.run_together(together, store, engine, progress=progress)
    ordered = sorted(distinct.values(), key=cost, reverse=True)
    timed = [cell for cell in ordered if cell.settings.get("purpose") == "time"]
    run_cells(
        [cell for cell in ordered if cell not in timed], store, start=start, progress=progress
    )
    run_cells(timed, store, start=processes(1), progress=progress)


def make_report(store: Store) -> tuple[Path, list[Claim]]:
    """Everything that follows from the rows, which are all that is read: of every experiment that is complete."""
    manifest = store.manifest()
    if manifest is None:
        raise RequestError(f"{store.folder} holds no reproduction: there is no manifest.json in it")
    scale = Scale(quick=manifest["quick"], runs=manifest["runs"], seed=manifest["seed"])
    if manifest["superarm"] != __version__:
        raise RequestError(
            f"{store.folder} was recorded by superarm {manifest['superarm']}, this is {__version__}"
        )
    analyses: dict[str, tuple[str, Analysis]] = {}
    pictures: dict[str, bytes] = {}
    seconds: dict[str, float] = {}
    all_seconds: dict[str, float] = {}
    for name in catalogue.names():
        if name not in manifest["sweeps"]:
            continue
        experiment = catalogue.load(name)
        cells = experiment.sweep(scale)
        if not all(map(store.has, cells)):
            continue
        rows, times = _collect(name, cells, store)
        analysis = experiment.analyse(rows, times)
        analyses[name] = experiment.TITLE, analysis
        pictures[name] = render(analysis.draw)
        each = {cell.key: time["seconds"] for cell, time in zip(cells, times, strict=True)}
        seconds[name] = sum(each.values())
        all_seconds.update(each)
        store.write(f"{name}/{name}.png", pictures[name])
        store.write(f"{name}/numbers.json", json.dumps(analysis.numbers, indent=1) + "\n")
    if not analyses:
        raise RequestError(
            f"no experiment in {store.folder} is complete; run it again, without --from, to go on"
        )
    claims = judge({name: analysis.numbers for name, (_, analysis) in analyses.items()})
    store.write("claims.json", json.dumps([vars(claim) for claim in claims], indent=1) + "\n")
    page = report.html(analyses, pictures, claims, manifest, seconds, sum(all_seconds.values()))
    return store.write("report.html", page), claims


def cost(cell: Cell) -> float:
    """About how many seconds a cell takes: for the order, and for the estimate of what is left."""
    s = cell.settings
    if cell.kind != "play":
        return 1.0
    n_arms, n_tests = s["problem"]["n_arms"], s["policy"].get("n_tests", 0)
    if isinstance(n_tests, str):
        n_tests = 300
    sparse = isinstance(s["policy"].get("p"), str)
    a_round = 1e-4 + 6e-8 * n_arms + n_tests * (1e-6 if sparse else 8e-10 * n_arms)
    if s["problem"]["family"] == "network":
        a_round += 1e-3 if s["policy"]["name"] == "cts greedy" else 3e-4
    if s.get("calls") == "single":
        a_round += 2e-5 * (n_tests or n_arms)
    return a_round * s["horizon"]


def _collect(name: str, cells: list[Cell], store: Store) -> tuple[Rows, Rows]:
    """An experiment's rows in the order of its sweep, as the analysis gets them and as they are kept for people."""
    rows, times = [], []
    for cell in cells:
        recorded = store.get(cell)
        about = {"kind": cell.kind, "run": cell.run, **cell.settings}
        rows.append({**about, **recorded.row})
        times.append({**about, **recorded.times})
    store.write(f"{name}/rows.jsonl", "".join(canonical(row) + "\n" for row in rows))
    store.write(f"{name}/times.jsonl", "".join(canonical(row) + "\n" for row in times))
    return rows, times
