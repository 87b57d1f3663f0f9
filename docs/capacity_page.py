"""Make the tables of docs/capacity.md: ``python docs/capacity_page.py``.

The numbers come from docs/load.json and docs/edge.json, which benchmarks/load.py and
benchmarks/edge.py write. The prose between the tables is in docs/templates/capacity.md.jinja. A
test checks that the page has what this program makes.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from superarm.reporting import files
from superarm.reporting.tables import fill

HERE = Path(__file__).parent
PAGE, TEMPLATE = HERE / "capacity.md", HERE / "templates" / "capacity.md.jinja"
RATES = {"10⁴": 1e4, "10⁶": 1e6}
# Cores of one machine, and the share of them that a plan may use.
CORES, USE = 16, 0.5
WAYS = {"single": ("one by one", "`beta`"), "default": ("one by one", "default")}
WAYS |= {"bulk": ("100 at once", "`beta`"), "default, bulk": ("100 at once", "default")}
DATABASES = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}


@dataclass(frozen=True)
class Way:
    """One way to decide: seconds of processors and bytes per decision with its outcomes.

    Attributes
    ----------
    server_s, other_s
        Seconds of superarm; those of PostgreSQL, or of the clients at the edge.
    bandit_per_s
        How many decisions with outcomes one bandit can take.
    """

    name: str
    belief: str
    database: str
    server_s: float
    other_s: float
    bandit_per_s: float
    n_bytes: float

    def cores(self, rate: float) -> tuple[float, float]:
        """The cores for a rate."""
        return rate * self.server_s, rate * self.other_s

    def machines(self, rate: float) -> tuple[int, int, int]:
        """The machines of superarm, the other machines, and the bandits for a rate."""
        server, other = (math.ceil(cores / CORES / USE) for cores in self.cores(rate))
        return server, other, math.ceil(rate / self.bandit_per_s)


def read(name: str) -> Any:
    """What a benchmark has recorded."""
    return json.loads((HERE / f"{name}.json").read_text())


def text(part: str, **found: Any) -> str:
    """The prose of a part of the page, with its numbers."""
    return files.render(TEMPLATE, part=part, **found).strip("\n")


def ways() -> list[Way]:
    """Over HTTP, then at the edge."""
    made = []
    for kind, database in DATABASES.items():
        rounds = read("load")[kind]["rounds"]
        for key, (name, belief) in WAYS.items():
            # A decision and its outcomes are two.
            ms, other_ms, n_bytes = (
                2 * statistics.median(row[key][part] for row in rounds)
                for part in ("cpu_ms", "database_cpu_ms", "bytes")
            )
            rate = statistics.median(row[key]["per_s"] for row in rounds) / 2
            made.append(Way(name, belief, database, ms / 1e3, other_ms / 1e3, rate, n_bytes))
    found = read("edge")["speed"]
    for row in found["rows"]:
        if row["arms"] == read("load")["m"]:
            server_s = 1 / row["merged_per_s"] + row["snapshot_ms"] / 1e3 / found["batch"]
            belief = "default" if row["belief"] == "learned_beta" else f"`{row['belief']}`"
            n_bytes, client_s = row["log_bytes_per_decision"], 1 / row["bulk_per_s"]
            made.append(
                Way("at the edge", belief, "SQLite", server_s, client_s, 1 / server_s, n_bytes)
            )
    return made


def cores() -> str:
    """One row per way."""
    lines = [
        "| decisions | belief | database | ms per decision | one bandit, per s | "
        + " | ".join(f"cores for {rate}/s" for rate in RATES)
        + " | MB of log per s at 10⁶/s |",
        "|---|---|---|--:|--:|" + "--:|" * len(RATES) + "--:|",
    ]
    for way in ways():
        each = [_sum(1e3 * way.server_s, 1e3 * way.other_s, 2), f"{way.bandit_per_s:,.0f}"]
        each += [_sum(*way.cores(rate), 1 if rate < 1e5 else 0) for rate in RATES.values()]
        said = [way.name, way.belief, way.database, *each, f"{way.n_bytes:,.0f}"]
        lines.append(f"| {' | '.join(said)} |")
    return "\n".join(lines)


def _sum(one: float, other: float, digits: int) -> str:
    said = f"{one:,.{digits}f}"
    return f"{said} + {other:,.{digits}f}" if other else said


def conditions() -> str:
    """What was measured."""
    load = read("load")
    return text(
        "conditions",
        k=load["k"],
        n_arms=f"{load['m']:,}",
        n_clients=load["clients"],
        n_cores=load["cores"],
    )


def machines() -> str:
    """The machines for the default belief."""
    lines = [
        "| decisions | database | "
        + " | ".join(f"{rate}/s: servers, others, bandits" for rate in RATES)
        + " |",
        "|---|---|" + "--:|" * len(RATES),
    ]
    for way in ways():
        if way.belief == "default":
            each = [", ".join(f"{n:,}" for n in way.machines(rate)) for rate in RATES.values()]
            lines.append(f"| {' | '.join([way.name, way.database, *each])} |")
    return text("machines", n_cores=CORES, used=f"{USE:.0%}", table="\n".join(lines))


PARTS: dict[str, Callable[[], str]] = {
    "cores": cores,
    "conditions": conditions,
    "machines": machines,
}


def page(text: str) -> str:
    """The page with the tables as they are now."""
    return fill(text, "docs/capacity_page.py", PARTS)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
