"""The report of a reproduction: everything that follows from the recorded rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from superarm.reporting import RequestError, pages
from superarm.reporting.figures import inline, render
from superarm.reporting.tables import Table
from superarm.studies.cell import Cell, canonical
from superarm.studies.paper import catalogue
from superarm.studies.paper.claims import judge
from superarm.studies.paper.verdicts import Claim, Verdict
from superarm.studies.provenance import provenance
from superarm.studies.run import recorded_rows
from superarm.studies.store import Memory, Recording, Store
from superarm.studies.study import Done, Findings, Rows, Scale, Study

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
    manifest = _manifest(store)
    sweeps = recorded_sweeps(manifest, store, planned)
    if not sweeps:
        raise RequestError(
            f"no experiment in {store.folder} is complete; run it again without --from to continue"
        )
    # Read once: both the manifest and the sections need every cell.
    recorded = Memory.copy_of(store, [cell for cells in sweeps.values() for cell in cells])
    manifest = store.note(recorded=provenance(sweeps, recorded))
    sections = [
        _section(catalogue.load(name), *recorded_rows(cells, recorded), store)
        for name, cells in sweeps.items()
    ]
    claims = judge({one.name: one.findings.numbers for one in sections})
    store.write("claims.json", json.dumps([vars(claim) for claim in claims], indent=1) + "\n")
    page = _page(sections, claims, manifest)
    tables = [_claims_table(claims, manifest["size"])] if claims else []
    return Done(store.write("report.html", page), tables)


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
    for name in catalogue.names():
        if name in manifest["sweeps"]:
            # Cells that the caller has are used again: making them all takes a while.
            cells = (planned or {}).get(name) or catalogue.load(name).cells(scale)
            if all(map(store.has, cells)):
                found[name] = cells
    return found


def _manifest(store: Store) -> dict[str, Any]:
    manifest = store.manifest()
    # Only reproductions name an engine. A folder of the comparison has a manifest, too.
    if manifest is None or "engine" not in manifest:
        raise RequestError(f"{store.folder} holds no reproduction: no manifest.json names one")
    return manifest


def _section(study: Study, rows: Rows, times: Rows, store: Store) -> Section:
    """Analyse, draw and write one experiment."""
    findings = study.analyse(rows, times)
    svg = render(findings.draw)
    files = {
        # Rows and times are in separate files, because only the rows are the same on every machine.
        "rows.jsonl": _lines(rows),
        "times.jsonl": _lines(times),
        "numbers.json": json.dumps(findings.numbers, indent=1) + "\n",
        f"{study.name}.svg": svg,
    }
    for file, content in files.items():
        store.write(f"{study.name}/{file}", content)
    seconds = sum(time["seconds"] for time in times)
    picture = inline(svg, study.name, study.title)
    return Section(study.name, study.title, findings, picture, seconds)


def _page(sections: Sequence[Section], claims: list[Claim], manifest: dict[str, Any]) -> str:
    return pages.render(
        _TEMPLATE,
        sections=sections,
        claims=claims,
        manifest=manifest,
        marks=_MARKS,
        reduced=REDUCED if manifest["size"] != "paper" else "",
    )


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


def _lines(rows: Rows) -> str:
    return "".join([canonical(row) + "\n" for row in rows])
