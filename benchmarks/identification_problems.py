"""The problems of ``benchmarks/identification.py``, and the rules that are played on them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import identification_batch as batch

DELTA = 0.05
Array = np.ndarray


def coins(means: Array, rng: np.random.Generator) -> Array:
    """Outcomes of 0 and 1."""
    return (rng.random(means.shape) < means).astype(float)


def beta(means: Array, rng: np.random.Generator) -> Array:
    """Outcomes with an eleventh of the variance of a coin."""
    return rng.beta(10 * means, 10 * (1 - means))


def even(means: Array, rng: np.random.Generator) -> Array:
    """Outcomes between 0 and twice the mean, which is at most a half."""
    return 2 * means * rng.random(means.shape)


@dataclass(frozen=True)
class Problem:
    """Means of arms, how many are looked for, and the law of the outcomes."""

    mu: tuple[float, ...]
    k: int
    outcomes: Any = coins
    most: int = 10**9  # rounds; only problems close to a tie have a limit

    @property
    def is_tie(self) -> bool:
        """Whether the arms are so close that runs end before they are told apart."""
        return self.most < Problem.most


def _means(*parts: tuple[float, int]) -> tuple[float, ...]:
    return tuple(mean for mean, times in parts for _ in range(times))


PROBLEMS = {
    "one of ten": Problem(_means((0.6, 1), (0.4, 9)), 1),
    "two of ten": Problem(_means((0.5, 2), (0.3, 8)), 2),
    "steps": Problem(tuple(np.linspace(0.9, 0.1, 10)), 3),
    "five of twenty": Problem(_means((0.3, 5), (0.1, 15)), 5),
    "low rates": Problem(_means((0.12, 2), (0.04, 6)), 2),
    "high rates": Problem((0.97, 0.96, 0.95, 0.85, 0.8, 0.7, 0.6, 0.5), 3),
    "close": Problem((0.6, 0.55, 0.47, 0.45, 0.45, 0.45), 2),
    "half": Problem(_means((0.65, 5), (0.45, 5)), 5),
    "measured, steps": Problem(tuple(np.linspace(0.9, 0.1, 10)), 3, beta),
    "measured, even": Problem((0.5, 0.45, 0.3, 0.25, 0.2, 0.2, 0.1, 0.1), 2, even),
    "one gap": Problem((0.9, 0.8, 0.7, 0.6, 0.4, 0.3, 0.2, 0.1, 0.05), 4),
    "near tie": Problem((0.5, 0.49), 1, most=2000),
    "near tie of five": Problem((0.2, 0.2, 0.19, 0.19, 0.19), 2, most=2000),
}

# Beside the ten: two arms decide, so that sets of four have places that tell little.
BESIDE = ("one gap",)
# The problems that are also played with a given number of rounds, as multiples of the floor.
BUDGETS = ("two of ten", "steps", "five of twenty", "high rates", "close")
TIMES = (0.5, 1.0, 2.0)

_VERDICT = partial(batch.verdict, delta=DELTA)
_PAPERS: dict[str, tuple[Any, int]] = {  # and how many arms they pull at a time
    "CLUCB": (batch.clucb, 1),
    "LUCB": (partial(batch.lucb, kl=False), 2),
    "KL-LUCB": (batch.lucb, 2),
}


def rules(name: str) -> dict[str, dict[str, Any]]:
    """How each rule is played: the arguments of `identification_batch.play`."""
    problem = PROBLEMS[name]
    found: dict[str, dict[str, Any]] = {
        "top-two, verdict": {"pull": batch.top_two},
        "top-two one at a time, verdict": {"pull": partial(batch.top_two, places=1)},
        "equal pulls, verdict": {"pull": batch.uniform, "stop": _VERDICT},
        "equal pulls, habit": {"pull": batch.uniform, "stop": batch.habit},
    }
    if problem.is_tie:
        return found
    for paper, (pull, _) in _PAPERS.items():
        found[paper] = {"pull": pull}
        found[f"{paper}, verdict"] = {"pull": pull, "stop": _VERDICT}
        in_sets = partial(pull, places=problem.k)
        found[f"{paper} in sets, verdict"] = {"pull": in_sets, "stop": _VERDICT}
    return found


def budget_rules(name: str) -> dict[str, Any]:
    """The rules that are played for a given number of rounds, all in sets of k."""
    k = PROBLEMS[name].k
    return {
        "top-two": batch.top_two,
        "CLUCB": partial(batch.clucb, places=k),
        "KL-LUCB": partial(batch.lucb, places=k),
        "equal pulls": batch.uniform,
    }
