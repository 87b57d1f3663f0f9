"""Is the statement of an A/B test right? The part of ``benchmarks/identification.py`` about it.

`Verdict.probability` says how likely it is that the set is the best, and `Verdict.loss` what it
costs to stop. Here the means of the arms are drawn, a session with `thompson` is played, and both
are compared with the truth: at a fixed time, and at the first of many looks at which the
probability is 95%.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

import superarm as sa
from identification_problems import coins, even
from superarm.policies import top_two

Array = np.ndarray
N_ARMS, K = 10, 3
LOOKS = tuple(range(20, 201, 20))  # rounds; the statement is judged at the first and at the last
SURE = 0.95
EDGES = (0.0, 0.5, 0.8, 0.95, 1.01)


def _two_kinds(rng: np.random.Generator) -> Array:
    """Most arms near 0.1 and some near 0.3: no Beta distribution."""
    return rng.choice([0.1, 0.3], N_ARMS, p=[0.7, 0.3]) + 0.05 * rng.random(N_ARMS)


# What the means are drawn from, the law of the outcomes, and the policy.
KINDS: dict[str, tuple[Any, Any, Any]] = {
    "even means": (lambda rng: rng.random(N_ARMS), coins, sa.thompson),
    "low rates": (lambda rng: rng.beta(2, 38, N_ARMS), coins, sa.thompson),
    "two kinds of arms": (_two_kinds, coins, sa.thompson),
    "even means, top_two": (lambda rng: rng.random(N_ARMS), coins, top_two),
    "measured outcomes": (lambda rng: rng.random(N_ARMS) / 2, even, sa.thompson),
}


def cell(kind: str, cell: Any) -> dict[str, Any]:
    """One list per session: rounds, probability, loss, whether the set is best, and the true loss.

    ``at`` are those of fixed times, ``first`` those of the first look at which one is sure.
    """
    rng = np.random.default_rng(list(f"{cell}".encode()))
    draw, outcomes, make = KINDS[kind]
    at, first = [], []
    for _ in range(cell[-1]):
        mu = draw(rng)
        policy = make(sa.LinearReward(N_ARMS), K)
        session, is_sure = sa.Session(policy, seed=int(rng.integers(2**32))), False
        for t in range(1, LOOKS[-1] + 1):
            decision = session.ask()
            arms = list(decision.arms)
            drawn = outcomes(mu[arms], rng).tolist()
            session.tell(decision, dict(zip(arms, drawn, strict=True)))
            if t not in LOOKS:
                continue
            said = said_and_true(session, mu, t)
            if t in (LOOKS[0], LOOKS[-1]):
                at.append(said)
            if said[1] >= SURE and not is_sure:
                is_sure = True
                first.append(said)
    return {"at": at, "first": first}


def said_and_true(session: sa.Session, mu: Array, t: int) -> list[float]:
    """What the verdict says, and what is true."""
    found = session.verdict()
    lost = float(np.sort(mu)[-K:].sum() - mu[list(found.arms)].sum())
    # Sums in two orders may differ by rounding.
    return [t, found.probability, found.loss, float(lost < 1e-9), max(lost, 0.0)]


def row(kind: str, parts: list[dict[str, Any]]) -> dict[str, Any]:
    """The means of what was said and of what was true, with standard errors."""
    at = np.array([one for part in parts for one in part["at"]])
    first = np.array([one for part in parts for one in part["first"]])
    found = {"kind": kind, "sessions": len(at) // 2, "first": _compared(first)}
    for t in (LOOKS[0], LOOKS[-1]):
        found[f"after {t}"] = _compared(at[at[:, 0] == t])
    found["by probability"] = [
        {"from": low, **_compared(at[(at[:, 1] >= low) & (at[:, 1] < high)])}
        for low, high in itertools.pairwise(EDGES)
    ]
    return found


def _compared(said: Array) -> dict[str, Any]:
    """Means; ``error`` and ``loss_error`` are the standard errors of said minus true."""
    if not len(said):
        return {"n": 0}
    _, probability, loss, is_best, lost = said.T
    n = len(said)
    return {
        "n": n,
        "probability": round(float(probability.mean()), 4),
        "is_best": round(float(is_best.mean()), 4),
        "error": round(float((probability - is_best).std() / math.sqrt(n)), 4),
        "loss": round(float(loss.mean()), 5),
        "lost": round(float(lost.mean()), 5),
        "loss_error": round(float((loss - lost).std() / math.sqrt(n)), 5),
    }
