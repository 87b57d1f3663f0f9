"""Cells played together by `simulate_batch`: the same law as one by one, other random numbers.

A folder belongs to one engine, which its manifest names. In a folder of "batch" or "torch", cells
that these engines can't play (CUCB, greedy) are run one by one. Rows of cells that were played
together name their engine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from superarm.catalog import POLICIES
from superarm.rewards import LinearReward
from superarm.simulation.batch import BatchTrace, simulate_batch
from superarm.simulation.instances import Instance
from superarm.studies.cell import Cell, Recorded, Recording, canonical, checkpoints
from superarm.studies.cells.play import draw, gap_max, task_of
from superarm.studies.machine import Watch

ENGINES = ("process", "batch", "torch")
# What `simulate_batch` can play. It has no CUCB, and only the oracles of these policies.
_POLICIES = (
    "random",
    "cts",
    "gt-qts",
    "gt-qts-two-thirds",
    "gt-qts-k-of-m",
    "gt-qts-one-of-m",
    "gt-naive",
    "gt-centred",
    "gt-centred-k-of-m",
)


def can_play(cell: Cell) -> bool:
    """Whether a cell can be played together with the other runs of its settings."""
    return cell.kind == "play" and cell.settings["policy"]["name"] in _POLICIES


def run_together(cells: Sequence[Cell], store: Recording, engine: str) -> Iterator[Cell]:
    """Play all cells that differ only in their run at once. Yields those that were missing.

    The row of a run depends on how many runs are played with it. So a group with a missing run is
    played and stored again as a whole, and a folder holds the same rows whether its experiments
    were requested together or one after the other.
    """
    # groupby needs equal settings side by side. The run comes last in the key, so that the last
    # cell of a group has the largest number of a run.
    ordered = sorted(cells, key=lambda cell: (canonical(cell.settings), cell.seed, cell.run))
    for _, group in groupby(ordered, key=lambda cell: (canonical(cell.settings), cell.seed)):
        runs = list(group)
        # All cells of the group are played, but only missing ones count as progress.
        missing = {cell.key for cell in runs if cell.key not in store}
        if not missing:
            continue
        watch = Watch()
        trace = _simulate(runs, engine)
        # All runs were played together, so that each run can only be given an equal part.
        times = watch.times(1 / len(trace.instances))
        for cell in runs:
            store[cell.key] = Recorded(_row(trace, cell.run, engine), times)
            if cell.key in missing:
                yield cell


def _simulate(runs: list[Cell], engine: str) -> BatchTrace:
    settings = runs[0].settings
    problem = settings["problem"]

    def instance(rng: np.random.Generator) -> Instance:
        return draw(problem, rng=rng)

    # The oracle of a policy does not depend on the values of the reward, only on its arms.
    reward = LinearReward(problem["n_arms"])
    spec, horizon = settings["policy"], settings["horizon"]
    policy = POLICIES[spec["name"]].make(task_of(spec, reward, problem["k"], horizon))

    return simulate_batch(
        instance,
        policy.oracle,
        # Rows are looked up by the number of the run, so that all runs from 0 on are played.
        n_runs=runs[-1].run + 1,
        horizon=horizon,
        seed=runs[0].seed,
        rounds=checkpoints(horizon),
        engine="torch" if engine == "torch" else "numpy",
    )


def _row(trace: BatchTrace, run: int, engine: str) -> dict[str, Any]:
    instance = trace.instances[run]
    return {
        "checkpoints": trace.rounds.tolist(),
        "regret": trace.regret[run].tolist(),
        "evaluations": trace.evaluations.tolist(),
        "gap": instance.gap,
        "gap_max": gap_max(instance),
        "engine": engine,
    }
