"""Thompson sampling with normal draws, as two papers have it: for reference."""

from __future__ import annotations

from superarm.beliefs import FlatGaussianBelief
from superarm.core import FeasibleSets, Oracle, Policy, Reward, as_feasible
from superarm.core.members import n_arms_of
from superarm.policies._usual import or_singletons


def cts_gaussian(
    reward: Reward,
    k: int | FeasibleSets,
    *,
    beta: float = 1.0,
    shared: float = 0.0,
    oracle: Oracle | None = None,
) -> Policy:
    """CTS-Gaussian (Perrault, Boursier, Perchet, Valko 2020): normal draws, not cut at 0 and 1.

    ``beta`` is the factor of their variances, and arms share a part of the seed. The default oracle
    is `Singletons`.

    Examples
    --------
    >>> import superarm as sa
    >>> cts_gaussian(sa.LinearReward(5), k=2, shared=1.0).belief.shared
    1.0
    """
    belief = FlatGaussianBelief(n_arms_of(reward), boost=beta, shared=shared)
    return Policy(belief, or_singletons(oracle), reward, k)


def bg_cts(
    reward: Reward,
    k: int | FeasibleSets,
    *,
    lam: float = 0.0,
    shared: float = 0.0,
    oracle: Oracle | None = None,
) -> Policy:
    """BG-CTS (Zhang, Combes 2024): normal draws whose variance is raised, less and less.

    ``lam`` is lambda of the paper, 0 as in its experiments. The default oracle is `Singletons`.

    Examples
    --------
    >>> import superarm as sa
    >>> bg_cts(sa.LinearReward(5), k=2).belief.set_size
    2
    """
    n_most = max(1, as_feasible(k, n_arms_of(reward)).n_most)
    belief = FlatGaussianBelief(reward.n_arms, boost=1 + lam, set_size=n_most, shared=shared)
    return Policy(belief, or_singletons(oracle), reward, k)
