"""The comparison as a study: its cells, what they recorded, and the two ways to get its page."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from superarm.catalog import POLICIES
from superarm.reporting import RequestError, need
from superarm.studies.cell import Cell
from superarm.studies.code import versions
from superarm.studies.comparison import report
from superarm.studies.comparison.problems import COMPARED, N_TESTS, NEEDED, PROBLEMS
from superarm.studies.run import record_with_bar, recorded_rows
from superarm.studies.store import Store
from superarm.studies.study import Done, Findings, Rows, Scale, Study
from superarm.version import __version__

if TYPE_CHECKING:
    from rich.console import Console

N_RUNS, N_QUICK_RUNS = 20, 2
_RECORDED = ("regret", "chance", "evaluations")


def cells(scale: Scale) -> list[Cell]:
    """Every policy on every problem that it can play."""
    settings = [
        {
            "problem": problem.sized(scale),
            "policy": name,
            "task": {"delta": problem.delta, "n_tests": N_TESTS},
            "label": POLICIES[name].label,
        }
        for problem in PROBLEMS.values()
        for name in COMPARED
        # Policies that need an additive reward cannot play a network.
        if not (POLICIES[name].additive and problem.settings["family"] == "network")
    ]
    return scale.cells("compare", settings, runs=N_RUNS, quick_runs=N_QUICK_RUNS)


def analyse(rows: Rows, times: Rows) -> Findings:
    """For each problem and policy, the regret and the evaluations of every run."""
    problems: dict[str, dict[str, Any]] = {}
    # The name of a problem is that of its family.
    for row in rows:
        problem = row["problem"]
        about = {name: problem[name] for name in ("k", "horizon")}
        one = problems.setdefault(
            problem["family"], {"n_arms": row["n_arms"], **about, "policies": {}}
        )
        runs = one["policies"].setdefault(row["label"], {name: [] for name in _RECORDED})
        for name in _RECORDED:
            runs[name].append(row[name])
    numbers = {"problems": problems}
    return Findings(numbers, [report.summary(numbers)], lambda figure: report.draw(figure, numbers))


STUDY = Study("comparison", "Comparison of policies", cells, analyse)


def compare(
    scale: Scale, folder: Path, *, workers: int = 2, console: Console | None = None
) -> Done:
    """Record every cell that the folder does not have, and write the page.

    Parameters
    ----------
    scale, folder
        The sizes, and where everything is written. A folder with other settings is refused.
    workers
        The number of processes. The results are the same for any number.
    console
        Where to show progress.
    """
    _need_tables()
    sweeps = {STUDY.name: STUDY.cells(scale)}
    store = Store(folder)
    # Refuses a folder with other settings before anything is run.
    store.open(manifest_of(scale), sweeps)
    record_with_bar(sweeps, store, unit="runs", workers=workers, console=console)
    return report.write(results(store), store)


def rebuild(folder: Path) -> Done:
    """Make the page of a folder again, from its rows alone."""
    store = Store(folder)
    return report.write(results(store), store)


def manifest_of(scale: Scale) -> dict[str, Any]:
    """What a folder of rows is a folder of."""
    about = {"size": scale.size, "runs": scale.runs, "seed": scale.seed}
    return {**versions("compare"), "purpose": STUDY.name, **about}


def results(store: Store) -> dict[str, Any]:
    """The findings of a folder as plain data, with the versions that recorded them."""
    manifest = store.manifest()
    if manifest is None or manifest.get("purpose") != STUDY.name:
        raise RequestError(f"{store.folder} holds no comparison")
    # The rows of another version are rows of other cells (`Cell.key`).
    if manifest["superarm"] != __version__:
        raise RequestError(
            f"{store.folder} was recorded by superarm {manifest['superarm']}, this is {__version__}"
        )
    scale = Scale(manifest["size"], runs=manifest["runs"], seed=manifest["seed"])
    findings = STUDY.analyse(*recorded_rows(STUDY.cells(scale), store))
    about = {name: manifest[name] for name in ("superarm", "numpy", "scipy")}
    return {**about, "quick": scale.size != "paper", "seed": scale.seed, **findings.numbers}


def _need_tables() -> None:
    need("matplotlib", "plots", "the comparison draws a picture")
    need("jinja2", "plots", "the page is made from a template")
    for package, install in NEEDED.items():
        if find_spec(package) is None:
            raise RequestError(
                f"a table of the comparison comes with the package {package}: {install}"
            )
