"""Make the measured part and the picture of docs/advice.md: ``python docs/advice_page.py``.

The numbers come from docs/advice.json, which ``benchmarks/advice.py`` writes.
The prose is in docs/templates/advice.md.jinja.
``tests/test_advice_page.py`` checks that the page has what this program makes.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from superarm.reporting import files
from superarm.reporting.figures import WIDTH, render
from superarm.reporting.palette import BLUE, GREEN, INK, ORANGE, RED
from superarm.reporting.tables import Table, as_markdown, fill

HERE = Path(__file__).parent
PAGE, PICTURE, MEASURED = HERE / "advice.md", HERE / "advice.svg", HERE / "advice.json"
TEMPLATE = HERE / "templates" / "advice.md.jinja"
UNSEEN = ("shown", "fresh", "latest")  # the rewards that the defaults were not chosen by
# What is counted, in words, with its colour and dash.
COUNTS = {
    "good": ("within 2% of the best oracle", BLUE, "-"),
    "cheapest": ("the cheapest one of these", GREEN, "--"),
    "undecided": ("says undecided", ORANGE, "-."),
    "silent": ("not within 2%, and says nothing", RED, ":"),
}


def measured(half: str = "shown") -> tuple[Any, dict[int, list[dict[str, Any]]]]:
    """What the benchmark wrote, and the rows of a half by budget."""
    found = json.loads(MEASURED.read_text(encoding="utf-8"))
    rows: dict[int, list[dict[str, Any]]] = {}
    for row in found["rows"]:
        if found["half"][row["reward"]] == half:
            rows.setdefault(row["budget"], []).append(row)
    return found, dict(sorted(rows.items()))


def share(rows: list[dict[str, Any]], count: str) -> float:
    """Of all runs."""
    return sum(row[count] for row in rows) / sum(row["runs"] for row in rows)


def spent(rows: list[dict[str, Any]]) -> float:
    """Evaluations per run."""
    n_runs = sum(row["runs"] for row in rows)
    return sum(row["evaluations"] * row["runs"] for row in rows) / n_runs


def text(part: str, **found: Any) -> str:
    """The prose of a part of the page, with its numbers."""
    return files.render(TEMPLATE, part=part, **found).strip("\n")


def intro() -> str:
    """What was played."""
    found, rows = measured()
    n_of = {half: list(found["half"].values()).count(half) for half in ("tuning", *UNSEEN)}
    n_fooling = sum(found["half"][name] == "shown" for name in found["fooling"])
    n_runs = next(iter(rows.values()))[0]["runs"]
    return text(
        "intro", n_of=n_of, n_runs=n_runs, n_fooling=n_fooling, least=f"{1 - found['within']:.0%}"
    )


def budgets() -> str:
    """Shares by budget."""
    halves = [measured(half)[1] for half in UNSEEN]

    def each(count: str, budget: int, digits: int = 0) -> str:
        shares = (100 * share(rows[budget], count) for rows in halves)
        return " / ".join(f"{of:.{digits}f}%" for of in shares)

    lines = [
        [
            f"{budget:,}",
            " / ".join(f"{spent(rows[budget]):,.0f}" for rows in halves),
            *(each(count, budget) for count in ("good", "cheapest", "undecided")),
            each("silent", budget, 1),
        ]
        for budget in halves[0]
    ]
    heading = ["budget", "evaluations", "good", "cheapest good", "undecided", "silently wrong"]
    return as_markdown(Table(heading, lines, n_texts=0))


def failures() -> str:
    """Where the advice is not good, and what a fixed oracle would do."""
    found, shown = measured()
    largest = max(shown)
    of_half = {half: measured(half)[1][largest] for half in ("tuning", *UNSEEN)}
    kept = [of for name, of in found["always"].items() if found["half"][name] != "tuning"]
    always = sum(of["LocalSearch"] for of in kept) / sum(of["runs"] for of in kept)
    bad = {half: [row for row in of if row["good"] < row["runs"]] for half, of in of_half.items()}
    return text(
        "failures",
        budget=f"{largest:,}",
        bad=bad,
        always=f"{100 * always:.0f}%",
        good=f"{100 * share(of_half['tuning'], 'good'):.0f}%",
        silent=f"{100 * share(of_half['tuning'], 'silent'):.1f}%",
    )


PARTS: dict[str, Callable[[], str]] = {
    "intro": intro,
    "budgets": budgets,
    "failures": failures,
}


def page(text: str) -> str:
    """The page with every part as the recorded numbers are now."""
    return fill(text, "docs/advice_page.py", PARTS)


def draw(figure: Any) -> None:
    """Shares by budget."""
    halves = [measured(half)[1] for half in UNSEEN]
    rows = {budget: [row for of in halves for row in of[budget]] for budget in halves[0]}
    axis = figure.subplots()
    for count, (label, colour, dash) in COUNTS.items():
        y = [100 * share(of, count) for of in rows.values()]
        axis.plot(list(rows), y, dash, color=colour, marker="o", markersize=4, label=label)
    axis.axhline(100, color=INK, linewidth=0.5)
    axis.set_xscale("log")
    axis.set_xticks(list(rows), [f"{budget:,}" for budget in rows])
    axis.minorticks_off()
    axis.set_ylim(-3, 103)
    axis.set(xlabel="budget, in evaluations", ylabel="% of the runs")
    axis.legend(loc="upper left", bbox_to_anchor=(-0.12, -0.16), ncols=1)


def main() -> None:
    """Write the page and the picture."""
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    PICTURE.write_text(render(draw, size=(WIDTH, 4.8)), encoding="utf-8")


if __name__ == "__main__":
    main()
