"""What every estimator starts from: a log whose arms, or whole sets, are weighted for a target."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from superarm.core import Policy, Pools
from superarm.core.arguments import FloatArray, IndexArray, as_finite, as_flag, as_positive
from superarm.offpolicy.estimate import check_overlap, check_weights
from superarm.offpolicy.log import Log
from superarm.offpolicy.sampling import Propensities
from superarm.offpolicy.stable import stable_weights
from superarm.offpolicy.target import AnyTarget, Target, Targets, as_targets

Per: TypeAlias = Literal["set", "arm"]
# What knows the probability of a set.
SetTarget: TypeAlias = Target | Propensities | Policy | Callable[[Any], Target | Propensities]
_ALONE = 1.5  # samples: 1, up to rounding
Values: TypeAlias = ArrayLike | Callable[[IndexArray, FloatArray], float]


@dataclass(frozen=True, eq=False)
class WeightedLog:
    """The logged units, which are arms or whole sets, with their values and weights.

    The arrays have the shape (n_rounds, most) where not said otherwise.

    Attributes
    ----------
    units
        The number of each unit; 0 where there is none, which has the weight 0.
    values
        The value of each unit.
    inverse
        1 / p, or less if q / p was clipped; 0 where there is no unit.
    weights
        q / p, clipped.
    sizes
        Shape (n_rounds,): what the weights of a round sum to on average, given its context.
    per
        The divisor of the value of a round.
    samples
        The target's samples as sets of units, with the rounds that they are used in.
    bounds
        The smallest and the largest possible value of a round.
    clipped
        The share of the weights that were clipped.
    mean_weight, mean_weight_error
        The mean weight of a round before clipping, and its standard error.
    rare
        The share of the weight on units that were in no other sample of their round.
    stable
        Shape (n_rounds,): the weights of the rounds, 1 on average, and 1 if not stabilised.
    """

    units: IndexArray
    values: FloatArray
    inverse: FloatArray
    weights: FloatArray
    sizes: FloatArray
    per: float
    samples: list[tuple[IndexArray, Pools]]
    bounds: tuple[float, float]
    clipped: float
    mean_weight: float
    mean_weight_error: float
    rare: float
    stable: FloatArray

    @property
    def rows(self) -> FloatArray:
        """Shape (n_rounds,): what each round contributes."""
        return (self.weights * self.values).sum(axis=1)

    @cached_property
    def size(self) -> float:
        """What the weights of a round sum to on average."""
        return float(self.sizes.mean())

    @cached_property
    def row_weights(self) -> FloatArray:
        """Shape (n_rounds,): the weight of each round, 1 on average."""
        return self.stable * self.weights.sum(axis=1) / self.size

    @property
    def warnings(self) -> dict[str, float]:
        """What says how far an estimate can be trusted."""
        names = ("clipped", "mean_weight", "mean_weight_error", "rare")
        return {name: getattr(self, name) for name in names}

    def target_var(self, values: FloatArray, more: Sequence[FloatArray] | None = None) -> float:
        """The variance of the mean of weighted ``values`` that is due to the target's samples.

        ``more`` has, for each entry of ``samples``, what each unit adds to that mean otherwise.
        """
        # A target with exact probabilities has no sampling error.
        found = 0.0
        for place, (rounds, sets) in enumerate(self.samples):
            # 1 / p without q: what a unit would earn if the target always had it.
            earned = (self.stable[rounds, None] * self.inverse[rounds] * values[rounds]).ravel()
            sums = np.bincount(self.units[rounds].ravel(), earned, minlength=sets.n_arms)
            of_units = sums / len(self.units) + (0.0 if more is None else more[place])
            found += float(sets.sum(of_units).var(ddof=1)) / len(sets)
        return found


def by_arm(
    log: Log, target: AnyTarget, per: Per, clip: float | None, *, stabilise: bool
) -> tuple[WeightedLog, Targets]:
    """The arms as units, and the target in each context."""
    if per not in ("set", "arm"):
        raise ValueError(f'per must be "set" or "arm", got {per!r}')
    stabilise = as_flag(stabilise, "stabilise")
    _check_complete(log)
    wanted = as_targets(target, log)
    there = log.there
    # Padding points at unit 0. Its inverse is 0, so that it adds nothing there.
    units = np.where(there, log.arms, 0)
    inverse = np.divide(1.0, log.propensities, out=np.zeros(units.shape), where=there)
    shares = np.bincount(wanted.which, minlength=len(wanted.each)) / len(log)
    of_arms = shares @ wanted.arms
    size = float(of_arms.sum())
    weighted = _weighted(
        units,
        np.where(there, log.outcomes, 0.0),
        inverse,
        wanted.arms[wanted.which[:, None], units],
        sizes=wanted.arms.sum(axis=1)[wanted.which],
        per=1.0 if per == "set" else size,
        samples=_shared(wanted, [_sets(one.sampled) for one in wanted.each]),
        # Probability mass on arms that are in no round.
        unseen=float(np.delete(of_arms, units[there]).sum()) / size,
        bounds=(0.0, size),
        clip=clip,
        # A weight that depends on the context of its round would favour some contexts.
        stable=stable_weights(log, shares @ wanted.arms**2) if stabilise else None,
        counts=None if log.n_samples is None else log.propensities * log.n_samples[:, None],
    )
    return weighted, wanted


def by_set(log: Log, target: SetTarget, values: Values, clip: float | None) -> WeightedLog:
    """The logged sets as units, one per round."""
    wanted = as_targets(target, log)
    if any(one.set_probability is None for one in wanted.each):
        raise ValueError(
            "the target must know the probability of a set: give Target(..., set_probability=...)"
        )
    if log.set_propensities is None:
        raise ValueError("the log must have set_propensities, to weigh whole sets; ips weighs arms")
    # Sets become units by being numbered in the order of their first round.
    sets = [tuple(np.sort(row[row >= 0]).tolist()) for row in log.arms]
    numbers = {found: number for number, found in enumerate(dict.fromkeys(sets))}
    known: dict[Any, float] = {}
    for found, place in zip(sets, wanted.which.tolist(), strict=True):
        if (place, found) not in known:
            known[place, found] = wanted.each[place].set_probability(found)
    q = [known[place, found] for found, place in zip(sets, wanted.which.tolist(), strict=True)]
    return _weighted(
        np.array([[numbers[found]] for found in sets], np.intp),
        _values(log, values)[:, None],
        1 / log.set_propensities[:, None],
        np.array(q)[:, None],
        sizes=np.ones(len(log)),
        per=1.0,
        samples=_shared(wanted, [_as_units(one.sampled, numbers) for one in wanted.each]),
        unseen=0.0,  # most of many sets are never logged: the mean weight shows a lack of overlap
        bounds=(-np.inf, np.inf),
        clip=clip,
        stable=None,
        counts=None if log.n_samples is None else (log.set_propensities * log.n_samples)[:, None],
    )


def _sets(sampled: Propensities | None) -> Pools | None:
    return None if sampled is None else sampled.sets


def _as_units(sampled: Propensities | None, numbers: dict[tuple[int, ...], int]) -> Pools | None:
    if sampled is None:
        return None
    # A sampled set that was never logged has no unit.
    drawn = (numbers.get(tuple(found.tolist())) for found in sampled.sets)
    return Pools.of(([] if number is None else [number] for number in drawn), len(numbers))


def _shared(wanted: Targets, sets: list[Pools | None]) -> list[tuple[IndexArray, Pools]]:
    """The samples that several rounds share, with these rounds.

    Samples of a single round are independent of all others, so that the spread of the rounds
    includes their error.
    """
    found = []
    for rounds, drawn in zip(wanted.rounds, sets, strict=True):
        if drawn is not None and len(drawn) > 1 and (len(rounds) > 1 or len(sets) == 1):
            found.append((rounds, drawn))
    return found


def _weighted(
    units: IndexArray,
    values: FloatArray,
    inverse: FloatArray,
    q: FloatArray,
    *,
    sizes: FloatArray,
    per: float,
    samples: list[tuple[IndexArray, Pools]],
    unseen: float,
    bounds: tuple[float, float],
    clip: float | None,
    stable: FloatArray | None,
    counts: FloatArray | None,
) -> WeightedLog:
    """The weighted log, once the weights are known to be usable."""
    weights, size = q * inverse, sizes.mean()
    # Overlap is checked before clipping, which would hide a lack of it.
    mean_weight, error = check_overlap(weights.sum(axis=1) / size, unseen)
    # The decision is one of the samples. Where it is the only one, its share is too large.
    alone = 0.0 if counts is None else float(weights[counts < _ALONE].sum() / weights.sum())
    clipped = 0.0
    if clip is not None:
        most = as_positive(clip, "clip")
        clipped = float((weights > most).sum() / (inverse > 0).sum())
        # q / p <= clip is 1 / p <= clip / q, which has no limit where q is 0.
        limit = np.divide(most, q, out=np.full(q.shape, np.inf), where=q > 0)
        inverse = np.minimum(inverse, limit)
        weights = q * inverse
    # After clipping: clipping is the remedy for weights that are too large.
    check_weights(weights.sum(axis=1) / size)
    return WeightedLog(
        units,
        values,
        inverse,
        weights,
        sizes,
        per,
        samples,
        bounds,
        clipped,
        mean_weight,
        error,
        alone,
        np.ones(len(units)) if stable is None else stable,
    )


def _values(log: Log, values: Values) -> FloatArray:
    """Shape (n_rounds,): the value of each logged set."""
    if callable(values):
        _check_complete(log)
        each = zip(log.arms, log.outcomes, log.there, strict=True)
        values = [values(arms[there], outcomes[there]) for arms, outcomes, there in each]
    found = as_finite(values, "values", ndim=1)
    if found.shape != (len(log),):
        raise ValueError(
            f"values must have shape ({len(log)},), one for each round, got {found.shape}"
        )
    return found


def _check_complete(log: Log) -> None:
    if log.n_missing:
        raise ValueError(
            f"the log must have all outcomes, got {log.n_missing} missing; log.filled(0.0) counts "
            f"them as 0, and log.complete() leaves their rounds out"
        )
