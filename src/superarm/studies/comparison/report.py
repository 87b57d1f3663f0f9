"""The page and the picture of the comparison, made of its results and of nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from superarm.catalog import POLICIES
from superarm.reporting import figures, files
from superarm.reporting.figures import WIDTH, look
from superarm.reporting.palette import FAINT
from superarm.reporting.statistics import Interval
from superarm.reporting.tables import Table, compact
from superarm.studies.cells.compare import KNOWING
from superarm.studies.comparison.contestants import Contestant
from superarm.studies.comparison.measures import beyond, gap_closed, leaders
from superarm.studies.comparison.problems import COMPARED, LABELS, N_TESTS, with_others
from superarm.studies.store import Store
from superarm.studies.study import Done

RANDOM, REFERENCE, ADVERSARIAL = "random", "cts", "exp3"
FORGETFUL = ("discounted", "sliding")
# How the policies that are not in the catalog are made.
_CODE = {
    "features": "`LogisticBelief` with features",
    "contexts": "the same with contexts; `LinearBelief` on Yeast",
}

_TEMPLATE = Path(__file__).parent / "comparison.md"
_DIGITS = 3  # significant digits of a mean; the ends of its interval are as fine
_FEW = 0.1  # the share of the arms that a lazy oracle evaluates per round, at most
_ROW = 0.21  # inches of a policy in the picture
_TERMINAL_COLUMNS = 5  # of a table, besides the names
_LARGE = 100  # from here on, numbers need no digits after the point
# The policies of the picture, with those from outside: all of them would be small or long.
_PICTURED = COMPARED[: COMPARED.index("discounted") + 1]


def write(found: dict[str, Any], store: Store) -> Done:
    """Write the results, the picture and the page."""
    picture = figures.render(lambda figure: draw(figure, found))
    data = json.dumps(found, indent=None, separators=(",", ":")) + "\n"
    files.write(store.folder / "comparison.json", data)
    files.write(store.folder / "comparison.svg", picture)
    title = "Percent of the gap between the random baseline and the best fixed set that is closed"
    above = "Regret as a multiple of the floor; less is better"
    tables = [*_parts(summary(found), title), *_parts(multiples(found), above)]
    return Done(files.write(store.folder / "comparison.md", render(found)), tables)


def _parts(table: Table, title: str) -> list[Table]:
    """A wide table as several that a terminal has room for."""
    columns = range(1, len(table.heading), _TERMINAL_COLUMNS)
    return [
        Table(
            [table.heading[0], *table.heading[first : first + _TERMINAL_COLUMNS]],
            [[row[0], *row[first : first + _TERMINAL_COLUMNS]] for row in table.rows],
            title,
        )
        for first in columns
    ]


def render(found: dict[str, Any]) -> str:
    """`docs/comparison.md` for these results, as Markdown."""
    problems = found["problems"]
    page = files.render(
        _TEMPLATE,
        found=found,
        policies=Table(["policy", "settings"], _policies(found), n_texts=2),
        closed=summary(found),
        problems=_problems(found),
        n_problems=len(problems),
        n_runs=len(problems["linear"]["policies"][RANDOM]["regret"]),
        n_network_arms=problems["network"]["n_arms"],
        lazy=_evaluations(problems["network"]),
        leaders=_leaders_table(found),
        floors=multiples(found),
        adversarial=_adversarial(problems["turning"]["policies"]),
        forgetful=_forgetful(problems),
        reference=LABELS[REFERENCE],
        n_tests=N_TESTS,
    )
    return compact(page)


def _problems(found: dict[str, Any]) -> Table:
    about = with_others([Contestant(**one) for one in found["outside"]])
    rows = [
        [
            about[name].title,
            about[name].sentence,
            *(f"{one[size]:,}" for size in ("n_arms", "k", "horizon")),
        ]
        for name, one in found["problems"].items()
    ]
    return Table(["problem", "what it is", "m", "k", "rounds"], rows, n_texts=2)


def _policies(found: dict[str, Any]) -> list[list[str]]:
    outside = [[one["label"], f"`{one['name']}`"] for one in _outside(found)]
    own = [name for name in names(found) if name in LABELS]
    code = {**{name: POLICIES[name].code for name in COMPARED}, **_CODE}
    return outside + [[shown(found, name), code[name]] for name in own]


def _outside(found: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for one in found["outside"] if one["horizon"] is None]


def names(found: dict[str, Any]) -> list[str]:
    """The policies in the order of the tables, those from outside first."""
    first, *others = COMPARED
    return [*(one["name"] for one in _outside(found)), first, *KNOWING, *others]


def shown(found: dict[str, Any], name: str) -> str:
    """The label of a policy for people."""
    if name in LABELS:
        return "random baseline" if name == RANDOM else LABELS[name]
    return next(str(one["label"]) for one in found["outside"] if one["name"] == name)


def _titles(found: dict[str, Any], problems: Iterable[str]) -> list[str]:
    about = with_others([Contestant(**one) for one in found["outside"]])
    return [about[name].title for name in problems]


def summary(found: dict[str, Any]) -> Table:
    """The gap closed by every policy on every problem."""
    problems = found["problems"]
    rows = [
        [shown(found, name), *(_percent(one["policies"].get(name)) for one in problems.values())]
        for name in names(found)
    ]
    return Table(["policy", *_titles(found, problems)], rows)


def multiples(found: dict[str, Any]) -> Table:
    """The regret of every policy as a multiple of the floor, on the problems that have one."""
    problems = found["problems"]
    floors = {name: floor for name in problems if (floor := floor_of(problems[name])) is not None}
    rows = [["the floor itself", *(f"{floor:,.0f}" for floor in floors.values())]]
    for policy in names(found):
        played = [problems[name]["policies"].get(policy) for name in floors]
        if any(played):
            cells = [
                "–" if one is None else f"{np.mean(one['regret']) / floor:.2f}"
                for one, floor in zip(played, floors.values(), strict=True)
            ]
            rows.append([shown(found, policy), *cells])
    ratios = [problems[name]["floors"]["asymptotic"] / floor for name, floor in floors.items()]
    rows.append(["C ln T", *(f"{one:,.0f}" if one > _LARGE else f"{one:.2f}" for one in ratios)])
    return Table(["policy", *_titles(found, floors)], rows)


def floor_of(problem: dict[str, Any]) -> float | None:
    """The floor under the regret on a problem that says something at its horizon, or None."""
    # The asymptotic one is above what good policies lose in so few rounds, so it is no floor here.
    bayes, first_failure = (problem["floors"][name] for name in ("bayes", "first_failure"))
    if bayes is None:
        return None if first_failure is None else float(first_failure)
    # A share of the random baseline's regret: instances with larger gaps have larger floors.
    return float(bayes * np.mean(problem["policies"][RANDOM]["chance"]))


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
        also = "; ".join(shown(found, other) for other in others) or "none"
        rows.append([*_titles(found, [name]), shown(found, first), also])
    return Table(["problem", "least regret", "not distinguished from it"], rows, n_texts=3)


def _adversarial(policies: dict[str, Any]) -> dict[str, Any]:
    """How the policy that assumes nothing does in the changing environment."""
    ours, theirs = policies[ADVERSARIAL], policies[REFERENCE]
    difference = beyond(ours, theirs)
    verdict = "is not distinguished from" if difference.low <= 0 <= difference.high else "is above"
    return {
        "name": LABELS[ADVERSARIAL],
        "verdict": "is below" if difference.high < 0 else verdict,
        "difference": _number(difference, signed=True),
        "stds": [f"{np.std(one['regret'], ddof=1):,.0f}" for one in (ours, theirs)],
    }


def _forgetful(problems: dict[str, Any]) -> dict[str, str]:
    """What forgetting gains where the means change, and what it costs where they do not."""
    differences = {}
    for problem in ("turning", "linear"):
        policies = problems[problem]["policies"]
        differences[problem] = " and ".join(
            _number(beyond(policies[name], policies[REFERENCE]), signed=True) for name in FORGETFUL
        )
    return {"names": " and ".join(LABELS[name] for name in FORGETFUL), **differences}


def _percent(policy: dict[str, Any] | None) -> str:
    if policy is None:
        return "–"
    return f"{round(100 * gap_closed(policy).mean) + 0.0:.0f}"  # + 0.0: never -0


def _number(interval: Interval, *, signed: bool = False) -> str:
    size = np.floor(np.log10(max(abs(interval.mean), 1e-9)))
    # At most two digits after the point: more would claim a precision that the runs lack.
    digits = int(np.clip(_DIGITS - 1 - size, 0, 2))
    form = f"{'+' if signed else ''},.{digits}f"
    mean, low, high = (f"{value:{form}}" for value in interval)
    # A dash between signs would be read as one of them.
    return f"{mean} ({low} to {high})" if signed or interval.low < 0 else f"{mean} ({low}–{high})"


def draw(figure: Any, found: dict[str, Any]) -> None:
    """One panel per problem, one row per policy: the gap closed with its 95% interval."""
    problems = found["problems"]
    policies = [name for name in names(found) if name in _PICTURED or name not in COMPARED]
    n_rows = -(-len(problems) // 2)
    figure.set_size_inches(WIDTH, n_rows * (0.9 + _ROW * len(policies)))
    # Two panels side by side: the rows of all panels have the same names, which are written once.
    axes = figure.subplots(n_rows, 2, sharey=True).ravel()
    for axis in axes[len(problems) :]:
        axis.set_visible(False)
    for axis, title, problem in zip(
        axes, _titles(found, problems), problems.values(), strict=False
    ):
        for place, name in enumerate(policies):
            if name in problem["policies"]:
                _draw_interval(axis, place, problem["policies"][name], shown(found, name))
        axis.axvline(0, color=FAINT, linewidth=0.8, zorder=0)
        axis.set_yticks(range(len(policies)), [shown(found, name) for name in policies])
        axis.set_title(title, loc="right")
        axis.set(xlabel="gap closed, %")
    axes[0].invert_yaxis()  # shared: the first policy at the top of every panel


def _draw_interval(axis: Any, place: int, policy: dict[str, Any], label: str) -> None:
    interval, colour = gap_closed(policy), look(label).colour
    axis.plot(
        [100 * interval.low, 100 * interval.high], [place, place], color=colour, linewidth=2.2
    )
    axis.plot(100 * interval.mean, place, "o", color=colour, markersize=5)
