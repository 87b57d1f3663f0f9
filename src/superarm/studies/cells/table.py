"""Policies over a table: paired runs, side by side in processes, reduced where they are played."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, as_completed, wait
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from superarm.core import Policy
from superarm.core.arguments import FloatArray, IndexArray
from superarm.environments import ReplayEnvironment
from superarm.experiments.comparison.contestants import CONTESTANTS, Task
from superarm.experiments.play import checkpoints
from superarm.rewards import LinearReward
from superarm.simulation.simulate import simulate

Order = Literal["given", "shuffled"]
Progress = Callable[["Run"], None]

_ROUNDS_AT_ONCE = 10_000


@dataclass(frozen=True)
class Player:
    """A policy that can be named: its label in the comparison, which makes it, and what it does in a sentence."""

    label: str
    about: str

    def make(self, k: int, n_arms: int, horizon: int) -> Policy:
        """For sums, with the settings that it has in the comparison."""
        return CONTESTANTS[self.label].make(Task(LinearReward(n_arms), k, horizon, delta=0.25))


# A new policy is an entry here.
PLAYERS: dict[str, Player] = {
    "cts": Player(
        "CTS",
        "Thompson sampling: guesses each arm's mean at random, as widely as it is unsure of it, and picks the best k.",
    ),
    "single-seed": Player(
        "CTS, single seed",
        "Thompson sampling in which all arms are guessed high together, or low together.",
    ),
    "gaussian": Player(
        "CTS, Gaussian", "Thompson sampling with normal distributions, for measured outcomes."
    ),
    "discounted": Player(
        "CTS, discounted",
        "Thompson sampling that forgets little by little, for arms that change slowly.",
    ),
    "sliding": Player(
        "CTS, sliding",
        "Thompson sampling that knows the last rounds only, for arms that change at once.",
    ),
    "cucb": Player(
        "CUCB",
        "Upper confidence bounds: takes each arm for as good as it might still be, and picks the best k.",
    ),
    "kl-ucb": Player(
        "KL-UCB", "Upper confidence bounds that are tighter for outcomes of 0 and 1; slower."
    ),
    "escb": Player(
        "ESCB", "One confidence bound for the whole set, tighter than one for each arm; slower."
    ),
    "epsilon-greedy": Player(
        "epsilon-greedy", "The best k so far, and in one round of ten k arms by chance."
    ),
    "explore-then-commit": Player(
        "explore, commit",
        "Tries all arms equally often, and then picks the best k of them for ever.",
    ),
    "exp3": Player(
        "Exp3.M", "Assumes nothing of how outcomes come about, and learns slowly for that."
    ),
    "random": Player("chance", "k arms by chance in every round; learns nothing."),
}
USUAL = ("cts", "cucb", "random")


@dataclass(frozen=True, eq=False)
class Game:
    """What is played: a table in hindsight, and how.

    Attributes
    ----------
    world
        The rows that may be played; in given order, the first ``horizon`` rows of the file.
    k, horizon, order
        Arms in a set, rounds in a run, and the order of the rows.
    best, chance
        Shape (n_rounds,): what the best fixed set and, on average, a random one would have got in each row.
    """

    world: ReplayEnvironment
    k: int
    horizon: int
    order: Order
    best: FloatArray
    chance: FloatArray


@dataclass(frozen=True, eq=False)
class Run:
    """One run of one policy.

    Attributes
    ----------
    policy, number
        Who played, and which run it is; runs of the same number meet the same rows in the same order.
    at
        Shape (n_checkpoints,): the rounds for which totals are kept; the last is the horizon.
    reward, best, chance
        Shape (n_checkpoints,): totals up to there, of what was got and of what the best fixed set and chance would
        have got in the same rows.
    n_shown
        Shape (n_arms,): in how many rounds each arm was picked.
    gap
        What the best fixed set would get more than chance in so many rounds, by all rows that may be played.
    """

    policy: str
    number: int
    at: IndexArray
    reward: FloatArray
    best: FloatArray
    chance: FloatArray
    n_shown: IndexArray
    gap: float

    @property
    def regret(self) -> FloatArray:
        """What was lost against the best fixed set, up to each checkpoint; below zero where it was beaten."""
        return self.best - self.reward

    @property
    def gap_closed(self) -> float:
        """Where the run ended between chance, 0, and the best fixed set, 1; NaN where these are equal."""
        return (
            float(self.reward[-1] - self.chance[-1]) / self.gap if self.gap > 1e-9 else float("nan")
        )


def prepare(cells: NDArray[Any], names: Sequence[str], k: int, horizon: int, order: Order) -> Game:
    """The game on a table; in given order only the rows that are played count in hindsight."""
    world = ReplayEnvironment(
        cells[:horizon] if order == "given" else cells, names=names, order=order
    )
    members = world.best_arms(k)
    best, chance = np.empty(world.n_rounds), np.empty(world.n_rounds)
    step = max(1, 2**20 // world.n_arms)
    for start in range(0, world.n_rounds, step):  # in strips, so that no second table is made
        strip = world.table[start : start + step].astype(np.float64)
        filled = np.where(np.isnan(strip), world.means, strip)
        best[start : start + step] = filled[:, members].sum(axis=1)
        chance[start : start + step] = k * filled.mean(axis=1)
    return Game(world, k, horizon, order, best, chance)


def play_all(
    game: Game,
    policies: Sequence[str],
    *,
    n_runs: int,
    seed: int,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> list[Run]:
    """Every policy ``n_runs`` times, policy by policy; the same for any executor.

    Processes find the table in a file that they share, so there is one of it, however many they are.
    """
    jobs = [(policy, number) for policy in policies for number in range(n_runs)]
    report = progress or (lambda run: None)
    if executor is None:
        runs = []
        for job in jobs:
            runs.append(play(game, *job, seed=seed))
            report(runs[-1])
        return runs
    with tempfile.TemporaryDirectory(prefix="superarm-run-") as folder:
        _save(game, Path(folder))
        settings = (folder, game.world.names, game.k, game.horizon, game.order)
        futures = [executor.submit(_play_saved, settings, *job, seed) for job in jobs]
        try:
            for future in as_completed(futures):
                report(future.result())
        finally:
            for future in futures:
                future.cancel()
            wait(futures)  # before the folder goes
    return [future.result() for future in futures]


def play(game: Game, policy: str, number: int, *, seed: int) -> Run:
    """One run, from its own seed; the policy's stream and the world's are those that `replicate` would give it.

    Played some thousands of rounds at a time, of which only sums are kept: memory does not grow with the horizon.
    """
    rng, world_rng = (
        np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number, stream)))
        for stream in (1, 2)
    )
    world = game.world.fresh()
    player = PLAYERS[policy].make(game.k, world.n_arms, game.horizon)
    at = checkpoints(game.horizon)
    reward, n_shown = np.empty(len(at)), np.zeros(world.n_arms, np.intp)
    total, done = 0.0, 0
    while done < game.horizon:
        trace = simulate(
            player,
            world,
            horizon=min(_ROUNDS_AT_ONCE, game.horizon - done),
            rng=rng,
            world_rng=world_rng,
        )
        totals = total + np.cumsum(world.rewards(trace.arms, trace.outcomes))
        here = (at > done) & (at <= done + len(totals))
        reward[here] = totals[at[here] - done - 1]
        n_shown += np.bincount(trace.arms.ravel(), minlength=world.n_arms)
        total, done = float(totals[-1]), done + len(totals)
    rows = world.rows[: game.horizon]
    best, chance = (np.cumsum(values[rows])[at - 1] for values in (game.best, game.chance))
    gap = game.horizon * (game.world.best_fixed(game.k) - game.world.random_set(game.k))
    return Run(policy, number, at, reward, best, chance, n_shown, gap)


def _save(game: Game, folder: Path) -> None:
    for name, values in (("table", game.world.table), ("best", game.best), ("chance", game.chance)):
        np.save(folder / f"{name}.npy", values)


@lru_cache(maxsize=1)
def _saved(folder: str, names: tuple[str, ...], k: int, horizon: int, order: Order) -> Game:
    table, best, chance = (
        np.load(Path(folder) / f"{name}.npy", mmap_mode="r") for name in ("table", "best", "chance")
    )
    return Game(ReplayEnvironment(table, names=names, order=order), k, horizon, order, best, chance)


def _play_saved(
    settings: tuple[str, tuple[str, ...], int, int, Order], policy: str, number: int, seed: int
) -> Run:
    return play(_saved(*settings), policy, number, seed=seed)
