"""Named combinations of a belief and an oracle, a few lines each: copy one to make your own."""

from __future__ import annotations

from typing import Any, Literal

from numpy.typing import ArrayLike

from superarm.beliefs import (
    BetaBelief,
    LearnedBetaBelief,
    MeanBelief,
    SharedSeedBelief,
    SingleSeedBelief,
    UCBBelief,
)
from superarm.core import FeasibleSets, Oracle, Policy, Reward, as_feasible
from superarm.core.members import n_arms_of, need
from superarm.oracles import (
    ESCBIndex,
    GroupTesting,
    LazySingletons,
    TopK,
)
from superarm.policies._usual import or_singletons, plain_learned_beta
from superarm.policies.baselines import (
    epsilon_greedy,
    exp3,
    explore_then_commit,
    random_sets,
)
from superarm.policies.gaussian import bg_cts, cts_gaussian
from superarm.policies.identification import clucb, lucb, successive_accepts, top_two
from superarm.sets.together import warn_of_own_draws

__all__ = [
    "bg_cts",
    "clucb",
    "cts",
    "cts_gaussian",
    "cucb",
    "epsilon_greedy",
    "escb",
    "exp3",
    "explore_then_commit",
    "gt_qts",
    "lucb",
    "random_sets",
    "single_seed_ts",
    "successive_accepts",
    "thompson",
    "top_two",
]

# The prior of all arms: learned from their outcomes, Beta(1, 1), or Beta(a, b).
Prior = Literal["learned", "flat"] | tuple[ArrayLike, ArrayLike]

# Sets of less than five places share as much as those of five.
_LEAST_SHARED = 0.8


def cts(
    reward: Reward,
    k: int | FeasibleSets,
    *,
    prior: Prior = "flat",
    oracle: Oracle | None = None,
) -> Policy:
    """Combinatorial Thompson sampling (Wang, Chen 2018); the default oracle is `Singletons`.

    ``prior`` is "flat" as in the paper, a pair (a, b), or "learned" from all arms. Each arm has a
    draw of its own from its posterior in any case. Warns of paths and matchings, for which that can
    fail for thousands of rounds (Zhang, Combes 2024): use `thompson` there.

    Examples
    --------
    >>> import superarm as sa
    >>> policy = cts(sa.LinearReward(5), k=2)
    >>> type(policy.belief).__name__, type(policy.oracle).__name__
    ('BetaBelief', 'Singletons')
    >>> cts(sa.LinearReward(5), k=2, prior="learned").belief.shared
    0.0
    """
    warn_of_own_draws(as_feasible(k, n_arms_of(reward)))
    pair = _as_pair(prior)
    n_arms = reward.n_arms
    belief = plain_learned_beta(n_arms) if pair is None else BetaBelief(n_arms, pair)
    return Policy(belief, or_singletons(oracle), reward, k)


def thompson(
    reward: Reward,
    k: int | FeasibleSets,
    *,
    prior: Prior = "learned",
    shared: float | None = None,
    horizon: int | None = None,
    oracle: Oracle | None = None,
) -> Policy:
    """Thompson sampling for many arms and few rounds, with the same settings for all problems.

    The belief is a `LearnedBetaBelief`, which learns its prior from all arms. With a ``prior`` (a,
    b), or "flat" for (1, 1), it is a `SharedSeedBelief`. ``shared`` is the part of the seed that
    all arms share, by default 1 - 1/k and at least 0.8: the k places of a set explore about as much
    together as one place with a seed of its own. ``horizon`` is the number of rounds, if it is
    known. The default oracle is `TopK` for additive rewards, else `LazySingletons`. All outcomes
    have the same weight: for means that change, use a belief that forgets, such as
    `DiscountedBetaBelief`.

    Examples
    --------
    >>> import superarm as sa
    >>> policy = thompson(sa.LinearReward(50), k=10)
    >>> type(policy.belief).__name__, policy.belief.shared, type(policy.oracle).__name__
    ('LearnedBetaBelief', 0.9, 'TopK')
    """
    need(reward, "reward", "n_arms", "additive")
    shared = shared_seed(reward.n_arms, k) if shared is None else shared
    if shared == 0:
        warn_of_own_draws(as_feasible(k, reward.n_arms), "thompson with shared=0")
    pair = _as_pair(prior)
    belief: LearnedBetaBelief | SharedSeedBelief
    if pair is None:
        belief = LearnedBetaBelief(reward.n_arms, shared=shared, horizon=horizon)
    elif horizon is None:
        belief = SharedSeedBelief(reward.n_arms, shared, pair)
    else:
        raise ValueError(f"horizon is used by the learned prior only, got prior={prior!r}")
    if oracle is None:
        oracle = TopK() if reward.additive else LazySingletons()
    return Policy(belief, oracle, reward, k)


