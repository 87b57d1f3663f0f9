"""Cells played together by `simulate_batch`: the same law as one by one, other random numbers.

A folder belongs to one engine, which its manifest names. In a folder of "batch" or "torch", cells
that these engines can't play (CUCB, greedy) are run one by one. Rows of cells that were played
together name their engine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from superarm.core import Oracle
from superarm.oracles import GroupTesting, RandomSets, Singletons
from superarm.simulation.batch import BatchTrace, simulate_batch
from superarm.simulation.instances import Instance
from superarm.studies.cell import Cell, Recorded, canonical
from superarm.studies.cells.play import checkpoints, draw, gap_max, options_of
from superarm.studies.store import Recording

ENGINES = ("process", "batch", "torch")
_POLICIES = ("random", "cts", "gt_qts")  # that `simulate_batch` can play


def about(engine: str) -> dict[str, str]:
    """What the manifest says about an engine."""
    if engine != "torch":
        return {"engine": engine}
    import torch

    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
    return {"engine": engine, "torch": torch.__version__, "device": device}


def can_play(cell: Cell) -> bool:
    """Whether a cell can be played together with the other runs of its settings."""
    return cell.kind == "play" and cell.settings["policy"]["name"] in _POLICIES


def run_together(
    cells: Sequence[Cell],
    store: Recording,
    engine: str,
    *,
    progress: Callable[[Cell], None] | None = None,
) -> None:
    """Play all cells that differ only in their run at once.

    The row of a run depends on how many runs are played with it. So a group with a missing run is
    played and stored again as a whole, and a folder holds the same rows whether its experiments
    were requested together or one after the other.
    """
    ordered = sorted(cells, key=lambda cell: (canonical(cell.settings), cell.seed, cell.run))
    for _, group in groupby(ordered, key=lambda cell: (canonical(cell.settings), cell.seed)):
        runs = list(group)
        missing = {cell.key for cell in runs if not store.has(cell)}
        if not missing:
            continue
        trace = _simulate(runs, engine)
        for cell in runs:
            store.put(cell, _recorded(trace, cell.run, engine))
            if progress is not None and cell.key in missing:
                progress(cell)


def _simulate(runs: list[Cell], engine: str) -> BatchTrace:
    settings = runs[0].settings
    problem = settings["problem"]

    def instance(rng: np.random.Generator) -> Instance:
        return draw(problem, rng=rng)

    return simulate_batch(
        instance,
        _oracle(settings["policy"], problem["k"], problem["n_arms"]),
        n_runs=runs[-1].run + 1,
        horizon=settings["horizon"],
        seed=runs[0].seed,
        rounds=checkpoints(settings["horizon"]),
        engine="torch" if engine == "torch" else "numpy",
    )


def _oracle(spec: dict[str, Any], k: int, n_arms: int) -> Oracle:
    if spec["name"] == "gt_qts":
        return GroupTesting(**options_of(spec, k, n_arms))
    return Singletons() if spec["name"] == "cts" else RandomSets()


def _recorded(trace: BatchTrace, run: int, engine: str) -> Recorded:
    instance = trace.instances[run]
    row = {
        "checkpoints": trace.rounds.tolist(),
        "regret": trace.regret[run].tolist(),
        "evaluations": trace.evaluations.tolist(),
        "gap": instance.gap,
        "gap_max": gap_max(instance),
        "engine": engine,
    }
    return Recorded(row, {"seconds": trace.play_s / len(trace.instances)})
