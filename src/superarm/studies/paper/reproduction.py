"""Reproducing the paper: run the cells of experiments, then make the report from recorded rows.

An experiment is a module of `experiments` or of `extensions` with

    TITLE                      a line for people
    cells(scale)               its cells, as plain data
    analyse(rows, times)       the `Findings` of what was recorded, and of nothing else

so adding an experiment is adding a file. Kinds of cells other than "play" are modules of
`superarm.studies.cells`, and stand in ``KINDS``.
"""

from __future__ import annotations

import json
import pkgutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from superarm.reporting import RequestError, files
from superarm.reporting.figures import inline, render
from superarm.reporting.tables import Table
from superarm.studies import batched
from superarm.studies.archive import unpack
from superarm.studies.cell import Cell, Recorded, Recording, Rows, Scale, canonical, recorded_rows
from superarm.studies.code import versions
from superarm.studies.paper import experiments, extensions
from superarm.studies.paper.claims import STATEMENTS
from superarm.studies.paper.verdicts import Claim, Numbers, Verdict, claim_of
from superarm.studies.run import record
from superarm.studies.store import NOTED, Store, provenance
from superarm.studies.study import Done, Findings, Study
from superarm.version import __version__

if TYPE_CHECKING:
    from rich.console import Console

# The modules by the names of their experiments, which are the names of their files. None of them is
# imported before it is needed.
EXPERIMENTS = {
    file.name: f"{part.__name__}.{file.name}"
    for part in (experiments, extensions)  # in the order of the report
    for file in pkgutil.iter_modules(part.__path__)
}
# The kinds of cells that the experiments have: the code that can change a row of any of them.
KINDS = ("lemma1", "lemma2", "play", "rules", "signal", "swap_search")
# Experiments that can be played at once. The others need what is only known run by run: theta,
# times, or regret that is equal to the last digit.
TOGETHER = ("fig2a", "fig2b", "fig2c")
_TEMPLATE = Path(__file__).parent / "report.html"
REDUCED = (
    "Reduced sizes: this run shows that everything works. Its numbers do not hold for the paper's "
    "sizes, and claims that need those are not judged."
)
_MARKS = {
    Verdict.REPRODUCED: "yes",
    Verdict.CONDITIONALLY: "partly",
    Verdict.NOT_REPRODUCED: "no",
    Verdict.UNDECIDED: "open",
    Verdict.NOT_JUDGED: "unjudged",
}


def load(name: str) -> Study:
    """An experiment by name."""
    if name not in EXPERIMENTS:
        raise RequestError(f"experiment must be one of {', '.join(EXPERIMENTS)}, got {name!r}")
    module = import_module(EXPERIMENTS[name])
    return Study(name, module.TITLE, module.cells, module.analyse)


def reproduce(
    names: Sequence[str],
    scale: Scale,
    folder: Path,
    *,
    engine: str = "process",
    workers: int = 2,
    dask: str | None = None,
    console: Console | None = None,
) -> Done:
    """Record every cell of the experiments that the folder does not have, and write the report.

    Parameters
    ----------
    names
        Some of `EXPERIMENTS`; none or "all" for all of them.
    scale, folder
        The sizes, and where everything is written. A folder with other settings is refused.
    engine
        "process" plays cells one by one; "batch" and "torch" play many runs at once.
    workers, dask
        The number of processes, or the address of a dask scheduler to use instead.
    console
        Where to show progress.
    """
    wanted = _known(names, engine)
    files.need("matplotlib", "plots", "the report has pictures")
    files.need("jinja2", "plots", "the report is made from a template")
    # All cells are known before the folder is opened, so that a folder with other cells is refused
    # before anything runs.
    sweeps = {name: load(name).cells(scale) for name in wanted}
    store = Store(folder)
    store.open(manifest_of(scale, engine), sweeps)
    # Before anything runs, so that nobody waits for verdicts that do not come.
    if console is not None and scale.size != "paper":
        console.print(REDUCED)
    record(sweeps, store, workers=workers, dask=dask, engine=engine, console=console)
    return make_report(store, sweeps)


def rebuild(path: Path, out: Path) -> Done:
    """Make the report again, from recorded rows alone.

    Parameters
    ----------
    path
        A folder, whose report is made again where it is, or an archive (`studies.archive`).
    out
        The folder for the rows and the report of an archive.
    """
    files.need("matplotlib", "plots", "the report has pictures")
    files.need("jinja2", "plots", "the report is made from a template")
    if path.is_file():
        store, sweeps = _from_archive(path, out)
        return make_report(store, sweeps)
    return make_report(Store(path))


def _from_archive(path: Path, out: Path) -> tuple[Store, dict[str, Sequence[Cell]]]:
    """A folder with the cells of an archive, and the cells by experiment."""
    recorded: dict[str, Recorded] = {}
    manifest = unpack(path, recorded)
    sweeps = recorded_sweeps(manifest, recorded)
    # Another version may have other cells in an experiment, which its analysis then expects.
    if missing := sorted(set(manifest["sweeps"]) - set(sweeps)):
        raise RequestError(
            f"{path} was recorded by superarm {manifest['superarm']}, whose {missing[0]} has other "
            f"cells than that of this version, {__version__}"
        )
    store = Store(out)
    store.open({name: manifest[name] for name in manifest if name not in NOTED}, sweeps)
    for key in {cell.key for cells in sweeps.values() for cell in cells}:
        store[key] = recorded[key]
    return store, sweeps


