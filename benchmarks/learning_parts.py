"""Two parts of `learning.py`: the time of a round with many arms, and arms that come and go."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np

import superarm as sa
from superarm.beliefs import LearnedBetaBelief
from superarm.core.k_of_m import top_k
from superarm.reporting.statistics import mean_interval
from superarm.reporting.tables import Table

SIZES, QUICK_SIZES = (10_000, 100_000, 1_000_000), (3000,)
N_ROUNDS, QUICK_ROUNDS = 200, 5
N_SEEN = 3  # outcomes of every arm before the first round
K = 10


def outcomes_of(kind: str, mu: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Coins, or measured outcomes with a tenth of a coin's variance."""
    if kind == "coins":
        return (rng.random(len(mu)) < mu).astype(np.float64)
    return rng.beta(9 * mu, 9 * (1 - mu))


def programs(n_arms: int, rng: np.random.Generator) -> dict[str, tuple[Callable[..., Any], Any]]:
    """Per program: the set of a round, and the policy that learns."""
    reward = sa.LinearReward(n_arms)
    flat, learned = sa.cts(reward, K, oracle=sa.TopK()), sa.thompson(reward, K)
    plain = sa.BetaBelief(n_arms)

    def draw_all(*, rng: np.random.Generator) -> np.ndarray:
        theta = rng.beta(plain.a, plain.b)
        return np.sort(np.argpartition(-theta, K)[:K])

    return {
        "numpy, all arms": (draw_all, plain.update),
        "CTS, TopK": (flat.ask, flat.tell),
        "thompson": (learned.ask, learned.tell),
    }


def rounds_of(kind: str, n_arms: int, n_rounds: int) -> list[dict[str, Any]]:
    """Milliseconds per round of all programs, which take turns."""
    rng = np.random.default_rng(0)
    mu, made = rng.beta(2, 38, n_arms), programs(n_arms, rng)
    for _ in range(N_SEEN):
        given = outcomes_of(kind, mu, rng)
        for _, tell in made.values():
            tell(np.arange(n_arms), given, rng=rng)
    taken: dict[str, list[float]] = {label: [] for label in made}
    for round_ in range(n_rounds + 1):
        for label, (ask, tell) in made.items():
            start = time.process_time()
            arms = ask(rng=rng)
            asked = time.process_time() - start
            given = outcomes_of(kind, mu[arms], rng)
            start = time.process_time()
            tell(arms, given, rng=rng)
            # The first round builds what later rounds use.
            if round_:
                taken[label].append(1000 * (asked + time.process_time() - start))
    return [
        {
            "outcomes": kind,
            "n_arms": n_arms,
            "policy": label,
            "ms": float(np.median(times)),
            "slowest_ms": max(times),
        }
        for label, times in taken.items()
    ]


def speed(options: Any) -> list[dict[str, Any]]:
    sizes = QUICK_SIZES if options.quick else SIZES
    n_rounds = QUICK_ROUNDS if options.quick else N_ROUNDS
    kinds = ("coins", "measured")
    return [row for kind in kinds for m in sizes for row in rounds_of(kind, m, n_rounds)]


def speed_table(rows: list[dict[str, Any]]) -> Table:
    lines = []
    for row in rows:
        plain = next(
            other
            for other in rows
            if other["policy"].startswith("numpy")
            and all(other[key] == row[key] for key in ("outcomes", "n_arms"))
        )
        numbers = [f"{row['ms']:.2f}", f"{row['slowest_ms']:.1f}", f"{row['ms'] / plain['ms']:.3f}"]
        lines.append([row["outcomes"], f"{row['n_arms']:,}", row["policy"], *numbers])
    return Table(
        ["outcomes", "arms", "program", "median ms", "slowest ms", "/ numpy"],
        lines,
        title=f"Time of ask and tell per round, k = {K}, processor time: less is better",
        n_texts=3,
    )


class NotLearned(LearnedBetaBelief):
    """The same scores with the prior (1, 1), which stays."""

    def _fit(self) -> None:
        pass


N_ACTIVE, PER_DAY, ROUNDS_PER_DAY, N_DAYS = 300, 15, 20, 60
CATALOGUE: dict[str, Callable[[], Any]] = {
    "thompson": lambda: sa.thompson(sa.LinearReward(N_ACTIVE), K).belief,
    "thompson, prior (1, 1) stays": lambda: NotLearned(N_ACTIVE, shared=1 - 1 / K),
    "shared seed, prior (1, 1)": lambda: (
        sa.thompson(sa.LinearReward(N_ACTIVE), K, prior=(1.0, 1.0)).belief
    ),
    "CTS": lambda: sa.cts(sa.LinearReward(N_ACTIVE), K).belief,
}


def one_catalogue(label: str, run: int, n_days: int) -> dict[str, Any]:
    """The gap closed, in %, while every day some arms leave and as many new arms come."""
    belief, rng, world = CATALOGUE[label](), *map(np.random.default_rng, ([run, 1], [run, 2]))
    mu, is_here = world.beta(2, 38, N_ACTIVE), np.ones(N_ACTIVE, bool)
    got = best = baseline = 0.0
    for _ in range(n_days):
        for _ in range(ROUNDS_PER_DAY):
            theta = np.where(is_here, belief.sample(rng=rng), -1.0)
            arms = top_k(theta, K, rng=rng)
            belief.update(arms, (rng.random(K) < mu[arms]).astype(np.float64), rng=rng)
            got += mu[arms].sum()
        here = np.sort(mu[is_here])
        best += ROUNDS_PER_DAY * here[-K:].sum()
        baseline += ROUNDS_PER_DAY * K * here.mean()
        is_here[world.choice(np.flatnonzero(is_here), PER_DAY, replace=False)] = False
        belief.add_arms(PER_DAY)
        mu = np.append(mu, world.beta(2, 38, PER_DAY))
        is_here = np.append(is_here, np.ones(PER_DAY, bool))
    return {"policy": label, "run": run, "gap": 100 * float((got - baseline) / (best - baseline))}


def arrivals(options: Any) -> list[dict[str, Any]]:
    n_days = 2 if options.quick else N_DAYS
    jobs = [(label, run, n_days) for label in CATALOGUE for run in range(options.runs)]
    with ProcessPoolExecutor(options.workers) as executor:
        return list(executor.map(one_catalogue, *zip(*jobs, strict=True)))


def arrivals_table(rows: list[dict[str, Any]]) -> Table:
    found = {label: [row["gap"] for row in rows if row["policy"] == label] for label in CATALOGUE}
    lines = [
        [label, str(mean_interval(gaps)), str(mean_interval(np.subtract(found["thompson"], gaps)))]
        for label, gaps in found.items()
    ]
    lines[0][-1] = ""
    return Table(
        ["policy", "gap closed, %", "thompson is above by"],
        lines,
        title=f"{K} of {N_ACTIVE} items at 5%; every {ROUNDS_PER_DAY} rounds {PER_DAY} items leave "
        f"and {PER_DAY} come: more is better",
    )
