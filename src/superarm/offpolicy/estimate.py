"""An estimate with its interval, and the reasons not to trust it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from superarm.core import notebook
from superarm.core.arguments import FloatArray
from superarm.core.special import stdtrit

# Intervals begin to cover too rarely in benchmarks/offpolicy.py:
_FEW = 30  # with fewer effective rounds than this,
_UNEVEN = 100  # or with fewer than this and than half of the log,
_MOST_SHARE = 0.1  # or if one round contributes more than this share,
_LEAST_MEAN, _MOST_MEAN = 0.8, 1.25  # or if the mean weight is not between these,
_FAR = 3.0  # or this many standard errors from 1, and further than
_CLOSE = 0.005  # what propensities that were rounded in a file may cause,
_RARE = 0.02  # or if more than this share of the weight is on arms that hardly were sampled.
# A log lacks overlap with the target, and is refused, if it has at least
_LEAST_ROUNDS = 30  # this many rounds and
_UNSEEN = 0.05  # more than this share of the target's arms was never logged,
_LEAST_EFFECTIVE = 5  # or fewer effective rounds than this are left,
_LEAST_WEIGHT = 0.5  # or the mean weight is below this
_SIGMAS = 4.0  # and this many standard errors below 1.
_MOST_WEIGHT = 1e100  # A larger mean weight has no variance in double precision.


@dataclass(frozen=True)
class Estimate:
    """The value of a policy, estimated from the log of another policy.

    Attributes
    ----------
    value, std_error
        The estimate and its standard error. The error includes the spread of the rounds and, if
        the target was sampled, the spread of the samples.
    low, high
        The ends of its interval: Student's, with ``effective_n`` - 1 degrees of freedom.
    level
        The probability with which the interval should cover the true value.
    n
        How many rounds the log has.
    effective_n
        How many rounds with equal weights are worth as much: (sum of weights)² / sum of squares.
    mean_weight, mean_weight_error
        The mean weight of a round, and its standard error. In the long run the mean is 1, if the
        log overlaps with the target.
    largest_share
        The share of the estimate that one round contributes, at most.
    clipped
        The share of the weights that were clipped.
    rare
        The share of the weight on arms (or sets) that were in no other sample of their round, if
        propensities are shares of samples. Such propensities are too large on average.
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
    mean_weight_error: float = 0.0
    rare: float = 0.0

    @property
    def warning(self) -> str | None:
        """Why the interval may cover less often than it says; None if there is no reason."""
        found = []
        if self.effective_n < _FEW or self.effective_n < min(_UNEVEN, self.n / 2):
            found.append(f"{self.n:,} rounds are worth {self.effective_n:,.0f} of equal weights")
        if self.largest_share > _MOST_SHARE:
            found.append(f"one round is {self.largest_share:.0%} of the estimate")
        if self._is_off:
            found.append(f"the mean weight is {self.mean_weight:.2f} instead of 1")
        if self.rare > _RARE:
            found.append(
                f"{self.rare:.0%} of the weight is on arms that were in no other sample: take more "
                f"samples for the propensities"
            )
        if self.std_error == 0:
            found.append("all rounds contribute the same, so the spread is not known")
        if self.clipped:
            found.append(f"{self.clipped:.2%} of the weights were clipped, which is a bias")
        return "; ".join(found) or None

    @property
    def _is_off(self) -> bool:
        """Whether the mean weight differs from 1 by more than its standard error explains."""
        far = abs(self.mean_weight - 1) > max(_CLOSE, _FAR * self.mean_weight_error)
        return far or not _LEAST_MEAN < self.mean_weight < _MOST_MEAN

    def __repr__(self) -> str:
        return f"Estimate({self.value:.4g}, {self.low:.4g} to {self.high:.4g}, {self.n:,} rounds)"

    def _repr_html_(self) -> str:
        # A margin, so that the ends of the interval can be seen.
        margin = 0.15 * (self.high - self.low)
        ends = self.low - margin, self.high + margin
        picture = notebook.interval(self.low, self.value, self.high, ends=ends)
        row = [f"{self.value:.4g}", f"{self.low:.4g} to {self.high:.4g}", picture]
        row += [f"{self.n:,}", f"{self.effective_n:,.0f}"]
        head = ["estimate", f"{self.level:.0%} interval", "", "rounds", "worth"]
        beware = "" if self.warning is None else f"beware: {self.warning}"
        return notebook.table(head, [row], note=beware)

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
    **known: float,
) -> Estimate:
    """An estimate from what each round contributes, shape (n,), whose mean has the same error.

    ``known`` has the other members of the estimate.
    """
    # Rounds and target samples are independent, so their variances add.
    n = len(rows)
    std_error = float(np.sqrt(rows.var(ddof=1) / n + target_var)) if n > 1 else np.inf
    total = float(np.abs(rows).sum())
    share = float(np.abs(rows).max()) / total if total else 0.0
    return with_interval(
        value,
        std_error,
        kish(weights),
        n=n,
        level=level,
        bounds=bounds,
        largest_share=share,
        **known,
    )


