"""Exp3 for sets: assumes that outcomes are in [0, 1], and nothing about their distribution.

Uchiya, Nakamura, Kudo: "Algorithms for adversarial bandit problems with multiple plays", ALT 2010
(their algorithm Exp3.M).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from superarm.core.arguments import FloatArray, as_count, as_feedback, as_fraction, as_k, as_state
from superarm.core.showing import one_line


def exp3_gamma(n_arms: int, k: int, horizon: int) -> float:
    """The gamma with the best bound on the regret: min(1, sqrt(m ln(m/k) / ((e-1) k T))).

    Examples
    --------
    >>> round(exp3_gamma(100, 5, horizon=10_000), 3)
    0.059
    """
    n_arms = as_count(n_arms, "n_arms", least=1)
    k, horizon = as_k(k, n_arms), as_count(horizon, "horizon", least=1)
    root = math.sqrt(n_arms * math.log(n_arms / k) / ((math.e - 1) * k * horizon))
    # With k = n_arms there is nothing to choose: the root is 0, and gamma must be above 0.
    return min(1.0, root) or 1.0


class Exp3Belief:
    """Weights of the arms; ``sample`` returns the probability of each arm to be in the set.

    p_i = k ((1 - gamma) w_i / sum(w) + gamma / n_arms), where the largest weights are lowered until
    p_i is at most 1. The sum of p is k, and `DependentRounding` picks a set that contains arm i
    with probability p_i. An outcome x_i is weighted as x_i / p_i: w_i grows by the factor
    exp(gamma k x_i / (p_i n_arms)), unless its weight was lowered.

    So theta is not an estimate of the means here: use `DependentRounding` as the oracle. Draws
    nothing. ``sample`` and ``update`` cost O(n_arms). Takes 8 bytes per arm.

    Update each round before you ask for the next one. The probabilities are computed from the
    current weights, so ``update`` weighs late feedback, or feedback about other arms, with the
    wrong probabilities, and the bound on the regret is lost. An arm without feedback counts as an
    arm of outcome 0.

    Parameters
    ----------
    n_arms, k
        How many arms there are, and how many are in a set.
    gamma
        The share of exploration, in (0, 1]; `exp3_gamma` computes it from the horizon.

    Attributes
    ----------
    log_weights
        Shape (n_arms,): ln w. They start at 0 and never decrease.

    Examples
    --------
    >>> belief = Exp3Belief(4, k=2, gamma=0.2)
    >>> belief.sample(rng=np.random.default_rng(0))
    array([0.5, 0.5, 0.5, 0.5])
    >>> for _ in range(3):
    ...     belief.update([0, 1], [1.0, 0.0], rng=np.random.default_rng(0))
    >>> belief.sample(rng=np.random.default_rng(0)).round(3)
    array([0.681, 0.44 , 0.44 , 0.44 ])
    """

    __repr__ = one_line

    def __init__(self, n_arms: int, k: int, *, gamma: float) -> None:
        self.n_arms = as_count(n_arms, "n_arms", least=1)
        self.k = as_k(k, self.n_arms)
        self.gamma = as_fraction(gamma, "gamma", high="]")
        self.log_weights = np.zeros(self.n_arms)

    def sample(self, *, rng: np.random.Generator) -> FloatArray:
        """The probabilities to be in the set, shape (n_arms,); their sum is k."""
        return self._probabilities()[0]

    def update(self, arms: ArrayLike, outcomes: ArrayLike, *, rng: np.random.Generator) -> None:
        """w_i *= exp(gamma k x_i / (p_i n_arms)) where p_i is below 1; draws nothing."""
        arms, outcomes = as_feedback(arms, outcomes, self.n_arms)
        # The probabilities that the set was drawn with, if no update came in between.
        p, lowered = self._probabilities()
        growth = self.gamma * self.k / self.n_arms * outcomes / p[arms]
        self.log_weights[arms] += np.where(lowered[arms], 0.0, growth)

    def add_arms(self, n: int, prior: None = None) -> None:
        """Append n arms with the weight of the median arm. O(n_arms)."""
        n = as_count(n, "n", least=1)
        if prior is not None:
            raise TypeError(f"an Exp3Belief has no prior, got prior={prior!r}; leave it out")
        # Weight 1 would never catch up with weights that have grown, and the largest would rule at
        # once.
        self.log_weights = np.append(self.log_weights, np.full(n, np.median(self.log_weights)))
        self.n_arms += n

    def state(self) -> dict[str, Any]:
        """The weights and the settings as plain JSON."""
        about = {"belief": "Exp3Belief", "n_arms": self.n_arms, "k": self.k, "gamma": self.gamma}
        return {**about, "log_weights": self.log_weights.tolist()}

    def load(self, state: dict[str, Any]) -> None:
        """Become what ``state()`` described."""
        arrays = as_state(
            state, "Exp3Belief", self.n_arms, arrays=("log_weights",), others=("k", "gamma")
        )
        k = as_k(state["k"], self.n_arms)
        self.gamma = as_fraction(state["gamma"], "state['gamma']", high="]")
        self.k, self.log_weights = k, arrays["log_weights"]

    def _probabilities(self) -> tuple[FloatArray, NDArray[np.bool_]]:
        """p, shape (n_arms,), and which weights were lowered for it."""
        n_arms, k, gamma = self.n_arms, self.k, self.gamma
        if k == n_arms or gamma == 1:
            return np.full(n_arms, k / n_arms), np.full(n_arms, k == n_arms)
        # Only ratios of weights matter. The largest is 1, so that nothing overflows.
        weights = np.exp(self.log_weights - self.log_weights.max())
        lowered = np.zeros(n_arms, bool)
        # The share of the sum of all weights at which p_i is 1.
        share = (1 / k - gamma / n_arms) / (1 - gamma)
        if weights.max() >= share * weights.sum():
            arms, alpha = _lowered(weights, k, share)
            lowered[arms] = True
            weights[arms] = alpha
        p = k * ((1 - gamma) * weights / weights.sum() + gamma / n_arms)
        # Exactly 1 by the choice of alpha, up to rounding.
        p[lowered] = 1.0
        return np.minimum(p, 1.0), lowered


def _lowered(weights: FloatArray, k: int, share: float) -> tuple[NDArray[np.intp], float]:
    """The arms whose weights are lowered, and alpha, the weight they are lowered to.

    With the j largest weights lowered, alpha = share · (j · alpha + the sum of the other weights).
    The right j is the first one for which the next weight is at most alpha.
    """
    largest = np.argpartition(-weights, k - 1)[:k]
    largest = largest[np.argsort(-weights[largest], kind="stable")]
    others = weights.sum() - np.cumsum(weights[largest])
    n_lowered = np.arange(1, k + 1)
    with np.errstate(divide="ignore"):
        alpha = np.where(n_lowered * share < 1, share * others / (1 - n_lowered * share), np.inf)
    is_enough = np.append(weights[largest[1:]], 0.0) <= alpha
    j = int(np.argmax(is_enough))
    return largest[: j + 1], float(alpha[j])
