"""The cell of a floor: what regret cannot be avoided on a problem, where that can be computed."""

from __future__ import annotations

from functools import lru_cache
from math import log

from superarm import theory
from superarm.studies.cell import Cell, Recorded
from superarm.studies.cells.compare import instance_of
from superarm.theory.bayes_floor import best_set_value, mean_of


def run(cell: Cell) -> Recorded:
    """The floors under the regret on ``settings["problem"]``, in this run.

    ``bayes`` is that of the law of the means, as a share of the random baseline's mean regret under
    this law. ``first_failure`` is that of the paper's instances, and ``asymptotic`` the Graves-Lai
    constant times ln T. They are None where there is no such floor.
    """
    problem = cell.settings["problem"]
    instance, horizon = instance_of(cell), problem["horizon"]
    k, coins = instance.k, instance.coins
    row: dict[str, float | None] = {"bayes": None, "first_failure": None, "asymptotic": None}
    if coins is not None:
        row["asymptotic"] = theory.regret_constant(coins, k) * log(horizon)
        if problem["family"] == "drawn":
            law = tuple(map(tuple, problem["law"]))
            row["bayes"] = _bayes(law, len(coins), k, horizon)
        # Only there do the best arms hardly ever fail.
        if problem["family"] == "linear":
            row["first_failure"] = theory.first_failure_regret(coins, k)
    return Recorded({"n_arms": instance.reward.n_arms, "k": k, **row}, {})


@lru_cache(maxsize=16)
def _bayes(law: tuple[tuple[float, ...], ...], n_arms: int, k: int, horizon: int) -> float:
    """The Bayes floor as a share of the random regret; one per problem, a second of work."""
    chance = horizon * (best_set_value(law, n_arms, k) - k * mean_of(law))
    return theory.bayes_regret_floor(law, n_arms, k, horizon) / chance