def with_interval(
    value: float,
    std_error: float,
    effective_n: float,
    *,
    n: int,
    level: float,
    bounds: tuple[float, float],
    **known: float,
) -> Estimate:
    """An estimate from its figures; ``known`` has the other members."""
    # stdtrit is the quantile function of Student's t distribution.
    reach = float(stdtrit(max(1.0, effective_n - 1), (1 + level) / 2)) * std_error
    low, high = max(bounds[0], value - reach), min(bounds[1], value + reach)
    return Estimate(value, std_error, low, high, level, n, effective_n, **known)


def kish(weights: FloatArray) -> float:
    """How many rounds with equal weights are worth as much: Kish's effective sample size."""
    return float(weights.sum() ** 2 / (weights**2).sum())


def check_overlap(weights: FloatArray, unseen: float) -> tuple[float, float]:
    """The mean weight of the rounds and its error; refuses a target that picks what was not logged.

    ``unseen`` is the share of the target's picks that are in no round. If the logging policy never
    picks what the target picks with probability x, the mean weight is 1 - x in the long run.
    """
    n, mean = len(weights), float(weights.mean())
    refuse_huge(mean)
    error = float(weights.std(ddof=1) / np.sqrt(n)) if n > 1 else np.inf
    refuse_no_overlap(n, mean, error, unseen)
    return mean, error


def refuse_huge(mean: float) -> None:
    """Refuse a mean weight that comes from propensities of almost 0."""
    if not mean < _MOST_WEIGHT:
        raise ValueError(
            f"propensities must be large enough for weights of 1 on average, got a mean weight of "
            f"{mean:.3g}; are these the probabilities of what was logged?"
        )


def refuse_no_overlap(n: int, mean: float, error: float, unseen: float) -> None:
    """Refuse a target that picks what was not logged: see `check_overlap`."""
    if mean == 0:
        raise ValueError(
            "the target must overlap with the log, got one that picks nothing of what was logged; "
            "log a policy that tries its arms now and then"
        )
    if n < _LEAST_ROUNDS:
        return
    if unseen > _UNSEEN:
        raise ValueError(
            f"the target must overlap with the log, got one that picks what was never logged for "
            f"{unseen:.0%}; log a policy that tries its arms now and then"
        )
    if mean < _LEAST_WEIGHT and mean + _SIGMAS * error < 1:
        raise ValueError(
            f"the target must overlap with the log, got a mean weight of {mean:.3f} instead of 1: "
            f"about {1 - mean:.0%} of what the target picks is hardly ever logged, or too rarely "
            f"for its samples"
        )


def check_weights(weights: FloatArray) -> None:
    """Refuse weights that are almost all on a few rounds."""
    refuse_uneven(len(weights), kish(weights))


def refuse_uneven(n: int, effective_n: float) -> None:
    """Refuse rounds that are worth hardly any with equal weights."""
    if n >= _LEAST_ROUNDS and effective_n < _LEAST_EFFECTIVE:
        raise ValueError(
            f"the target must overlap with the log, got weights that make {n:,} rounds "
            f"worth {effective_n:.1f}; log a policy that is closer to the target, or clip the "
            f"weights"
        )
