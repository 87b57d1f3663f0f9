"""An estimate with its interval, and what speaks against trusting it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from superarm.core.arguments import FloatArray

# Where intervals begin to fail in benchmarks/offpolicy.py: with fewer rounds' worth of weight than the first number, or
# than the second and half of the log; and where one round is more than such a share of the estimate.
_FEW, _UNEVEN = 30, 100
_MOST_SHARE = 0.1
# A log of so many rounds lacks overlap if such a share of the target is on what was never logged, if all weight is on
# so few rounds, or if the mean weight is below such a number and so many standard errors below 1.
_LEAST_ROUNDS = 30
_UNSEEN = 0.05
_LEAST_N = 5
_LEAST_WEIGHT, _SIGMAS = 0.5, 4.0


@dataclass(frozen=True)
class Estimate:
    """The value of a policy, estimated from the log of another one.

    Attributes
    ----------
    value
        The estimate.
    std_error
        Its standard error: the spread of the rounds and, where the target was sampled, that of its samples.
    low, high
        The ends of its interval: Student's, with ``effective_n`` - 1 degrees of freedom.
    level
        With which probability the interval should cover the truth.
    n
        How many rounds the log has.
    effective_n
        How many rounds of equal weights are worth as much: (sum of weights)² / sum of squares.
    mean_weight
        The mean of a round's weight, which is 1 in the long run, if the log overlaps with the target.
    largest_share
        The share of the one round that contributes most.
    clipped
        Which share of the weights was clipped.
    """

    value: float
    std_error: float
    low: float
    high: float
    level: float
    n: int
    effective_n: float
    mean_weight: float
    largest_share: float
    clipped: float = 0.0

    @property
    def warning(self) -> str | None:
        """Why the interval may cover less often than it says; None if nothing speaks against it."""
        found = []
        if self.effective_n < _FEW or self.effective_n < min(_UNEVEN, self.n / 2):
            found.append(f"{self.n:,} rounds are worth {self.effective_n:,.0f} of equal weights")
        if self.largest_share > _MOST_SHARE:
            found.append(f"one round is {self.largest_share:.0%} of the estimate")
        if not 0.8 < self.mean_weight < 1.25:
            found.append(f"the mean weight is {self.mean_weight:.2f} in place of 1")
        if self.std_error == 0:
            found.append("all rounds contribute the same, so that nothing is known of the spread")
        if self.clipped:
            found.append(f"{self.clipped:.2%} of the weights were clipped, which is a bias")
        return "; ".join(found) or None

    def __str__(self) -> str:
        text = f"{self.value:.4g} ({self.low:.4g} to {self.high:.4g})"
        return text if self.warning is None else f"{text}; beware: {self.warning}"


def estimate(
    value: float,
    rows: FloatArray,
    weights: FloatArray,
    *,
    level: float,
    target_var: float,
    bounds: tuple[float, float],
    clipped: float,
    mean_weight: float,
) -> Estimate:
    """An estimate from what the rounds contribute, shape (n,): their mean's error is that of the value."""
    n = len(rows)
    std_error = float(np.sqrt(rows.var(ddof=1) / n + target_var)) if n > 1 else np.inf
    effective_n = kish(weights)
    reach = float(stdtrit(max(1.0, effective_n - 1), (1 + level) / 2)) * std_error
    total = float(np.abs(rows).sum())
    return Estimate(
        value=value,
        std_error=std_error,
        low=max(bounds[0], value - reach),
        high=min(bounds[1], value + reach),
        level=level,
        n=n,
        effective_n=effective_n,
        mean_weight=mean_weight,
        largest_share=float(np.abs(rows).max()) / total if total else 0.0,
        clipped=clipped,
    )


def kish(weights: FloatArray) -> float:
    """How many rounds of equal weights are worth as much (Kish)."""
    return float(weights.sum() ** 2 / (weights**2).sum())


def check_overlap(shares: FloatArray, unseen: float) -> float:
    """The mean of the rounds' weights, if what the target picks was logged: nothing else can be evaluated.

    ``unseen`` is the share of what the target picks that is in no round. Where the logging policy can never pick what
    the target picks with probability x, the mean weight is 1 - x in the long run.
    """
    mean = float(shares.mean())
    if mean == 0:
        raise ValueError(
            "the target must overlap with the log, got one that picks nothing of what was logged; log a policy that "
            "tries its arms now and then"
        )
    if len(shares) < _LEAST_ROUNDS:
        return mean
    if unseen > _UNSEEN:
        raise ValueError(
            f"the target must overlap with the log, got one that picks what was never logged for {unseen:.0%}; log a "
            f"policy that tries its arms now and then"
        )
    error = float(shares.std(ddof=1) / np.sqrt(len(shares)))
    if mean < _LEAST_WEIGHT and mean + _SIGMAS * error < 1:
        raise ValueError(
            f"the target must overlap with the log, got a mean weight of {mean:.3f} in place of 1: about "
            f"{1 - mean:.0%} of what the target picks is hardly ever logged, or too rarely for its samples"
        )
    return mean


def check_weights(shares: FloatArray) -> None:
    """Not all of the weight may be on a few rounds."""
    if len(shares) >= _LEAST_ROUNDS and kish(shares) < _LEAST_N:
        raise ValueError(
            f"the target must overlap with the log, got weights that make {len(shares):,} rounds worth "
            f"{kish(shares):.1f}; log a policy that is closer to the target, or clip the weights"
        )
