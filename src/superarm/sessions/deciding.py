"""One decision: what the policy picks, under which id, and what is kept to explain it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from superarm.core import FeasibleSets, KOfM, Policy
from superarm.core.arguments import IndexArray
from superarm.offpolicy.propensities import Propensities, propensities
from superarm.sessions.decisions import Decision, Name, Record
from superarm.sessions.explain import Kept


@dataclass(frozen=True, slots=True)
class Occasion:
    """What a decision is made under: its id, its round, the time, and whether it is to be explained.

    ``samples`` is where ``n_samples`` samples of its propensities come from; none are drawn for 0.
    """

    id: str
    round: int
    time: float
    explained: bool
    n_samples: int
    samples: np.random.Generator | None


def decide(
    policy: Policy, k: FeasibleSets, names: list[Name], on: Occasion, *, rng: np.random.Generator
) -> tuple[Record, Kept]:
    """Ask the policy once."""
    # First, since a decision may change what the oracle remembers.
    chances = (
        None
        if on.samples is None
        else propensities(policy, on.n_samples, rng=on.samples, feasible=k)
    )
    before = policy.oracle.report
    arms, theta = policy.decide(rng=rng, feasible=k)
    report = policy.oracle.report
    # A report that was there before says nothing of this round, as where an answer is repeated.
    report = None if report is before else report
    values = theta.drawn(arms)
    decision = Decision(
        on.id,
        tuple([names[arm] for arm in arms.tolist()]),
        None if values is None else tuple(values.tolist()),
        bool(getattr(report, "certified", False)),
        on.round,
        on.time,
        **({} if chances is None else _with(chances.counting(arms), arms)),
    )
    posterior = (
        policy.belief.posterior(arms)
        if on.explained and hasattr(policy.belief, "posterior")
        else None
    )
    return Record(decision, arms), Kept(
        arms, theta, report, posterior, None if isinstance(k, KOfM) else k.undecided
    )


def _with(chances: Propensities, arms: IndexArray) -> dict[str, Any]:
    """What a decision says of its probabilities."""
    return {
        "propensities": tuple(chances.arms[arms].tolist()),
        "set_propensity": chances.set_probability(arms),
        "n_samples": chances.n_samples,
    }
