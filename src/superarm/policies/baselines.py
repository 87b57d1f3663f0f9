"""Policies that explore by a fixed rule, or assume nothing: what others are compared with."""

from __future__ import annotations

from collections.abc import Callable

from superarm.beliefs import Exp3Belief, MeanBelief, UCBBelief
from superarm.beliefs.exp3 import exp3_gamma
from superarm.core import FeasibleSets, Oracle, Policy, Reward, as_k_of_m
from superarm.core.members import n_arms_of
from superarm.oracles import (
    DependentRounding,
    EpsilonRandom,
    ExploreThenCommit,
    RandomSets,
)
from superarm.policies._usual import or_singletons


def epsilon_greedy(
    reward: Reward,
    k: int | FeasibleSets,
    *,
    epsilon: float | Callable[[int], float] = 0.1,
    oracle: Oracle | None = None,
) -> Policy:
    """The best set at the means so far, and with probability epsilon a random set.

    epsilon is a number, or a function of the round such as `decaying`. The default oracle is
    `Singletons`.

    Examples
    --------
    >>> import superarm as sa
    >>> epsilon_greedy(sa.LinearReward(5), k=2, epsilon=0.05).oracle.epsilon
    0.05
    """
    explorer = EpsilonRandom(or_singletons(oracle), epsilon)
    return Policy(MeanBelief(n_arms_of(reward)), explorer, reward, k)


def explore_then_commit(
    reward: Reward, k: int | FeasibleSets, *, n_explore: int, oracle: Oracle | None = None
) -> Policy:
    """Every arm ``n_explore`` times, and then always the set that is best at the means so far.

    The default oracle is `Singletons`.

    Examples
    --------
    >>> import superarm as sa
    >>> explore_then_commit(sa.LinearReward(5), k=2, n_explore=10).oracle.n_explore
    10
    """
    explorer = ExploreThenCommit(or_singletons(oracle), n_explore)
    # With unseen = 0, the policy never commits to an arm that was pulled but whose outcome was not
    # seen.
    return Policy(MeanBelief(n_arms_of(reward), unseen=0.0), explorer, reward, k)


def exp3(
    reward: Reward, k: int, *, horizon: int | None = None, gamma: float | None = None
) -> Policy:
    """Exp3.M (Uchiya, Nakamura, Kudo 2010): for sums of outcomes that follow no distribution.

    ``gamma`` is the share of exploration. Give ``horizon`` instead to compute the best gamma.

    Examples
    --------
    >>> import superarm as sa
    >>> round(exp3(sa.LinearReward(50), k=2, horizon=10_000).belief.gamma, 3)
    0.068
    """
    as_k_of_m(k, n_arms_of(reward), instead="thompson, cts or cucb")
    if (horizon is None) == (gamma is None):
        raise ValueError(
            f"either horizon or gamma must be given, got horizon={horizon!r} and gamma={gamma!r}"
        )
    if gamma is None:
        # The best gamma is known for plain k only, and so is the probability of each arm.
        gamma = exp3_gamma(reward.n_arms, k, horizon)  # type: ignore[arg-type]  # horizon is given
    return Policy(Exp3Belief(reward.n_arms, k, gamma=gamma), DependentRounding(), reward, k)


def random_sets(reward: Reward, k: int | FeasibleSets) -> Policy:
    """A random set in every round: the random baseline for other policies.

    Examples
    --------
    >>> import superarm as sa
    >>> type(random_sets(sa.LinearReward(5), k=2).oracle).__name__
    'RandomSets'
    """
    # The belief is never used. This one draws nothing, so it costs least.
    return Policy(UCBBelief(n_arms_of(reward)), RandomSets(), reward, k)
