"""Make docs/reproduction.md, docs/report.md, pictures and the README's headline from recorded rows.

    python docs/reproduction_page.py [FOLDER ...]
    python docs/reproduction_page.py --missing WORKERS

FOLDER is what ``superarm reproduce all --out FOLDER`` recorded. It is packed into
docs/reproduction.jsonl.xz first. Experiments may be in several folders, from several machines or
engines; a cell that is in two folders is taken from the first. ``--missing`` plays only the cells
that experiments have got since then. Without a folder, everything is made from the rows that are
there. The prose is in docs/templates/reproduction.md.jinja.
``tests/test_reproduction_page.py`` checks that the pages are what this program makes.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import reproduction_tables as tables
from superarm.oracles.scheduled import growing
from superarm.reporting import files
from superarm.reporting.figures import render
from superarm.reporting.tables import compact
from superarm.studies import Recorded, run
from superarm.studies.archive import pack, unpack
from superarm.studies.cell import Recording, Scale, recorded_rows
from superarm.studies.paper.reproduction import EXPERIMENTS, judge, load, recorded_sweeps
from superarm.studies.paper.verdicts import Claim, Verdict
from superarm.studies.store import joined, provenance, sweep_digest
from superarm.studies.study import Findings

HERE = Path(__file__).parent
ARCHIVE = HERE / "reproduction.jsonl.xz"
PAGE, TEMPLATE = HERE / "reproduction.md", HERE / "templates" / "reproduction.md.jinja"
REPORT = HERE / "report.md"
README = HERE.parent / "README.md"
_MARKS = ("<!-- docs/reproduction_page.py makes this part -->", "<!-- until here -->")
_WORDS = (
    "no",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
)
_CUCB = 1.5  # CUCB's radius is sqrt(1.5 log(t) / n)


@dataclass(frozen=True)
class Results:
    """What follows from the recorded rows."""

    manifest: Mapping[str, Any]
    findings: Mapping[str, Findings]
    claims: Sequence[Claim]


def results(archive: Path = ARCHIVE) -> Results:
    """Analyse all experiments of an archive."""
    store: dict[str, Recorded] = {}
    manifest = unpack(archive, store)
    sweeps = recorded_sweeps(manifest, store)
    findings = {
        name: load(name).analyse(*recorded_rows(cells, store)) for name, cells in sweeps.items()
    }
    return Results(manifest, findings, judge({name: one.numbers for name, one in findings.items()}))


def page(found: Results, path: Path = PAGE) -> str:
    """The text of docs/reproduction.md or docs/report.md."""
    numbers = {name: one.numbers for name, one in found.findings.items()}
    text = files.render(
        TEMPLATE.with_name(f"{path.name}.jinja"),
        manifest=found.manifest,
        claims=found.claims,
        tables=tables,
        span=tables.span,
        literal=_literal,
        per_round=lambda problem, label: (
            np.mean(problem["policies"][label]["evaluations"]) / problem["horizon"]
        ),
        calls=lambda horizon: sum(map(growing(1.1), range(1, horizon + 1))),
        cucb=lambda horizon: math.ceil(_CUCB * math.log(horizon)),
        **numbers,
    )
    return compact(text.rstrip("\n")) + "\n"


def said(found: Results) -> dict[str, bool]:
    """What the prose says without a number, and whether the rows say so, too."""
    numbers = {name: one.numbers for name, one in found.findings.items()}
    linear, network = numbers["beyond"]["linear"], numbers["beyond"]["network"]
    largest = f"m={numbers['fig1']['sizes'][-1]}"
    repaired = numbers["lemma1"]["found"]["repaired"]
    readings = numbers["readings"]["policies"]
    low, high = (readings[label]["of_random"]["mean"] for label in ("p=0.1/m", "GT+QTS, p=1/2"))
    return {
        "LazySingletons decides as Oracle+ does": linear["lazy_is_cts"] and network["lazy_is_cts"],
        "LazyGreedy has the regret of Greedy in every digit": _regret(network, "CTS, lazy greedy")
        == _regret(network, "CTS, greedy"),
        "at the largest m no round is separable": all(
            one["share"] == 1
            for label, one in numbers["fig1"]["found"].items()
            if label.endswith(largest)
        ),
        "local search and greedy are not better than Oracle+": all(
            network["policies"][label]["of_cts"]["low"] > 1
            for label in ("CTS, local search", "CTS, greedy")
        ),
        "a schedule loses much": all(
            one["policies"]["CTS, lazy, rarely"]["of_cts"]["low"] > 2 for one in (linear, network)
        ),
        "the literal algorithm finds hardly more than a random set": min(_literal(linear)) > 0.85,
        "p = 0.1/m has the least regret with new tests in every round, p = 1/2 the most": all(
            low <= one["of_random"]["mean"] <= high + 0.005
            for label, one in readings.items()
            if "drawn once" not in label and label not in ("random", "CTS")
        ),
        "with tests drawn once the regret is in proportion to t": all(
            np.mean(one["exponents"]) > 0.9
            for label, one in readings.items()
            if "drawn once" in label
        ),
        "no counter-example to the repaired Lemma 1": not (
            repaired["violated"] or repaired["failed"]
        ),
        "near CTS only where CTS has hardly learned": tables.least_learned(numbers["sensitivity"])
        > 0.7,
    }


def _literal(problem: Mapping[str, Any]) -> list[float]:
    """The regret of the literal settings, as shares of the random baseline's."""
    return [
        float(np.mean(_regret(problem, label)) / np.mean(_regret(problem, "random")))
        for label in problem["policies"]
        if label.startswith("GT+QTS, p=")
    ]


