"""The regret of Thompson sampling on structures: one draw per arm against a shared seed.

    python benchmarks/structures.py [--runs N] [--problem NAME ...] [--policy P ...]
    python benchmarks/structures.py --threshold

Zhang and Combes (NeurIPS 2024) show that independent Beta draws can have a regret that is
exponential in the size of the sets: on two disjoint ways, all edges of the better way must look
good at once. Every problem here is additive, and every policy picks the best set for its draw.
A cell of the table has the mean regret over the runs, and the largest one.

``--threshold`` prints how many runs of CTS lose more than half of their rounds on two ways of n
edges, from 200 runs at once. `superarm.sets.together` takes its limit from this table.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import superarm as sa
from superarm import policies
from superarm.beliefs import SharedSeedBelief
from superarm.reporting.tables import Table, as_markdown
from superarm.sets import Matchings, Paths, SpanningTrees

Problem = tuple[Any, np.ndarray]  # the sets, or k, and the means
HIGH_RATES = ((0.7, 0.9), (0.8, 0.9), (0.9, 0.99))


def two_ways(n: int, low: float, high: float) -> Problem:
    """Two ways of n edges that share no node but the first and the last."""
    inner = np.arange(2, n + 1)
    ends = [(np.r_[0, inner + shift], np.r_[inner + shift, 1]) for shift in (0, n - 1)]
    tails, heads = (np.concatenate(parts) for parts in zip(*ends, strict=True))
    return Paths(tails, heads, source=0, target=1), np.repeat([low, high], n)


def ring(n: int, low: float, high: float) -> Problem:
    """A ring of 2 n edges: its two perfect matchings are disjoint."""
    people, tasks = np.arange(n), np.r_[np.arange(1, n), 0]
    sets = Matchings(np.r_[people, people], np.r_[people, tasks], full=True)
    return sets, np.repeat([low, high], n)


def grid(side: int, rng: np.random.Generator) -> Problem:
    """Ways through a grid, always to the right or down, with uniform means."""
    nodes = np.arange(side * side).reshape(side, side)
    tails = np.r_[nodes[:, :-1].ravel(), nodes[:-1].ravel()]
    heads = np.r_[nodes[:, 1:].ravel(), nodes[1:].ravel()]
    return Paths(tails, heads, 0, side * side - 1), rng.random(len(tails))


def assignment(n: int, rng: np.random.Generator) -> Problem:
    """All matchings of n and n, with uniform means."""
    rows, columns = np.divmod(np.arange(n * n), n)
    return Matchings(rows, columns, full=True), rng.random(n * n)


def trees(n: int, rng: np.random.Generator) -> Problem:
    """All spanning trees of n nodes, with uniform means."""
    one, other = np.triu_indices(n, 1)
    return SpanningTrees(one, other), rng.random(len(one))


# The rounds, and how the problem is drawn.
PROBLEMS: dict[str, tuple[int, Callable[[np.random.Generator], Problem]]] = {
    "two ways of 30 edges, 0.7 and 0.9": (3000, lambda rng: two_ways(30, 0.7, 0.9)),
    "two ways of 8 edges, 0.9 and 0.99": (1000, lambda rng: two_ways(8, 0.9, 0.99)),
    "two matchings of 30 pairs, 0.7 and 0.9": (1000, lambda rng: ring(30, 0.7, 0.9)),
    "matchings of 10 and 10, uniform means": (1000, lambda rng: assignment(10, rng)),
    "spanning trees of 20 nodes, uniform means": (1000, lambda rng: trees(20, rng)),
    "grid of 8 × 8 nodes, uniform means": (1000, lambda rng: grid(8, rng)),
    "100 of 300 arms, uniform means": (1000, lambda rng: (100, rng.random(300))),
    "two ways of 100 edges, 0.8 and 0.9": (1000, lambda rng: two_ways(100, 0.8, 0.9)),
}
LONG = 3000  # rounds of the table of thresholds


def contestants(n: int) -> dict[str, Callable[..., sa.Policy]]:
    """The policies, by label, made from a reward and the sets."""

    def shared(reward: sa.LinearReward, sets: Any, oracle: Any) -> sa.Policy:
        return sa.Policy(SharedSeedBelief(n, 0.8), oracle, reward, sets)

    def one_seed(reward: sa.LinearReward, sets: Any, oracle: Any) -> sa.Policy:
        return policies.cts_gaussian(reward, sets, shared=1.0, oracle=oracle)

    return {
        "`cts`": policies.cts,
        "`single_seed_ts`": policies.single_seed_ts,
        "shared 0.8": shared,
        "`thompson`": policies.thompson,
        "`bg_cts`": policies.bg_cts,
        "`cts_gaussian`": policies.cts_gaussian,
        "the same, one seed": one_seed,
    }


def regrets(name: str, labels: list[str], n_runs: int) -> Iterator[tuple[str, np.ndarray]]:
    """The regret of every policy at the horizon, in paired runs."""
    horizon, draw = PROBLEMS[name]
    for label in labels:
        found = []
        for run in range(n_runs):
            sets, mu = draw(np.random.default_rng([run, 1]))
            reward, rng = sa.LinearReward(len(mu)), np.random.default_rng(run)
            policy = contestants(len(mu))[label](reward, sets, oracle=sa.TopK())
            best = policy.feasible.best(mu, rng=np.random.default_rng(0))
            trace = sa.simulate(policy, sa.BernoulliArms(mu), horizon=horizon, rng=rng)
            found.append(float(trace.regret(mu[best].sum())[-1]))
        yield label, np.array(found)


def lost_rounds(n: int, low: float, high: float, n_runs: int, horizon: int) -> np.ndarray:
    """How many rounds CTS spends on the worse of two ways, shape (n_runs,); all runs at once."""
    rng, rows = np.random.default_rng(n), np.arange(n_runs)[:, None]
    a, b, lost = np.ones((n_runs, 2 * n)), np.ones((n_runs, 2 * n)), np.zeros(n_runs)
    mu = np.repeat([low, high], n)
    for _ in range(horizon):
        sums = rng.beta(a, b).reshape(n_runs, 2, n).sum(axis=2)
        better = sums[:, 1] > sums[:, 0]
        arms = n * better[:, None] + np.arange(n)
        won = rng.random((n_runs, n)) < mu[arms]
        a[rows, arms] += won
        b[rows, arms] += ~won
        lost += ~better
    return lost


def threshold() -> Table:
    """The share of runs that lose more than half of their rounds, for ways of n edges."""
    rows = []
    for n in (2, 3, 4, 5, 6, 8, 10, 15, 20, 30):
        shares = [(lost_rounds(n, *pair, 200, LONG) > LONG / 2).mean() for pair in HIGH_RATES]
        rows.append([str(n), *(f"{share:.1%}" for share in shares)])
    return Table(["edges", *(f"{low} and {high}" for low, high in HIGH_RATES)], rows)


def main() -> None:
    """Measure, and print the table in Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--runs", type=int, default=6)
    parser.add_argument("--problem", nargs="*", choices=list(PROBLEMS), default=list(PROBLEMS))
    known = list(contestants(1))
    parser.add_argument("--policy", nargs="*", choices=known, default=known)
    parser.add_argument("--threshold", action="store_true")
    chosen = parser.parse_args()
    # The warning of `cts` is what this table is about.
    warnings.filterwarnings("ignore", message="cts draws")
    if chosen.threshold:
        print(as_markdown(threshold()))
        return
    rows = []
    for name in chosen.problem:
        cells = [name]
        for label, found in regrets(name, chosen.policy, chosen.runs):
            cells.append(f"{found.mean():,.0f} ({found.max():,.0f})")
            print(name, label, np.sort(found).round().astype(int).tolist(), flush=True)
        rows.append(cells)
    print(as_markdown(Table(["problem", *chosen.policy], rows)))


if __name__ == "__main__":
    main()
