"""The problems of the comparison as one run meets them: drawn, replayed from a table, or yours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from superarm.core import Environment, Pools, Reward
from superarm.core.arguments import FloatArray
from superarm.core.special import expit
from superarm.environments import BernoulliArms, ReplayEnvironment, datasets
from superarm.rewards import LinearReward
from superarm.simulation import Instance, linear_instance, network_instance
from superarm.studies.cells.knowing import NOTHING, Known
from superarm.studies.cells.measured_arms import MeasuredArms
from superarm.studies.cells.outside import load

Settings = dict[str, Any]
Draw = Callable[[Settings, np.random.Generator, np.random.Generator], "ProblemInstance"]

_SEGMENTS, _CATEGORIES, _BASE_ODDS = 4, 8, -4.5  # of the shop: rates of about 3%
_N_RANDOM_SETS = 1000  # for the value of the random baseline on a network, which has no formula


@dataclass(frozen=True)
class ProblemInstance:
    """A problem as one run meets it.

    Attributes
    ----------
    environment, reward, k
        What a policy plays.
    best
        The value of the best fixed set per round: at the true means, or on average over the table.
    random
        The value of a random set per round.
    coins
        Shape (n_arms,): the means, if arms are independent coins and the reward is their sum. Then
        there is a floor under the regret.
    known
        What is known beside a table.
    """

    environment: Environment
    reward: Reward
    k: int
    best: float
    random: float
    coins: FloatArray | None = None
    known: Known = NOTHING


def draw(
    settings: Settings, *, rng: np.random.Generator, baseline_rng: np.random.Generator
) -> ProblemInstance:
    """The instance of one run.

    ``baseline_rng`` is for the value of the random baseline, where it is estimated: so the estimate
    does not change what the environment draws.
    """
    return _FAMILIES[settings["family"]](settings, rng, baseline_rng)


def _linear(
    settings: Settings, rng: np.random.Generator, baseline_rng: np.random.Generator
) -> ProblemInstance:
    it = linear_instance(settings["n_arms"], settings["k"], settings["gap"], rng=rng)
    return _of_instance(it, baseline_rng)


def _network(
    settings: Settings, rng: np.random.Generator, baseline_rng: np.random.Generator
) -> ProblemInstance:
    it = network_instance(settings["n_arms"], settings["k"], settings["gap"], rng=rng)
    return _of_instance(it, baseline_rng)


def _of_instance(it: Instance, baseline_rng: np.random.Generator) -> ProblemInstance:
    if isinstance(it.reward, LinearReward) and it.reward.weights is None:
        random = it.k * float(it.mu.mean())
        coins = it.mu if isinstance(it.environment, BernoulliArms) else None
        return ProblemInstance(it, it.reward, it.k, it.best_value, random, coins)
    # Other rewards, even additive ones, have other values: that of a random set is estimated.
    sets = [
        np.sort(baseline_rng.choice(it.n_arms, it.k, replace=False)) for _ in range(_N_RANDOM_SETS)
    ]
    random = float(it.reward.batch(Pools.of(sets, it.n_arms), it.mu).mean())
    return ProblemInstance(it, it.reward, it.k, it.best_value, random)


def _drawn(
    settings: Settings, rng: np.random.Generator, baseline_rng: np.random.Generator
) -> ProblemInstance:
    n_arms, k = settings["n_arms"], settings["k"]
    law = [tuple(part) for part in settings["law"]]
    weights = [weight for weight, *_ in law]
    columns = [
        rng.beta(part[1], part[2], n_arms) if len(part) > 2 else np.full(n_arms, part[1])
        for part in law
    ]
    which = rng.choice(len(law), size=n_arms, p=weights)
    mu = np.array(columns)[which, np.arange(n_arms)]
    best, random = float(np.sort(mu)[-k:].sum()), k * float(mu.mean())
    if "concentration" in settings:
        environment = MeasuredArms(mu, settings["concentration"])
        return ProblemInstance(environment, LinearReward(n_arms), k, best, random)
    return ProblemInstance(BernoulliArms(mu), LinearReward(n_arms), k, best, random, mu)


def _turning(
    settings: Settings, rng: np.random.Generator, baseline_rng: np.random.Generator
) -> ProblemInstance:
    n_arms, k, horizon = settings["n_arms"], settings["k"], settings["horizon"]
    places, turn = rng.permutation(n_arms), horizon // 2
    steady, late = places[:k], places[k : 2 * k]
    # These numbers are those of the sentence about this problem in `comparison.problems`. The late
    # bloomers are worth 0.45 on average, three times as much as the steady arms.
    mu = np.full((horizon, n_arms), 0.05)
    mu[:, steady] = 0.15
    mu[:turn, late], mu[turn:, late] = 0.0, 0.9
    return _replay(ReplayEnvironment((rng.random(mu.shape) < mu).astype(np.uint8)), k)


def _shop(
    settings: Settings, rng: np.random.Generator, baseline_rng: np.random.Generator
) -> ProblemInstance:
    """Visitors of several kinds, who like other categories of products and other prices."""
    n_arms, horizon = settings["n_arms"], settings["horizon"]
    category, price = rng.integers(_CATEGORIES, size=n_arms), rng.normal(size=n_arms)
    taste = rng.normal(0, 1.5, (_SEGMENTS, _CATEGORIES))[:, category]
    odds = _BASE_ODDS + taste + rng.normal(0, 0.5, (_SEGMENTS, 1)) * price
    means = expit(odds + rng.normal(0, 0.4, n_arms))
    segments = rng.integers(_SEGMENTS, size=horizon)
    bought = (rng.random((horizon, n_arms)) < means[segments]).astype(np.uint8)
    instance = _replay(ReplayEnvironment(bought), settings["k"])
    features = np.column_stack([np.eye(_CATEGORIES)[category], price])
    return replace(instance, known=Known(features, np.eye(_SEGMENTS)[segments]))


def _table(
    settings: Settings, rng: np.random.Generator, baseline_rng: np.random.Generator
) -> ProblemInstance:
    environment, contexts = _read(
        settings["family"], settings["horizon"], settings.get("n_arms"), settings.get("every", 1)
    )
    # The table is shared by all runs of this process. The position in it is not.
    return replace(_replay(environment.fresh(), settings["k"]), known=Known(contexts=contexts))


# The comparison has three tables, which all stay in memory.
@lru_cache(maxsize=4)
def _read(
    family: str, horizon: int, n_arms: int | None, every: int
) -> tuple[ReplayEnvironment, FloatArray | None]:
    """A table and its contexts, read once per process."""
    if family == "baskets":
        data = datasets.ta_feng(n_arms or 500)
    else:
        data = datasets.yeast() if family == "yeast" else datasets.flights("on time")
    contexts = None if data.contexts is None else data.contexts[::every][:horizon]
    table = data.table[::every][:horizon]
    return ReplayEnvironment(table, names=data.names, order="shuffled"), contexts


def _replay(environment: ReplayEnvironment, k: int) -> ProblemInstance:
    reward = LinearReward(environment.n_arms)
    best, random = environment.best_fixed(k), environment.random_set(k)
    return ProblemInstance(environment, reward, k, best, random)


def _outside(
    settings: Settings, rng: np.random.Generator, baseline_rng: np.random.Generator
) -> ProblemInstance:
    found = load(settings["from"])(rng=rng, horizon=settings["horizon"])
    if isinstance(found, Instance):
        return _of_instance(found, baseline_rng)
    match found:
        case (ReplayEnvironment() as environment, int(k)):
            # It may be the same object in every run. The position in it is not.
            return _replay(environment.fresh(), k)
    raise TypeError(
        f"{settings['from']} must return an Instance, or a ReplayEnvironment and k, got {found!r}"
    )


_FAMILIES: dict[str, Draw] = {
    "linear": _linear,
    "network": _network,
    "yeast": _table,
    "flights": _table,
    "baskets": _table,
    "turning": _turning,
    "shop": _shop,
    "drawn": _drawn,
    "outside": _outside,
}
