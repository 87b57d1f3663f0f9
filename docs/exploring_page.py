"""Make docs/exploring.md and its pictures: ``python docs/exploring_page.py [POLICY ...]``.

With names of `PLAYED`, these policies play one problem first (a minute for all four), and
docs/exploring.json has what they did. The table of docs/learning.json, which
``benchmarks/learning.py`` writes, is shown if the file is there. docs/refits.json is written by
``benchmarks/refits.py``. The prose is in docs/templates/exploring.md.jinja.
``tests/test_exploring_page.py`` checks that the page is what this program makes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import superarm as sa
from superarm import theory
from superarm.catalog import POLICIES, Task
from superarm.environments import BernoulliArms
from superarm.reporting import files
from superarm.reporting.figures import (
    Look,
    band,
    logarithmic,
    look,
    name_curves,
    panels,
    render,
)
from superarm.reporting.palette import INK, SERIES
from superarm.reporting.statistics import mean_interval, paired_ratio
from superarm.reporting.tables import Table, compact
from superarm.simulation import run_one

HERE = Path(__file__).parent
PAGE, TEMPLATE = HERE / "exploring.md", HERE / "templates" / "exploring.md.jinja"
MEASURED, LEARNING = HERE / "exploring.json", HERE / "learning.json"
REFITS = HERE / "refits.json"

PLAYED = ("cts", "single-seed", "epsilon-greedy", "thompson")
# 200 arms at 2.6%, as the problem "Clicks" of the comparison.
A, B, N_ARMS, K, HORIZON, N_RUNS, WINDOW = 2, 75, 200, 10, 2000, 24, 100
SIZES = (2, 5, 10, 30, 100)
_RIVALS = ("CTS", "single seed", "epsilon-greedy")


def play(policy: str, run: int, horizon: int = HORIZON) -> tuple[list[float], float]:
    """One run: the share of pulls outside the best set per window, and the gap closed."""
    drawn: list[np.ndarray] = []

    def make(rng: np.random.Generator) -> tuple[sa.Policy, BernoulliArms]:
        drawn.append(rng.beta(A, B, N_ARMS))
        task = Task(sa.LinearReward(N_ARMS), K, horizon, delta=0.0)
        return POLICIES[policy].make(task), BernoulliArms(drawn[0])

    trace = run_one(make, horizon, np.random.SeedSequence(0, spawn_key=(run,)))
    best = np.argsort(drawn[0])[-K:]
    outside = 1 - np.isin(trace.arms, best).mean(axis=1)
    regret = horizon * drawn[0][best].sum() - trace.values.sum()
    chance = horizon * (drawn[0][best].sum() - K * drawn[0].mean())
    return outside.reshape(-1, WINDOW).mean(axis=1).tolist(), float(1 - regret / chance)


def measure(policies: Sequence[str]) -> dict[str, Any]:
    """What these policies did, over paired runs."""
    found: dict[str, Any] = {}
    for policy in policies:
        shares, closed = zip(*(play(policy, run) for run in range(N_RUNS)), strict=True)
        found[policy] = {"outside": np.round(shares, 4).tolist(), "closed": list(closed)}
    return found


def draw_probability(figure: Any) -> None:
    """The probability that k arms all look good, against what they share."""
    (axis,) = panels(figure, 1, n_names=4)
    shared = np.linspace(0, 1, 101)
    ends = {}
    for k, colour in zip(SIZES, SERIES, strict=False):
        values = [theory.optimistic_probability(k, one) for one in shared]
        axis.plot(shared, values, color=colour)
        default = sa.thompson(sa.LinearReward(k + 1), k).belief.shared
        axis.plot(default, theory.optimistic_probability(k, default), "o", color=colour)
        # All curves end at 1/2, so they are named by where they begin.
        ends[f"k = {k}"] = (values[0], Look(colour))
    logarithmic(axis, x=False)
    axis.set_ylim(1e-5, 1)
    axis.set(xlabel="shared (dots: the default for this k)", ylabel="all k above their medians")
    name_curves(axis, ends)


def draw_policies(figure: Any, measured: dict[str, Any]) -> None:
    """The share of pulls outside the best set, over the rounds."""
    (axis,) = panels(figure, 1, n_names=3)
    rounds = np.arange(WINDOW, HORIZON + 1, WINDOW)
    ends = {}
    for policy, one in measured.items():
        label, shares = POLICIES[policy].label, 100 * np.array(one["outside"])
        band(axis, rounds, shares, look(label))
        ends[label] = (shares[:, -1].mean(), look(label))
    axis.axhline(100 * (1 - K / N_ARMS), color=INK, linewidth=0.8, linestyle=":")
    axis.annotate("random sets", (WINDOW, 100 * (1 - K / N_ARMS)), va="bottom", color=INK)
    axis.set_ylim(0, 105)
    axis.set(xlabel="round", ylabel="pulls outside the best set, %")
    name_curves(axis, ends)


def learning_table(rows: list[dict[str, Any]]) -> tuple[Table, dict[str, float]]:
    """The gap closed on each problem, and how far thompson is above CTS on average."""
    problems = list(dict.fromkeys(row["problem"] for row in rows))
    lines, above = [], []
    for name in problems:
        runs = [row["found"] for row in rows if row["problem"] == name]
        found = {label: np.array([run[label][0] for run in runs]) for label in runs[0]}
        best = max(_RIVALS, key=lambda label: found[label].mean())
        lead = mean_interval(found["thompson"] - found[best])
        shown = [f"{found[label].mean():.0f}" for label in ("thompson", *_RIVALS)]
        lines.append([name, *shown, f"{lead.mean:+.1f}"])
        above.append(found["thompson"].mean() - found["CTS"].mean())
    heading = ["problem", "thompson", *_RIVALS, "lead"]
    least = min(sum(row["problem"] == name for row in rows) for name in problems)
    about = {"above": float(np.mean(above)), "runs": float(least)}
    return Table(heading, lines), about


def missed(table: Table) -> str:
    """The problems on which thompson is more than 3 points below the best of the others."""
    leads = sorted((float(line[-1]), line[0]) for line in table.rows)
    return ", ".join(f"{name} ({lead:+.1f})" for lead, name in leads if lead < -3)


def arrivals(rows: list[dict[str, Any]]) -> dict[str, float]:
    """The mean gap that each policy closes where items come and go, in percent."""
    labels = {row["policy"] for row in rows}
    return {
        label: float(np.mean([row["gap"] for row in rows if row["policy"] == label]))
        for label in labels
    }


def evaluations(rows: list[dict[str, Any]], family: str) -> list[float]:
    """Of thompson and of CTS at the paper's size: evaluations per round."""
    return [
        float(
            np.mean(
                [
                    row["evaluations"]
                    for row in rows
                    if (row["family"], row["policy"]) == (family, label)
                ]
            )
        )
        for label in ("thompson", "CTS")
    ]


