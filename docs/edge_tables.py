"""Make the tables of docs/edge.md: ``python docs/edge_tables.py``.

The numbers come from docs/edge.json, which benchmarks/edge.py writes. The prose between the tables
is in docs/templates/edge.md.jinja.
``tests/benchmarks/test_edge_page.py`` checks that the page has what this program makes.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from superarm.reporting import files
from superarm.reporting.tables import fill

HERE = Path(__file__).parent
PAGE, TEMPLATE = HERE / "edge.md", HERE / "templates" / "edge.md.jinja"
NAMES = {
    "uniform": "uniform means, 5 of 200",
    "low rate": "low rates, 5 of 200",
    "linear": "paper, linear, 5 of 5,000",
    "network": "paper, network, 5 of 1,000",
    "flights": "flights, 10 of 175",
    "yeast": "yeast, 4 of 14",
    "ta_feng": "Ta-Feng, 20 of 500",
}
RATES = (1, 10, 100)


def read() -> Any:
    """What the benchmark has recorded."""
    return json.loads((HERE / "edge.json").read_text())


def text(part: str, **found: Any) -> str:
    """The prose of a part of the page, with its numbers."""
    return files.render(TEMPLATE, part=part, **found).strip("\n")


def regret() -> str:
    """How much more regret stale clients have, by problem, rate and kind of sync."""
    rows = [row for row in read()["regret"]["rows"] if row["belief"] == "beta"]
    kinds = {  # (has a pace, faulty)
        "every minute": (False, False),
        "`every=60`": (True, False),
        "faulty line": (True, True),
    }
    head = [f"{kind}, {rate}/s" for kind in kinds for rate in RATES]
    lines = [f"| problem | runs | {' | '.join(head)} |", "|---|--:|" + "--:|" * len(head)]
    for problem, name in NAMES.items():
        of = [row for row in rows if row["problem"] == problem]
        cells = []
        for has_pace, faulty in kinds.values():
            for rate in RATES:
                found = [row for row in of if _is(row["setting"], rate, has_pace, faulty)]
                cells.append(shown(found[0]) if found else "")
        if of:
            runs = min(row["runs"] for row in of)
            lines.append(f"| {name} | {runs} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _is(setting: dict[str, Any], rate: int, has_pace: bool, faulty: bool) -> bool:
    return (
        (setting["rate"], setting["n_clients"], setting["faulty"]) == (rate, 1000, faulty)
        and (setting["share"] is not None) == has_pace
        and setting["least_s"] == 1
    )


def verdict() -> str:
    """On which problems the regret is within 2%, by rate."""
    rows = [row for row in read()["regret"]["rows"] if row["belief"] == "beta"]
    rates = []
    for rate in RATES:
        of = [row for row in rows if _is(row["setting"], rate, True, False)]
        within = [row for row in of if row["more"] <= 0.02]
        others = [f"{NAMES[row['problem']]} ({shown(row)})" for row in of if row["more"] > 0.02]
        syncs = np.mean([row["syncs"] for row in of if row["problem"] == "uniform"])
        found = {"rate": rate, "n_within": len(within), "n": len(of), "above": others}
        rates.append({**found, "syncs": f"{syncs:,.0f}"})
    return text("verdict", rates=rates)


def shown(row: dict[str, Any]) -> str:
    """A difference with its standard error, in percent."""
    digits = 1 if row["more"] < 0.2 else 0
    return f"{100 * row['more']:+.{digits}f} ± {100 * row['error']:.{digits}f}"


def speed() -> str:
    """The processor cores for some rates of decisions. Clients take a snapshot per batch."""
    found = read()["speed"]
    lines = [
        "| belief | arms | `ask`/s of a client core | `ask_many`/s | merged/s of a server core "
        "| ms per snapshot | cores for 10⁴/s | cores for 10⁶/s | MB of log per s at 10⁶/s |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for row in found["rows"]:
        server_s = 1 / row["merged_per_s"] + row["snapshot_ms"] / 1e3 / found["batch"]
        cores = [f"{rate / row['bulk_per_s']:,.1f} + {rate * server_s:,.1f}" for rate in (1e4, 1e6)]
        cells = [row["belief"], f"{row['arms']:,}"]
        cells += [f"{row[name]:,.0f}" for name in ("edge_per_s", "bulk_per_s", "merged_per_s")]
        cells.append(f"{row['snapshot_ms']:.1f}")
        lines.append(f"| {' | '.join([*cells, *cores])} | {row['log_bytes_per_decision']:,.0f} |")
    return "\n".join(lines)


def throughput() -> str:
    """The rates of several client processes."""
    found = read()["throughput"]
    lines = [
        "| belief | arms | propensities | decisions/s, all merged | decisions/s without syncs "
        "| decisions/s of a client core | merged/s of a server core |",
        "|---|--:|---|--:|--:|--:|--:|",
    ]
    for row in found["rows"]:
        cells = [row["belief"], f"{row['arms']:,}", "yes" if row["propensities"] else "no"]
        cells += [f"{row[name]:,.0f}" for name in ("per_s", "deciding_per_s")]
        cells += [f"{1e6 / row[name]:,.0f}" for name in ("client_us", "server_us")]
        lines.append(f"| {' | '.join(cells)} |")
    counts = ("processes", "workers", "bandits", "at_once", "batch", "samples")
    said = {name: f"{found[name]:,}" for name in counts}
    return text("throughput", table="\n".join(lines), **said)


PARTS: dict[str, Callable[[], str]] = {
    "regret": regret,
    "verdict": verdict,
    "speed": speed,
    "throughput": throughput,
}


def page(text: str) -> str:
    """The page with the tables as they are now."""
    return fill(text, "docs/edge_tables.py", PARTS)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
