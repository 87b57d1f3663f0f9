"""Write the tables of docs/offpolicy.json into offpolicy.md: ``python docs/offpolicy_page.py``.

``benchmarks/offpolicy.py`` makes the numbers. A test compares the page with them.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PAGE, MEASURED = HERE / "offpolicy.md", HERE / "offpolicy.json"
COLUMNS = {
    "ips": "`ips`",
    "snips": "`snips`",
    "snips, stabilised": "`evaluate`",
    "doubly robust, past": "DR",
    "doubly robust, stabilised": "DR, stabilised",
}
IN_CONTEXTS = {
    "ips": "`ips`",
    "snips, stabilised": "`evaluate`",
    "doubly robust, past": "DR",
    "doubly robust, contexts": "DR, `LinearBelief`",
    "doubly robust, contexts, folds": "the same, 3 folds",
    "doubly robust, logistic": "DR, `LogisticBelief`",
}

Rows = dict[str, dict[str, dict[str, Any]]]  # by design and estimator


def measured() -> Rows:
    """What the benchmark wrote."""
    found: Rows = {}
    for row in json.loads(MEASURED.read_text())["rows"]:
        found.setdefault(row["design"], {})[row["estimator"]] = row
    return found


def coverage(rows: Rows) -> str:
    """Coverage by design and estimator, without contexts."""
    lines = []
    for design, row in rows.items():
        if not design.startswith("contexts"):
            safest = row["snips, stabilised"]
            cells = [_percent(row[name]["coverage"]) for name in COLUMNS]
            cells += [f"{safest['effective']:.0f}"]
            cells += [f"{100 * safest[name]:.0f}" for name in ("warned", "silent")]
            lines.append([design, *cells])
    return _table(["design", *COLUMNS.values(), "effective n", "warned", "silent"], lines)


def in_contexts(rows: Rows) -> str:
    """Coverage and half width by design and estimator, with contexts."""
    lines = []
    for design, row in rows.items():
        if design.startswith("contexts"):
            cells = [
                f"{_percent(row[name]['coverage'])} ({row[name]['half']:.3f})"
                for name in IN_CONTEXTS
            ]
            lines.append([design, *cells])
    return _table(["design", *IN_CONTEXTS.values()], lines)


def page(text: str) -> str:
    """The page with the tables of what was measured."""
    rows = measured()
    for name, table in (("coverage", coverage(rows)), ("contexts", in_contexts(rows))):
        place = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        text = place.sub(lambda found, table=table: found[1] + table + found[2], text)
    return text


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "".join("|" + "|".join(line) + "|\n" for line in lines)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
