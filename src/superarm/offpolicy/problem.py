"""What every estimator starts from: the units that are weighed, which are arms or whole sets, and their weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from superarm.core import Pools
from superarm.core.arguments import FloatArray, IndexArray, as_finite, as_positive
from superarm.offpolicy.estimate import check_overlap, check_weights
from superarm.offpolicy.log import Log
from superarm.offpolicy.propensities import Propensities
from superarm.offpolicy.target import Target, as_target


@dataclass(frozen=True, eq=False)
class Problem:
    """What was logged and is wanted of each unit; arrays of shape (n_rounds, most), but for ``chances``."""

    units: IndexArray  # 0 where there is none: its weight is 0
    values: FloatArray
    inverse: FloatArray  # 1 / p, or less if q / p was clipped, and 0 where there is no unit
    weights: FloatArray  # q / p, clipped
    chances: FloatArray  # q, shape (n_units,)
    size: float  # what the weights of a round sum to in the mean
    per: float  # what the value is divided by
    samples: Pools | None  # the target's samples, as sets of units
    bounds: tuple[float, float]
    clipped: float
    mean_weight: float

    @property
    def rows(self) -> FloatArray:
        """Shape (n_rounds,): what a round contributes."""
        return (self.weights * self.values).sum(axis=1)

    @property
    def row_weights(self) -> FloatArray:
        """Shape (n_rounds,): the weight of a round, 1 in the mean."""
        return self.weights.sum(axis=1) / self.size

    def by_unit(self, values: FloatArray) -> FloatArray:
        """The mean over rounds of what a unit gets at weight 1, shape (n_units,)."""
        sums = np.bincount(
            self.units.ravel(), (self.inverse * values).ravel(), minlength=len(self.chances)
        )
        return sums / len(self.units)

    def target_var(self, of_units: FloatArray) -> float:
        """The variance that comes from the target's samples, for a value that is the sum of its units'."""
        if self.samples is None or len(self.samples) < 2:
            return 0.0
        return float(self.samples.sum(of_units).var(ddof=1)) / len(self.samples)


def by_arm(
    log: Log,
    target: Target | Propensities | ArrayLike,
    per: Literal["set", "arm"],
    clip: float | None,
) -> Problem:
    """Arms as units."""
    if per not in ("set", "arm"):
        raise ValueError(f'per must be "set" or "arm", got {per!r}')
    _check_whole(log)
    wanted = as_target(target, log.n_arms)
    there = log.there
    units = np.where(there, log.arms, 0)
    inverse = np.divide(1.0, log.propensities, out=np.zeros(units.shape), where=there)
    return _problem(
        units,
        np.where(there, log.outcomes, 0.0),
        inverse,
        wanted.arms,
        size=wanted.size,
        per=1.0 if per == "set" else wanted.size,
        samples=None if wanted.sampled is None else wanted.sampled.sets,
        unseen=float(np.delete(wanted.arms, units[there]).sum()) / wanted.size,
        bounds=(0.0, wanted.size),
        clip=clip,
    )


def by_set(
    log: Log,
    target: Target | Propensities,
    values: ArrayLike | Callable[[IndexArray, FloatArray], float],
    clip: float | None,
) -> Problem:
    """The logged sets as units, one a round."""
    wanted = as_target(target, log.n_arms)
    if wanted.set_probability is None:
        raise ValueError(
            "the target must know the probability of a set: give Target(..., set_probability=...)"
        )
    if log.set_propensities is None:
        raise ValueError("the log must have set_propensities, to weigh whole sets; ips weighs arms")
    sets = [tuple(np.sort(row[row >= 0]).tolist()) for row in log.arms]
    numbers = {found: number for number, found in enumerate(dict.fromkeys(sets))}
    samples = None
    if wanted.sampled is not None:  # a sample that was never logged has no unit
        drawn = (numbers.get(tuple(found.tolist())) for found in wanted.sampled.sets)
        samples = Pools.of(([] if number is None else [number] for number in drawn), len(numbers))
    return _problem(
        np.array([[numbers[found]] for found in sets], np.intp),
        _values(log, values)[:, None],
        1 / log.set_propensities[:, None],
        np.array([wanted.set_probability(found) for found in numbers]),
        size=1.0,
        per=1.0,
        samples=samples,
        unseen=0.0,  # of many sets most are never logged; the mean weight tells
        bounds=(-np.inf, np.inf),
        clip=clip,
    )


def _problem(
    units: IndexArray,
    values: FloatArray,
    inverse: FloatArray,
    chances: FloatArray,
    *,
    size: float,
    per: float,
    samples: Pools | None,
    unseen: float,
    bounds: tuple[float, float],
    clip: float | None,
) -> Problem:
    wanted = chances[units]
    weights = wanted * inverse
    mean_weight = check_overlap(weights.sum(axis=1) / size, unseen)
    clipped = 0.0
    if clip is not None:
        most = as_positive(clip, "clip")
        clipped = float((weights > most).sum() / (inverse > 0).sum())
        inverse = np.minimum(
            inverse, np.divide(most, wanted, out=np.full(wanted.shape, np.inf), where=wanted > 0)
        )
        weights = wanted * inverse
    check_weights(weights.sum(axis=1) / size)
    return Problem(
        units, values, inverse, weights, chances, size, per, samples, bounds, clipped, mean_weight
    )


def _values(log: Log, values: ArrayLike | Callable[[IndexArray, FloatArray], float]) -> FloatArray:
    if not callable(values):
        found = as_finite(values, "values", ndim=1)
    else:
        _check_whole(log)
        there = log.there
        each = zip(log.arms, log.outcomes, there, strict=True)
        found = as_finite(
            [values(arms[here], told[here]) for arms, told, here in each], "values", ndim=1
        )
    if found.shape != (len(log),):
        raise ValueError(
            f"values must have shape ({len(log)},), one for each round, got {found.shape}"
        )
    return found


def _check_whole(log: Log) -> None:
    if log.n_missing:
        raise ValueError(
            f"the log must have all outcomes, got {log.n_missing} missing; log.filled(0.0) counts them as 0, and "
            f"log.complete() leaves their rounds out"
        )
