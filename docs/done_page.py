"""Make the tables and the picture of docs/done.md: ``python docs/done_page.py``.

The numbers come from docs/identification.json, which ``benchmarks/identification.py`` writes.
``tests/test_done_page.py`` checks that the page has what this program makes.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from superarm.reporting.figures import WIDTH, plain, render
from superarm.reporting.palette import BLUE, GREEN, INK, ORANGE, PINK, RED, SKY
from superarm.reporting.tables import Table, as_markdown, fill

HERE = Path(__file__).parent
PAGE, PICTURE, MEASURED = HERE / "done.md", HERE / "done.svg", HERE / "identification.json"
OURS, EQUAL, SESSIONS = "top-two, verdict", "equal pulls, verdict", "top-two, verdict, sessions"
HABIT, RIVALS = "equal pulls, habit", ("KL-LUCB", "CLUCB", "LUCB")
SAME_STOP = "KL-LUCB, verdict"
COLUMNS = {OURS: "top-two", EQUAL: "equal pulls", SAME_STOP: "KL-LUCB's pulls"}

Rows = dict[str, dict[str, dict[str, Any]]]  # by problem and rule


def measured() -> tuple[Any, Rows]:
    """What the benchmark wrote, and its rows by problem and rule."""
    found, rows = json.loads(MEASURED.read_text()), {}
    for row in found["rows"]:
        rows.setdefault(row["problem"], {})[row["rule"]] = row
    return found, rows


def best_rival(rows: dict[str, dict[str, Any]]) -> float:
    """The fewest outcomes that a rule of the papers needs."""
    return min(rows[rule]["samples"] for rule in RIVALS)


def errors() -> str:
    """How often runs were stopped with wrong arms."""
    found, rows = measured()
    n_runs, n_wrong = (sum(one[OURS][of] for one in rows.values()) for of in ("runs", "wrong"))
    n_equal, wrong_equal = (
        sum(one[EQUAL][of] for one in rows.values()) for of in ("runs", "wrong")
    )
    tie = rows["near tie"]
    habit, ours = (100 * tie[rule]["wrong"] / tie[rule]["runs"] for rule in (HABIT, OURS))
    easy = max(of[HABIT]["wrong"] / of[HABIT]["runs"] for of in rows.values() if of is not tie)
    return (
        f"At `delta` = {found['delta']:g}, asked after every round, the verdict named wrong arms "
        f"in {n_wrong} of {n_runs:,} runs of `top_two` and in {wrong_equal} of {n_equal:,} runs "
        f"with equal pulls. In the near tie (means 0.50 and 0.49, 2,000 rounds), stopping at the "
        f"first 95% interval above 0 named the wrong arm in {habit:.1f}% of the runs, and the "
        f"verdict in {ours:.1f}%. On the other problems this habit was wrong in up to "
        f"{100 * easy:.1f}% of the runs."
    )


def samples() -> str:
    """Outcomes until the end, by problem and rule."""
    found, rows = measured()
    lines = []
    for name, of in rows.items():
        if SAME_STOP not in of:
            continue
        about = found["problems"][name]
        floor = f"{about['floor_in_sets']:,.0f}" if about["outcomes"] == "coins" else ""
        cells = [f"{of[rule]['samples']:,.0f}" for rule in (*COLUMNS, *RIVALS)]
        ratio = f"{of[OURS]['samples'] / best_rival(of):.2f}"
        lines.append([name, f"{about['k']} of {about['arms']}", floor, *cells, ratio])
    heading = ["problem", "k of m", "floor", *COLUMNS.values(), *RIVALS, "ratio"]
    return as_markdown(Table(heading, lines, n_texts=2))


def ratios() -> str:
    """The extremes of the comparison."""
    _, rows = measured()
    played = [of for of in rows.values() if SAME_STOP in of]
    rival = [of[OURS]["samples"] / best_rival(of) for of in played]
    same = [of[OURS]["samples"] / of[SAME_STOP]["samples"] for of in played]
    equal = [of[OURS]["samples"] / of[EQUAL]["samples"] for of in played]
    return (
        f"`top_two` with the verdict needs {min(rival):.2f} to {max(rival):.2f} times the outcomes "
        f"of the best of the three papers' rules, {min(same):.2f} to {max(same):.2f} times those "
        f"of KL-LUCB's pulls with the same verdict, and {min(equal):.2f} to {max(equal):.2f} times "
        "those of equal pulls."
    )


def budgets() -> str:
    """Errors after a given number of rounds."""
    found, _ = measured()
    rules = ("top-two", "accepts and rejects", "equal pulls")
    lines = [
        [row["problem"], f"{row['samples']:,}", *(f"{100 * row[rule]:.0f}" for rule in rules)]
        for row in found["budgets"]
    ]
    n_runs = found["budgets"][0]["runs"]
    table = Table(
        ["problem", "outcomes", "`top_two`", "`successive_accepts`", "equal pulls"], lines
    )
    return f"Wrong arms in percent of {n_runs} runs; less is better.\n\n" + as_markdown(table)


PARTS: dict[str, Callable[[], str]] = {
    "errors": errors,
    "ratios": ratios,
    "samples": samples,
    "budgets": budgets,
}


def page(text: str) -> str:
    """The page with every part as the recorded numbers are now."""
    return fill(text, "docs/done_page.py", PARTS)


def draw(figure: Any) -> None:
    """Outcomes as multiples of the floor, by problem and rule."""
    found, rows = measured()
    axis = figure.subplots()
    names = [
        name
        for name, of in rows.items()
        if SAME_STOP in of and found["problems"][name]["outcomes"] == "coins"
    ]
    looks = dict(zip((*COLUMNS, *RIVALS), (GREEN, SKY, PINK, BLUE, ORANGE, RED), strict=True))
    for rule, colour in looks.items():
        floors = [found["problems"][name]["floor_in_sets"] for name in names]
        x = [rows[name][rule]["samples"] / floor for name, floor in zip(names, floors, strict=True)]
        label = f"{COLUMNS[rule]}, verdict" if rule in COLUMNS else rule
        axis.plot(x, [-place for place in range(len(names))], "o", color=colour, label=label)
    axis.axvline(1.0, color=INK, linewidth=1)
    axis.set_xscale("log")
    axis.set_xticks([1, 3, 10, 30, 100], ["1", "3", "10", "30", "100"])
    axis.set_yticks([-place for place in range(len(names))], names)
    plain(axis, "outcomes until the end, as a multiple of the floor", "")
    axis.legend(loc="upper left", bbox_to_anchor=(-0.1, -0.18), ncols=2)


def main() -> None:
    """Write the page and the picture."""
    PAGE.write_text(page(PAGE.read_text()))
    PICTURE.write_text(render(draw, size=(WIDTH, 6.0)))


if __name__ == "__main__":
    main()
