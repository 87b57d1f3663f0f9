"""Make the tables and the picture of docs/noisy.md: ``python docs/noisy_page.py``.

The numbers come from docs/noisy.json, which ``benchmarks/noisy.py`` writes.
The prose between the tables is in docs/templates/noisy.md.jinja.
``tests/test_noisy_page.py`` checks that the page has what this program makes.
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
PAGE, PICTURE, MEASURED = HERE / "noisy.md", HERE / "noisy.svg", HERE / "noisy.json"
TEMPLATE = HERE / "templates" / "noisy.md.jinja"
TARGET = 0.05  # of the evaluations of repeated plain oracles
DELTA = 0.05
GREEDY, SEARCH = "NoisyGreedy", "NoisyLocalSearch"
# The rules of the part "errors": what they are called, and their colours.
RULES = {
    (GREEDY, "known"): ("`NoisyGreedy`, known noise", BLUE),
    (GREEDY, "learned"): ("`NoisyGreedy`, learned noise", GREEN),
    (SEARCH, "known"): ("`NoisyLocalSearch`, known noise", ORANGE),
    (GREEDY, "peeking"): ("peeking at 95% intervals", RED),
}

Row = dict[str, Any]


def rows(part: str, **wanted: str) -> list[Row]:
    """The recorded rows of a part."""
    found = [row for row in json.loads(MEASURED.read_text()) if row["part"] == part]
    return [row for row in found if wanted.items() <= row.items()]


def share(row: Row, of: str = "known") -> float:
    """Evaluations as a share of those of the repeated plain oracle."""
    return row["spent"] / row[of]


def per_round(row: Row) -> float:
    """Evaluations per round."""
    return row["spent"] / row["rounds"]


def span(numbers: list[float]) -> str:
    """The least and the largest share."""
    return f"{100 * min(numbers):.0f}% to {100 * max(numbers):.0f}%"


def text(part: str, **found: Any) -> str:
    """The prose of a part of the page, with its numbers."""
    return files.render(TEMPLATE, part=part, **found).strip("\n")


def arms() -> str:
    """`NoisySingletons` with known noise."""
    lines = [
        [
            row["reward"],
            f"{per_round(row):,.0f}",
            f"{share(row):.1%}",
            f"{share(row, 'unknown'):.1%}",
            f"{row['wrong']} of {row['rounds']}",
            f"{row['uncertified']}",
        ]
        for row in rows("arms")
    ]
    head = ["reward", "evaluations per round", "gap known", "gap unknown", "wrong", "uncertified"]
    return as_markdown(Table(head, lines))


def sets() -> str:
    """`NoisyGreedy` and `NoisyLocalSearch`, with known and learned noise."""
    lines = []
    for oracle in (GREEDY, SEARCH):
        for row in rows("sets", oracle=oracle, noise="known"):
            (learned,) = rows("sets", oracle=oracle, noise="learned", reward=row["reward"])
            both = row, learned
            lines.append(
                [
                    f"`{oracle}`" if row["reward"] == "coverage" else "",
                    row["reward"],
                    f"{per_round(row):,.0f}",
                    f"{share(row):.1%}",
                    f"{share(row, 'unknown'):.1%}",
                    f"{per_round(learned):,.0f}",
                    f"{share(learned):.1%}",
                    f"{sum(r['wrong'] for r in both)} of {sum(r['decisions'] for r in both)}",
                ]
            )
    head = ["oracle", "reward", "evaluations per round", "gap known", "gap unknown"]
    head += ["noise learned: per round", "gap known", "wrong"]
    return as_markdown(Table(head, lines, n_texts=2))


def pays() -> str:
    """Where it pays, and where it does not."""
    single, sets_ = rows("arms"), rows("sets", noise="known")
    missed = [f"{row['reward']} ({share(row):.1%})" for row in single if share(row) > TARGET]
    n_met = sum(share(row) <= TARGET for row in single)
    of_sets = []
    for oracle in (GREEDY, SEARCH):
        mine = [row for row in sets_ if row["oracle"] == oracle]
        of_sets.append(
            {
                "oracle": oracle,
                "n_met": sum(share(row) <= TARGET for row in mine),
                "n": len(mine),
                "known": span([share(row) for row in mine]),
                "unknown": span([share(row, "unknown") for row in mine]),
            }
        )
    few, small = rows("few arms"), rows("few sets", noise="known")
    return text(
        "pays",
        n_met=n_met,
        n_single=len(single),
        missed=", ".join(missed),
        of_sets=of_sets,
        n_few=len(few),
        few=span([share(row) for row in few]),
        greedy=span([share(row) for row in small if row["oracle"] == GREEDY]),
        search=span([share(row) for row in small if row["oracle"] == SEARCH]),
    )


def learned() -> str:
    """What learning the noise costs `NoisySingletons`."""
    lines = []
    for row in rows("learned", noise="known"):
        other = [
            rows("learned", noise=kind, reward=row["reward"])[0] for kind in ("learned", "bounded")
        ]
        times = [f"{one['spent'] / row['spent']:.1f} ×" for one in other]
        wrong = sum(one["wrong"] for one in (row, *other))
        n_decisions = sum(one["decisions"] for one in (row, *other))
        lines.append([row["reward"], f"{per_round(row):,.0f}", *times, f"{wrong} of {n_decisions}"])
    head = ["reward", "known: per round", "symmetric, learned", "bounded, learned", "wrong"]
    return as_markdown(Table(head, lines))


def concave() -> str:
    """What the declaration saves."""
    saved = []
    for row in rows("concave"):
        if row["concave"]:
            (plain_,) = [one for one in rows("concave", reward=row["reward"]) if not one["concave"]]
            saved.append(f"{1 - row['spent'] / plain_['spent']:.0%} on {row['reward']}")
    return text("concave", saved=saved)


def errors() -> str:
    """How often decisions were wrong."""
    lines = []
    for (oracle, noise), (name, _) in RULES.items():
        mine = rows("errors", oracle=oracle, noise=noise)
        n_rounds, n_wrong = (sum(row[of] for row in mine) for of in ("rounds", "wrong_rounds"))
        spent = sum(row["spent"] for row in mine) / n_rounds
        wrong = f"{n_wrong} of {n_rounds:,}"
        lines.append([name, wrong, f"{100 * n_wrong / n_rounds:.2f}%", f"{spent:,.0f}"])
    head = ["rule", "wrong rounds", "share", "evaluations per round"]
    n_steps = sum(row["decisions"] for row in rows("errors", oracle=GREEDY, noise="known"))
    single = rows("arms, errors")
    n_sets, n_wrong, n_runs = (
        sum(row[of] for row in single) for of in ("decisions", "wrong", "runs")
    )
    return text(
        "errors",
        table=Table(head, lines),
        n_steps=f"{n_steps:,}",
        n_sets=f"{n_sets:,}",
        n_runs=n_runs,
        n_wrong=n_wrong,
        shares=span([share(row) for row in single]),
    )


def unions() -> str:
    """What certainty costs, step by step."""
    (row,) = rows("unions")
    first = next(iter(row["steps"].values()))
    lines = [[name, f"{n:,}", f"{n / first:.1f} ×"] for name, n in row["steps"].items()]
    return as_markdown(Table(["what is covered", "answers per set", "multiple"], lines))


def complements() -> str:
    """Where swaps find better sets than greedy."""
    found = {}
    for oracle in (GREEDY, SEARCH):
        (row,) = rows("sets", oracle=oracle, noise="known", reward="complements")
        found[oracle] = row["value"] / row["exact_value"]
    return text("complements", search=f"{found[SEARCH]:.2f}", greedy=f"{found[GREEDY]:.2f}")


def thresholds() -> str:
    """The other algorithm for noisy greedy steps."""
    found = rows("thresholds")
    times = [row["thresholds_spent"] / row["spent"] for row in found]
    worth = [row["thresholds_value"] / row["value"] for row in found]
    return text(
        "thresholds",
        times=f"{min(times):.1f} to {max(times):.1f}",
        n_rounds=found[0]["rounds"],
        worth=f"{min(worth):.2f} to {max(worth):.2f}",
    )


PARTS: dict[str, Callable[[], str]] = {
    "arms": arms,
    "sets": sets,
    "pays": pays,
    "complements": complements,
    "thresholds": thresholds,
    "learned": learned,
    "concave": concave,
    "errors": errors,
    "unions": unions,
}


def page(text: str) -> str:
    """The page with every part as the recorded numbers are now."""
    return fill(text, "docs/noisy_page.py", PARTS)


def draw(figure: Any) -> None:
    """Evaluations as shares of those of plain oracles, and wrong rounds."""
    figure.set_size_inches(WIDTH, 8.8)
    top, bottom = figure.subplots(2, 1, height_ratios=[3.2, 1.3])
    single, of_sets = rows("arms"), rows("sets", noise="known")
    names = list(dict.fromkeys(row["reward"] for row in of_sets))
    marks = [("NoisySingletons, 500 arms", GREEN, "s", single)]
    for oracle, colour in ((GREEDY, BLUE), (SEARCH, ORANGE)):
        mine = [row for row in of_sets if row["oracle"] == oracle]
        marks.append((f"{oracle}, 300 arms", colour, "o", mine))
    for label, colour, mark, found in marks:
        y = [-place - (len(names) + 0.6) * (found is single) for place in range(len(found))]
        top.plot([100 * share(row) for row in found], y, mark, color=colour, label=label)
    ticks = [-place for place in range(len(names))]
    ticks += [-place - len(names) - 0.6 for place in range(len(single))]
    top.set_yticks(ticks, [*names, *(row["reward"] for row in single)])
    top.axvline(100 * TARGET, color=INK, linewidth=1, linestyle="--")
    top.text(100 * TARGET * 1.06, 0.75, "target", color=INK, va="center")
    top.set_ylim(top=1.2)
    top.set_xscale("log")
    top.set_xticks([0.5, 1, 2, 5, 10, 20], ["0.5", "1", "2", "5", "10", "20"])
    top.minorticks_off()
    top.set(xlabel="evaluations in percent of repeated plain oracles")
    top.legend(loc="upper left", bbox_to_anchor=(-0.1, -0.1))
    for place, (rule, (_, colour)) in enumerate(RULES.items()):
        mine = rows("errors", oracle=rule[0], noise=rule[1])
        n_wrong, n_rounds = (sum(row[of] for row in mine) for of in ("wrong_rounds", "rounds"))
        percent = 100 * n_wrong / n_rounds
        bottom.barh(-place, percent, color=colour, height=0.6)
        bottom.text(percent + 0.4, -place, f"{n_wrong} of {n_rounds:,}", color=INK, va="center")
    bottom.set_yticks(
        [-place for place in range(len(RULES))],
        [
            name.replace("`", "").replace(", ", ",\n").replace(" at", "\nat")
            for name, _ in RULES.values()
        ],
    )
    bottom.axvline(100 * DELTA, color=INK, linewidth=1, linestyle="--")
    bottom.text(100 * DELTA + 0.3, 0.62, "delta", color=INK, va="center")
    bottom.set_ylim(top=0.9)
    bottom.set_xlim(right=20)
    bottom.set_xticks([0, 5, 10, 15, 20])
    bottom.set(xlabel="wrong rounds in percent")


def main() -> None:
    """Write the page and the picture."""
    PAGE.write_text(page(PAGE.read_text()))
    PICTURE.write_text(render(draw))


if __name__ == "__main__":
    main()
