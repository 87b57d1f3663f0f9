"""`auto`: the policy that an inspection recommends."""

from __future__ import annotations

import warnings

import numpy as np

from superarm.advice.inspection import inspect
from superarm.advice.oracle_costs import make_oracle
from superarm.core import Policy, Reward
from superarm.policies import Prior, thompson


def auto(
    reward: Reward,
    k: int,
    *,
    prior: Prior = "learned",
    probes: int = 200,
    tolerance: float = 1e-9,
    rng: np.random.Generator | None = None,
) -> Policy:
    """`thompson` with the oracle that `inspect` recommends for this reward.

    Warns if the reward violates what is required or declared, and if too few probes leave open what
    the choice depends on. The evaluations of the inspection
    are not counted as the policy's.

    Parameters
    ----------
    reward, k
        The reward, and how many arms a set has.
    prior
        As for `thompson`.
    probes, tolerance, rng
        As for `inspect`.

    Examples
    --------
    >>> import superarm as sa
    >>> policy = auto(sa.LinearReward(50), k=3)
    >>> type(policy.belief).__name__, type(policy.oracle).__name__, policy.evaluations
    ('LearnedBetaBelief', 'TopK', 0)
    """
    found = inspect(reward, k=k, probes=probes, tolerance=tolerance, rng=rng)
    if not found.ok:
        violated = ", ".join(row.name for row in found.errors)
        warnings.warn(
            f"the reward violates {violated}; print(superarm.inspect(reward, k={k})) shows how. "
            f"Going on with {found.recommendation.oracle}",
            stacklevel=2,
        )
    elif found.recommendation.undecided:
        names = " and ".join(found.recommendation.undecided)
        warnings.warn(
            f"{probes} probes leave undecided whether the reward is {names}. Going on with "
            f"{found.recommendation.oracle}; more probes may find a cheaper oracle",
            stacklevel=2,
        )
    return thompson(reward, k, prior=prior, oracle=make_oracle(found.recommendation.oracle))
