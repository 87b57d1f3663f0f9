"""The demo as a study: what is played, and what the tables and the picture show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from superarm.catalog import POLICIES
from superarm.reporting import files
from superarm.reporting.figures import band, look, name_curves, panels, render
from superarm.reporting.files import need
from superarm.reporting.tables import Table
from superarm.studies.cell import Cell, Recorded, Rows, Scale, recorded_rows
from superarm.studies.run import record
from superarm.studies.study import Done, Findings, Study

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class Problem:
    """A family of instances, and the policies of the catalog that play it."""

    title: str
    family: str
    n_arms: int
    k: int
    gap: float
    policies: tuple[str, ...]

    @property
    def settings(self) -> dict[str, Any]:
        """What `superarm.studies.cells.play.draw` is called with."""
        return {"family": self.family, "n_arms": self.n_arms, "k": self.k, "gap": self.gap}

    @property
    def labels(self) -> list[str]:
        """The labels of the policies."""
        return [POLICIES[name].label for name in self.policies]


# The default policy plays as it is used, and the paper's policies as in the paper, with Oracle+.
_OWN_ORACLE: dict[str, dict[str, Any]] = {"thompson": {"oracle": None}}
_PAPER = ("random", "cucb", "gt-qts", "gt-qts-k-of-m", "gt-centred-k-of-m", "cts", "cts-lazy")
_BOTH = ("thompson", *_PAPER)
PROBLEMS = (
    Problem("linear reward, 3 of 100 arms", "linear", 100, 3, 0.25, _BOTH),
    Problem("network reward, 3 of 100 arms", "network", 100, 3, 0.2, (*_BOTH, "cts-greedy")),
)


def play(
    folder: Path,
    *,
    runs: int = 10,
    horizon: int = 2000,
    seed: int = 0,
    workers: int = 2,
    console: Console | None = None,
) -> Done:
    """Play every policy of every problem, and draw the regret curves.

    Parameters
    ----------
    folder
        Where the picture is written.
    runs, horizon, seed
        Runs per policy, rounds per run, and the seed. All policies meet the same instances.
    workers
        The number of processes. The results are the same for any number.
    console
        Where to show progress.
    """
    need("matplotlib", "plots", "the demo draws a picture")
    demo = study(horizon)
    cells = demo.cells(Scale(runs=runs, seed=seed))
    store: dict[str, Recorded] = {}
    record({demo.name: cells}, store, unit="runs", workers=workers, console=console)
    # Nothing is kept besides the picture, so that the rows stay in memory.
    findings = demo.analyse(*recorded_rows(cells, store))
    return Done(files.write(folder / "regret.svg", render(findings.draw)), findings.tables)


def study(horizon: int) -> Study:
    """The demo with ``horizon`` rounds per run."""
    return Study("demo", "Two small problems", partial(cells_of, horizon=horizon), analyse)


def cells_of(scale: Scale, *, horizon: int) -> list[Cell]:
    """Every policy on every problem; the quantization level of group testing is the gap."""
    settings = [
        {
            "problem": problem.settings,
            "horizon": horizon,
            "label": POLICIES[name].label,
            # As in the paper, where both problems have a quantization level that equals the gap.
            "policy": {"name": name, "delta": problem.gap, **_OWN_ORACLE.get(name, {})},
        }
        for problem in PROBLEMS
        for name in problem.policies
    ]
    return scale.cells("play", settings, runs=scale.runs or 10)


def analyse(rows: Rows, times: Rows) -> Findings:
    """The regret curves of every policy, its evaluations per round and the time of a decision."""
    numbers: dict[str, Any] = {}
    for problem in PROBLEMS:
        numbers[problem.family] = {
            label: _policy(_of(rows, problem, label), _of(times, problem, label))
            for label in problem.labels
        }
    tables = [_table(problem, numbers[problem.family]) for problem in PROBLEMS]
    return Findings(numbers, tables, lambda figure: _draw(figure, numbers))


def _of(rows: Rows, problem: Problem, label: str) -> Rows:
    return [
        row for row in rows if row["label"] == label and row["problem"]["family"] == problem.family
    ]


def _policy(rows: Rows, times: Rows) -> dict[str, Any]:
    at = rows[0]["checkpoints"]
    evaluations = np.mean([row["evaluations"][-1] for row in rows]) / at[-1]
    return {
        "checkpoints": at,
        "regret": [row["regret"] for row in rows],
        "evaluations": float(evaluations),
        "ask_ms": 1000 * float(np.median([time["median_ask_s"] for time in times])),
    }


def _table(problem: Problem, found: dict[str, Any]) -> Table:
    finals = {label: np.array(one["regret"])[:, -1] for label, one in found.items()}
    # Regret has no natural unit, so that the table shows it as a share of the baseline, too.
    baseline = finals[POLICIES["random"].label].mean()
    rows = [
        [
            label,
            f"{final.mean():,.0f}",
            f"{_standard_error(final):,.0f}",
            f"{final.mean() / baseline:.0%}",
            _count(found[label]["evaluations"]),
            f"{found[label]['ask_ms']:.2f}",
        ]
        for label, final in sorted(finals.items(), key=lambda item: -item[1].mean())
    ]
    one = next(iter(found.values()))
    horizon, n_runs = one["checkpoints"][-1], len(one["regret"])
    return Table(
        ["policy", "regret", "± s.e.", "of random", "evaluations", "ms"],
        rows,
        title=f"{problem.title}: {horizon:,} rounds, {n_runs} runs",
        caption="evaluations of the reward and milliseconds are per round; less is better",
    )


def _standard_error(values: np.ndarray[Any, Any]) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def _count(evaluations: float) -> str:
    """Evaluations per round; digits after the point only where they matter."""
    return f"{evaluations:.2f}" if 0 < evaluations < 10 else f"{evaluations:,.0f}"


def _draw(figure: Any, numbers: dict[str, Any]) -> None:
    n_names = max(len(found) for found in numbers.values())
    axes: Sequence[Any] = panels(figure, len(PROBLEMS), n_names=n_names)
    for axis, problem in zip(axes, PROBLEMS, strict=True):
        ends = {}
        for label, one in numbers[problem.family].items():
            regret, at = np.array(one["regret"]), np.array(one["checkpoints"])
            band(axis, at, regret, look(label))
            name = f"{label}: {_count(one['evaluations'])} evaluations per round"
            ends[name] = (float(regret[:, -1].mean()), look(label))
        axis.set(xlabel="round", ylabel="cumulative regret")
        axis.set_title(problem.title, loc="left")
        axis.set_xlim(0, at[-1])
        axis.set_ylim(0)
        name_curves(axis, ends)
