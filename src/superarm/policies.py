"""Named combinations of a belief and an oracle, a few lines each: copy one to make your own."""

from __future__ import annotations

from typing import Any

from superarm.beliefs import BetaBelief, UCBBelief
from superarm.core import Choices, Oracle, Policy, Reward
from superarm.oracles import GroupTesting, RandomSets, Singletons


def cts(reward: Reward, k: int | Choices, *, oracle: Oracle | None = None) -> Policy:
    """Combinatorial Thompson sampling (Wang, Chen 2018), with Oracle+ unless another oracle is given.

    Examples
    --------
    >>> import superarm as sa
    >>> policy = cts(sa.LinearReward(5), k=2)
    >>> type(policy.belief).__name__, type(policy.oracle).__name__
    ('BetaBelief', 'Singletons')
    """
    return Policy(BetaBelief(reward.n_arms), Singletons() if oracle is None else oracle, reward, k)


def gt_qts(reward: Reward, k: int | Choices, *, delta: float, **options: Any) -> Policy:
    """GT+QTS, the paper's Algorithm 1: Thompson sampling with the group-testing oracle of Algorithm 2.

    ``options`` are those of `GroupTesting`.

    Examples
    --------
    >>> import superarm as sa
    >>> gt_qts(sa.LinearReward(5), k=2, delta=0.25, p=0.4).oracle.p
    0.4
    """
    return cts(reward, k, oracle=GroupTesting(delta=delta, **options))


def cucb(reward: Reward, k: int | Choices, *, oracle: Oracle | None = None) -> Policy:
    """CUCB (Chen, Wang, Yuan 2013): upper confidence bounds in place of draws, with Oracle+ unless told otherwise.

    Examples
    --------
    >>> import superarm as sa
    >>> type(cucb(sa.LinearReward(5), k=2).belief).__name__
    'UCBBelief'
    """
    return Policy(UCBBelief(reward.n_arms), Singletons() if oracle is None else oracle, reward, k)


def random_sets(reward: Reward, k: int | Choices) -> Policy:
    """k arms uniformly at random in every round: the line that a policy has to stay below.

    Examples
    --------
    >>> import superarm as sa
    >>> type(random_sets(sa.LinearReward(5), k=2).oracle).__name__
    'RandomSets'
    """
    # The belief is never looked at; the one that draws nothing costs least.
    return Policy(UCBBelief(reward.n_arms), RandomSets(), reward, k)
