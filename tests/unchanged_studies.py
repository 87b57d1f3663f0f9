"""The rows of every study at tiny sizes, as digests: see `unchanged`."""

from pathlib import Path

import numpy as np

import superarm as sa
from superarm.experiments import catalogue
from superarm.experiments.catalogue import Scale, run_cell
from superarm.experiments.comparison.compare import sweep as comparison
from superarm.experiments.comparison.contestants import CONTESTANTS, Task
from superarm.experiments.demo import PROBLEMS, Make
from superarm.own_table import findings
from superarm.own_table.playing import PLAYERS, play_all, prepare
from superarm.own_table.reading import read
from superarm.simulation import run_one
from unchanged import digest, of_trace, played

CANTEEN = Path(__file__).parents[1] / "docs" / "canteen.csv"
_N_ROUNDS = 60  # cells of longer runs are cut to so many


def _short(cell):
    settings = dict(cell.settings)
    if "horizon" in settings:
        settings["horizon"] = min(settings["horizon"], _N_ROUNDS)
    return type(cell)(cell.kind, settings, cell.seed, cell.run)


def named():
    """Every policy of the comparison, on a sum and on a network."""
    rng = np.random.default_rng(4)
    instances = {
        "linear": sa.linear_instance(40, 3, 0.2, rng=rng),
        "network": sa.network_instance(24, 3, 0.05, rng=rng),
    }
    for label, contestant in CONTESTANTS.items():
        for kind, it in instances.items():
            if kind == "linear" or not contestant.additive:
                policy = contestant.make(Task(it.reward, it.k, 60, 0.2))
                yield (
                    f"{label} / {kind}",
                    lambda policy=policy, it=it: played(policy, 60, environment=it),
                )


def reproduction():
    """One quick run of every experiment of the paper, but for cells that are timed."""
    for name in catalogue.names():
        for number, cell in enumerate(catalogue.load(name).sweep(Scale(quick=True, runs=1))):
            if cell.settings.get("purpose") != "time":
                yield f"{name} {number}", lambda cell=cell: digest(run_cell(_short(cell)).row)


def compared():
    """One quick run of the comparison on the problems that need no package."""
    for name, cells in comparison(Scale(quick=True, runs=1)).items():
        if name in ("linear", "network", "turning"):
            for cell in cells:
                yield (
                    f"{name} / {cell.settings['label']}",
                    lambda cell=cell: digest(run_cell(cell).row),
                )


def demo():
    """Each policy of the demo."""
    for problem in PROBLEMS:
        for policy in problem.policies:

            def case(problem=problem, policy=policy):
                return of_trace(run_one(Make(problem, policy), 60, np.random.SeedSequence(0)))

            yield f"{problem.family} / {policy}", case


def own_table():
    """`superarm run` on the table of the docs, in both orders."""
    found = read(CANTEEN)
    for order in ("given", "shuffled"):
        game = prepare(found.cells, found.names, 2, min(40, len(found.cells)), order)
        for name in PLAYERS:

            def case(game=game, name=name):
                runs = play_all(game, [name], n_runs=2, seed=0)
                said = findings.numbers(game, runs, {})
                return digest(
                    [said["checkpoints"], [[c["reward"], c["regret"]] for c in said["curves"]]]
                )

            yield f"{order} / {name}", case


STUDIES = {study.__name__: study for study in (named, reproduction, compared, demo, own_table)}
