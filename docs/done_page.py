"""Make the tables and the picture of docs/done.md: ``python docs/done_page.py``.

The numbers come from docs/identification.json, which ``benchmarks/identification.py`` writes.
The prose between the tables is in docs/templates/done.md.jinja.
``tests/test_done_page.py`` checks that the page has what this program makes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from superarm.reporting import files
from superarm.reporting.figures import WIDTH, render
from superarm.reporting.palette import BLUE, GREEN, INK, ORANGE, PINK, RED, SKY
from superarm.reporting.tables import Table, as_markdown, fill

HERE = Path(__file__).parent
PAGE, PICTURE, MEASURED = HERE / "done.md", HERE / "done.svg", HERE / "identification.json"
TEMPLATE = HERE / "templates" / "done.md.jinja"
OURS, SINGLE = "top-two, verdict", "top-two one at a time, verdict"
EQUAL, SESSIONS = "equal pulls, verdict", "top-two, verdict, sessions"
HABIT, PAPERS = "equal pulls, habit", ("KL-LUCB", "CLUCB", "LUCB")
SAME_STOP, IN_SETS = "KL-LUCB, verdict", "KL-LUCB in sets, verdict"
BESIDE = "one gap"  # not one of the ten: see benchmarks/identification_problems.py
TIES = ("near tie", "near tie of five")
COLUMNS = {OURS: "top-two", EQUAL: "equal pulls", IN_SETS: "KL-LUCB in sets"}  # of the picture
# How rules of the papers are played, and the rule of ours that pulls in the same way.
OWN, PULLS, SETS = "{}", "{}, verdict", "{} in sets, verdict"

Rows = dict[str, dict[str, dict[str, Any]]]  # by problem and rule


def measured() -> tuple[Any, Rows]:
    """What the benchmark wrote, and its rows by problem and rule."""
    found, rows = json.loads(MEASURED.read_text()), Rows()
    for row in found["rows"]:
        rows.setdefault(row["problem"], {})[row["rule"]] = row
    return found, rows


def best_rival(rows: dict[str, dict[str, Any]], played: str = OWN) -> float:
    """The fewest outcomes that a rule of the papers needs, played in one of the three ways."""
    return min(rows[played.format(paper)]["samples"] for paper in PAPERS)


def ten(rows: Rows) -> dict[str, dict[str, dict[str, Any]]]:
    """The ten problems on which all rules are compared."""
    return {name: of for name, of in rows.items() if SAME_STOP in of and name != BESIDE}


def text(part: str, **found: Any) -> str:
    """The prose of a part of the page, with its numbers."""
    return files.render(TEMPLATE, part=part, **found).strip("\n")


def errors() -> str:
    """How often runs were stopped with wrong arms."""
    found, rows = measured()

    def wrong(*rules: str) -> str:
        """The wrong runs of some rules, of all their runs."""
        of = [one[rule] for one in rows.values() for rule in rules if rule in one]
        return f"{sum(row['wrong'] for row in of)} of {sum(row['runs'] for row in of):,}"

    papers = [name.format(paper) for name in (PULLS, SETS) for paper in PAPERS]
    ours, habits = (
        [f"{100 * rows[tie][rule]['wrong'] / rows[tie][rule]['runs']:.1f}%" for tie in TIES]
        for rule in (OURS, HABIT)
    )
    easy = max(of[HABIT]["wrong"] / of[HABIT]["runs"] for of in ten(rows).values())
    return text(
        "errors",
        delta=f"{found['delta']:g}",
        ours=wrong(OURS, SINGLE),
        equal=wrong(EQUAL),
        papers=wrong(*papers),
        habits=habits,
        verdicts=ours,
        easy=f"{100 * easy:.1f}%",
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
        ours, single, equal = (of[rule]["samples"] for rule in (OURS, SINGLE, EQUAL))
        own, pulls, sets = (best_rival(of, played) for played in (OWN, PULLS, SETS))
        cells = [f"{n:,.0f}" for n in (ours, sets, single, pulls, own, equal)]
        ratios = [f"{ours / pulls:.2f}", f"{ours / own:.2f}"]
        lines.append([name, f"{about['k']} of {about['arms']}", floor, *cells, *ratios])
    heading = ["problem", "k of m", "floor", "`top_two`", "rival in sets", "`top_two`, single"]
    heading += ["rival, single", "rival, own stop", "equal pulls", "ratio", "ratio, own stop"]
    return as_markdown(Table(heading, lines))


def ratios() -> str:
    """The extremes of the comparison."""
    found, rows = measured()

    def span(rule: str, played: str) -> str:
        """The least and the largest ratio over the ten problems."""
        of_all = [of[rule]["samples"] / best_rival(of, played) for of in ten(rows).values()]
        return f"{min(of_all):.2f} to {max(of_all):.2f}"

    beside, steps = rows[BESIDE], rows["steps"]
    higher = found["problems"]["steps"]["floor_in_sets"] / found["problems"]["steps"]["floor"]
    slower = best_rival(steps, SETS) / best_rival(steps, PULLS)
    wide = beside[OURS]["samples"] / best_rival(beside, PULLS)
    return text(
        "ratios",
        own=span(OURS, OWN),
        in_sets=span(OURS, SETS),
        single=span(SINGLE, PULLS),
        against_single=span(OURS, PULLS),
        higher=f"{higher:.2f}",
        slower=f"{slower:.2f}",
        beside=BESIDE.capitalize(),
        wide=f"{wide:.2f}",
    )


def budgets() -> str:
    """Errors after a given number of rounds."""
    found, _ = measured()
    rules = {
        "top-two": "`top_two`",
        "accepts and rejects": "`successive_accepts`",
        "CLUCB": "`clucb`",
        "KL-LUCB": "`lucb`",
        "equal pulls": "equal pulls",
    }
    tables: dict[tuple[str, float], dict[str, Any]] = {}
    for row in found["budgets"]:
        tables.setdefault((row["problem"], row["times"]), {})[row["rule"]] = row
    lines = [
        [name, f"{of['top-two']['samples']:,.0f}"]
        + [f"{100 * of[rule]['wrong'] / of[rule]['runs']:.1f}" for rule in rules]
        for (name, _), of in tables.items()
    ]
    n_runs = f"{found['budgets'][0]['runs']:,}"
    return text(
        "budgets", n_runs=n_runs, table=Table(["problem", "outcomes", *rules.values()], lines)
    )


def statements() -> str:
    """What the probability and the loss say, and what is true."""
    found, _ = measured()
    lines = []
    for row in found["statements"]:
        early, late, first = row["after 20"], row["after 200"], row["first"]
        sure = f"{_said(first)}, n = {first['n']}" if first["n"] else "never"
        loss = f"{late['loss']:.3f}: {late['lost']:.3f} ± {late['loss_error']:.3f}"
        lines.append([row["kind"], _said(early), _said(late), sure, loss])
    n_sessions = f"{found['statements'][0]['sessions']:,}"
    heading = [
        "means",
        "after 20 rounds",
        "after 200 rounds",
        "first look at 95%",
        "loss after 200",
    ]
    table = Table(heading, lines, n_texts=5)
    return text("statements", n_sessions=n_sessions, table=table, said=_by_probability(found))


def _said(of: dict[str, Any]) -> str:
    """What was said, and what was true."""
    true = f"{100 * of['is_best']:.1f} ± {100 * of['error']:.1f}%"
    return f"{100 * of['probability']:.1f}%: {true}"


def _by_probability(found: Any) -> list[dict[str, str]]:
    """All sessions together, by what was said."""
    said = []
    for place, low in enumerate(("below 50%", "50% to 80%", "80% to 95%", "95% or more")):
        parts = [row["by probability"][place] for row in found["statements"]]
        parts = [part for part in parts if part["n"]]
        n = sum(part["n"] for part in parts)
        mean, true = (
            sum(part["n"] * part[of] for part in parts) / n for of in ("probability", "is_best")
        )
        error = math.sqrt(sum((part["n"] * part["error"]) ** 2 for part in parts)) / n
        is_true = f"{100 * true:.1f} ± {100 * error:.1f}%"
        said.append({"range": low, "mean": f"{100 * mean:.1f}%", "true": is_true})
    return said


PARTS: dict[str, Callable[[], str]] = {
    "errors": errors,
    "ratios": ratios,
    "samples": samples,
    "budgets": budgets,
    "statements": statements,
}


def page(text: str) -> str:
    """The page with every part as the recorded numbers are now."""
    return fill(text, "docs/done_page.py", PARTS)


def draw(figure: Any) -> None:
    """Outcomes as multiples of the floor, by problem and rule."""
    found, rows = measured()
    axis = figure.subplots()
    names = [name for name in ten(rows) if found["problems"][name]["outcomes"] == "coins"]
    looks = dict(zip((*COLUMNS, *PAPERS), (GREEN, SKY, PINK, BLUE, ORANGE, RED), strict=True))
    for rule, colour in looks.items():
        floors = [found["problems"][name]["floor_in_sets"] for name in names]
        x = [rows[name][rule]["samples"] / floor for name, floor in zip(names, floors, strict=True)]
        label = f"{COLUMNS[rule]}, verdict" if rule in COLUMNS else rule
        axis.plot(x, [-place for place in range(len(names))], "o", color=colour, label=label)
    axis.axvline(1.0, color=INK, linewidth=1)
    axis.set_xscale("log")
    axis.set_xticks([1, 3, 10, 30, 100], ["1", "3", "10", "30", "100"])
    axis.set_yticks([-place for place in range(len(names))], names)
    axis.set(xlabel="outcomes until the end, as a multiple of the floor")
    axis.legend(loc="upper left", bbox_to_anchor=(-0.1, -0.18), ncols=2)


def main() -> None:
    """Write the page and the picture."""
    PAGE.write_text(page(PAGE.read_text()))
    PICTURE.write_text(render(draw, size=(WIDTH, 6.0)))


if __name__ == "__main__":
    main()
