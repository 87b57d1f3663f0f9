"""The page and the picture of the comparison, made of its results and of nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from superarm.catalog import POLICIES
from superarm.reporting import figures, pages
from superarm.reporting.figures import WIDTH, plain
from superarm.reporting.palette import FAINT, look
from superarm.reporting.statistics import Interval
from superarm.reporting.tables import Table
from superarm.studies.comparison.measures import beyond, gap_closed, leaders
from superarm.studies.comparison.problems import COMPARED, N_TESTS, PROBLEMS
from superarm.studies.store import Store
from superarm.studies.study import Done

RANDOM, REFERENCE, ADVERSARIAL = (POLICIES[name].label for name in ("random", "cts", "exp3"))
FORGETFUL = tuple(POLICIES[name].label for name in ("discounted", "sliding"))
LABELS = tuple(POLICIES[name].label for name in COMPARED)

_TEMPLATE = Path(__file__).parent / "comparison.md"
_DIGITS = 3  # significant digits of a mean; the ends of its interval are as fine
_FEW = 0.1  # the share of the arms that a lazy oracle evaluates per round, at most
_ROW = 0.21  # inches of a policy in the picture


def write(found: dict[str, Any], store: Store) -> Done:
    """Write the results, the picture and the page."""
    picture = figures.render(lambda figure: draw(figure, found))
    store.write("comparison.json", json.dumps(found, indent=None, separators=(",", ":")) + "\n")
    store.write("comparison.svg", picture)
    title = "Share of the gap between the random baseline and the best fixed set that is closed"
    table = summary(found)
    return Done(
        store.write("comparison.md", render(found)), [Table(table.heading, table.rows, title)]
    )


def render(found: dict[str, Any]) -> str:
    """`docs/comparison.md` for these results, as Markdown."""
    return pages.render(
        _TEMPLATE,
        found=found,
        policies=Table(["policy", "settings"], _policies(), n_texts=2),
        intervals=_by_problem(found, _interval),
        problems=[{**one, "about": PROBLEMS[name]} for name, one in found["problems"].items()],
        n_runs=len(found["problems"]["linear"]["policies"][RANDOM]["regret"]),
        lazy=_evaluations(found["problems"]["network"]),
        leaders=_leaders_table(found),
        adversarial=_adversarial(found["problems"]["turning"]["policies"]),
        forgetful=_forgetful(found["problems"]),
        reference=REFERENCE,
        n_tests=N_TESTS,
    )


def _policies() -> list[list[str]]:
    chosen = [POLICIES[name] for name in COMPARED]
    return [[shown(one.label), one.code] for one in chosen]


def shown(label: str) -> str:
    """The label of a policy for people."""
    return "random baseline" if label == RANDOM else label


def summary(found: dict[str, Any]) -> Table:
    """The gap closed by every policy on every problem."""
    return _by_problem(found, _percent)


def _by_problem(found: dict[str, Any], cell: Callable[[dict[str, Any] | None], str]) -> Table:
    """One row per policy and one column per problem; ``cell`` gets None for what was not played."""
    problems = found["problems"]
    rows = [
        [shown(label), *(cell(one["policies"].get(label)) for one in problems.values())]
        for label in LABELS
    ]
    return Table(["policy", *(PROBLEMS[name].title for name in problems)], rows)


def _evaluations(problem: dict[str, Any]) -> str:
    """The range of evaluations per round, over the policies whose oracle is lazy."""
    found = [
        np.mean(one["evaluations"]) / problem["horizon"] for one in problem["policies"].values()
    ]
    # Policies that never evaluate the reward have 0. Oracles that are not lazy have more.
    lazy = [n for n in found if 0 < n < _FEW * problem["n_arms"]]
    return f"{min(lazy):.2f} to {max(lazy):.2f}"


def _leaders_table(found: dict[str, Any]) -> Table:
    rows = []
    for name, one in found["problems"].items():
        first, others = leaders(one["policies"])
        rows.append([PROBLEMS[name].title, first, "; ".join(others) or "none"])
    return Table(["problem", "least regret", "not distinguished from it"], rows, n_texts=3)


def _adversarial(policies: dict[str, Any]) -> dict[str, Any]:
    """How the policy that assumes nothing does in the changing environment."""
    ours, theirs = policies[ADVERSARIAL], policies[REFERENCE]
    difference = beyond(ours, theirs)
    verdict = "is not distinguished from" if difference.low <= 0 <= difference.high else "is above"
    return {
        "name": ADVERSARIAL,
        "verdict": "is below" if difference.high < 0 else verdict,
        "difference": _number(difference, signed=True),
        "stds": [f"{np.std(one['regret'], ddof=1):,.0f}" for one in (ours, theirs)],
    }


def _forgetful(problems: dict[str, Any]) -> dict[str, str]:
    """What forgetting gains where the means change, and what it costs where they do not."""
    differences = {}
    for name in ("turning", "linear"):
        policies = problems[name]["policies"]
        differences[name] = " and ".join(
            _number(beyond(policies[label], policies[REFERENCE]), signed=True)
            for label in FORGETFUL
        )
    return {"names": " and ".join(FORGETFUL), **differences}


def _percent(policy: dict[str, Any] | None) -> str:
    if policy is None:
        return "–"
    return f"{round(gap_closed(policy).mean, 2) + 0.0:.0%}"  # + 0.0: never -0%


def _interval(policy: dict[str, Any] | None) -> str:
    if policy is None:
        return "–"
    closed = gap_closed(policy)
    mean, low, high = (f"{100 * (round(share, 3) + 0.0):.1f}" for share in closed.numbers)
    return f"{mean} ({low} to {high})" if closed.low < 0 else f"{mean} ({low}–{high})"


def _number(interval: Interval, *, signed: bool = False) -> str:
    size = np.floor(np.log10(max(abs(interval.mean), 1e-9)))
    # At most two digits after the point: more would claim a precision that the runs lack.
    digits = int(np.clip(_DIGITS - 1 - size, 0, 2))
    form = f"{'+' if signed else ''},.{digits}f"
    mean, low, high = (f"{value:{form}}" for value in interval.numbers)
    # A dash between signs would be read as one of them.
    return f"{mean} ({low} to {high})" if signed or interval.low < 0 else f"{mean} ({low}–{high})"


def draw(figure: Any, found: dict[str, Any]) -> None:
    """One panel per problem, one row per policy: the gap closed with its 95% interval."""
    labels = list(LABELS)
    n_rows = -(-len(found["problems"]) // 2)
    figure.set_size_inches(WIDTH, n_rows * (0.9 + _ROW * len(labels)))
    # Two panels side by side: the rows of all panels have the same names, which are written once.
    axes = figure.subplots(n_rows, 2, sharey=True).ravel()
    for axis, (name, problem) in zip(axes, found["problems"].items(), strict=False):
        for place, label in enumerate(labels):
            if label not in problem["policies"]:
                axis.annotate("sums only", (0.02, place), color=FAINT, va="center")
                continue
            interval = gap_closed(problem["policies"][label])
            colour = look(label).colour
            ends = [100 * interval.low, 100 * interval.high]
            axis.plot(ends, [place, place], color=colour, linewidth=2.2)
            axis.plot(100 * interval.mean, place, "o", color=colour, markersize=5)
        axis.axvline(0, color=FAINT, linewidth=0.8, zorder=0)
        axis.set_yticks(range(len(labels)), [shown(label) for label in labels])
        axis.set_title(PROBLEMS[name].title, loc="right")
        plain(axis, "gap closed, %", "")
    axes[0].invert_yaxis()  # shared: the first policy at the top of every panel
