"""Begin with the outcomes of an older system. They are in the first event, so replay has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from superarm.core import Policy
from superarm.offpolicy import ShownLog
from superarm.service.problems import Problem, shown

# The first event is read whenever a bandit is loaded, so it must not become too long.
_MOST_OUTCOMES = 1_000_000


def stored(given: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The warm start of a request as the log has it: only the rounds that count, arms by number."""
    numbers = {name: number for number, name in enumerate(names)}
    rounds, strength = given["rounds"], given["strength"]
    if strength < 1:
        # From a fixed seed, so that the same request makes the same bandit.
        counts = np.random.default_rng(0).random(len(rounds)) < strength
        rounds = [rounds[place] for place in np.flatnonzero(counts).tolist()]
    n_outcomes = sum(len(one["arms"]) for one in rounds)
    if n_outcomes > _MOST_OUTCOMES:
        raise Problem(
            422,
            f"a warm start must have at most {_MOST_OUTCOMES:,} outcomes, got {n_outcomes:,}",
            fix="take a smaller strength, or later rounds only",
        )
    return {
        "strength": strength,
        "arms": [_numbers(one, numbers) for one in rounds],
        "outcomes": [one["outcomes"] for one in rounds],
    }


def _numbers(one: Mapping[str, Any], numbers: Mapping[str, int]) -> list[int]:
    """The arms of a round by number, once the round is known to be good."""
    arms = one["arms"]
    if unknown := next((name for name in arms if name not in numbers), None):
        raise Problem(
            422, f"rounds of a warm start must be of the arms, got one of {shown(unknown)}"
        )
    if len(set(arms)) < len(arms) or len(arms) != len(one["outcomes"]):
        raise Problem(
            422,
            f"rounds of a warm start must have distinct arms with an outcome each, got "
            f"{shown(one)}",
        )
    return [numbers[name] for name in arms]


def teach(policy: Policy, spec: Mapping[str, Any]) -> None:
    """Tell a new policy the rounds of its spec, if there are any."""
    known = spec.get("warm_start")
    if known is None or not known["arms"]:
        return
    sizes = [len(arms) for arms in known["arms"]]
    log = ShownLog(
        rounds=np.repeat(np.arange(len(sizes)), sizes),
        arms=np.array(list(chain.from_iterable(known["arms"])), np.intp),
        # An outcome that is not known is None, and becomes NaN.
        outcomes=np.array(list(chain.from_iterable(known["outcomes"])), np.float64),
        names=tuple(range(policy.reward.n_arms)),
        # The arms of a round are in the order of their places.
        positions=np.concatenate([np.arange(1, size + 1) for size in sizes]),
    )
    log.teach(policy, rng=np.random.default_rng(spec["seed"]))


def rounds_of(log: ShownLog) -> list[dict[str, Any]]:
    """The rounds of a log as a request has them."""
    order = np.arange(len(log))
    if log.positions is not None:
        order = np.lexsort((log.positions, log.rounds))
    names = np.array([str(name) for name in log.names], object)
    starts = np.flatnonzero(np.diff(log.rounds[order])) + 1
    columns = (names[log.arms[order]], log.outcomes[order])
    arms, outcomes = (np.split(column, starts) for column in columns)
    return [
        {"arms": some.tolist(), "outcomes": [None if np.isnan(y) else y for y in told.tolist()]}
        for some, told in zip(arms, outcomes, strict=True)
    ]
