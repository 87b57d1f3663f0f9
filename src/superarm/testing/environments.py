"""What every environment must do."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from superarm.core import Environment
from superarm.core.arguments import IndexArray
from superarm.core.environments import Expects, KnownMeans, Observes
from superarm.testing.claims import claim, claim_array, claim_refused, claim_unit, name_of

_NAN = float("nan")
# How many pulls estimate a mean, and the probability of a false alarm.
_N_PULLS, _FALSE_ALARM = 4000, 1e-4


def check_environment(make: Callable[[], Environment], *, seed: int = 0) -> None:
    """Check an environment of at least two arms: ``make()`` gives a fresh one.

    Outcomes are in [0, 1] or NaN, one per arm in the order of the arms, and repeatable. Bad arms
    are refused. If it has ``mu``, an array that a pull may replace but not write into, the outcomes
    of an arm must average to its mean in the round; or to ``expected(arms)``, if it has that, for
    environments whose outcomes do not average to mu (a false alarm is less likely than 1 in
    10,000). If it has ``observe``, that must agree with ``pull`` about the arms that are pulled.
    """
    environment = make()
    claim(isinstance(environment, Environment), f"{name_of(environment)} must have n_arms and pull")
    n_arms = environment.n_arms
    # Descending, so that an environment that sorts the arms is found out.
    arms = np.array([n_arms - 1, 0])
    outcomes = environment.pull(arms, rng=np.random.default_rng(seed))
    # A fresh one, since a pull may change the means of the next round.
    again = make().pull(arms, rng=np.random.default_rng(seed))
    claim_array(outcomes, (2,), "what pull returns")
    claim(
        np.array_equal(outcomes, again, equal_nan=True),
        "the same generator must give the same outcomes",
    )
    claim_unit(outcomes[~np.isnan(outcomes)], "outcomes that are not NaN")
    rng = np.random.default_rng(seed)
    for bad in ([n_arms], [-1], [0, 0]):
        claim_refused(partial(environment.pull, bad, rng=rng), f"arms = {bad}")
    if isinstance(environment, Observes):
        _check_observe(make, arms, seed)
    if isinstance(environment, KnownMeans):
        _check_means(environment, arms, rng)


def _check_observe(make: Callable[[], Any], arms: IndexArray, seed: int) -> None:
    # Several seeds: what is seen is random in most environments that have observe.
    for j in range(20):
        seen, did = make().observe(arms, rng=np.random.default_rng([seed, j]))
        pulled = make().pull(arms, rng=np.random.default_rng([seed, j]))
        claim(len(np.unique(seen)) == len(seen), f"observe must give distinct arms, got {seen}")
        claim(
            seen.shape == did.shape, f"observe must give one outcome per arm, got {did} for {seen}"
        )
        claim_unit(did, "outcomes")
        told = dict(zip(seen.tolist(), did.tolist(), strict=True))
        expected = [told.get(arm, _NAN) for arm in arms.tolist()]
        claim(
            np.array_equal(pulled, expected, equal_nan=True),
            f"observe and pull must agree on the arms that are pulled, got {told} and {pulled}",
        )


def _check_means(environment: Any, arms: IndexArray, rng: np.random.Generator) -> None:
    claim_array(np.asarray(environment.mu), (environment.n_arms,), "mu")
    off, errors, expects = False, np.zeros(2), isinstance(environment, Expects)
    for _ in range(_N_PULLS):
        # The means of the next pull. The copy shows whether the pull wrote into the array.
        mu = environment.mu
        before = np.array(mu)
        expected = environment.expected(arms) if expects else before[arms]
        outcomes = environment.pull(arms, rng=rng)
        # An outcome that is not seen adds no error, as if it had been equal to its mean.
        errors += np.where(np.isnan(outcomes), 0.0, outcomes - expected)
        off = off or not np.array_equal(mu, before)
    claim(not off, "mu must not be written into: an environment that changes has another array")
    # Hoeffding and Azuma: given the past, an error is within an interval of length 1 and of mean 0,
    # if whether an outcome is seen does not depend on what it is. So P(|sum| > n e) <= 2 exp(-2 n
    # e²), for each of two arms.
    bound = np.sqrt(np.log(4 / _FALSE_ALARM) / (2 * _N_PULLS))
    error = errors / _N_PULLS
    claim(
        (np.abs(error) <= bound).all(),
        f"what is seen must average to mu, or to expected(arms), got a mean error of {error}",
    )
