"""Contract checks for your own parts: what every belief, oracle, reward and environment must do.

Each check raises AssertionError with a sentence that says what is wrong, and returns nothing otherwise:

    from superarm.testing import check_oracle
    check_oracle(lambda: MyOracle())

The library's own parts pass the same checks. They are in one file, so that an author reads in one place what is asked.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from superarm.core import Belief, Environment, Oracle, Pools, Reward, Sample
from superarm.core.arguments import FloatArray, IndexArray, as_set, as_theta
from superarm.sets.feasible import Feasible, Group

__all__ = ["check_belief", "check_environment", "check_oracle", "check_reward"]

_NAN = float("nan")


def check_belief(make: Callable[[int], Belief], *, seed: int = 0) -> None:
    """Check a belief: ``make(n_arms)`` gives a fresh one.

    Samples are in [0, 1] and repeatable; what is told moves arms in the right direction; bad feedback is refused and
    changes nothing; the state is plain JSON that restores it exactly. Whether samples have the right law, only tests
    of your own can say.
    """
    rng = np.random.default_rng(seed)
    belief = make(5)
    _claim(
        isinstance(belief, Belief),
        f"{_name(belief)} must have n_arms, sample, update, state and load",
    )
    _claim(belief.n_arms == 5, f"n_arms must be what was asked for, got {belief.n_arms}")
    _check_sample(belief, seed)
    for _ in range(200):
        belief.update([4, 1], [1.0, 0.0], rng=rng)
        belief.update([2], [rng.random()], rng=rng)
    belief.update([], [], rng=rng)
    _check_sample(belief, seed)
    mean = np.mean([belief.sample(rng=rng) for _ in range(200)], axis=0)
    _claim(
        mean[4] > mean[1] + 0.5,
        f"an arm that always succeeds must look better than one that never does: {mean}",
    )

    saved = json.loads(json.dumps(belief.state()))
    twin = make(5)
    twin.load(saved)
    _claim(_json(twin) == _json(belief), "load(state()) must restore the belief exactly")
    for one in (belief, twin):
        one.update([0, 3], [0.25, 1.0], rng=np.random.default_rng(seed))
    _claim(_same_sample(belief, twin, seed), "a restored belief must go on as the saved one does")

    _refuses(belief, lambda: belief.update([0], [_NAN], rng=rng), "a NaN outcome")
    _refuses(belief, lambda: belief.update([0], [1.5], rng=rng), "an outcome above 1")
    _refuses(belief, lambda: belief.update([0], [-0.5], rng=rng), "an outcome below 0")
    _refuses(belief, lambda: belief.update([0, 0], [1.0, 1.0], rng=rng), "the same arm twice")
    _refuses(belief, lambda: belief.update([5], [1.0], rng=rng), "an arm beyond the last")
    _refuses(belief, lambda: belief.update([-1], [1.0], rng=rng), "a negative arm")
    _refuses(belief, lambda: belief.update([0, 1], [1.0], rng=rng), "fewer outcomes than arms")
    _refuses(belief, lambda: belief.load({}), "an empty state")
    _refuses(belief, lambda: belief.load(make(4).state()), "a state of another number of arms")


def check_oracle(
    make: Callable[[], Oracle],
    *,
    exact: bool = False,
    draws: bool = True,
    feasible: bool = False,
    seed: int = 0,
) -> None:
    """Check an oracle: ``make()`` gives a fresh one.

    ``exact``: it finds the best set of an additive reward. ``draws``: it draws more than ties need; False has it
    checked that nothing is drawn where there is no tie. ``feasible``: it knows constraints, and picks only sets that a
    `Feasible` allows; without that it may refuse them instead, but not ignore them.

    The answer is k distinct arms, ascending; theta is left alone, and may be a `Sample`, which is what `Policy` hands
    over; the same generator gives the same answer; k equal to n_arms gives every arm; equal arms are all chosen now
    and then; bad requests are refused unevaluated.
    """
    reward = _Sum(6)
    theta = np.array([0.3, 0.9, 0.1, 0.5, 0.7, 0.2])
    before = theta.copy()
    _claim(isinstance(make(), Oracle), f"{_name(make())} must have select and report")
    if not draws:
        rng, untouched = np.random.default_rng(seed), np.random.default_rng(seed)
        make().select(reward, theta, 3, rng=rng)
        _claim(
            rng.bit_generator.state == untouched.bit_generator.state,
            "nothing must be drawn where there is no tie",
        )
    for k in (1, 3, 6):
        arms = make().select(reward, theta, k, rng=np.random.default_rng(seed))
        again = make().select(reward, theta, k, rng=np.random.default_rng(seed))
        _claim(
            isinstance(arms, np.ndarray) and arms.dtype == np.intp,
            f"arms must be an intp array, got {arms!r}",
        )
        _claim(arms.shape == (k,), f"arms must have shape ({k},), got {arms.shape}")
        _claim(bool((np.diff(arms) > 0).all()), f"arms must be distinct and ascending, got {arms}")
        _claim(bool(arms[0] >= 0 and arms[-1] < 6), f"arms must be between 0 and 5, got {arms}")
        _claim(
            np.array_equal(arms, again),
            f"the same generator must give the same arms, got {arms} and {again}",
        )
        _claim(np.array_equal(theta, before), "select must not write into theta")
        rng = np.random.default_rng(seed)
        drawn = make().select(reward, Sample(_Guess(theta), rng), k, rng=rng)
        _claim(
            np.array_equal(arms, drawn),
            f"a Sample must give the arms that an array gives: {arms}, got {drawn}",
        )
        if exact:
            best = np.sort(np.argsort(theta)[-k:])
            _claim(np.array_equal(arms, best), f"an exact oracle must find {best}, got {arms}")
    oracle = make()
    rng = np.random.default_rng(seed)
    chosen = np.bincount(
        np.ravel([oracle.select(reward, np.full(6, 0.5), 2, rng=rng) for _ in range(200)]),
        minlength=6,
    )
    # Each of 6 equal arms is in a set of 2 with chance 1/3: (2/3)^200 < 1e-35 that one never is.
    _claim(
        bool((chosen > 0).all()),
        f"equal arms must be chosen at random, not by index: {chosen} times each",
    )

    asked = reward.n_asked
    for bad in (theta[:5], np.append(theta[:5], _NAN), np.append(theta[:5], 1.5), theta[None]):
        _raises(lambda bad=bad: oracle.select(reward, bad, 2, rng=rng), f"theta = {bad}")  # type: ignore[misc]
    for k in (0, 7, -1):
        _raises(lambda k=k: oracle.select(reward, theta, k, rng=rng), f"k = {k} of 6 arms")  # type: ignore[misc]
    _claim(reward.n_asked == asked, "a request that is refused must not cost evaluations")
    _check_feasible(make, theta, exact=exact, draws=draws, required=feasible, seed=seed)


def check_reward(reward: Reward, *, n_probes: int = 200, seed: int = 0) -> None:
    """Check a reward of at least two arms, by probing: batches against single calls, and what it declares.

    Declarations that are tested: Lipschitz, bounded, mean-only (a set's value must not depend on the means of arms
    outside it), monotone, zero is absent, additive; and diminishing, where it is declared.
    """
    rng = np.random.default_rng(seed)
    _claim(isinstance(reward, Reward), f"{_name(reward)} must have all that superarm.Reward has")
    n_arms, lipschitz = reward.n_arms, np.broadcast_to(reward.lipschitz, reward.n_arms)
    slack = 1e-9 * max(1.0, reward.upper)
    sizes = rng.integers(0, n_arms + 1, n_probes)
    sets = [np.sort(rng.choice(n_arms, size, replace=False)) for size in sizes]
    sets += [np.arange(0), np.arange(n_arms)]
    pools = Pools.of(sets, n_arms)
    for theta in (rng.random(n_arms), np.zeros(n_arms), np.ones(n_arms)):
        values = reward.batch(pools, theta)
        _claim(
            values.shape == (len(pools),),
            f"batch must have shape ({len(pools)},), got {values.shape}",
        )
        single = np.array([reward(arms, theta[arms]) for arms in sets])
        _claim(
            np.allclose(values, single, rtol=0, atol=slack), "batch must agree with single calls"
        )
        _claim(
            bool((values >= -slack).all() and (values <= reward.upper + slack).all()),
            "values must be in [0, upper]",
        )
        moved = rng.random(n_arms)
        change = np.abs(reward.batch(pools, moved) - values)
        allowed = pools.sum(lipschitz * np.abs(moved - theta)) + slack
        _claim(
            bool((change <= allowed).all()), "the declared lipschitz must bound how values change"
        )
        one = pools[0]
        outside = moved.copy()
        outside[one] = theta[one]
        alone = reward.batch(Pools.of([one], n_arms), outside)
        _claim(
            bool(np.isclose(alone[0], values[0], rtol=0, atol=slack)),
            "a value must not depend on arms outside",
        )
    _check_declarations(reward, slack, rng)
    for bad in (np.zeros(n_arms + 1), np.full(n_arms, _NAN), np.full(n_arms, 1.5)):
        _raises(lambda bad=bad: reward.batch(pools, bad), f"theta of shape {bad.shape}, {bad[0]}")  # type: ignore[misc]
    _raises(lambda: reward([0, 0], [0.5, 0.5]), "the same arm twice")
    _raises(lambda: reward([n_arms], [0.5]), "an arm beyond the last")
    _raises(lambda: reward([0], [0.5, 0.5]), "more means than arms")


def check_environment(make: Callable[[], Environment], *, seed: int = 0) -> None:
    """Check an environment of at least two arms: ``make()`` gives a fresh one.

    Outcomes are in [0, 1] or NaN, one for each arm in their order, and repeatable; bad arms are refused. Where it has
    ``mu``, an array that a pull may replace but not write into, what is seen of an arm must agree with its mean in the
    round; or with ``expected(arms)``, where it has that, for worlds in which outcomes do not average to mu (a false
    alarm is less likely than 1 in 10,000). Where it has ``observe``, that must tell of the arms of ``pull`` the same.
    """
    environment = make()
    _claim(isinstance(environment, Environment), f"{_name(environment)} must have n_arms and pull")
    n_arms = environment.n_arms
    arms = np.array([n_arms - 1, 0])
    outcomes = environment.pull(arms, rng=np.random.default_rng(seed))
    again = make().pull(arms, rng=np.random.default_rng(seed))
    _claim(
        outcomes.shape == (2,),
        f"pull must give one outcome for each arm, got shape {outcomes.shape}",
    )
    _claim(
        np.array_equal(outcomes, again, equal_nan=True),
        "the same generator must give the same outcomes",
    )
    seen = outcomes[~np.isnan(outcomes)]
    _claim(
        bool(((seen >= 0) & (seen <= 1)).all()),
        f"outcomes must be in [0, 1] or NaN, got {outcomes}",
    )
    rng = np.random.default_rng(seed)
    for bad in ([n_arms], [-1], [0, 0]):
        _raises(lambda bad=bad: environment.pull(bad, rng=rng), f"arms = {bad}")  # type: ignore[misc]
    if hasattr(environment, "observe"):
        _check_observe(make, arms, seed)
    if hasattr(environment, "mu"):
        _check_means(environment, arms, rng)


class _Sum:
    """The smallest reward there is; counts what it is asked."""

    lipschitz, monotone, zero_is_absent, additive = 1.0, True, True, True

    def __init__(self, n_arms: int) -> None:
        self.n_arms, self.upper, self.n_asked = n_arms, float(n_arms), 0

    def __call__(self, arms: ArrayLike, means: ArrayLike) -> float:
        self.n_asked += 1
        return float(as_set(arms, means, self.n_arms)[1].sum())

    def batch(self, pools: Pools, theta: ArrayLike) -> FloatArray:
        self.n_asked += len(pools)
        return pools.sum(as_theta(theta, self.n_arms, pools))


def _check_observe(make: Callable[[], Any], arms: IndexArray, seed: int) -> None:
    for j in range(20):
        seen, did = make().observe(arms, rng=np.random.default_rng([seed, j]))
        pulled = make().pull(arms, rng=np.random.default_rng([seed, j]))
        _claim(len(np.unique(seen)) == len(seen), f"observe must tell of distinct arms, got {seen}")
        _claim(
            seen.shape == did.shape,
            f"observe must give one outcome for each arm, got {did} for {seen}",
        )
        _claim(bool(((did >= 0) & (did <= 1)).all()), f"outcomes must be in [0, 1], got {did}")
        told = dict(zip(seen.tolist(), did.tolist(), strict=True))
        same = np.array_equal(
            pulled, [told.get(arm, _NAN) for arm in arms.tolist()], equal_nan=True
        )
        _claim(
            same,
            f"observe and pull must agree on the arms that are pulled, got {told} and {pulled}",
        )


def _check_means(environment: Any, arms: IndexArray, rng: np.random.Generator) -> None:
    n, off, errors = 4000, False, np.zeros(2)
    for _ in range(n):
        mu = environment.mu
        before = np.array(mu)
        expected = environment.expected(arms) if hasattr(environment, "expected") else before[arms]
        outcomes = environment.pull(arms, rng=rng)
        errors += np.where(np.isnan(outcomes), 0.0, outcomes - expected)
        off = off or not np.array_equal(mu, before)
    _claim(not off, "mu must not be written into: a world that changes has another array")
    # Hoeffding and Azuma: given the past, an error is within an interval of length 1 and of mean 0, if whether an
    # outcome is seen does not depend on what it is. So P(|sum| > n e) <= 2 exp(-2 n e²), for each of two arms.
    bound = np.sqrt(np.log(4 / 1e-4) / (2 * n))
    _claim(
        bool((np.abs(errors / n) <= bound).all()),
        f"what is seen must average to mu, or to expected(arms), got a mean error of {errors / n}",
    )


def _check_feasible(
    make: Callable[[], Oracle],
    theta: FloatArray,
    *,
    exact: bool,
    draws: bool,
    required: bool,
    seed: int,
) -> None:
    reward = _Sum(6)
    pairs = [Group([0, 1], most=1), Group([2, 3], least=1), Group([4, 5], most=1)]
    weights = np.array([1.0, 5.0, 1.0, 2.0, 4.0, 1.0])
    requests = [
        Feasible(2, available=[0, 2, 3, 5]),
        Feasible(3, must=[2], must_not=[1]),
        Feasible(3, groups=pairs),
        Feasible(5, at_most=True, must=[5], groups=pairs, available=theta != 0.5),
        Feasible(3, weights=weights, budget=6.0),
        Feasible(4, at_most=True, groups=pairs, weights=weights, budget=5.0),
    ]
    for request in requests:
        rng, untouched = np.random.default_rng(seed), np.random.default_rng(seed)
        try:
            arms = make().select(reward, theta, request, rng=rng)
        except TypeError:
            _claim(not required, f"an oracle that knows constraints must take a {request}")
            return
        known = request.for_arms(6)
        _claim(known.is_feasible(arms), f"a set must be feasible for {request}, got {arms}")
        _claim(bool((np.diff(arms) > 0).all()), f"arms must be distinct and ascending, got {arms}")
        best = max(float(theta[one].sum()) for one in known.sets())
        if exact and known.weights is None:
            _claim(
                float(theta[arms].sum()) > best - 1e-9,
                f"an exact oracle must find a set worth {best}, got {arms}",
            )
        if not draws:
            _claim(
                rng.bit_generator.state == untouched.bit_generator.state,
                "nothing must be drawn without a tie",
            )
    oracle, rng = make(), np.random.default_rng(seed)
    chosen = np.zeros(6, np.intp)
    for _ in range(200):
        chosen[oracle.select(reward, np.full(6, 0.5), requests[2], rng=rng)] += 1
    # There are 12 sets, each arm in 5 or more: (7/12)^200 < 1e-46 that one never is, if all are as likely.
    _claim(
        bool((chosen > 0).all()),
        f"equal arms must be chosen at random, not by index: {chosen} times each",
    )
    asked = reward.n_asked
    _raises(
        lambda: oracle.select(reward, theta, Feasible(3, available=[0, 1]), rng=rng),
        "more arms than are available",
    )
    _claim(reward.n_asked == asked, "a request that is refused must not cost evaluations")


class _Guess:
    """What a Sample needs of a belief."""

    def __init__(self, theta: FloatArray) -> None:
        self.theta, self.n_arms = theta, len(theta)

    def sample(self, *, rng: np.random.Generator) -> FloatArray:
        return self.theta.copy()


def _check_declarations(reward: Reward, slack: float, rng: np.random.Generator) -> None:
    n_arms = reward.n_arms
    singletons = Pools.singletons(np.arange(n_arms), n_arms)
    empty = reward.batch(Pools.of([[]], n_arms), np.zeros(n_arms))[0]
    if reward.zero_is_absent:
        alone = reward.batch(singletons, np.zeros(n_arms))
        _claim(
            np.allclose(alone, empty, rtol=0, atol=slack),
            "zero_is_absent: a mean of 0 must be worth the empty set",
        )
    grid = np.linspace(0, 1, 33)
    curves = np.array([reward.batch(singletons, np.full(n_arms, x)) for x in grid])
    if reward.monotone:
        _claim(
            bool((np.diff(curves, axis=0) >= -slack).all()),
            "monotone: a single arm's value must rise with its mean",
        )
    if getattr(reward, "diminishing", False):
        for _ in range(50):
            low = rng.random(n_arms) * (rng.random(n_arms) < 0.5)
            high = low + (1 - low) * rng.random(n_arms) * (rng.random(n_arms) < 0.5)
            arm = int(rng.integers(n_arms))
            by = rng.random() * (1 - high[arm])
            gains = [
                _of_the_present(reward, means, arm, by) - _of_the_present(reward, means)
                for means in (low, high)
            ]
            _claim(gains[1] >= -slack, "diminishing: a higher mean must not lower a value")
            _claim(
                gains[1] <= gains[0] + slack,
                "diminishing: a higher mean must raise a value less at higher means",
            )
    if reward.additive:
        theta = rng.random(n_arms)
        alone = reward.batch(singletons, theta)
        order = np.argsort(theta)
        _claim(
            bool((np.diff(alone[order]) >= -slack).all()),
            "additive: the order of theta must be the order of value",
        )
        pair = reward([0, 1], theta[:2])
        _claim(
            abs(pair - alone[0] - alone[1] + empty) <= slack,
            "additive: a pair must be worth the sum of its arms",
        )


def _of_the_present(reward: Reward, means: FloatArray, arm: int = 0, by: float = 0.0) -> float:
    """The value of the arms whose means are above zero, the mean of one of them being raised."""
    raised = means.copy()
    raised[arm] = min(1.0, raised[arm] + by)
    arms = np.flatnonzero(raised)
    return reward(arms, raised[arms])


def _check_sample(belief: Belief, seed: int) -> None:
    theta = belief.sample(rng=np.random.default_rng(seed))
    again = belief.sample(rng=np.random.default_rng(seed))
    _claim(
        theta.shape == (belief.n_arms,),
        f"sample must have shape ({belief.n_arms},), got {theta.shape}",
    )
    _claim(bool(((theta >= 0) & (theta <= 1)).all()), f"a sample must be in [0, 1], got {theta}")
    _claim(
        np.array_equal(theta, again),
        "the same generator must give the same sample, and sampling change nothing",
    )


def _same_sample(one: Belief, other: Belief, seed: int) -> bool:
    samples = [belief.sample(rng=np.random.default_rng(seed)) for belief in (one, other)]
    return np.array_equal(samples[0], samples[1])


def _refuses(belief: Belief, action: Callable[[], Any], what: str) -> None:
    before = copy.deepcopy(belief.state())
    _raises(action, what)
    _claim(belief.state() == before, f"refusing {what} must change nothing")


def _raises(action: Callable[[], Any], what: str) -> None:
    try:
        action()
    except (ValueError, TypeError):
        return
    raise AssertionError(f"{what} must be refused with a ValueError or TypeError")


def _claim(holds: bool, message: str) -> None:
    if not holds:
        raise AssertionError(message)


def _json(belief: Belief) -> str:
    return json.dumps(belief.state(), sort_keys=True)


def _name(thing: object) -> str:
    return type(thing).__name__
