"""Gaussian posteriors with a flat prior, not restricted to [0, 1]: CTS-Gaussian and BG-CTS.

Perrault, Boursier, Perchet, Valko: "Statistical efficiency of Thompson sampling for combinatorial
semi-bandits", NeurIPS 2020, is CTS-Gaussian. Zhang, Combes: "Thompson sampling for combinatorial
bandits: polynomial regret and mismatched sampling paradox", NeurIPS 2024, is BG-CTS, whose variance
has a factor that falls with time. Jin, Zhao, Tan, Gu (COLT 2026) share one seed between all arms.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from superarm.beliefs import outcome_counts
from superarm.beliefs._scores import SharedScores
from superarm.beliefs.outcome_counts import OutcomeCounts
from superarm.core.arguments import FloatArray, as_count, as_finite, as_fraction, as_positive
from superarm.core.showing import one_line

# The largest value of an arm with outcomes, while others have none.
BELOW_UNSEEN = 1 - 1e-9


class FlatGaussianBelief:
    """theta_i ~ N(mean_i, boost · noise_var / n_i), for the mean of n_i outcomes; then scaled.

    Values may leave [0, 1]. Since theta must be in [0, 1], all values are shifted if one is below 0
    and divided by a common factor if one is above 1. For sums over sets of one size this changes no
    decision. An arm without outcomes has an infinite variance. It gets 1, more than all others, so
    that every arm is tried at first.

    With ``set_size`` m the factor is that of BG-CTS, 2 · boost · f(t) / ln t, where t is one more
    than the number of updates and at least e, and f(t) = ln t + (m + 2) ln ln t + c. The constant c
    is (m/2) ln(1 + e / (boost - 1)), and 0 for a boost of 1 as in the experiments of that paper.

    ``sample`` costs n_arms normal draws and ``update`` O(arms updated). Counts and sums are in
    ``outcomes``, an `OutcomeCounts` of 16 bytes per arm.

    Parameters
    ----------
    n_arms
        How many arms there are.
    noise_var
        The variance of an outcome about its mean; 1/4 is the largest of an outcome in [0, 1].
    boost
        The factor of the variance, at least 1: beta of CTS-Gaussian, 1 + lambda of BG-CTS.
    set_size
        How many arms the largest set has, for BG-CTS; None for CTS-Gaussian.
    shared
        From 0 to 1: how much of the seed all arms share, as in `SharedSeedBelief`.

    Examples
    --------
    >>> belief = FlatGaussianBelief(3)
    >>> belief.update([0, 1], [1.0, 0.0], rng=np.random.default_rng(0))
    >>> belief.sample(rng=np.random.default_rng(0)).round(3)  # arm 2 first
    array([0.934, 0.32 , 1.   ])
    >>> round(FlatGaussianBelief(60, set_size=30).factor(), 1)  # in the first round
    2.0
    """

    __repr__ = one_line

    def __init__(
        self,
        n_arms: int,
        noise_var: float = 0.25,
        *,
        boost: float = 1.0,
        set_size: int | None = None,
        shared: float = 0.0,
    ) -> None:
        self.n_arms = as_count(n_arms, "n_arms", least=1)
        self.noise_var = as_positive(noise_var, "noise_var")
        self.boost = float(as_finite([boost], "boost", ndim=1, least=1.0)[0])
        self.set_size = None if set_size is None else as_count(set_size, "set_size", least=1)
        self.shared = as_fraction(shared, "shared", low="[", high="]")
        self.outcomes = OutcomeCounts.empty(self.n_arms)

    @property
    def constant(self) -> float:
        """c of f(t)."""
        spare = self.boost - 1
        if self.set_size is None or not spare:
            return 0.0
        return float(self.set_size / 2 * np.log1p(np.e / spare))

    def factor(self) -> float:
        """The factor of the variances in this round."""
        if self.set_size is None:
            return self.boost
        # t < e would make ln ln t negative; the authors' program takes e as well.
        log_t = max(1.0, float(np.log(self.outcomes.rounds + 1)))
        f = log_t + (self.set_size + 2) * np.log(log_t) + self.constant
        return float(2 * self.boost * f / log_t)

    def sample(self, *, rng: np.random.Generator) -> FloatArray:
        """One draw per arm, scaled to [0, 1]."""
        counts = self.outcomes.counts
        # The maximum only keeps the division finite: arms without outcomes are set to 1.
        std = np.sqrt(self.factor() * self.noise_var / np.maximum(counts, 1))
        scores = SharedScores(self.shared).draw(self.n_arms, rng=rng)
        return _scaled(self.outcomes.mean() + std * scores, counts > 0)

    update = outcome_counts.update
    add_arms = outcome_counts.add_arms

    def state(self) -> dict[str, Any]:
        """The counts and the settings as plain JSON."""
        settings = {name: getattr(self, name) for name in _SETTINGS}
        return self.outcomes.state("FlatGaussianBelief", **settings)

    def load(self, state: dict[str, Any]) -> None:
        """Become what ``state()`` described."""
        outcomes = OutcomeCounts.from_state(
            state, "FlatGaussianBelief", self.n_arms, settings=_SETTINGS
        )
        # A new belief checks the settings before anything changes here.
        new = FlatGaussianBelief(self.n_arms, **{name: state[name] for name in _SETTINGS})
        new.outcomes = outcomes
        self.__dict__.update(new.__dict__)


_SETTINGS = ("noise_var", "boost", "set_size", "shared")


def _scaled(values: FloatArray, seen: NDArray[np.bool_]) -> FloatArray:
    """The values in [0, 1] in their order; arms that were not seen are above all others."""
    known = values[seen]
    low, high = float(known.min(initial=0.0)), float(known.max(initial=1.0))
    top = 1.0 if seen.all() else BELOW_UNSEEN
    return np.where(seen, top * np.clip((values - low) / (high - low), 0.0, 1.0), 1.0)