def manifest_of(scale: Scale, engine: str = "process") -> dict[str, Any]:
    """What a folder of rows is a folder of."""
    about = {"engine": engine}
    if engine == "torch":
        import torch  # an extra, which takes seconds to load

        device = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
        about |= {"torch": torch.__version__, "device": device}
    return {
        # All kinds, even those that are not requested now: experiments may be added to the folder
        # later.
        **versions(*KINDS),
        **about,
        "size": scale.size,
        "runs": scale.runs,
        "seed": scale.seed,
    }


def _known(names: Sequence[str], engine: str) -> list[str]:
    """The names of the experiments that are wanted, if they exist and the engine plays them."""
    # Without repetitions, in the order of the request.
    wanted = list(dict.fromkeys(EXPERIMENTS if not names or "all" in names else names))
    if unknown := [name for name in wanted if name not in EXPERIMENTS]:
        raise RequestError(
            f"experiments must be among {', '.join(EXPERIMENTS)} or all, got {unknown[0]!r}"
        )
    if engine not in batched.ENGINES:
        raise RequestError(f"engine must be one of {', '.join(batched.ENGINES)}, got {engine!r}")
    others = [name for name in wanted if name not in TOGETHER]
    if engine != "process" and others:
        raise RequestError(
            f"engine {engine} plays {', '.join(TOGETHER)}, got {others[0]}; "
            f"run it with the engine process, into another folder"
        )
    if engine == "torch":
        files.need("torch", "torch", "--engine torch plays on a GPU")
    return wanted


@dataclass(frozen=True)
class Section:
    """One experiment on the page: findings, picture, and the seconds of its cells together."""

    name: str
    title: str
    findings: Findings
    picture: str
    seconds: float


def make_report(store: Store, planned: Mapping[str, Sequence[Cell]] | None = None) -> Done:
    """Write everything that follows from the rows of every experiment that is complete.

    ``planned`` are cells that the caller has already, by experiment.
    """
    manifest = store.manifest()
    # Only reproductions name an engine. A folder of the comparison has a manifest, too.
    if manifest is None or "engine" not in manifest:
        raise RequestError(f"{store.folder} holds no reproduction: no manifest.json names one")
    # Cells are named by their version, so that a folder of another version would look empty.
    if manifest["superarm"] != __version__:
        raise RequestError(
            f"{store.folder} was recorded by superarm {manifest['superarm']}, this is {__version__}"
        )
    sweeps = recorded_sweeps(manifest, store, planned)
    if not sweeps:
        raise RequestError(
            f"no experiment in {store.folder} is complete; run it again without --from to continue"
        )
    manifest = store.note(recorded=provenance(sweeps, store))
    sections = [
        _section(load(name), *recorded_rows(cells, store), store.folder / name)
        for name, cells in sweeps.items()
    ]
    claims = judge({one.name: one.findings.numbers for one in sections})
    judged = json.dumps([vars(claim) for claim in claims], indent=1) + "\n"
    files.write(store.folder / "claims.json", judged)
    page = files.render(
        _TEMPLATE,
        sections=sections,
        claims=claims,
        manifest=manifest,
        marks=_MARKS,
        reduced=REDUCED if manifest["size"] != "paper" else "",
    )
    tables = [_claims_table(claims, manifest["size"])] if claims else []
    return Done(files.write(store.folder / "report.html", page), tables)


def recorded_sweeps(
    manifest: Mapping[str, Any],
    store: Recording,
    planned: Mapping[str, Sequence[Cell]] | None = None,
) -> dict[str, Sequence[Cell]]:
    """The cells of every experiment that is complete, in the order of the report.

    An interrupted experiment is left out: a mean over some of the runs would look like a result.
    """
    scale = Scale(manifest["size"], runs=manifest["runs"], seed=manifest["seed"])
    found: dict[str, Sequence[Cell]] = {}
    for name in EXPERIMENTS:
        if name in manifest["sweeps"]:
            # Cells that the caller has are used again: making them all takes a while.
            cells = (planned or {}).get(name) or load(name).cells(scale)
            if all(cell.key in store for cell in cells):
                found[name] = cells
    return found


def judge(numbers: Mapping[str, Numbers]) -> list[Claim]:
    """All claims of the paper whose numbers are known, by the names of their experiments."""
    return [
        claim_of(statement, numbers)
        for statement in STATEMENTS
        if all(name in numbers for name in statement.needs)
    ]


def _section(study: Study, rows: Rows, times: Rows, folder: Path) -> Section:
    """Analyse, draw and write one experiment."""
    findings = study.analyse(rows, times)
    svg = render(findings.draw)
    # Rows and times are in separate files, because only the rows are the same on every machine.
    for name, found in (("rows", rows), ("times", times)):
        files.write(folder / f"{name}.jsonl", "".join([canonical(one) + "\n" for one in found]))
    files.write(folder / "numbers.json", json.dumps(findings.numbers, indent=1) + "\n")
    files.write(folder / f"{study.name}.svg", svg)
    seconds = sum(time["seconds"] for time in times)
    picture = inline(svg, study.name, study.title)
    return Section(study.name, study.title, findings, picture, seconds)


def _claims_table(claims: list[Claim], size: str) -> Table:
    rows = [[one.sentence, one.measured, one.interval, one.verdict] for one in claims]
    return Table(
        ["claim", "measured", "95% interval", "verdict"],
        rows,
        title="The paper's claims",
        caption=REDUCED if size != "paper" else "",
        n_texts=4,
        long=True,
    )
