"""The cell of the comparison: one run of one policy on one problem."""

from __future__ import annotations

from typing import Any

import numpy as np

from superarm.core import Environment, Policy
from superarm.experiments.cell import Cell, Recorded
from superarm.experiments.comparison.contestants import CONTESTANTS, Task
from superarm.experiments.comparison.problems import World, draw
from superarm.simulation import run_one


def compare(cell: Cell) -> Recorded:
    """Play ``settings["label"]`` on ``settings["problem"]``.

    Recorded: the regret against the best fixed set, that of chance in expectation, and evaluations. All policies of a
    run meet the same world: its streams follow from the cell's seed and run alone.
    """
    problem = cell.settings["problem"]
    horizon = problem["horizon"]
    worlds: list[World] = []
    chance_rng = np.random.default_rng(np.random.SeedSequence(cell.seed, spawn_key=(cell.run, 3)))

    def make(rng: np.random.Generator) -> tuple[Policy, Environment]:
        world = draw(problem, rng=rng, chance_rng=chance_rng)
        worlds.append(world)
        task = Task(world.reward, world.k, horizon, cell.settings["delta"])
        return CONTESTANTS[cell.settings["label"]].make(task), world.environment

    trace = run_one(make, horizon, cell.seeds())
    world = worlds[0]
    row: dict[str, Any] = {
        "n_arms": world.reward.n_arms,
        "regret": horizon * world.best - float(trace.values.sum()),
        "chance": horizon * (world.best - world.chance),
        "evaluations": int(trace.evaluations.sum()),
    }
    return Recorded(row, {"ask_s": float(trace.ask_s.sum())})
