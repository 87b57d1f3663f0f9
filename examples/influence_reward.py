"""The reward of the example `influence`: simulated cascades, and the same values in closed form."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cache

import networkx as nx
import numpy as np

import superarm as sa
from common import InBatches

PASSES_ON = 0.04  # the probability that one shared scene passes the news on


@cache
def worlds(n_worlds: int, seed: int = 0) -> list[list[list[int]]]:
    """For each drawn network and person, to whom the news goes on; the same for all sets."""
    graph = nx.convert_node_labels_to_integers(nx.les_miserables_graph())
    rng = np.random.default_rng(seed)
    drawn = []
    for _ in range(n_worlds):
        friends: list[list[int]] = [[] for _ in graph]
        for one, other, scenes in graph.edges(data="weight"):
            if rng.random() < 1 - (1 - PASSES_ON) ** scenes:
                friends[one].append(other)
                friends[other].append(one)
        drawn.append(friends)
    return drawn


def reached(person: int, friends: list[list[int]]) -> set[int]:
    """Everybody who hears of the news if this person has it."""
    heard, to_tell = {person}, [person]
    while to_tell:
        for friend in friends[to_tell.pop()]:
            if friend not in heard:
                heard.add(friend)
                to_tell.append(friend)
    return heard


@dataclass(frozen=True)
class Spread:
    """r(S; theta): how many people hear of the news on average.

    Person i of S accepts with probability theta_i. Two things make a simulation fit for a reward.
    All sets meet the same drawn networks, so that the same set always has the same value. And
    whether somebody accepts is averaged over, not drawn, so that the value moves smoothly with
    theta. Only the arguments travel to other processes; each process draws the networks once.
    """

    n_worlds: int

    def __call__(self, arms: np.ndarray, means: np.ndarray) -> float:
        total = 0.0
        for friends in worlds(self.n_worlds):
            # For each person, the probability that no one who could tell accepts.
            unheard: dict[int, float] = {}
            for arm, mean in zip(arms.tolist(), means.tolist(), strict=True):
                for person in reached(arm, friends):
                    unheard[person] = unheard.get(person, 1.0) * (1.0 - mean)
            total += len(unheard) - sum(unheard.values())
        return total / self.n_worlds


def simulated(n_worlds: int, executor: Executor | None = None) -> InBatches:
    """The simulation as a reward.

    A person reaches at most everybody, and more willing people are never worse.
    """
    n = len(worlds(1)[0])
    good = dict.fromkeys(("monotone", "zero_is_absent", "concave", "diminishing"), True)
    return InBatches(
        Spread(n_worlds), n_arms=n, lipschitz=float(n), upper=float(n), executor=executor, **good
    )


def closed_form(n_worlds: int, seed: int = 0) -> sa.CoverageReward:
    """The same values without simulating, for many runs.

    The people who hear of the news together are one target of coverage.
    """
    together: dict[tuple[int, ...], float] = {}
    for friends in worlds(n_worlds, seed):
        for group in {tuple(sorted(reached(person, friends))) for person in range(len(friends))}:
            together[group] = together.get(group, 0.0) + len(group) / n_worlds
    n = len(worlds(1)[0])
    reach = np.array([np.isin(np.arange(n), group) for group in together], float).T
    reward = sa.CoverageReward(reach, list(together.values()))
    # What the simulation declares: nothing better is known before simulating.
    reward.lipschitz = np.full(n, float(n))
    return reward
