"""The rows of every study at tiny sizes, as digests: see `unchanged`."""

import dataclasses
from pathlib import Path

import numpy as np

import superarm as sa
from superarm.catalog import POLICIES, Task
from superarm.simulation import run_one
from superarm.studies import Scale, own_table, paper, run_cell
from superarm.studies.cells.play import Make
from superarm.studies.cells.table import prepare
from superarm.studies.comparison.problems import COMPARED, GROUP_TESTING, N_TESTS
from superarm.studies.comparison.study import cells as comparison_cells
from superarm.studies.demo.study import cells_of as demo_cells
from superarm.studies.own_table.analysis import numbers
from superarm.studies.own_table.study import play_all
from unchanged import digest, of_trace, played

CANTEEN = Path(__file__).parents[1] / "docs" / "canteen.csv"
# Those that there were when the digests were recorded.
RECORDED_EXPERIMENTS = (
    "fig1",
    "fig2a",
    "fig2b",
    "fig2c",
    "table1",
    "theory",
    "beyond",
    "steepness",
    "table1_beyond",
)
_N_ROUNDS = 60  # longer runs are cut to this number of rounds
# The labels under which policies were recorded, where the catalog has other ones.
_COMPARED_AS = {"random": "chance", "GT+QTS, p=1/2": "GT+QTS"}
_DEMO_AS = {
    "CTS": "CTS, Oracle+",
    "CUCB": "CUCB, Oracle+",
    "centred, p=K/m": "GT+QTS, p=K/m, centred",
}


def _short(cell):
    settings = dict(cell.settings)
    if "horizon" in settings:
        settings["horizon"] = min(settings["horizon"], _N_ROUNDS)
    return dataclasses.replace(cell, settings=settings)


def named():
    """Every policy of the comparison, on a sum and on a network."""
    rng = np.random.default_rng(4)
    instances = {
        "linear": sa.linear_instance(40, 3, 0.2, rng=rng),
        "network": sa.network_instance(24, 3, 0.05, rng=rng),
    }
    for part in map(POLICIES.__getitem__, COMPARED):
        label = _COMPARED_AS.get(part.label, part.label)
        for kind, it in instances.items():
            if kind == "linear" or not part.additive:
                policy = part.make(Task(it.reward, it.k, 60, 0.2, N_TESTS))
                yield (
                    f"{label} / {kind}",
                    lambda policy=policy, it=it: played(policy, 60, environment=it),
                )


def reproduction():
    """One quick run of every experiment of the paper, except timed cells."""
    for name in RECORDED_EXPERIMENTS:
        for number, cell in enumerate(paper.load(name).cells(Scale("quick", runs=1))):
            # thompson was added to an experiment later, and its default is not the recorded one.
            if cell.settings.get("purpose") != "time" and "watched" not in cell.settings:
                yield f"{name} {number}", lambda cell=cell: digest(run_cell(_short(cell)).row)


def compared():
    """One quick run of the comparison on the problems that need no package."""
    for cell in _compared_cells():
        family, label = cell.settings["problem"]["family"], cell.settings["label"]
        # A policy for sums records nothing on the network.
        plays = family != "network" or not POLICIES[cell.settings["policy"]].additive
        if family in ("linear", "network", "turning") and plays:
            yield (
                f"{family} / {_COMPARED_AS.get(label, label)}",
                lambda cell=cell: digest(run_cell(cell).row),
            )


def _compared_cells():
    cells = [cell for cell in comparison_cells(Scale("quick", runs=1)) if cell.kind == "compare"]
    turning = next(cell for cell in cells if cell.settings["problem"]["family"] == "turning")
    # Group testing plays the paper's two problems today, and played all when it was recorded.
    for name in GROUP_TESTING:
        new = {"policy": name, "label": POLICIES[name].label}
        cells.append(dataclasses.replace(turning, settings={**turning.settings, **new}))
    return cells


def demo():
    """Each policy of the demo."""
    for cell in demo_cells(Scale(runs=1), horizon=_N_ROUNDS):
        family, label = cell.settings["problem"]["family"], cell.settings["label"]

        def case(cell=cell):
            return of_trace(run_one(Make(cell.settings), _N_ROUNDS, np.random.SeedSequence(0)))

        yield f"{family} / {_DEMO_AS.get(label, label)}", case


def own_table_runs():
    """`superarm run` on the table of the docs, in both orders."""
    found = own_table.read(CANTEEN)
    for order in ("given", "shuffled"):
        problem = prepare(found.cells, found.names, 2, min(40, len(found.cells)), order)
        for name in own_table.POLICIES:

            def case(problem=problem, name=name):
                said = numbers(play_all(problem, [name], runs=2), {})
                return digest(
                    [said["checkpoints"], [[c["reward"], c["regret"]] for c in said["curves"]]]
                )

            yield f"{order} / {name}", case


STUDIES = {
    "named": named,
    "reproduction": reproduction,
    "compared": compared,
    "demo": demo,
    "own_table": own_table_runs,
}
