"""`auto`: the policy that an inspection recommends."""

from __future__ import annotations

import warnings
from typing import Unpack

from superarm.advice.inspection import InspectOptions, inspect
from superarm.advice.noisy_advice import PLAIN
from superarm.advice.recommendation import Recommendation
from superarm.core import Policy, Reward
from superarm.policies import Prior, thompson


def auto(
    reward: Reward,
    k: int,
    *,
    prior: Prior = "learned",
    probes: int = 200,
    **options: Unpack[InspectOptions],
) -> Policy:
    """`thompson` with the oracle that `inspect` recommends for this reward.

    If the reward is noisy, declared or not, this is an oracle for noise, with an error probability
    of 5% per run and a budget of evaluations per round, and a warning says both.

    Warns if the reward violates what is required or declared, if too few probes leave open what
    the choice depends on, and of what may go wrong with the oracle. Raises ValueError if nearly all
    evaluations fail. If the inspection is stopped, the policy follows from what is known so far.
    The evaluations of the inspection are not counted as the policy's.

    Parameters
    ----------
    reward, k
        The reward, and how many arms a set has.
    prior
        As for `thompson`.
    probes, budget, tolerance, rng, executor, should_stop, progress
        As for `inspect`.

    Examples
    --------
    >>> import superarm as sa
    >>> policy = auto(sa.LinearReward(50), k=3)
    >>> type(policy.belief).__name__, type(policy.oracle).__name__, policy.evaluations
    ('LearnedBetaBelief', 'TopK', 0)
    """
    found = inspect(reward, k=k, probes=probes, **options)
    advice = found.recommendation
    if found.failing:
        row = found["answers"]
        raise ValueError(
            f"the reward must answer, but {row.n_violated} of {row.n_probes} evaluations failed "
            f"({row.witness}); {advice.fix_first[0].partition(': ')[2]}"
        )
    if not found.ok:
        violated = ", ".join(row.name for row in found.errors)
        warnings.warn(
            f"the reward violates {violated}; print(superarm.inspect(reward, k={k})) shows how. "
            f"Going on with {advice.call()}",
            stacklevel=2,
        )
    elif advice.undecided:
        spent = f"{probes} probes" if found.budget is None else f"{found.evaluations:,} evaluations"
        warnings.warn(
            f"{spent} leave undecided whether the reward is {_as_adjectives(advice)}. Going on "
            f"with {advice.oracle}. {advice.to_decide()}",
            stacklevel=2,
        )
    if advice.oracle in PLAIN:
        warnings.warn(
            f"the reward is noisy: {advice.call()} makes at most {advice.evaluations:,} "
            f"evaluations per round. For another budget, superarm.thompson(reward, {k}, "
            f"oracle=superarm.oracles.{advice.oracle}(budget=...)); one answer per set: "
            f"oracle=superarm.{PLAIN[advice.oracle]}()",
            stacklevel=2,
        )
    for line in advice.warnings:
        warnings.warn(line, stacklevel=2)
    return thompson(reward, k, prior=prior, oracle=advice.build())


def _as_adjectives(advice: Recommendation) -> str:
    return advice.open_questions().replace("what is required or declared", "as declared")
