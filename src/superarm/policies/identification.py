"""Policies that find out which arms are the best, and spend no round on anything else."""

from __future__ import annotations

from typing import Literal

from superarm.beliefs import MeanBelief
from superarm.core import FeasibleSets, Policy, Reward
from superarm.core.arguments import as_count
from superarm.core.members import n_arms_of
from superarm.oracles import CLUCB, LUCB, SuccessiveAccepts, TopTwo
from superarm.policies._usual import plain_learned_beta


def top_two(
    reward: Reward, k: int | FeasibleSets, *, n_draws: int = 4, best: int | None = None
) -> Policy:
    """Top-two Thompson sampling for sets (Russo 2016): the default for finding the best k.

    Stop when `Session.verdict` says so, or after a number of rounds. The prior is learned from all
    arms. ``n_draws`` is that of `TopTwo`, and so is ``best``: ``top_two(reward, k=1, best=3)``
    looks for the best 3 with one arm per round. For additive rewards.

    Examples
    --------
    >>> import superarm as sa
    >>> policy = top_two(sa.LinearReward(5), k=2)
    >>> type(policy.belief).__name__, type(policy.oracle).__name__
    ('LearnedBetaBelief', 'TopTwo')
    """
    belief = plain_learned_beta(n_arms_of(reward))
    if best is not None and as_count(best, "best", least=1) > reward.n_arms:
        raise ValueError(f"best must be between 1 and {reward.n_arms} (n_arms), got {best}")
    return Policy(belief, TopTwo(belief, n_draws=n_draws, best=best), reward, k)


def clucb(reward: Reward, k: int | FeasibleSets, *, delta: float = 0.05) -> Policy:
    """CLUCB (Chen and others 2014): finds the best of any feasible sets, and certifies it.

    Stop when ``policy.oracle.report.certified``: the set is wrong with probability ``delta`` at
    most. The report is None while an arm has no outcome. For additive rewards.

    Examples
    --------
    >>> import numpy as np
    >>> import superarm as sa
    >>> policy, rng = clucb(sa.LinearReward(5), k=2), np.random.default_rng(0)
    >>> users = sa.BernoulliArms([0.1, 0.8, 0.2, 0.3, 0.9])
    >>> while not ((report := policy.oracle.report) and report.certified):
    ...     arms = policy.ask(rng=rng)
    ...     policy.tell(arms, users.pull(arms, rng=rng), rng=rng)
    >>> report.best
    array([1, 4])
    """
    belief = MeanBelief(n_arms_of(reward))
    return Policy(belief, CLUCB(belief, delta), reward, k)


def lucb(
    reward: Reward, k: int, *, delta: float = 0.05, bounds: Literal["kl", "hoeffding"] = "kl"
) -> Policy:
    """LUCB (Kalyanakrishnan and others 2012), or KL-LUCB: finds the best k, and certifies them.

    Stop as with `clucb`. For additive rewards.

    Examples
    --------
    >>> import superarm as sa
    >>> lucb(sa.LinearReward(5), k=2).oracle.bounds
    'kl'
    """
    belief = MeanBelief(n_arms_of(reward))
    return Policy(belief, LUCB(belief, delta, bounds=bounds), reward, k)


def successive_accepts(reward: Reward, k: int, *, horizon: int) -> Policy:
    """Successive accepts and rejects (Bubeck and others 2013): the best k in ``horizon`` rounds.

    After these it picks the arms that it has accepted. For additive rewards.

    Examples
    --------
    >>> import superarm as sa
    >>> successive_accepts(sa.LinearReward(5), k=2, horizon=300).oracle.horizon
    300
    """
    belief = MeanBelief(n_arms_of(reward))
    return Policy(belief, SuccessiveAccepts(belief, horizon), reward, k)
