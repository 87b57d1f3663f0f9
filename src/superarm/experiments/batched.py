"""Cells played many at once by `simulate_batch`: the same law as `play`, other random numbers.

A folder belongs to one engine, which its manifest names. In a folder of "batch" or "torch" the cells that these can't
play (CUCB, greedy) are run one by one as ever, and every row that was played at once says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from superarm.core import Oracle
from superarm.experiments.catalogue import RequestError
from superarm.experiments.cell import Cell, Recorded, canonical
from superarm.experiments.play import checkpoints, draw, gap_max, options_of
from superarm.experiments.store import Store
from superarm.oracles import GroupTesting, RandomSets, Singletons
from superarm.simulation.batch import BatchTrace, simulate_batch
from superarm.simulation.instances import Instance

ENGINES = ("process", "batch", "torch")
# The others need what is only known run by run: theta, times, or regret that is equal to the last digit.
EXPERIMENTS = ("fig2a", "fig2b", "fig2c")


def about(engine: str) -> dict[str, str]:
    """What the manifest says of an engine."""
    if engine != "torch":
        return {"engine": engine}
    import torch

    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
    return {"engine": engine, "torch": torch.__version__, "device": device}


def check(engine: str, names: Sequence[str]) -> None:
    """Refuse what an engine can't do."""
    if engine not in ENGINES:
        raise RequestError(f"engine must be one of {', '.join(ENGINES)}, got {engine!r}")
    others = [name for name in names if name not in EXPERIMENTS]
    if engine != "process" and others:
        raise RequestError(
            f"engine {engine} plays {', '.join(EXPERIMENTS)}, got {others[0]}; "
            f"run it with the engine process, into another folder"
        )


def can_play(cell: Cell) -> bool:
    """Whether a cell can be played together with the other runs of its settings."""
    return cell.kind == "play" and cell.settings["policy"]["name"] in ("random", "cts", "gt_qts")


def run_together(
    cells: Sequence[Cell],
    store: Store,
    engine: str,
    *,
    progress: Callable[[Cell], None] | None = None,
) -> None:
    """Play cells that differ in their run only together.

    A group with a run missing is played whole and stored anew: what a run gives depends on how many are played with
    it, and so a folder holds the same whether its experiments were asked for together or one after the other.
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
    problem, k, n_arms = (
        settings["problem"],
        settings["problem"]["k"],
        settings["problem"]["n_arms"],
    )

    def instance(rng: np.random.Generator) -> Instance:
        return draw(problem, rng=rng)

    return simulate_batch(
        instance,
        _oracle(settings["policy"], k, n_arms),
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