def _regret(problem: Mapping[str, Any], label: str) -> list[float]:
    return problem["policies"][label]["regret"]


def headline(found: Results, readme: str) -> str:
    """The README with this reproduction's headline between the marks."""
    start, end = (re.escape(mark) for mark in _MARKS)
    body = files.render(
        TEMPLATE.with_name("headline.md.jinja"),
        table=tables.headline(found.findings["beyond"].numbers["linear"]),
        verdicts=_counted([claim.verdict for claim in found.claims]),
        n_claims=_word(len(found.claims)),
    )
    inside = f"{_MARKS[0]}\n{body.strip()}\n{_MARKS[1]}"
    return re.sub(f"{start}.*?{end}", lambda _: inside, readme, flags=re.DOTALL)


def _counted(verdicts: Sequence[Verdict]) -> str:
    """How many claims have each verdict, as the end of a sentence."""
    said = {
        Verdict.REPRODUCED: ("is reproduced as it stands", "are reproduced as they stand"),
        Verdict.CONDITIONALLY: ("holds under a condition", "hold under a condition"),
        Verdict.NOT_REPRODUCED: ("is not reproduced", "are not reproduced"),
        Verdict.UNDECIDED: ("is undecided", "are undecided"),
        Verdict.NOT_JUDGED: ("is not judged at this size", "are not judged at this size"),
    }
    counts = {verdict: list(verdicts).count(verdict) for verdict in said}
    parts = [
        f"{_word(count)} {said[verdict][count > 1]}" for verdict, count in counts.items() if count
    ]
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])}, and {parts[-1]}"


def _word(count: int) -> str:
    return _WORDS[count] if count < len(_WORDS) else str(count)


def record(folders: Sequence[Path]) -> None:
    """Pack folders into the archive of the docs."""
    _pack(*joined(folders))


def record_missing(workers: int) -> None:
    """Play the cells that the archive does not have, and add them to it."""
    store: dict[str, Recorded] = {}
    manifest = unpack(ARCHIVE, store)
    scale = Scale(manifest["size"], runs=manifest["runs"], seed=manifest["seed"])
    sweeps = {name: load(name).cells(scale) for name in EXPERIMENTS}
    run.record(sweeps, store, workers=workers)
    _pack({**manifest, "sweeps": sweeps}, store)


def _pack(manifest: dict[str, Any], store: Recording) -> None:
    sweeps = recorded_sweeps(manifest, store)
    if missing := set(EXPERIMENTS) - set(sweeps):
        raise SystemExit(f"the rows of {', '.join(sorted(missing))} are not complete")
    # Of the cells that are packed: a folder may have been begun before an experiment was changed.
    manifest["sweeps"] = {name: sweep_digest(cells) for name, cells in sweeps.items()}
    manifest["recorded"] = provenance(sweeps, store)
    cells = [cell for sweep in sweeps.values() for cell in sweep]
    size = pack(ARCHIVE, manifest, cells, store).stat().st_size
    print(f"{ARCHIVE.name}: {size / 2**20:.1f} MiB")


def main() -> None:
    """Write everything."""
    if sys.argv[1:2] == ["--missing"]:
        record_missing(int(sys.argv[2]))
    elif len(sys.argv) > 1:
        record([Path(folder) for folder in sys.argv[1:]])
    found = results()
    if wrong := [sentence for sentence, holds in said(found).items() if not holds]:
        print("The rows do not say so, and the prose must change:", *wrong, sep="\n  ")
    pages = {path: page(found, path) for path in (PAGE, REPORT)}
    for path, text in pages.items():
        path.write_text(text)
    README.write_text(headline(found, README.read_text()))
    for name, one in found.findings.items():
        picture = f"{name.replace('_', '-')}.svg"
        if any(picture in text for text in pages.values()):
            (HERE / picture).write_text(render(one.draw))


if __name__ == "__main__":
    main()
