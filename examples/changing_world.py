"""Which policies follow an environment that changes, and what that costs if nothing changes.

    python examples/changing_world.py [--runs N] [--rounds T] [--workers W] [--picture FILE.svg]

3 of 30 arms, a linear reward, Thompson sampling with several memories, in three environments: one
that does not change, one whose means are all drawn again three times, and one whose means wander.
Runs are paired: all policies meet the same environments. Needs superarm[plots] for the picture.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import superarm as sa
from common import save
from common import show as show_table
from superarm.beliefs import DiscountedBetaBelief, SlidingBetaBelief
from superarm.environments import ChangingArms, DriftingArms
from superarm.reporting.figures import Look, band, name_curves, panels
from superarm.reporting.palette import BLUE, GREEN, INK, RED
from superarm.reporting.statistics import paired_ratio
from superarm.simulation import ChangingInstance

N_ARMS, K = 30, 3
STEP = 0.01  # of a wandering mean in a round: 0.32 in a thousand
WORLDS = {
    "nothing changes": "steady",
    "all means drawn anew three times": "abrupt",
    "means wander": "drifting",
}
DRAWN = {
    "random sets": Look(INK, ":"),
    "BetaBelief": Look(BLUE),
    "Discounted, 0.997": Look(GREEN),
    "Sliding, 300": Look(RED, "--"),
}
DISCOUNTS, WINDOWS = (0.99, 0.997, 0.999), (100, 300, 1000)


def world(kind: str, rounds: int, rng: np.random.Generator) -> Any:
    """A fresh environment. All kinds draw the same numbers, so that they begin alike."""
    means = rng.random((4, N_ARMS))
    if kind == "steady":
        return sa.BernoulliArms(means[0])
    if kind == "drifting":
        return DriftingArms(means[0], std=STEP)
    return ChangingArms([(j * rounds // 4, mu) for j, mu in enumerate(means)])


def belief(name: str) -> sa.Belief:
    """The belief with this label."""
    kind, _, number = name.partition(", ")
    if kind == "Discounted":
        return DiscountedBetaBelief(N_ARMS, discount=float(number))
    if kind == "Sliding":
        return SlidingBetaBelief(N_ARMS, window=int(number))
    return sa.BetaBelief(N_ARMS)


@dataclass(frozen=True)
class Make:
    """A policy and a fresh environment, for `replicate`."""

    kind: str
    name: str
    rounds: int

    def __call__(self, rng: np.random.Generator) -> tuple[sa.Policy, Any]:
        """Both; the environment is drawn first."""
        reward = sa.LinearReward(N_ARMS)
        instance = ChangingInstance(world(self.kind, self.rounds, rng), reward, K)
        if self.name == "random sets":
            return sa.random_sets(reward, K), instance
        return sa.Policy(belief(self.name), sa.TopK(), reward, K), instance


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=4000)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--picture", type=Path)
    options = parser.parse_args()

    memories = [*(f"Discounted, {d}" for d in DISCOUNTS), *(f"Sliding, {w}" for w in WINDOWS)]
    names = ["random sets", "BetaBelief", *memories]
    regret = {}
    with ProcessPoolExecutor(options.workers) as executor:
        for kind in WORLDS.values():
            for name in names:
                make = Make(kind, name, options.rounds)
                traces = sa.replicate(
                    make, n_runs=options.runs, horizon=options.rounds, seed=1, executor=executor
                )
                regret[kind, name] = np.array([trace.regret() for trace in traces])
    show(regret, names)
    if options.picture:
        save(lambda figure: draw(figure, regret), options.picture)


def show(regret: dict[tuple[str, str], np.ndarray], names: list[str]) -> None:
    """Regret at the end, as a share of that of random sets, with 95% intervals over paired runs."""
    rows = []
    for name in names:
        cells = [name]
        for kind in WORLDS.values():
            ours, theirs = regret[kind, name][:, -1], regret[kind, "random sets"][:, -1]
            ratio = paired_ratio(ours, theirs)
            cells.append(
                f"{100 * ratio.mean:.1f} ({100 * ratio.low:.1f} to {100 * ratio.high:.1f})"
            )
        rows.append(cells if name != "random sets" else [name, *["100"] * len(WORLDS)])
    runs, rounds = regret["steady", "random sets"].shape
    title = f"regret after {rounds:,} rounds in % of that of random sets, {runs} runs"
    show_table(title, ["belief", *WORLDS], rows)


def draw(figure: Any, regret: dict[tuple[str, str], np.ndarray]) -> None:
    """Regret round by round, the mean over the runs with its 95% interval.

    The random sets leave the picture at its top.
    """
    highest = 1.15 * max(regret[kind, "BetaBelief"][:, -1].mean() for kind in WORLDS.values())
    axes = panels(figure, len(WORLDS), n_names=2)
    for axis, (title, kind) in zip(axes, WORLDS.items(), strict=True):
        ends = {}
        for name, look in DRAWN.items():
            runs = regret[kind, name]
            t = np.arange(0, runs.shape[1], max(1, runs.shape[1] // 200))
            band(axis, t + 1, runs[:, t], look)
            ends[name] = (float(runs[:, -1].mean()), look)
        axis.set_ylim(0, highest)
        axis.set_title(title, loc="left")
        axis.set(xlabel="round", ylabel="regret so far")
        name_curves(axis, ends)


if __name__ == "__main__":
    main()
