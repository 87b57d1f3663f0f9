"""The cell of the comparison: one run of one policy on one problem."""

from __future__ import annotations

from typing import Any

import numpy as np

from superarm.catalog import POLICIES, Task
from superarm.core import Environment, Policy
from superarm.simulation import run_one
from superarm.studies.cell import Cell, Recorded
from superarm.studies.cells.problems import ProblemInstance, draw

# Streams 0 to 2 of a run are those of `run_one`.
_BASELINE_STREAM = 3


def run(cell: Cell) -> Recorded:
    """Play the policy ``settings["policy"]`` of the catalog on ``settings["problem"]``.

    The row has the regret against the best fixed set, the expected regret of the random baseline
    (``chance``), and the evaluations. All policies of a run meet the same instance, because its
    random streams follow from the seed and the run of the cell alone.
    """
    problem = cell.settings["problem"]
    horizon = problem["horizon"]
    instances: list[ProblemInstance] = []
    # A stream of its own: estimating the baseline must not change what the policy meets.
    baseline_seed = np.random.SeedSequence(cell.seed, spawn_key=(cell.run, _BASELINE_STREAM))
    baseline_rng = np.random.default_rng(baseline_seed)

    def make(rng: np.random.Generator) -> tuple[Policy, Environment]:
        instance = draw(problem, rng=rng, baseline_rng=baseline_rng)
        # `run_one` returns the trace only, and the row needs the instance.
        instances.append(instance)
        task = Task(instance.reward, instance.k, horizon, **cell.settings["task"])
        return POLICIES[cell.settings["policy"]].make(task), instance.environment

    trace = run_one(make, horizon, cell.seeds())
    instance = instances[0]
    row: dict[str, Any] = {
        "n_arms": instance.reward.n_arms,
        "regret": horizon * instance.best - float(trace.values.sum()),
        "chance": horizon * (instance.best - instance.random),
        "evaluations": int(trace.evaluations.sum()),
    }
    return Recorded(row, {"ask_s": float(trace.ask_s.sum())})