def paper_ratio(rows: list[dict[str, Any]], family: str) -> str:
    """The regret of thompson at the paper's size relative to CTS, over paired runs."""
    regret = {
        label: {
            row["run"]: row["regret"]
            for row in rows
            if (row["family"], row["policy"]) == (family, label)
        }
        for label in ("thompson", "CTS")
    }
    runs = sorted(regret["thompson"].keys() & regret["CTS"].keys())
    return str(paired_ratio(*[[regret[label][run] for run in runs] for label in regret]))


def paper(rows: list[dict[str, Any]]) -> dict[str, str]:
    """The ratios of both problems, and the number of runs, which is the same for all."""
    runs = {(row["family"], row["policy"]): 0 for row in rows}
    for row in rows:
        runs[row["family"], row["policy"]] += 1
    (n_runs,) = set(runs.values())
    ratios = {name: paper_ratio(rows, name) for name in ("linear", "network")}
    return {**ratios, "runs": str(n_runs)}


def page() -> str:
    """The text of docs/exploring.md."""
    measured = json.loads(MEASURED.read_text())
    learning = json.loads(LEARNING.read_text()) if LEARNING.exists() else None
    table, about = learning_table(learning["table"]) if learning else (None, None)
    before, about_before = learning_table(learning["before"]) if learning else (None, None)
    closed = {name: 100 * mean_interval(one["closed"]).mean for name, one in measured.items()}
    text = files.render(
        TEMPLATE,
        probability=theory.optimistic_probability,
        rule=lambda k: sa.thompson(sa.LinearReward(k + 1), k).belief.shared,
        belief=sa.thompson(sa.LinearReward(20), 5).belief,
        closed=closed,
        most=100 * (1 - _floor_share()),
        sizes=(N_ARMS, K, HORIZON, N_RUNS),
        refits=json.loads(REFITS.read_text()),
        learning=table,
        about=about,
        before=before,
        about_before=about_before,
        missed=missed,
        arrivals=arrivals(learning["arrivals"]) if learning else None,
        evaluations=lambda family: evaluations(learning["paper"], family),
        paper=paper(learning["paper"]) if learning else None,
    )
    return compact(text.rstrip("\n")) + "\n"


@cache
def _floor_share() -> float:
    """The floor of the problem that is played, as a share of the random baseline's regret."""
    from superarm.theory.bayes_floor import best_set_value, mean_of

    law = [(1.0, A, B)]
    chance = HORIZON * (best_set_value(law, N_ARMS, K) - K * mean_of(law))
    return theory.bayes_regret_floor(law, N_ARMS, K, HORIZON) / chance


def main() -> None:
    """Write everything."""
    measured = json.loads(MEASURED.read_text()) if MEASURED.exists() else {}
    measured |= measure(sys.argv[1:])
    MEASURED.write_text(json.dumps(measured, separators=(",", ":")) + "\n")
    PAGE.write_text(page())
    (HERE / "exploring-probability.svg").write_text(render(draw_probability))
    policies = render(lambda figure: draw_policies(figure, measured))
    (HERE / "exploring-policies.svg").write_text(policies)


if __name__ == "__main__":
    main()
