"""Make the measured part and the picture of docs/advice.md: ``python docs/advice_page.py``.

The numbers come from docs/advice.json, which ``benchmarks/advice.py`` writes.
``tests/test_advice_page.py`` checks that the page has what this program makes.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from superarm.reporting.figures import WIDTH, plain, render
from superarm.reporting.palette import BLUE, GREEN, INK, ORANGE, RED
from superarm.reporting.tables import Table, as_markdown, fill

HERE = Path(__file__).parent
PAGE, PICTURE, MEASURED = HERE / "advice.md", HERE / "advice.svg", HERE / "advice.json"
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


def intro() -> str:
    """What was played."""
    found, rows = measured()
    n_of = {half: list(found["half"].values()).count(half) for half in ("tuning", "shown", "fresh")}
    n_fooling = sum(found["half"][name] == "shown" for name in found["fooling"])
    n_runs = next(iter(rows.values()))[0]["runs"]
    return (
        f"`benchmarks/advice.py` plays {sum(n_of.values())} rewards of known kinds, {n_runs} runs "
        f"each. Of {n_of['tuning'] + n_of['shown']} rewards, {n_of['tuning']} served to choose the "
        f"defaults, and {n_of['shown']} are shown here, {n_fooling} of them made to fool an "
        f"inspection. These halves were drawn before any reward was played. One rule, probes of "
        f"separability with all arms, was added after the shown rewards had been played. Then "
        f"{n_of['fresh']} fresh rewards were made, and played once. A recommendation is good if "
        f"the oracle's sets are worth at least {1 - found['within']:.0%} of those of the best "
        f"available oracle, on average over random means."
    )


def budgets() -> str:
    """Shares by budget."""
    (_, shown), (_, fresh) = measured(), measured("fresh")

    def both(count: str, budget: int, digits: int = 0) -> str:
        shares = (100 * share(rows[budget], count) for rows in (shown, fresh))
        return " / ".join(f"{of:.{digits}f}%" for of in shares)

    lines = [
        [
            f"{budget:,}",
            " / ".join(f"{spent(rows[budget]):,.0f}" for rows in (shown, fresh)),
            *(both(count, budget) for count in ("good", "cheapest", "undecided")),
            both("silent", budget, 1),
        ]
        for budget in shown
    ]
    heading = ["budget", "evaluations", "good", "cheapest good", "undecided", "silently wrong"]
    return as_markdown(Table(heading, lines, n_texts=0))


def failures() -> str:
    """Where the advice is not good, and what a fixed oracle would do."""
    found, shown = measured()
    largest = max(shown)
    fresh, tuning = (measured(half)[1][largest] for half in ("fresh", "tuning"))
    kept = [of for name, of in found["always"].items() if found["half"][name] != "tuning"]
    always = sum(of["LocalSearch"] for of in kept) / sum(of["runs"] for of in kept)
    return (
        f"With a budget of {largest:,}, the advice was not good in every run of "
        f"{_named([*shown[largest], *fresh])}. `LocalSearch` for all of these rewards would be "
        f"good in {100 * always:.0f}% of the runs. Of the rewards that served to choose the "
        f"defaults, {100 * share(tuning, 'good'):.0f}% of the runs were good and "
        f"{100 * share(tuning, 'silent'):.1f}% silently wrong. Not good in every run were "
        f"{_named(tuning)}. `jackpot` is a needle that no inspection finds: a bonus for one triple "
        f"of 24 arms."
    )


def _named(rows: list[dict[str, Any]]) -> str:
    """The rewards with bad runs, and how bad they were."""
    named = [
        f"`{row['reward']}` ({row['good']} of {row['runs']} good, {row['quality']:.2f} of the best "
        f"value on average, {row['warned']} with a warning)"
        for row in rows
        if row["good"] < row["runs"]
    ]
    return ", ".join(named) or "no reward"


PARTS: dict[str, Callable[[], str]] = {"intro": intro, "budgets": budgets, "failures": failures}


def page(text: str) -> str:
    """The page with every part as the recorded numbers are now."""
    return fill(text, "docs/advice_page.py", PARTS)


def draw(figure: Any) -> None:
    """Shares by budget."""
    (_, rows), (_, fresh) = measured(), measured("fresh")
    rows = {budget: [*of, *fresh[budget]] for budget, of in rows.items()}
    axis = figure.subplots()
    for count, (label, colour, dash) in COUNTS.items():
        y = [100 * share(of, count) for of in rows.values()]
        axis.plot(list(rows), y, dash, color=colour, marker="o", markersize=4, label=label)
    axis.axhline(100, color=INK, linewidth=0.5)
    axis.set_xscale("log")
    axis.set_xticks(list(rows), [f"{budget:,}" for budget in rows])
    axis.minorticks_off()
    axis.set_ylim(-3, 103)
    plain(axis, "budget, in evaluations", "% of the runs")
    axis.legend(loc="upper left", bbox_to_anchor=(-0.12, -0.16), ncols=1)


def main() -> None:
    """Write the page and the picture."""
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    PICTURE.write_text(render(draw, size=(WIDTH, 4.8)), encoding="utf-8")


if __name__ == "__main__":
    main()
