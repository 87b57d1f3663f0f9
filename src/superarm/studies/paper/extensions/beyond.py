"""Beyond the paper: regret against evaluations, for the paper's policies and for better oracles.

`LazySingletons` decides as Oracle+ does, from remembered answers. So CTS with it is CTS, with fewer
evaluations. GT+QTS with the regression decoder makes the paper's tests, as many and as coarsely
quantized, and remembers them. "rarely" asks LazySingletons in rounds that are a factor of 1.1
apart. On the network, where a set is worth less than its arms together, two more oracles play:
greedy's decision (`LazyGreedy`), and swaps from Oracle+'s set with as many evaluations as the paper
has tests (`LocalSearch`). The default policy of the library, `superarm.thompson`, learns from fewer
rounds.

Regret is also given as a multiple of a floor where there is one: on the linear problem.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from superarm import theory
from superarm.reporting.figures import logarithmic, look, name_curves, panels
from superarm.reporting.palette import FAINT, INK
from superarm.reporting.statistics import Interval, mean_interval, paired_ratio
from superarm.reporting.tables import Table
from superarm.simulation import Instance
from superarm.studies.cell import Cell, Rows, Scale
from superarm.studies.cells.play import draw
from superarm.studies.paper.experiments import fig2a, fig2b
from superarm.studies.paper.policies import (
    CTS,
    LAZY,
    N_TESTS,
    QUICK_N_TESTS,
    REGRESSION,
    beyond,
    default,
    finals,
    further,
    of_label,
)
from superarm.studies.study import Findings

TITLE = "Beyond the paper: regret against evaluations"

N_RUNS = 20
_PANELS = {"linear": "linear reward", "network": "two-layer network reward"}


def cells(scale: Scale) -> list[Cell]:
    """The cells of figures 2A and 2B, and the better oracles on both problems."""
    n_tests = scale.pick(N_TESTS, QUICK_N_TESTS)
    better, ours = [], []
    for of, family in ((fig2a, "linear"), (fig2b, "network")):
        common = of.played(scale)
        specs = {**beyond(of.DELTA, n_tests), **further(family, of.DELTA, n_tests)}
        better += [{**common, "label": label, "policy": spec} for label, spec in specs.items()]
        # Separability is about draws of all arms, and this policy draws a few.
        ours += [
            {**common, "label": label, "policy": spec, "watched": False}
            for label, spec in default().items()
        ]
    return [
        *fig2a.cells(scale),
        *fig2b.cells(scale),
        *scale.cells("play", better, runs=N_RUNS),
        *scale.cells("play", ours, runs=N_RUNS),
    ]


def analyse(rows: Rows, times: Rows) -> Findings:
    """Regret and evaluations of every policy, and whether the lazy oracle's regret is CTS's."""
    numbers = {
        family: _found([row for row in rows if row["problem"]["family"] == family])
        for family in _PANELS
    }
    return Findings(
        numbers,
        [_table(title, numbers[family]) for family, title in _PANELS.items()],
        lambda figure: _draw(figure, numbers),
        _notes(numbers),
    )


def _found(part: Rows) -> dict[str, Any]:
    """What the rows of one problem say."""
    regret, evaluations = finals(part, "regret"), finals(part, "evaluations")
    policies = {
        label: {
            "regret": runs.tolist(),
            "evaluations": evaluations[label].tolist(),
            "of_cts": paired_ratio(runs, regret[CTS])._asdict(),
        }
        for label, runs in regret.items()
    }
    # Equal to the last bit, not within an interval: lazy evaluation must not change a decision.
    same = all(
        row["regret"] == other["regret"]
        for row, other in zip(of_label(part, LAZY), of_label(part, CTS), strict=True)
    )
    horizon = part[0]["checkpoints"][-1]
    floors = _floors(of_label(part, CTS), horizon)
    return {"policies": policies, "lazy_is_cts": same, "horizon": horizon, "floors": floors}


def _floors(runs: Rows, horizon: int) -> dict[str, float] | None:
    """What regret can't be avoided on average over these runs; None for networks.

    It follows from the means of the instances, which are drawn again.
    """
    instances = [_instance(row) for row in runs]
    if not all(instance.reward.additive for instance in instances):
        return None
    first = [theory.first_failure_regret(one.mu, one.k) for one in instances]
    asymptotic = [theory.regret_constant(one.mu, one.k) * np.log(horizon) for one in instances]
    return {"first_failure": float(np.mean(first)), "asymptotic": float(np.mean(asymptotic))}


def _instance(row: dict[str, Any]) -> Instance:
    """The instance that the policies of a run met."""
    # The first stream of a run is that of its instance (`run_one`).
    seed = np.random.SeedSequence(row["seed"], spawn_key=(row["run"], 0))
    return draw(row["problem"], rng=np.random.default_rng(seed))


def _table(title: str, found: dict[str, Any]) -> Table:
    horizon, policies, floors = found["horizon"], found["policies"], found["floors"]
    body = [
        [
            label,
            str(mean_interval(one["regret"])),
            f"{one['of_cts']['mean']:.2f}",
            *([f"{np.mean(one['regret']) / floors['first_failure']:.2f}"] if floors else []),
            f"{np.mean(one['evaluations']):,.0f}",
            f"{np.mean(one['evaluations']) / horizon:,.2f}",
        ]
        for label, one in sorted(policies.items(), key=lambda item: np.mean(item[1]["evaluations"]))
    ]
    of_floor = ["× floor"] if floors else []
    return Table(
        ["policy", "regret", "× CTS's", *of_floor, "evaluations in all", "evaluations per round"],
        body,
        caption=f"{title}, T = {horizon:,}, {len(policies[CTS]['regret'])} paired runs, "
        f"fewest evaluations first. Less is better.",
    )


def _notes(numbers: dict[str, Any]) -> list[str]:
    notes = [
        f"{title}: in every run and at every recorded round, the regret of CTS with LazySingletons "
        f"is {'' if numbers[family]['lazy_is_cts'] else 'not '}that of CTS with Oracle+, "
        f"to the last bit."
        for family, title in _PANELS.items()
    ]
    floors = numbers["linear"]["floors"]
    notes.append(
        f"{_PANELS['linear']}: the floor, {floors['first_failure']:,.0f}, is what it costs to try "
        f"arms in random order until each has failed once and the best are found. It is a "
        f"yardstick for policies that do not know which arms are best, not a bound that is proved. "
        f"The Graves-Lai bound, {floors['asymptotic']:,.0f} at this horizon, holds for consistent "
        f"policies in the limit of many rounds; with so few rounds, policies can be below it."
    )
    return notes + [
        f"{title}: with the paper's number of tests, the regression decoder has "
        f"{Interval(**numbers[family]['policies'][REGRESSION]['of_cts'])} times the regret of CTS."
        for family, title in _PANELS.items()
    ]


def _draw(figure: Any, numbers: dict[str, Any]) -> None:
    n_names = max(len(found["policies"]) for found in numbers.values()) // 2 + 1
    for axis, (family, title) in zip(
        panels(figure, len(_PANELS), n_names=n_names), _PANELS.items(), strict=True
    ):
        ends = {}
        for label, one in numbers[family]["policies"].items():
            # A logarithmic axis has no place for 0.
            spent = max(1.0, float(np.mean(one["evaluations"])))
            regret = float(np.mean(one["regret"]))
            filled = "full" if look(label).dash == "-" else "none"
            axis.plot(spent, regret, "o", color=look(label).colour, markersize=8, fillstyle=filled)
            ends[label] = (regret, look(label))
        if floors := numbers[family]["floors"]:
            axis.axhline(floors["first_failure"], color=FAINT, linestyle=":")
            axis.annotate("floor", (1, floors["first_failure"]), color=INK, va="bottom")
        logarithmic(axis)
        axis.set(
            xlabel="evaluations in all (none is drawn at 1)",
            ylabel=f"regret at T = {numbers[family]['horizon']:,}",
        )
        axis.set_title(f"{title} (hollow: dashed below)", loc="left")
        name_curves(axis, ends)
