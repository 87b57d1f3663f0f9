"""Problems with a known answer: an environment, a reward and the optimum, drawn together (section 5)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from superarm.core import Environment, Reward, top_k
from superarm.core.arguments import FloatArray, IndexArray, as_count, as_finite, as_k
from superarm.environments import BernoulliArms
from superarm.oracles import Exhaustive
from superarm.rewards import LinearReward, NetworkReward

_MOST_DRAWS = 200


@dataclass(frozen=True, eq=False)
class Instance:
    """A problem and its answer. Also an environment itself, so that `simulate` can say what the best set is worth.

    Attributes
    ----------
    environment, reward, k
        The world, what a set is worth, and how many arms a set has.
    best_arms
        Shape (k,): the optimal set at the true means, ascending.
    best_value
        What it is worth there.
    gap
        By how much it beats the best other set: Delta_min at the true means, computed.
    """

    environment: BernoulliArms
    reward: Reward
    k: int
    best_arms: IndexArray
    best_value: float
    gap: float

    @property
    def n_arms(self) -> int:
        """How many arms there are."""
        return self.environment.n_arms

    @property
    def mu(self) -> FloatArray:
        """The true means, shape (n_arms,)."""
        return self.environment.mu

    def pull(self, arms: ArrayLike, *, rng: np.random.Generator) -> FloatArray:
        """One outcome for each arm, from the environment."""
        return self.environment.pull(arms, rng=rng)


class ChangingInstance:
    """Any world that has ``mu``, a reward and k: it knows the best set at the means of the moment.

    An environment itself, as `Instance` is, for worlds whose means change from round to round: `simulate` judges each
    round by the means that it was played with, so that ``Trace.regret`` is dynamic regret. For an additive reward the
    best set is that of the k largest means, O(n_arms) whenever they change; for any other, all C(n_arms, k) sets are
    looked at, and more than a million are refused.

    Parameters
    ----------
    environment
        The world. Its ``mu`` must be another array when it is another one, as in all worlds here.
    reward, k
        What a set is worth, and how many arms a set has.

    Examples
    --------
    >>> import superarm as sa
    >>> world = sa.ChangingArms([(0, [0.1, 0.9, 0.5]), (100, [0.9, 0.1, 0.2])])
    >>> instance = ChangingInstance(world, sa.LinearReward(3), k=2)
    >>> policy = sa.Policy(sa.SlidingBetaBelief(3, window=50), sa.TopK(), sa.LinearReward(3), 2)
    >>> trace = sa.simulate(policy, instance, horizon=200, rng=np.random.default_rng(0))
    >>> trace.best_value[[0, 99, 100]].round(2), trace.regret()[[99, 199]].round(2)
    (array([1.4, 1.4, 1.1]), array([ 5.6, 17.3]))
    """

    def __init__(self, environment: Environment, reward: Reward, k: int) -> None:
        if not hasattr(environment, "mu"):
            raise TypeError(
                f"environment must have mu, the true means, got {type(environment).__name__} without"
            )
        if environment.n_arms != reward.n_arms:
            raise ValueError(
                f"environment and reward must have the same arms, got {environment.n_arms} and {reward.n_arms}"
            )
        self.environment, self.reward, self.k = environment, reward, as_k(k, reward.n_arms)
        self._mu: FloatArray | None = None
        if hasattr(environment, "observe"):
            self.observe = (
                environment.observe
            )  # outcomes of arms outside the set, where the world has such

    @property
    def n_arms(self) -> int:
        """How many arms there are."""
        return self.environment.n_arms

    @property
    def mu(self) -> FloatArray:
        """The true means of the coming pull, shape (n_arms,)."""
        return self.environment.mu

    @property
    def best_arms(self) -> IndexArray:
        """The best set at these means, shape (k,), ascending; one of them, where several are equally good."""
        self._look()
        return self._best_arms

    @property
    def best_value(self) -> float:
        """What it is worth there."""
        self._look()
        return self._best_value

    def pull(self, arms: ArrayLike, *, rng: np.random.Generator) -> FloatArray:
        """One outcome for each arm, from the environment."""
        return self.environment.pull(arms, rng=rng)

    def _look(self) -> None:
        mu = self.mu
        if mu is self._mu:
            return
        rng = np.random.default_rng(0)  # for ties among sets that are worth the same
        if self.reward.additive:
            arms = top_k(mu, self.k, rng=rng)
        else:
            arms = Exhaustive().select(self.reward, mu, self.k, rng=rng)
        self._mu, self._best_arms, self._best_value = mu, arms, float(self.reward(arms, mu[arms]))


def linear_instance(n_arms: int, k: int, gap: float, *, rng: np.random.Generator) -> Instance:
    """Means uniform on [0, 1]^n_arms given that the minimum gap of the sum is at least ``gap``: exactly that law.

    The (k+1)-th largest of uniform means given the gap is x = (1 - gap) · Beta(n_arms - k, k + 1); given x, one arm
    is at x, the k best are uniform on [x + gap, 1] and the others uniform on [0, x]. No rejection; O(n_arms).

    Examples
    --------
    >>> instance = linear_instance(5000, 5, 0.25, rng=np.random.default_rng(0))
    >>> instance.best_arms, round(instance.best_value, 3), round(instance.gap, 4)
    (array([1079, 1230, 2302, 3131, 4661]), 4.998, 0.2506)
    """
    n_arms, k, gap = _checked(n_arms, k, gap)
    if gap >= 1:
        raise ValueError(f"gap must be below 1 for means in [0, 1], got {gap}")
    x = (1 - gap) * rng.beta(n_arms - k, k + 1)
    best = rng.uniform(x + gap, 1, k)
    others = np.append(rng.uniform(0, x, n_arms - k - 1), x)
    places = rng.permutation(n_arms)
    mu = np.empty(n_arms)
    mu[places] = np.concatenate([best, others])
    best_arms = np.sort(places[:k])
    return Instance(
        BernoulliArms(mu),
        LinearReward(n_arms),
        k,
        best_arms,
        float(mu[best_arms].sum()),
        float(best.min() - x),
    )


def network_instance(
    n_arms: int,
    k: int,
    gap: float,
    *,
    n_hidden: int = 20,
    std: float = 1.0,
    rng: np.random.Generator,
) -> Instance:
    """A two-layer network with planted best arms and a minimum gap of at least ``gap``, both proven.

    Weights are |N(0, 1)| as in section 5, those of the hidden layer times ``std``, and say nothing about which arms
    are best. k arms at random have means uniform on [0.9, 1], all others means uniform on [0, x], x being the
    largest for which the planted set still beats every single swap by the gap. With uniform means for all, as
    section 5 has it, the gap would be far smaller than the paper's 0.2. Draws that miss the gap at any x are drawn
    again. That no set of several swaps comes closer is checked with a bound from submodularity, so ``best_arms``
    and ``gap`` are exact; the check looks at 2^k subsets, so k is at most 12.

    Examples
    --------
    >>> instance = network_instance(1000, 5, 0.2, rng=np.random.default_rng(0))
    >>> round(instance.gap, 4), round(instance.best_value, 4)
    (0.2, 14.4673)
    """
    n_arms, k, gap = _checked(n_arms, k, gap)
    if k > 12:
        raise ValueError(
            f"k must be at most 12 (the proof of the optimum looks at 2^k subsets), got {k}"
        )
    most = 0.0
    for _ in range(_MOST_DRAWS):
        network = NetworkReward.random(n_arms, n_hidden=n_hidden, std=std, rng=rng)
        places = rng.permutation(n_arms)
        planted, spread = rng.uniform(0.9, 1.0, k), rng.random(n_arms - k)
        # Worked with the planted arms first; `places` says where each arm stands in the instance.
        neurons = _Neurons(network.W1[:, places], network.w2, k)
        most = max(most, neurons.swap_gap(planted, 0 * spread))
        x = _largest_x(neurons, planted, spread, gap)
        if x > 0:
            break
    else:
        raise ValueError(
            f"gap must be at most about {most:.3g}, the largest that {_MOST_DRAWS} networks of {n_hidden} neurons and "
            f"std {std:g} reached, got {gap:g}; ask for less, or for more neurons"
        )
    mu = np.empty(n_arms)
    mu[places] = np.concatenate([planted, x * spread])
    best_arms = np.sort(places[:k])
    found = neurons.swap_gap(planted, x * spread)
    return Instance(
        BernoulliArms(mu), network, k, best_arms, network(best_arms, mu[best_arms]), found
    )


@dataclass(frozen=True)
class _Neurons:
    """A network whose first k arms are planted: by how much they win."""

    W1: FloatArray
    w2: FloatArray
    k: int

    def swap_gap(self, planted: FloatArray, others: FloatArray) -> float:
        """What the planted set loses by the least harmful swap of one arm."""
        ours, theirs = self.W1[:, : self.k] * planted, self.W1[:, self.k :] * others
        total = ours.sum(axis=1)
        swapped = [self.w2 @ expit(total[:, None] - ours[:, [s]] + theirs) for s in range(self.k)]
        return float(self.w2 @ expit(total) - np.max(swapped))

    def proves(self, planted: FloatArray, others: FloatArray) -> bool:
        """Whether no swap of several arms can be less harmful than the best swap of one.

        The network is monotone and submodular for non-negative weights: what arms B add to the planted arms that
        stay is at most the sum of what each adds alone.
        """
        ours, theirs = self.W1[:, : self.k] * planted, self.W1[:, self.k :] * others
        total = ours.sum(axis=1)
        second = float(self.w2 @ expit(total)) - self.swap_gap(planted, others)
        for n_out in range(2, self.k + 1):
            for out in combinations(range(self.k), n_out):
                stay = total - ours[:, out].sum(axis=1)
                worth = float(self.w2 @ expit(stay))
                added = self.w2 @ expit(stay[:, None] + theirs) - worth
                if worth + np.sort(added)[-n_out:].sum() > second:
                    return False
        return True


def _largest_x(neurons: _Neurons, planted: FloatArray, spread: FloatArray, gap: float) -> float:
    """The largest x up to 0.9 for which others of means x · spread leave the gap; 0 if there is none."""
    low, high = 0.0, 0.9
    if neurons.swap_gap(planted, high * spread) >= gap:
        low = high
    else:
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (
                (middle, high)
                if neurons.swap_gap(planted, middle * spread) >= gap
                else (low, middle)
            )
    while low > 1e-6 and not neurons.proves(planted, low * spread):
        low *= 0.9
    return low if low > 1e-6 else 0.0


def _checked(n_arms: int, k: int, gap: float) -> tuple[int, int, float]:
    n_arms = as_count(n_arms, "n_arms", least=2)
    k = as_k(k, n_arms)
    if k == n_arms:
        raise ValueError(
            f"k must be below n_arms = {n_arms}: with every arm in the set there is no gap"
        )
    return n_arms, k, float(as_finite([gap], "gap", ndim=1, least=0.0)[0])
