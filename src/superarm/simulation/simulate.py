"""Playing a policy against an environment.

The loop below is all there is to it; the rest of this file checks arguments and shows arms in
another order.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.ma import MaskedArray

from superarm.core import Environment, Policy, Reward
from superarm.core.arguments import (
    FloatArray,
    IndexArray,
    as_arms,
    as_count,
    as_unit,
    refuse_masked,
)
from superarm.core.contexts import GivesContext
from superarm.core.environments import Observes
from superarm.core.members import need
from superarm.simulation.trace import Recorder, Trace

Order = Literal["ascending", "best first"]


def simulate(
    policy: Policy,
    environment: Environment,
    *,
    horizon: int,
    rng: np.random.Generator,
    reward: Reward | None = None,
    world_rng: np.random.Generator | None = None,
    order: Order = "ascending",
    progress: Callable[[int], None] | None = None,
) -> Trace:
    """Play ``horizon`` rounds: ask, pull, tell.

    Parameters
    ----------
    policy, environment
        The policy that chooses sets, and the environment that gives outcomes. The policy learns, so
        make a new one for the next run. An outcome may be NaN: it was not seen, and the policy gets
        no feedback for that arm. If the environment has
        ``observe(arms, *, rng) -> (arms, outcomes)``, it is called instead of ``pull``, and the
        policy gets all outcomes that were seen, also of arms outside the set. If it has
        ``context(*, rng)``, that begins each round, and the policy gets the context. If ``mu`` and
        ``best_value`` of the environment change, each round is valued with its own.
    horizon
        How many rounds.
    rng
        The generator of the policy, and by default of the environment.
    reward
        The true reward of the sets, if it differs from the policy's own. Not counted as
        evaluations.
    world_rng
        A separate generator for the environment.
    order
        The order in which the arms of a set are shown to the environment. "best first" sorts by the
        sampled means, for environments where the place of an arm matters, such as `CascadingArms`
        and `PositionBiasedArms`. The value of a set does not depend on the order.
    progress
        Called after each round with the number of rounds done.

    Examples
    --------
    >>> import superarm as sa
    >>> rng = np.random.default_rng(0)
    >>> instance = sa.linear_instance(20, 3, 0.2, rng=rng)
    >>> trace = simulate(sa.cts(instance.reward, 3), instance, horizon=500, rng=rng)
    >>> trace.regret()[[0, 99, 499]].round(2)
    array([ 2.6 , 30.57, 40.27])
    >>> int(trace.evaluations.sum())
    10000
    """
    horizon = as_count(horizon, "horizon")
    _check(policy, environment, order)
    # Valuing the sets is the experimenter's work: it must not count as the policy's evaluations.
    true_reward = policy.reward.uncounted if reward is None else reward
    recorder = Recorder(policy, environment, true_reward, horizon)
    ask = policy.ask if order == "ascending" else partial(_best_first, policy)
    pull = _observe if isinstance(environment, Observes) else _pull
    contexts: Any = environment if isinstance(environment, GivesContext) else None
    world_rng = world_rng or rng
    for t in range(horizon):
        known = {} if contexts is None else {"context": contexts.context(rng=world_rng)}
        arms = recorder.ask(t, ask, rng=rng, **known)
        shown, seen, outcomes = pull(environment, arms, rng=world_rng)
        recorder.outcomes[t, : len(shown)] = shown
        # Only what was seen: a NaN would be refused.
        policy.tell(seen, outcomes, rng=rng, places=_places(arms, seen), **known)
        if progress is not None:
            progress(t + 1)
    return recorder.trace()


def _best_first(policy: Policy, *, rng: np.random.Generator, **known: Any) -> IndexArray:
    """The set of this round, its arms by descending sampled means."""
    chosen, theta = policy.decide(rng=rng, **known)
    values = theta.drawn(chosen)
    # An oracle that did not look at theta leaves nothing to sort by.
    return chosen if values is None else chosen[np.argsort(-values, kind="stable")]


def _pull(
    environment: Any, arms: IndexArray, *, rng: np.random.Generator
) -> tuple[FloatArray, IndexArray, FloatArray]:
    """The outcome of each arm, NaN if not seen; the arms that were seen; their outcomes."""
    given, what = environment.pull(arms, rng=rng), "the outcomes that environment.pull returned"
    if isinstance(given, MaskedArray):
        refuse_masked(given, what)
    outcomes = np.asarray(given)
    is_seen = np.equal(outcomes, outcomes)  # False for NaN
    if is_seen.all():
        shown = as_unit(outcomes, what, arms.shape)
        return shown, arms, shown
    shown = as_unit(np.where(is_seen, outcomes, 0.0), what, arms.shape)
    # The check refuses NaN, so 0 stood in for them.
    shown[~is_seen] = np.nan
    return shown, arms[is_seen], shown[is_seen]


def _places(arms: IndexArray, seen: IndexArray) -> IndexArray | None:
    """The places of the arms that were seen.

    None if the whole set was seen, or arms outside it: then places do not matter.
    """
    if len(seen) >= len(arms):
        return None
    places = {arm: place for place, arm in enumerate(arms.tolist())}
    found = [places.get(arm) for arm in seen.tolist()]
    return None if None in found else np.array(found, np.intp)


def _observe(
    environment: Any, arms: IndexArray, *, rng: np.random.Generator
) -> tuple[FloatArray, IndexArray, FloatArray]:
    """What `_pull` gives, for an environment that also shows outcomes of arms outside the set."""
    given, outcomes = environment.observe(arms, rng=rng)
    seen = as_arms(given, environment.n_arms)
    what = "the outcomes that environment.observe returned"
    outcomes = as_unit(outcomes, what, seen.shape)
    of_all = np.full(environment.n_arms, np.nan)
    of_all[seen] = outcomes
    return of_all[arms], seen, outcomes


def _check(policy: Policy, environment: Environment, order: Order) -> None:
    if order not in ("ascending", "best first"):
        raise ValueError(f"order must be 'ascending' or 'best first', got {order!r}")
    need(policy, "policy", "ask", "tell", "reward")
    need(environment, "environment", "n_arms", "pull")
    if environment.n_arms != policy.reward.n_arms:
        raise ValueError(
            "policy and environment must have the same number of arms, "
            f"got {policy.reward.n_arms} and {environment.n_arms}"
        )
