"""The cell that computes how well the decoders can see a best arm, and checks it by simulation."""

from __future__ import annotations

import numpy as np

from superarm import theory
from superarm.core import Pools
from superarm.simulation import linear_instance
from superarm.studies.cell import Cell, Recorded

P_GRID = np.geomspace(1e-5, 0.95, 120)


def run(cell: Cell) -> Recorded:
    """Signal over noise at theta = mu of the best arm, against the median and the strongest other.

    The row has the values over a grid of p, and at ``checked_p`` the same from simulated grades.
    """
    settings, rng = cell.settings, np.random.default_rng(cell.seeds())
    mu = linear_instance(settings["n_arms"], settings["k"], settings["gap"], rng=rng).mu
    order = np.argsort(mu)
    best = int(order[-1])
    rivals = {"median": int(order[len(mu) // 2]), "strongest": int(order[-settings["k"] - 1])}
    curves, checks = {}, {}
    for name, other in rivals.items():
        for decoder in ("sum", "centred"):
            key = f"{decoder}, {name}"
            options = {"n_tests": settings["n_tests"], "decoder": decoder}
            curves[key] = theory.signal_to_noise(mu, best, other, p=P_GRID, **options).tolist()
            checks[key] = [
                float(theory.signal_to_noise(mu, best, other, p=p, **options))
                for p in settings["checked_p"]
            ]
    measured = {
        key: [
            _measured(mu, best, rivals[key.split(", ")[1]], key.split(", ")[0], p, settings, rng)
            for p in settings["checked_p"]
        ]
        for key in checks
    }
    return Recorded(
        {"p": P_GRID.tolist(), "curves": curves, "computed": checks, "measured": measured}, {}
    )


def _measured(
    mu: np.ndarray,
    best: int,
    other: int,
    decoder: str,
    p: float,
    settings: dict[str, int],
    rng: np.random.Generator,
) -> list[float]:
    """Mean and standard deviation of one test's part in the difference of two grades."""
    tests = Pools.random(settings["n_checks"], len(mu), p, rng=rng)
    scores = tests.sum(mu) - (p * mu.sum() if decoder == "centred" else 0.0)
    rows = np.repeat(np.arange(len(tests)), tests.sizes)
    signs = np.zeros(len(tests))
    signs[rows[tests.members == best]] += 1
    signs[rows[tests.members == other]] -= 1
    z = signs * scores
    return [float(z.mean()), float(z.std())]
