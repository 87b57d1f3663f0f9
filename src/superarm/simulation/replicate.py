"""Playing the same problem many times with independent seeds."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, as_completed
from contextlib import suppress
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from superarm.core import Environment, Policy
from superarm.core.arguments import as_count
from superarm.simulation.simulate import Order, simulate
from superarm.simulation.trace import Trace

# By their ids, the beliefs that have played and are still in use: a run must not go on with one.
_PLAYED: WeakValueDictionary[int, Any] = WeakValueDictionary()

Make = Callable[[np.random.Generator], tuple[Policy, Environment]]


def replicate(
    make: Make,
    *,
    n_runs: int,
    horizon: int,
    seed: int,
    executor: Executor | None = None,
    order: Order = "ascending",
    progress: Callable[[int], None] | None = None,
) -> list[Trace]:
    """Play the same problem ``n_runs`` times with independent seeds.

    The result does not depend on the executor. The seed of each run gives three random streams: one
    for ``make``, one for the policy and one for the environment. So two policies that are
    replicated with the same seed meet the same instances, and environments with the same draws:
    their runs are pairs.

    Parameters
    ----------
    make
        ``make(rng) -> (policy, environment)``, called once per run; both must be new. Picklable if
        the executor needs it. Return an `Instance` as the environment if you want the regret.
    n_runs, horizon
        How many runs, of how many rounds.
    seed
        Determines all random numbers.
    executor
        Any ``concurrent.futures.Executor``. By default the runs are played one after the other in
        this process.
    order
        The order in which the arms of a set are shown, as in `simulate`.
    progress
        Called after each run with the number of runs done.

    Examples
    --------
    >>> import superarm as sa
    >>> def make(rng):
    ...     instance = sa.linear_instance(20, 3, 0.2, rng=rng)
    ...     return sa.cts(instance.reward, 3), instance
    >>> traces = replicate(make, n_runs=3, horizon=200, seed=1)
    >>> [round(float(trace.regret()[-1]), 2) for trace in traces]
    [51.29, 66.04, 50.29]
    """
    # One child per run, whatever the executor: the result does not depend on who plays a run when.
    seeds = np.random.SeedSequence(as_count(seed, "seed")).spawn(as_count(n_runs, "n_runs"))
    if executor is not None:
        return _with_executor(executor, make, horizon, seeds, order, progress)
    traces = []
    for n_done, run_seed in enumerate(seeds, start=1):
        traces.append(run_one(make, horizon, run_seed, order))
        if progress is not None:
            progress(n_done)
    return traces


def run_one(
    make: Make, horizon: int, seed: np.random.SeedSequence, order: Order = "ascending"
) -> Trace:
    """One run of `replicate`, from its own seed."""
    # The children have fixed keys. Calling spawn twice on one SeedSequence would give new streams.
    make_rng, policy_rng, environment_rng = (
        np.random.default_rng(np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, i)))
        for i in range(3)
    )
    made = make(make_rng)
    if not (isinstance(made, tuple | list) and len(made) == 2 and isinstance(made[0], Policy)):
        raise TypeError(f"make must return a policy and an environment, got {made!r:.100}")
    policy, environment = made
    _check_new(policy)
    return simulate(
        policy, environment, horizon=horizon, rng=policy_rng, world_rng=environment_rng, order=order
    )


def _check_new(policy: Policy) -> None:
    """Refuse a policy that has evaluated a reward, or a belief that has played in another run."""
    belief = policy.belief
    if policy.evaluations or _PLAYED.get(id(belief)) is belief:
        raise ValueError(
            "make must return a new policy with a new belief for each run, got one that has "
            "already played; create both inside make"
        )
    # A belief with slots may not allow references that do not keep it.
    with suppress(TypeError):
        _PLAYED[id(belief)] = belief


def _with_executor(
    executor: Executor,
    make: Make,
    horizon: int,
    seeds: list[np.random.SeedSequence],
    order: Order,
    progress: Callable[[int], None] | None,
) -> list[Trace]:
    futures = [executor.submit(run_one, make, horizon, seed, order) for seed in seeds]
    try:
        for n_done, future in enumerate(as_completed(futures), start=1):
            future.result()  # the first failure ends the wait
            if progress is not None:
                progress(n_done)
    # Also for a keyboard interrupt: runs that have not started would go on for hours.
    except BaseException:
        for future in futures:
            future.cancel()
        raise
    # In the order of the runs, not in the order in which they finished.
    return [future.result() for future in futures]
