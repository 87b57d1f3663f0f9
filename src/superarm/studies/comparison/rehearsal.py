"""A rehearsal: contestants play a few rounds before the comparison, which takes minutes."""

from __future__ import annotations

from collections.abc import Sequence
from traceback import extract_tb

import numpy as np

from superarm.catalog import Task
from superarm.reporting import RequestError
from superarm.simulation import simulate
from superarm.studies.cell import Cell
from superarm.studies.cells.compare import instance_of
from superarm.studies.cells.outside import make_policy

_ROUNDS = 3
# A reward that is a sum, and one that is not. Other problems of the package would show no more.
_ON = ("linear", "network")
_PARTNER = "random"  # plays the problems from outside


def rehearse(cells: Sequence[Cell]) -> None:
    """Play the first rounds of cells with contestants.

    Raises
    ------
    RequestError
        If a contestant fails. It says where.
    """
    for cell in cells:
        policy, on = cell.settings.get("policy"), cell.settings["on"]
        if cell.run > 0 or policy is None:
            continue
        if (":" in policy and (on in _ON or ":" in on)) or (policy == _PARTNER and ":" in on):
            _play(cell, policy, on)


def _play(cell: Cell, policy: str, on: str) -> None:
    blamed = on
    try:
        instance = instance_of(cell)
        blamed = policy if ":" in policy else on
        horizon = cell.settings["problem"]["horizon"]
        task = Task(instance.reward, instance.k, horizon, **cell.settings["task"])
        made = make_policy(policy, task)
        if made is not None:
            rounds = min(_ROUNDS, horizon)
            simulate(made, instance.environment, horizon=rounds, rng=np.random.default_rng(0))
    except Exception as error:  # contestants are the user's, and may fail in any way
        last = extract_tb(error.__traceback__)[-1]
        raise RequestError(
            f"{blamed} failed in a rehearsal of {_ROUNDS} rounds on the problem {on}: "
            f"{type(error).__name__}: {error} ({last.filename}, line {last.lineno})"
        ) from error
