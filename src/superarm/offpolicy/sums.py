"""Sums over rounds, which can be added over parts of a log, and the estimate from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from superarm.offpolicy.estimate import (
    Estimate,
    refuse_huge,
    refuse_no_overlap,
    refuse_uneven,
    with_interval,
)

_ADDED = ("n", "x", "w", "ww", "rr", "r")


@dataclass(frozen=True)
class Sums:
    """Sums over rounds, of which x is the weighted outcome of a round and w its weight.

    Attributes
    ----------
    n, x, w, ww
        The number of rounds, and the sums of x, w and w².
    rr, r, most
        Around a value v with the mean weight u, for r = (x - v w) / u: the sum of r², the sum of
        |v + r|, and the largest |v + r|. 0 without a value.
    """

    n: float
    x: float
    w: float
    ww: float
    rr: float = 0.0
    r: float = 0.0
    most: float = 0.0

    def __add__(self, other: Sums) -> Sums:
        added = {name: getattr(self, name) + getattr(other, name) for name in _ADDED}
        return Sums(**added, most=max(self.most, other.most))

    @property
    def mean_weight(self) -> float:
        """The mean weight of a round."""
        return self.w / self.n if self.n else 0.0

    @property
    def value(self) -> float:
        """The estimate: the ratio of two means; NaN if nothing overlaps."""
        return self.x / self.w if self.w else np.nan


def estimate_of(sums: Sums, size: float, *, level: float = 0.95, unseen: float = 0.0) -> Estimate:
    """The estimate from the `Sums` around its own value.

    ``size`` is the mean size of the target's sets. ``unseen`` is the share of the target that is in
    no file. What `snips` refuses in memory is refused here, too.
    """
    refuse_huge(sums.mean_weight)
    n, spare = int(sums.n), max(1.0, sums.n - 1)
    spread = max(0.0, sums.ww - sums.w * sums.mean_weight) / spare
    error = float(np.sqrt(spread / n)) if n > 1 else np.inf
    refuse_no_overlap(n, sums.mean_weight, error, unseen)
    effective_n = sums.w**2 / sums.ww
    refuse_uneven(n, effective_n)
    return with_interval(
        sums.value,
        float(np.sqrt(sums.rr / spare / n)) if n > 1 else np.inf,
        effective_n,
        n=n,
        level=level,
        bounds=(0.0, size),
        mean_weight=sums.mean_weight,
        mean_weight_error=error,
        largest_share=sums.most / sums.r if sums.r else 0.0,
    )