def shared_seed(n_arms: int, k: int | FeasibleSets) -> float:
    """The part of the seed that arms share in `thompson`.

    Examples
    --------
    >>> shared_seed(50, k=3), shared_seed(50, k=10)
    (0.8, 0.9)
    """
    n_places = max(1, as_feasible(k, n_arms).n_most)
    return max(_LEAST_SHARED, 1 - 1 / n_places)


def gt_qts(reward: Reward, k: int | FeasibleSets, *, delta: float, **options: Any) -> Policy:
    """GT+QTS, the paper's Algorithm 1: Thompson sampling with group testing (Algorithm 2).

    ``options`` are those of `GroupTesting`.

    Examples
    --------
    >>> import superarm as sa
    >>> gt_qts(sa.LinearReward(5), k=2, delta=0.25, p=0.4).oracle.p
    0.4
    """
    return cts(reward, k, oracle=GroupTesting(delta=delta, **options))


def cucb(
    reward: Reward, k: int | FeasibleSets, *, clip: bool = True, oracle: Oracle | None = None
) -> Policy:
    """CUCB (Chen, Wang, Yuan 2013): upper confidence bounds; the default oracle is `Singletons`.

    Bounds are cut at 1 as in the journal version of 2016, or not (``clip=False``) as in 2013. While
    most arms have few outcomes, cut bounds are equal and the choice among them is random.

    Examples
    --------
    >>> import superarm as sa
    >>> cucb(sa.LinearReward(5), k=2).belief.exploration  # as in the paper of CUCB
    1.5
    """
    return Policy(UCBBelief(n_arms_of(reward), clip=clip), or_singletons(oracle), reward, k)


def single_seed_ts(
    reward: Reward, k: int | FeasibleSets, *, oracle: Oracle | None = None
) -> Policy:
    """Thompson sampling with one random number for all arms (Jin, Zhao, Tan, Gu 2026).

    The default oracle is `Singletons`.

    Examples
    --------
    >>> import superarm as sa
    >>> type(single_seed_ts(sa.LinearReward(5), k=2).belief).__name__
    'SingleSeedBelief'
    """
    return Policy(SingleSeedBelief(n_arms_of(reward)), or_singletons(oracle), reward, k)


def escb(reward: Reward, k: int | FeasibleSets, *, c: float = 0.0, limit: int = 10_000) -> Policy:
    """ESCB (Combes, Talebi, Proutière, Lelarge 2015): one confidence width for the whole set.

    For additive rewards only. ``c`` and ``limit`` are those of `ESCBIndex`.

    Examples
    --------
    >>> import superarm as sa
    >>> policy = escb(sa.LinearReward(5), k=2)
    >>> policy.oracle.belief is policy.belief
    True
    """
    belief = MeanBelief(n_arms_of(reward))
    # The oracle reads the counts from the same belief that the policy updates.
    return Policy(belief, ESCBIndex(belief, c=c, limit=limit), reward, k)


def _as_pair(prior: Prior) -> tuple[ArrayLike, ArrayLike] | None:
    """The numbers of a prior; None if they are learned."""
    if not isinstance(prior, str):
        return prior
    if prior not in ("learned", "flat"):
        raise ValueError(f'prior must be "learned", "flat" or a pair (a, b), got {prior!r}')
    return (1.0, 1.0) if prior == "flat" else None
