"""The cell that measures how often group testing with Lemma 1's tests finds the best arm."""

from __future__ import annotations

from typing import Any

import numpy as np

from superarm import theory
from superarm.core.arguments import FloatArray
from superarm.rewards import LinearReward
from superarm.studies.cell import Cell, Recorded

_NEARLY_EQUAL = 0.002  # the largest difference of two arms in problems of the hard kind
_MOST_TESTS = 10**15  # beyond it counts of tests leave what a float can hold


def run(cell: Cell) -> Recorded:
    """Small random sums: Lemma 1's quantities by enumeration, and the share of successes.

    Grades are sums over independent tests, so the number of tests that are each subset of the arms
    is multinomial: any number of tests costs the same.
    """
    settings, rng = cell.settings, np.random.default_rng(cell.seeds())
    found = [_problem(settings, number, rng) for number in range(settings["n_problems"])]
    return Recorded({"problems": found}, {})


def _problem(settings: dict[str, Any], number: int, rng: np.random.Generator) -> dict[str, Any]:
    n_arms, p, delta = settings["n_arms"], settings["p"], settings["delta"]
    theta = rng.random(n_arms)
    if number % 2:  # every second problem has two nearly equal arms at the top
        best = int(np.argmax(theta))
        theta[best - 1] = max(theta[best] - _NEARLY_EQUAL * rng.random(), 0.0)
    quantizer = theory.Quantizer(delta, 1.0, float(n_arms))
    it = theory.decodability(LinearReward(n_arms), theta, 1, p=p, score=quantizer)
    sizes = {
        "n_arms": n_arms,
        "k": 1,
        "upper": float(n_arms),
        "p": p,
        "failure": settings["failure"],
    }
    printed = None
    if it.q > 0:
        printed = theory.n_tests(**sizes, delta=delta, lipschitz=1.0, q=it.q)
    repaired = None
    if it.q_pair > 0:
        step = float(np.diff(quantizer.levels).min())
        repaired = theory.n_tests_repaired(**sizes, step=step, q=it.q_pair)
    shares = {
        name: None
        if n is None or n > _MOST_TESTS
        else _success(theta, p, quantizer, n, settings, rng)
        for name, n in (("printed", printed), ("repaired", repaired))
    }
    promised = delta / 2 * p**2 * (1 - p) * it.q
    repaired_promise = delta / 2 * p * (1 - p) * it.q_pair
    return {
        "theta": theta.tolist(),
        "q": it.q,
        "q_pair": it.q_pair,
        "difference": it.difference,
        "printed_holds": it.difference >= promised - 1e-12,
        "repaired_holds": it.difference >= repaired_promise - 1e-12,
        "n_printed": printed,
        "n_repaired": repaired,
        "success": shares,
    }


def _success(
    theta: FloatArray,
    p: float,
    quantizer: theory.Quantizer,
    n_tests: int,
    settings: dict[str, Any],
    rng: np.random.Generator,
) -> float:
    """The share of trials in which the best arm has the best grade; ties are failures."""
    n_arms = len(theta)
    inside = (np.arange(2**n_arms)[:, None] >> np.arange(n_arms) & 1).astype(np.float64)
    sizes = inside.sum(axis=1)
    probability = p**sizes * (1 - p) ** (n_arms - sizes)
    counts = rng.multinomial(n_tests, probability / probability.sum(), size=settings["n_trials"])
    grades = (counts * quantizer(inside @ theta)) @ inside
    best = int(np.argmax(theta))
    others = np.delete(grades, best, axis=1).max(axis=1)
    return float((grades[:, best] > others).mean())
