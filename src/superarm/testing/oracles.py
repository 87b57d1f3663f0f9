"""What every oracle must do."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from superarm.core import Oracle, Pools, Report, Sample, Scores
from superarm.core.arguments import FloatArray, as_flag, as_set, as_theta
from superarm.core.optional import Adopts, Forgetful, SelectsMany, Stateful
from superarm.sets.feasible import Feasible, Group
from superarm.testing.claims import claim, claim_arms, claim_refused, name_of, select_as_policy

_NAN = float("nan")
_THETA = np.array([0.3, 0.9, 0.1, 0.5, 0.7, 0.2])
# Decisions among equal arms: fewer are the stricter check, since a rare arm is missed more often.
_DRAWS = 60
# Powers of two, so that a product is exact.
_UNITS = (2.0**-100, 2.0**-40, 2.0**100)


def check_oracle(
    make: Callable[[], Oracle],
    *,
    exact: bool = False,
    draws: bool = True,
    feasible: bool = False,
    scale_free: bool = True,
    seed: int = 0,
) -> None:
    """Check an oracle: ``make()`` gives a fresh one.

    The answer is k distinct arms, ascending. theta may be a `Sample`, and k a `KOfM`, as a `Policy`
    passes them. theta is not changed. The same generator gives the same answer. k equal to n_arms
    gives every arm. Equal arms are all chosen now and then. Bad requests are refused without an
    evaluation.

    Parameters
    ----------
    make
        The oracle, for problems of six arms.
    exact
        Whether it finds the best set of an additive reward.
    draws
        Whether it draws more than ties need. False checks that nothing is drawn without a tie.
    feasible
        Whether it knows constraints, and picks only sets that a `Feasible` allows. Otherwise it may
        refuse constraints, but not ignore them.
    scale_free
        Whether its answers and evaluations do not change when the reward and its declarations are
        multiplied by a number. False for an oracle with a setting in the unit of values, such as
        the delta of `GroupTesting`.
    seed
        Where the randomness of the check comes from.
    """
    exact, draws = as_flag(exact, "exact"), as_flag(draws, "draws")
    feasible, scale_free = as_flag(feasible, "feasible"), as_flag(scale_free, "scale_free")
    # A sum: its best set is known, and an oracle that claims to be exact must find it.
    reward = _Sum(6)
    claim(isinstance(make(), Oracle), f"{name_of(make())} must have select and report")
    if not draws:
        _check_draws_nothing(make, reward, 3, seed)
    # One arm, some arms and all arms: the ends are where an off-by-one shows.
    for k in (1, 3, 6):
        _check_answer(make, reward, k, exact=exact, seed=seed)
    oracle, rng = make(), np.random.default_rng(seed)
    chosen = [oracle.select(reward, np.full(6, 0.5), 2, rng=rng) for _ in range(_DRAWS)]
    # Each of 6 equal arms is in a set of 2 with probability 1/3: 6 (2/3)^60 < 2e-10 that one never
    # is.
    _claim_all_chosen(np.concatenate(chosen))
    _check_refusals(oracle, reward, rng)
    _check_options(make, reward, seed)
    _check_constraints(make, exact=exact, draws=draws, required=feasible, seed=seed)
    if scale_free:
        _check_scales(make, seed)


def _check_answer(
    make: Callable[[], Oracle], reward: _Sum, k: int, *, exact: bool, seed: int
) -> None:
    theta, oracle = _THETA.copy(), make()
    arms = oracle.select(reward, theta, k, rng=np.random.default_rng(seed))
    again = make().select(reward, theta, k, rng=np.random.default_rng(seed))
    claim_arms(arms, 6)
    claim(arms.shape == (k,), f"arms must have shape ({k},), got {arms.shape}")
    claim(
        np.array_equal(arms, again),
        f"the same generator must give the same arms, got {arms} and {again}",
    )
    # The caller goes on with its theta: explanations read it after the decision.
    claim(np.array_equal(theta, _THETA), "select must not write into theta")
    rng = np.random.default_rng(seed)
    # As in Policy, sample and oracle share a generator. _Guess draws nothing, so that ties must
    # fall as they do for an array.
    sample = Sample(_Guess(theta), rng)
    drawn = select_as_policy(make(), reward, sample, k, rng=rng)
    claim(
        np.array_equal(arms, drawn),
        f"a Sample and KOfM must give the arms that an array and a number give: {arms}, "
        f"got {drawn}",
    )
    _check_report(oracle.report, arms, sample)
    if exact:
        best = np.sort(np.argsort(theta)[-k:])
        claim(np.array_equal(arms, best), f"an exact oracle must find {best}, got {arms}")


def _check_report(report: Any, arms: Any, theta: Sample) -> None:
    """A report says whether it certifies the set, and ranks the arms or says that it does not."""
    if report is None:
        return
    claim(isinstance(report, Report), f"{name_of(report)} must have certified and ranking")
    scores = report.ranking(arms, theta)
    if scores is None:
        return
    claim(isinstance(scores, Scores), f"ranking must give Scores or None, got {scores!r}")
    shape = scores.values.shape
    claim(shape == (6,), f"the values of Scores must have shape (6,), got {shape}")
    both = (scores.lower is None) == (scores.upper is None)
    claim(both, "Scores must have both lower and upper bounds, or neither")


def _check_draws_nothing(
    make: Callable[[], Oracle], reward: _Sum, k: int | Feasible, seed: int
) -> None:
    rng, untouched = np.random.default_rng(seed), np.random.default_rng(seed)
    make().select(reward, _THETA, k, rng=rng)
    claim(
        rng.bit_generator.state == untouched.bit_generator.state,
        "nothing must be drawn where there is no tie",
    )


def _check_refusals(oracle: Oracle, reward: _Sum, rng: np.random.Generator) -> None:
    # Evaluations may cost minutes each, so that a check must come before the first one.
    asked, theta = reward.n_asked, _THETA
    for bad in (theta[:5], np.append(theta[:5], _NAN), np.append(theta[:5], 1.5), theta[None]):
        claim_refused(partial(oracle.select, reward, bad, 2, rng=rng), f"theta = {bad}")
    for k in (0, 7, -1):
        claim_refused(partial(oracle.select, reward, theta, k, rng=rng), f"k = {k} of 6 arms")
    claim(reward.n_asked == asked, "a request that is refused must not cost evaluations")


def _check_options(make: Callable[[], Oracle], reward: _Sum, seed: int) -> None:
    """What the oracle offers of the optional Protocols."""
    oracle: Any = make()
    oracle.select(reward, _THETA, 2, rng=np.random.default_rng(seed))
    if isinstance(oracle, Stateful):
        state, twin = json.dumps(oracle.state(), sort_keys=True), make()
        twin.load(json.loads(state))  # type: ignore[attr-defined]
        restored = json.dumps(twin.state(), sort_keys=True)  # type: ignore[attr-defined]
        claim(restored == state, "load(state()) must restore the oracle exactly")
        claim_refused(lambda: oracle.load({}), "an empty state")
    # A replayed log knows the arms already, and must not pay for them again.
    if isinstance(oracle, Adopts):
        asked = reward.n_asked
        oracle.adopt(np.array([0, 1]), 2, 6)
        claim(reward.n_asked == asked, "adopt must not cost evaluations")
    if isinstance(oracle, Forgetful):
        oracle.forget()
        # After forgetting, the oracle must still work, not only be empty.
        again: Any = oracle
        claim_arms(again.select(reward, _THETA, 2, rng=np.random.default_rng(seed)), 6)
    if isinstance(oracle, SelectsMany):
        rng, thetas = np.random.default_rng(seed), np.random.default_rng(seed).random((5, 6))
        many = oracle.select_many(reward, thetas, 2, rng=rng)
        single = [make().select(reward, theta, 2, rng=rng) for theta in thetas]
        claim(np.array_equal(many, single), f"select_many must do as select, got {many}")


def _check_constraints(
    make: Callable[[], Oracle], *, exact: bool, draws: bool, required: bool, seed: int
) -> None:
    reward, requests = _Sum(6), _constraints()
    for request in requests:
        try:
            arms = make().select(reward, _THETA, request, rng=np.random.default_rng(seed))
        # Refusing constraints is allowed, ignoring them is not: an infeasible set may be illegal to
        # show.
        except TypeError:
            claim(not required, f"an oracle that knows constraints must take a {request}")
            return
        known = request.for_arms(6)
        claim(known.is_feasible(arms), f"a set must be feasible for {request}, got {arms}")
        claim_arms(arms, 6)
        best = max(float(_THETA[one].sum()) for one in known.sets())
        # With weights the problem is a knapsack, for which exact oracles promise nothing.
        if exact and known.weights is None:
            claim(
                float(_THETA[arms].sum()) > best - 1e-9,
                f"an exact oracle must find a set worth {best}, got {arms}",
            )
        if not draws:
            _check_draws_nothing(make, reward, request, seed)
    oracle, rng = make(), np.random.default_rng(seed)
    chosen = [oracle.select(reward, np.full(6, 0.5), requests[2], rng=rng) for _ in range(_DRAWS)]
    # There are 12 sets, each arm in 5 or more: 6 (7/12)^60 < 1e-13 that one never is, if all are as
    # likely.
    _claim_all_chosen(np.concatenate(chosen))
    asked = reward.n_asked
    claim_refused(
        lambda: oracle.select(reward, _THETA, Feasible(3, available=[0, 1]), rng=rng),
        "more arms than are available",
    )
    claim(reward.n_asked == asked, "a request that is refused must not cost evaluations")


def _check_scales(make: Callable[[], Oracle], seed: int) -> None:
    """Values of any size get the same answers: no tolerance has a unit."""
    for request in (3, _constraints()[2]):
        expected = _rounds_in_unit(make, request, 1.0, seed)
        for unit in _UNITS:
            found = _rounds_in_unit(make, request, unit, seed)
            claim(
                found == expected,
                f"a reward times {unit:.3g} must get the same sets, evaluations and certificates, "
                f"got {found} and not {expected}; make tolerances a share of the values",
            )


def _rounds_in_unit(
    make: Callable[[], Oracle], request: int | Feasible, unit: float, seed: int
) -> list[Any]:
    """What is seen of some rounds with a sum, in some unit of value.

    Per round: the set, the evaluations so far, and the certificate; None if the oracle refuses.
    """
    reward, oracle, rng = _Sum(6, unit), make(), np.random.default_rng(seed)
    seen: list[Any] = []
    for theta in (_THETA, _THETA[::-1].copy(), _THETA):
        try:
            arms = oracle.select(reward, theta, request, rng=rng)
        except TypeError:
            return [None]
        report: Any = oracle.report
        certified = report is not None and bool(report.certified)
        seen.append((arms.tolist(), reward.n_asked, certified))
    return seen


def _constraints() -> list[Feasible]:
    """Constraints of every kind, on six arms."""
    pairs = [Group([0, 1], most=1), Group([2, 3], least=1), Group([4, 5], most=1)]
    # The arm of the largest mean weighs most, so that taking the k largest means breaks the budget.
    weights = np.array([1.0, 5.0, 1.0, 2.0, 4.0, 1.0])
    return [
        Feasible(2, available=[0, 2, 3, 5]),
        Feasible(3, must=[2], must_not=[1]),
        Feasible(3, groups=pairs),
        Feasible(5, at_most=True, must=[5], groups=pairs, available=_THETA != 0.5),
        Feasible(3, weights=weights, budget=6.0),
        Feasible(4, at_most=True, groups=pairs, weights=weights, budget=5.0),
    ]


def _claim_all_chosen(arms: Any) -> None:
    chosen = np.bincount(arms, minlength=6)
    claim(
        (chosen > 0).all(),
        f"equal arms must be chosen at random, not by index: {chosen} times each",
    )


class _Sum:
    """The smallest reward there is, in some unit of value; counts its evaluations."""

    monotone, zero_is_absent, additive = True, True, True

    def __init__(self, n_arms: int, unit: float = 1.0) -> None:
        self.n_arms, self.upper, self.n_asked = n_arms, n_arms * unit, 0
        self.lipschitz = self.unit = unit

    def __call__(self, arms: ArrayLike, means: ArrayLike) -> float:
        self.n_asked += 1
        return self.unit * float(as_set(arms, means, self.n_arms)[1].sum())

    def batch(self, pools: Pools, theta: ArrayLike) -> FloatArray:
        self.n_asked += len(pools)
        return self.unit * pools.sum(as_theta(theta, self.n_arms, pools))


class _Guess:
    """What a Sample needs of a belief."""

    def __init__(self, theta: FloatArray) -> None:
        self.theta, self.n_arms = theta, len(theta)

    def sample(self, *, rng: np.random.Generator) -> FloatArray:
        return self.theta.copy()
