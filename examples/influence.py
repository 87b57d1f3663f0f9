"""Whom to invite: influence maximisation on the graph of Les Misérables, by simulated cascades.

    python examples/influence.py [--quick] [--out FOLDER]

In each round five of the novel's 77 characters are invited to spread some news. Characters who
accept tell their neighbours. A tie passes the news on with a probability that grows with the number
of scenes that two characters share. An arm is a character. Its outcome is whether the invitation
was accepted. The reward of a set is the number of people that the news reaches. It is simulated,
and by far the most expensive part of a round. The graph is real; how willing people are is made up.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import superarm as sa
from common import interval, options, save, show, steps
from influence_reward import closed_form, simulated
from superarm.oracles import RandomSets
from superarm.reporting.figures import band, logarithmic, look, name_curves, panels

K = 5
SEED = 1  # of all runs
LAST = 50  # rounds that are judged in cascades that no policy has seen

ORACLES: dict[str, Callable[[], sa.Oracle]] = {
    "random": RandomSets,
    "CTS": sa.Singletons,
    "CTS, lazy": sa.LazySingletons,
    "CTS, greedy": sa.Greedy,
    "CTS, lazy greedy": sa.LazyGreedy,
    "CTS, local search": partial(sa.LocalSearch, budget=375),  # what Greedy spends
    "GT+QTS, regression": partial(sa.GroupTesting, delta=0.25, n_tests=40, decoder="regression"),
    "GT+QTS, p=1/2": partial(sa.GroupTesting, delta=0.25, n_tests=40),
}


@dataclass(frozen=True)
class Make:
    """One run: in each, other people are willing."""

    oracle: Callable[[], sa.Oracle]
    reward: Any

    def __call__(self, rng: np.random.Generator) -> tuple[sa.Policy, sa.Instance]:
        mu = rng.beta(1, 3, self.reward.n_arms)
        search = sa.LocalSearch(sa.Greedy())
        # No swap improves the set, which does not prove that it is the best.
        best = search.select(self.reward, mu, K, rng=rng)
        world = sa.Instance(
            sa.BernoulliArms(mu), self.reward, K, best, search.report.value, float("nan")
        )
        return sa.cts(self.reward, K, oracle=self.oracle()), world


def rounds_to(
    traces: list[sa.Trace], baseline: np.ndarray, share: float = 0.5, window: int = 10
) -> np.ndarray:
    """Rounds of each run until the mean of the last ``window`` rounds closes a share of the gap.

    The gap is from ``baseline``, shape (n_runs,), the mean value of random sets, to the best set.
    Runs that never close this share count as horizon + 1.
    """
    found = []
    for trace, low in zip(traces, baseline, strict=True):
        recent = np.convolve(trace.values, np.full(window, 1 / window), "valid")
        good = np.flatnonzero(recent >= low + share * (trace.best_value - low))
        found.append(good[0] + window if len(good) else len(trace.values) + 1)
    return np.array(found)


def instances(make: Make, n_runs: int) -> list[sa.Instance]:
    """The instances of all runs, from the streams from which `replicate` draws them."""
    return [
        make(np.random.default_rng(np.random.SeedSequence(SEED, spawn_key=(run, 0))))[1]
        for run in range(n_runs)
    ]


def judged(reward: sa.Reward, drawn: list[sa.Instance], sets: list[np.ndarray]) -> np.ndarray:
    """What the last sets of each run are worth on average by another reward, shape (n_runs,)."""
    return np.array(
        [
            reward.batch(sa.Pools.of(list(rows[-LAST:]), reward.n_arms), world.mu).mean()
            for world, rows in zip(drawn, sets, strict=True)
        ]
    )


def played(
    make: Make, n_rounds: int, executor: Executor | None, n_worlds: int
) -> tuple[np.ndarray, float, list[int]]:
    """The first run again, with the simulation as its reward.

    Returns the sets, the seconds spent in ask, and the batches.
    """
    reward = simulated(n_worlds, executor)
    reward.batch(
        sa.Pools.singletons(np.arange(8), 77), np.ones(77)
    )  # draw the cascades and start the processes before the clock starts
    reward.sizes.clear()

    def timed(rng: np.random.Generator) -> tuple[sa.Policy, sa.Instance]:
        policy, world = make(rng)
        return sa.cts(reward, K, oracle=policy.oracle), world

    (trace,) = sa.replicate(timed, n_runs=1, horizon=n_rounds, seed=SEED)
    return (
        trace.arms,
        float(trace.ask_s.sum()),
        reward.sizes[:-1],
    )  # the last batch values the trace


def measure(
    make: Make, runs: list[sa.Trace], baseline: np.ndarray, pool: Executor, n_worlds: int
) -> dict[str, Any]:
    """Regret and evaluations over all runs, and the seconds of the first run when simulated."""
    rounds = rounds_to(runs, baseline)
    spent = np.array([trace.evaluations[:t].sum() for trace, t in zip(runs, rounds, strict=True)])
    regret = np.array([trace.regret()[-1] for trace in runs])
    found: dict[str, Any] = {
        "regret": regret,
        "rounds": rounds,
        "evaluations": spent,
        "seconds": None,
    }
    found["there"] = rounds <= len(runs[0].values)
    found["per_round"] = float(np.mean([trace.evaluations for trace in runs]))
    if found["there"][0] and spent[0]:
        alone, found["seconds"], found["sizes"] = played(make, rounds[0], None, n_worlds)
        pooled, found["pool_seconds"], _ = played(make, rounds[0], pool, n_worlds)
        found["same"] = all(
            np.array_equal(arms, runs[0].arms[: rounds[0]]) for arms in (alone, pooled)
        )
    return found


def rows(found: dict[str, dict[str, Any]]) -> tuple[list[list[str]], list[list[str]]]:
    """The cells of two tables: all runs, and the first one with the simulation."""
    all_runs, first = [], []
    for name, one in found.items():
        there = one["there"]
        cells = [name, interval(one["regret"], 0), interval(one["new"]), f"{one['per_round']:,.1f}"]
        # A mean over the successful runs alone would favour oracles that rarely succeed.
        to_there = (
            interval(one["evaluations"], 0)
            if there.all()
            else ""
            if not there.any()
            else "not all do"
        )
        all_runs.append([*cells, f"{there.sum()} of {len(there)}", to_there])
        if one["seconds"] is not None:
            cells = [
                name,
                f"{one['rounds'][0]}",
                f"{one['evaluations'][0]:,}",
                f"{steps(one['sizes'], 16):,}",
            ]
            cells += [f"{one['seconds']:,.2f}", f"{one['pool_seconds']:,.2f}"]
            first.append([*cells, f"{one['seconds'] / one['pool_seconds']:.2f}"])
    return all_runs, first


def main(*, quick: bool = False, out: Path = Path()) -> dict[str, Any]:
    """Regret, evaluations and seconds of each oracle; a table and a picture."""
    n_worlds, n_runs, horizon = (5, 2, 15) if quick else (100, 10, 150)
    reward = closed_form(n_worlds)
    print(sa.inspect(reward, k=K, probes=4 if quick else 40).recommendation)
    with ProcessPoolExecutor(2) as pool:
        makes = {name: Make(oracle, reward) for name, oracle in ORACLES.items()}
        traces = {
            name: sa.replicate(make, n_runs=n_runs, horizon=horizon, seed=SEED, executor=pool)
            for name, make in makes.items()
        }
        baseline = np.array([trace.values.mean() for trace in traces["random"]])
        found = {
            name: measure(makes[name], runs, baseline, pool, n_worlds)
            for name, runs in traces.items()
        }
    # The oracles optimised the simulated cascades. Are their sets also good in new cascades?
    drawn, others = instances(makes["random"], n_runs), closed_form(10 * n_worlds, seed=1)
    for name, runs in traces.items():
        found[name]["new"] = judged(others, drawn, [trace.arms for trace in runs])
    best = judged(others, drawn, [world.best_arms[None] for world in drawn])
    all_runs, first = rows(found)
    all_runs.append(["the best set known", "0", interval(best)])
    head = [
        "policy",
        f"regret, T={horizon}",
        f"reached in new cascades, last {LAST} rounds",
        "evaluations per round",
    ]
    head += ["runs that get there", "evaluations to there"]
    title = (
        f"{K} of {reward.n_arms} people, {n_runs} runs; "
        f"there: half of the way from random sets to the best set"
    )
    show(title, head, all_runs)
    head = [
        "policy",
        "rounds",
        "evaluations",
        "steps of 16 processes",
        "seconds",
        "2 processes",
        "ratio",
    ]
    show("run 1 up to there, simulated", head, first)
    same = all(one["same"] for one in found.values() if one["seconds"] is not None)
    print(
        f"simulated, through processes and in closed form: "
        f"{'the same sets' if same else 'OTHER SETS'} in every round"
    )
    return {
        "policies": found,
        "picture": save(partial(picture, traces), out / "case-influence.svg"),
    }


def picture(traces: dict[str, list[sa.Trace]], figure: Any) -> None:
    """Regret over rounds, and at the end against the evaluations that it took."""
    left, right = panels(figure, 2, n_names=(len(traces) + 1) // 2)
    ends = {}
    for name, runs in traces.items():
        regret = np.array([trace.regret() for trace in runs])
        band(left, np.arange(1, regret.shape[1] + 1), regret, look(name))
        last = regret[:, -1].mean()
        ends[name] = last, look(name)
        # A logarithmic axis has no place for 0.
        evaluations = max(1.0, float(np.mean([trace.evaluations.sum() for trace in runs])))
        filled = "full" if look(name).dash == "-" else "none"
        right.plot(evaluations, last, "o", color=look(name).colour, markersize=8, fillstyle=filled)
    logarithmic(right, y=False)
    right.set_ylim(0)
    left.set(xlabel="round", ylabel="people not reached, so far")
    right.set(
        xlabel="simulations in all (none is drawn at 1)", ylabel=f"regret at T = {regret.shape[1]}"
    )
    for axis in (left, right):
        name_curves(axis, ends)


if __name__ == "__main__":
    main(**options(__doc__))
