"""What every estimator starts from: a log whose arms, or whole sets, are weighted for a target."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from superarm.core import Pools
from superarm.core.arguments import FloatArray, IndexArray, as_finite, as_positive
from superarm.offpolicy.estimate import check_overlap, check_weights
from superarm.offpolicy.log import Log
from superarm.offpolicy.sampling import Propensities
from superarm.offpolicy.target import AnyTarget, Target, as_target

Per: TypeAlias = Literal["set", "arm"]
SetTarget: TypeAlias = Target | Propensities  # what knows the probability of a set
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
    wanted
        Shape (n_units,): q, the target's probability of each unit.
    size
        What the weights of a round sum to on average.
    per
        The divisor of the value of a round.
    samples
        The target's samples as sets of units, if it was sampled.
    bounds
        The smallest and the largest possible value of a round.
    clipped
        The share of the weights that were clipped.
    mean_weight
        The mean weight of a round before clipping.
    """

    units: IndexArray
    values: FloatArray
    inverse: FloatArray
    weights: FloatArray
    wanted: FloatArray
    size: float
    per: float
    samples: Pools | None
    bounds: tuple[float, float]
    clipped: float
    mean_weight: float

    @property
    def rows(self) -> FloatArray:
        """Shape (n_rounds,): what each round contributes."""
        return (self.weights * self.values).sum(axis=1)

    @property
    def row_weights(self) -> FloatArray:
        """Shape (n_rounds,): the weight of each round, 1 on average."""
        return self.weights.sum(axis=1) / self.size

    def by_unit(self, values: FloatArray) -> FloatArray:
        """Shape (n_units,): the mean over rounds of what each unit earns at weight 1."""
        # 1 / p without q: the value that a unit would earn if the target always had it.
        earned = (self.inverse * values).ravel()
        sums = np.bincount(self.units.ravel(), earned, minlength=len(self.wanted))
        return sums / len(self.units)

    def target_var(self, of_units: FloatArray) -> float:
        """The variance due to the target's samples, for a value that is the sum over units."""
        # A target with exact probabilities has no sampling error.
        if self.samples is None or len(self.samples) < 2:
            return 0.0
        return float(self.samples.sum(of_units).var(ddof=1)) / len(self.samples)


def by_arm(log: Log, target: AnyTarget, per: Per, clip: float | None) -> WeightedLog:
    """The arms as units."""
    if per not in ("set", "arm"):
        raise ValueError(f'per must be "set" or "arm", got {per!r}')
    _check_complete(log)
    wanted = as_target(target, log.n_arms)
    there = log.there
    # Padding points at unit 0. Its inverse is 0, so that it adds nothing there.
    units = np.where(there, log.arms, 0)
    inverse = np.divide(1.0, log.propensities, out=np.zeros(units.shape), where=there)
    return _weighted(
        units,
        np.where(there, log.outcomes, 0.0),
        inverse,
        wanted.arms,
        size=wanted.size,
        per=1.0 if per == "set" else wanted.size,
        samples=None if wanted.sampled is None else wanted.sampled.sets,
        # Probability mass on arms that are in no round.
        unseen=float(np.delete(wanted.arms, units[there]).sum()) / wanted.size,
        bounds=(0.0, wanted.size),
        clip=clip,
    )


def by_set(log: Log, target: SetTarget, values: Values, clip: float | None) -> WeightedLog:
    """The logged sets as units, one per round."""
    wanted = as_target(target, log.n_arms)
    if wanted.set_probability is None:
        raise ValueError(
            "the target must know the probability of a set: give Target(..., set_probability=...)"
        )
    if log.set_propensities is None:
        raise ValueError("the log must have set_propensities, to weigh whole sets; ips weighs arms")
    # Sets become units by being numbered in the order of their first round.
    sets = [tuple(np.sort(row[row >= 0]).tolist()) for row in log.arms]
    numbers = {found: number for number, found in enumerate(dict.fromkeys(sets))}
    samples = None
    if wanted.sampled is not None:  # a sampled set that was never logged has no unit
        drawn = (numbers.get(tuple(found.tolist())) for found in wanted.sampled.sets)
        samples = Pools.of(([] if number is None else [number] for number in drawn), len(numbers))
    return _weighted(
        np.array([[numbers[found]] for found in sets], np.intp),
        _values(log, values)[:, None],
        1 / log.set_propensities[:, None],
        np.array([wanted.set_probability(found) for found in numbers]),
        size=1.0,
        per=1.0,
        samples=samples,
        unseen=0.0,  # most of many sets are never logged: the mean weight shows a lack of overlap
        bounds=(-np.inf, np.inf),
        clip=clip,
    )


def _weighted(
    units: IndexArray,
    values: FloatArray,
    inverse: FloatArray,
    wanted: FloatArray,
    *,
    size: float,
    per: float,
    samples: Pools | None,
    unseen: float,
    bounds: tuple[float, float],
    clip: float | None,
) -> WeightedLog:
    """The weighted log, once the weights are known to be usable."""
    q = wanted[units]
    weights = q * inverse
    # Overlap is checked before clipping, which would hide a lack of it.
    mean_weight = check_overlap(weights.sum(axis=1) / size, unseen)
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
        units, values, inverse, weights, wanted, size, per, samples, bounds, clipped, mean_weight
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
