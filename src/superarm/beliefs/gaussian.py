"""A Gaussian belief, for outcomes whose noise is better known than their distribution.

Perrault, Boursier, Perchet, Valko: "Statistical efficiency of Thompson sampling for combinatorial
semi-bandits", NeurIPS 2020, use Gaussian posteriors for sub-Gaussian outcomes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from superarm.beliefs import outcome_counts
from superarm.beliefs._scores import SharedScores, with_shared
from superarm.beliefs.outcome_counts import OutcomeCounts
from superarm.beliefs.posteriors import GaussianPosterior
from superarm.core.arguments import FloatArray, IndexArray, as_count, as_fraction, as_positive
from superarm.core.showing import one_line
from superarm.core.special import ndtr, ndtri

# The inverse of a smaller variance would not be finite.
_LEAST_VAR = 1e-300


class GaussianBelief:
    """theta_i ~ N(mean_i, var_i) restricted to [0, 1].

    The exact posterior of a mean in [0, 1] with a Gaussian prior and Gaussian noise of known
    variance: 1 / var_i = 1 / prior_var + n_i / noise_var, and mean_i weighs the prior mean and the
    outcomes accordingly. The default noise variance 1/4 is the largest that an outcome in [0, 1]
    can have. ``sample`` costs n_arms normal quantiles and ``update`` O(arms updated). Counts and
    sums are in ``outcomes``, an `OutcomeCounts` of 16 bytes per arm. `FlatGaussianBelief` has
    posteriors that are not restricted.

    Parameters
    ----------
    n_arms
        How many arms there are.
    prior
        The mean, in [0, 1], and the variance before the first outcome.
    noise_var
        The variance of an outcome about its mean.
    shared
        From 0 to 1: how much of the seed all arms share, as in `SharedSeedBelief`.

    Examples
    --------
    >>> belief = GaussianBelief(2)
    >>> belief.update([1], [1.0], rng=np.random.default_rng(0))
    >>> belief.location(), belief.var()
    (array([0.5 , 0.75]), array([0.25 , 0.125]))
    """

    __repr__ = one_line

    def __init__(
        self,
        n_arms: int,
        prior: tuple[float, float] = (0.5, 0.25),
        noise_var: float = 0.25,
        *,
        shared: float = 0.0,
    ) -> None:
        self.n_arms = as_count(n_arms, "n_arms", least=1)
        if not isinstance(prior, tuple | list) or len(prior) != 2:
            raise TypeError(f"prior must be a pair (mean, variance), got {prior!r}")
        self.prior_mean = as_fraction(prior[0], "the prior's mean", low="[", high="]")
        self.prior_var = as_positive(prior[1], "the prior's variance")
        if self.prior_var < _LEAST_VAR:
            raise ValueError(
                f"the prior's variance must be at least {_LEAST_VAR:g}, got {prior[1]!r}"
            )
        self.noise_var = as_positive(noise_var, "noise_var")
        self.shared = as_fraction(shared, "shared", low="[", high="]")
        self.outcomes = OutcomeCounts.empty(self.n_arms)

    def var(self) -> FloatArray:
        """The variances of the posteriors before their restriction to [0, 1], shape (n_arms,)."""
        return self._var(self.outcomes.counts)

    def location(self) -> FloatArray:
        """The means of the posteriors before their restriction to [0, 1], shape (n_arms,)."""
        return self._location(self.var(), self.outcomes.sums)

    def posterior(self, arms: IndexArray) -> GaussianPosterior:
        """The posteriors of some arms at this moment. Later updates do not change the answer."""
        var = self._var(self.outcomes.counts[arms])
        return GaussianPosterior(self._location(var, self.outcomes.sums[arms]), var)

    def sample(self, *, rng: np.random.Generator) -> FloatArray:
        """One draw from every posterior, by inverting its distribution function."""
        location, std = self.location(), np.sqrt(self.var())
        low, high = ndtr(-location / std), ndtr((1 - location) / std)
        draw = location + std * ndtri(low + (high - low) * self._levels(rng))
        # Rounding may leave [0, 1], and ndtri(0) is -inf.
        return np.clip(draw, 0.0, 1.0)

    update = outcome_counts.update
    add_arms = outcome_counts.add_arms

    def state(self) -> dict[str, Any]:
        """The counts, the prior and the noise as plain JSON."""
        prior = [self.prior_mean, self.prior_var]
        settings = {"prior": prior, "noise_var": self.noise_var, "shared": self.shared}
        return self.outcomes.state("GaussianBelief", **settings)

    def load(self, state: dict[str, Any]) -> None:
        """Become what ``state()`` described."""
        settings, state = ("prior", "noise_var", "shared"), with_shared(state)
        outcomes = OutcomeCounts.from_state(state, "GaussianBelief", self.n_arms, settings=settings)
        # A new belief checks the settings before anything changes here.
        new = GaussianBelief(
            self.n_arms, tuple(state["prior"]), state["noise_var"], shared=state["shared"]
        )
        new.outcomes = outcomes
        self.__dict__.update(new.__dict__)

    def _levels(self, rng: np.random.Generator) -> FloatArray:
        """Where in its posterior each arm is: uniform numbers, which arms share in part."""
        if self.shared == 0:
            return rng.random(self.n_arms)
        return np.asarray(ndtr(SharedScores(self.shared).draw(self.n_arms, rng=rng)), np.float64)

    def _var(self, counts: FloatArray) -> FloatArray:
        return 1 / (1 / self.prior_var + counts / self.noise_var)

    def _location(self, var: FloatArray, sums: FloatArray) -> FloatArray:
        return var * (self.prior_mean / self.prior_var + sums / self.noise_var)
