"""Instances: an environment and a reward whose best set is known (section 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from superarm.core import Environment, Reward, top_k
from superarm.core.arguments import FloatArray, IndexArray, as_count, as_finite, as_fraction, as_k
from superarm.core.contexts import GivesContext
from superarm.core.environments import KnownMeans, Observes
from superarm.core.showing import one_line
from superarm.environments import BernoulliArms
from superarm.oracles import Exhaustive
from superarm.rewards import LinearReward, NetworkReward
from superarm.simulation.planted_network import PlantedNetwork

# Networks that are drawn before `network_instance` gives up.
_MOST_DRAWS = 200
# The proof of the optimum looks at 2^k subsets.
_MOST_PLANTED = 12
# The means of the planted arms of a network are spread over an interval of this width.
_PLANTED_WIDTH = 0.1


@dataclass(frozen=True, eq=False)
class Instance:
    """An environment and a reward whose best set is known.

    An instance is an environment itself, so that `simulate` can record the value of the best set.

    Attributes
    ----------
    environment, reward, k
        The environment, the reward, and the number of arms per set.
    best_arms
        Shape (k,): the best set at the true means, ascending.
    best_value
        The value of the best set at the true means.
    gap
        Delta_min at the true means: the best value minus the value of the second best set.
    """

    environment: BernoulliArms
    reward: Reward
    k: int
    best_arms: IndexArray
    best_value: float
    gap: float

    __repr__ = one_line

    @property
    def n_arms(self) -> int:
        """How many arms there are."""
        return self.environment.n_arms

    def pull(self, arms: ArrayLike, *, rng: np.random.Generator) -> FloatArray:
        """One outcome per arm, from the environment."""
        return self.environment.pull(arms, rng=rng)

    @property
    def mu(self) -> FloatArray:
        """The true means, shape (n_arms,)."""
        return self.environment.mu


class ChangingInstance:
    """An environment with ``mu``, a reward and k, with the best set at the current means.

    For environments whose means change from round to round. A ChangingInstance is an environment
    itself, as `Instance` is: `simulate` values each round with the means of that round, so that
    ``Trace.regret`` is the dynamic regret. For an additive reward the best set has the k largest
    means, O(n_arms) whenever they change. For other rewards all C(n_arms, k) sets are evaluated;
    more than a million sets are refused.

    Parameters
    ----------
    environment
        The environment. When its means change, ``mu`` must be a new array, as in all environments
        of this package.
    reward, k
        The reward, and the number of arms per set.

    Examples
    --------
    >>> import superarm as sa
    >>> from superarm.beliefs import SlidingBetaBelief
    >>> from superarm.environments import ChangingArms
    >>> environment = ChangingArms([(0, [0.1, 0.9, 0.5]), (100, [0.9, 0.1, 0.2])])
    >>> instance = ChangingInstance(environment, sa.LinearReward(3), k=2)
    >>> policy = sa.Policy(SlidingBetaBelief(3, window=50), sa.TopK(), sa.LinearReward(3), 2)
    >>> trace = sa.simulate(policy, instance, horizon=200, rng=np.random.default_rng(0))
    >>> trace.best_value[[0, 99, 100]].round(2), trace.regret()[[99, 199]].round(2)
    (array([1.4, 1.4, 1.1]), array([ 5.6, 17.3]))
    """

    __repr__ = one_line

    def __init__(self, environment: Environment, reward: Reward, k: int) -> None:
        if not isinstance(environment, KnownMeans):
            raise TypeError(
                "environment must have mu, the true means, "
                f"got a {type(environment).__name__} without mu"
            )
        if environment.n_arms != reward.n_arms:
            raise ValueError(
                "environment and reward must have the same number of arms, "
                f"got {environment.n_arms} and {reward.n_arms}"
            )
        self.environment, self.reward, self.k = environment, reward, as_k(k, reward.n_arms)
        self.n_arms = environment.n_arms
        self._mu: FloatArray | None = None
        if isinstance(environment, Observes):
            self.observe = environment.observe  # shows outcomes of arms outside the set as well
        if isinstance(environment, GivesContext):
            self.context = environment.context

    @property
    def mu(self) -> FloatArray:
        """The true means of the next pull, shape (n_arms,)."""
        return self.environment.mu

    @property
    def best_arms(self) -> IndexArray:
        """The best set at these means, shape (k,), ascending; one of them if several are equal."""
        self._find_best()
        return self._best_arms

    @property
    def best_value(self) -> float:
        """The value of the best set at these means."""
        self._find_best()
        return self._best_value

    def pull(self, arms: ArrayLike, *, rng: np.random.Generator) -> FloatArray:
        """One outcome per arm, from the environment."""
        return self.environment.pull(arms, rng=rng)

    def _find_best(self) -> None:
        mu = self.mu
        if mu is self._mu:
            return
        rng = np.random.default_rng(0)  # only breaks ties between sets of the same value
        if self.reward.additive:
            arms = top_k(mu, self.k, rng=rng)
        else:
            arms = Exhaustive().select(self.reward, mu, self.k, rng=rng)
        self._mu, self._best_arms, self._best_value = mu, arms, float(self.reward(arms, mu[arms]))


def linear_instance(n_arms: int, k: int, gap: float, *, rng: np.random.Generator) -> Instance:
    """Means uniform on [0, 1]^n_arms, given that the minimum gap of the sum is at least ``gap``.

    The law is exact, without rejection, in O(n_arms). Given the gap, the (k+1)-th largest mean is
    x = (1 - gap) · Beta(n_arms - k, k + 1). Given x, one arm has the mean x, the k best means are
    uniform on [x + gap, 1], and the other means are uniform on [0, x].

    Examples
    --------
    >>> instance = linear_instance(5000, 5, 0.25, rng=np.random.default_rng(0))
    >>> instance.best_arms, round(instance.best_value, 3), round(instance.gap, 4)
    (array([1079, 1230, 2302, 3131, 4661]), 4.998, 0.2506)
    """
    n_arms, k, gap = _checked(n_arms, k, gap)
    if gap >= 1:
        raise ValueError(f"gap must be below 1 for means in [0, 1], got {gap}")
    # Beta(n_arms - k, k + 1) is the law of the (k+1)-th largest of n_arms uniform numbers.
    # Scaled, it leaves room for the gap above it.
    x = (1 - gap) * rng.beta(n_arms - k, k + 1)
    best = rng.uniform(x + gap, 1, k)
    others = np.append(rng.uniform(0, x, n_arms - k - 1), x)
    places = rng.permutation(n_arms)
    mu = np.empty(n_arms)
    mu[places] = np.concatenate([best, others])
    best_arms = np.sort(places[:k])
    best_value, found = float(mu[best_arms].sum()), float(best.min() - x)
    return Instance(BernoulliArms(mu), LinearReward(n_arms), k, best_arms, best_value, found)


def planted_instance(
    n_arms: int,
    k: int,
    gap: float,
    *,
    best: float,
    others: Literal["uniform", "equal"] = "uniform",
    rng: np.random.Generator,
) -> Instance:
    """A sum whose k best arms all have the mean ``best``, at random places.

    The other arms have means uniform on [0, best - gap], one of them exactly best - gap, or all of
    them have that mean. The paper does not say how its means were drawn; `linear_instance` is one
    law with its gap, and this is another.

    Examples
    --------
    >>> instance = planted_instance(100, 5, 0.25, best=0.8, rng=np.random.default_rng(0))
    >>> round(instance.best_value, 3), round(instance.gap, 3)
    (4.0, 0.25)
    """
    n_arms, k, gap = _checked(n_arms, k, gap)
    best = as_fraction(best, "best", high="]")
    if best < gap:
        raise ValueError(f"best must be at least the gap, {gap}, got {best}")
    if others not in ("uniform", "equal"):
        raise ValueError(f"others must be 'uniform' or 'equal', got {others!r}")
    spread = rng.random(n_arms - k - 1) if others == "uniform" else np.ones(n_arms - k - 1)
    places = rng.permutation(n_arms)
    mu = np.empty(n_arms)
    mu[places] = np.concatenate([np.full(k, best), (best - gap) * np.append(spread, 1.0)])
    arms = np.sort(places[:k])
    return Instance(BernoulliArms(mu), LinearReward(n_arms), k, arms, float(mu[arms].sum()), gap)


def network_instance(
    n_arms: int,
    k: int,
    gap: float,
    *,
    n_hidden: int = 20,
    std: float = 1.0,
    best: float = 1.0,
    rng: np.random.Generator,
) -> Instance:
    """A two-layer network with planted best arms and a minimum gap of at least ``gap``.

    Weights are |N(0, 1)| as in section 5, those of the hidden layer times ``std``; they do not
    depend on which arms are best. k random arms have means uniform on [best - 0.1, best], and all
    other arms have means uniform on [0, x]. x is the largest number for which the planted set beats
    every single swap by the gap. (With uniform means for all arms, as in section 5, the gap would
    be far smaller than the paper's 0.2.) Networks that miss the gap for every x are drawn again. A
    bound from submodularity proves that no set of several swaps comes closer, so ``best_arms`` and
    ``gap`` are exact. The proof looks at 2^k subsets, so k is at most 12.

    Examples
    --------
    >>> instance = network_instance(1000, 5, 0.2, rng=np.random.default_rng(0))
    >>> round(instance.gap, 4), round(instance.best_value, 4)
    (0.2, 14.4673)
    """
    n_arms, k, gap = _checked(n_arms, k, gap)
    if not (best := as_fraction(best, "best", high="]")) > _PLANTED_WIDTH:
        raise ValueError(f"best must be above {_PLANTED_WIDTH}, got {best}")
    if k > _MOST_PLANTED:
        raise ValueError(
            f"k must be at most {_MOST_PLANTED} (the proof of the optimum looks at 2^k subsets), "
            f"got {k}"
        )
    largest_gap = 0.0
    for _ in range(_MOST_DRAWS):
        network = NetworkReward.random(n_arms, n_hidden=n_hidden, std=std, rng=rng)
        places = rng.permutation(n_arms)
        planted = rng.uniform(round(best - _PLANTED_WIDTH, 12), best, k)
        spread = rng.random(n_arms - k)
        # The planted arms come first here; `places` maps them to the arms of the instance.
        planted_network = PlantedNetwork(network.W1[:, places], network.w2, k)
        x = planted_network.largest_x(planted, spread, gap)
        if x > 0:
            mu = np.empty(n_arms)
            mu[places] = np.concatenate([planted, x * spread])
            best_arms = np.sort(places[:k])
            best_value = network(best_arms, mu[best_arms])
            found = planted_network.swap_gap(planted, x * spread)
            return Instance(BernoulliArms(mu), network, k, best_arms, best_value, found)
        # With x = 0 the gap is the largest that this network allows: it tells the user what is
        # possible.
        largest_gap = max(largest_gap, planted_network.swap_gap(planted, 0 * spread))
    raise ValueError(
        f"gap must be at most about {largest_gap:.3g}, the largest that {_MOST_DRAWS} networks "
        f"of {n_hidden} neurons and std {std:g} reached, got {gap:g}; "
        f"use a smaller gap or more neurons"
    )


def _checked(n_arms: int, k: int, gap: float) -> tuple[int, int, float]:
    n_arms = as_count(n_arms, "n_arms", least=2)
    k = as_k(k, n_arms)
    if k == n_arms:
        raise ValueError(
            f"k must be below n_arms = {n_arms}: with every arm in the set there is no gap"
        )
    return n_arms, k, float(as_finite([gap], "gap", ndim=1, least=0.0)[0])
