"""What `LearnedBetaBelief` has learned about all arms, and what follows from it for some."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from superarm.beliefs._beta_fit import Beta, fit_beta, fit_dispersion, fit_wide_share, wide_weight
from superarm.beliefs.posteriors import BetaMixturePosterior
from superarm.core.arguments import FloatArray
from superarm.core.special import betaln, expit, logit
from superarm.core.warn import warn_user

WIDE = (1.0, 1.0)  # the prior of arms that are not like the others
# Sums of measured outcomes are grouped by steps of a 16th. Finer steps make more groups, and with
# coarser steps more arms are drawn in vain.
PER_OUTCOME = 16
N_PARTS = 11  # what `LearnedPrior.of_groups` returns
# After this many outcomes the prior is fitted first, and again when they are a quarter more.
_FIRST_FIT, _GROWTH = 8, 1.25
# The first guess of the noise is that of coins, which are 0 or 1. For outcomes that are this small
# where they are not 0, that guess counts for thousands of them. So many outcomes show their size.
SMALL, _ENOUGH = 0.05, 200
_LEVEL = 0.95  # the share of arms that the prior is described by
_SHOWN = 0.01  # a smaller share of arms from the wide prior is not mentioned


def next_fit(n_fitted: float) -> float:
    """How many outcomes the next fit needs, after a fit to this many outcomes."""
    return max(_FIRST_FIT, _GROWTH * n_fitted)


def are_in_steps(numbers: FloatArray) -> bool:
    """Whether numbers are as coarse as the sums of groups, so that arms of a group are equal."""
    steps = PER_OUTCOME * numbers
    return bool((steps == np.floor(steps)).all())


@dataclass(frozen=True)
class LearnedPrior:
    """theta_i ~ Beta(a, b) or, with a small probability, Beta(1, 1).

    Attributes
    ----------
    beta, dispersion, wide_share
        (a, b), the noise of outcomes relative to coins, and that probability.
    """

    beta: Beta
    dispersion: float
    wide_share: float

    def given(self, counts: FloatArray, sums: FloatArray) -> BetaMixturePosterior:
        """The posteriors of arms with these counts and sums of outcomes, shape (n,) each."""
        successes, failures = self._counted(counts, sums)
        wide = wide_weight(successes, failures, self.beta, self.wide_share)
        a, b = zip(self.beta, WIDE, strict=True)
        return BetaMixturePosterior(
            np.stack([1 - wide, wide], axis=1),
            successes[:, None] + np.array(a),
            failures[:, None] + np.array(b),
        )

    def usual_mean(self, counts: FloatArray, sums: FloatArray) -> FloatArray:
        """The posterior means of arms, if none of them comes from Beta(1, 1)."""
        successes, failures = self._counted(counts, sums)
        a, b = self.beta[0] + successes, self.beta[1] + failures
        return a / (a + b)

    def parts(self, counts: FloatArray, sums: FloatArray) -> list[FloatArray]:
        """Both parts of the posteriors, as `MixedPosteriors` without a lift, and their 1 / n_i.

        Shape (n,) each.
        """
        successes, failures = self._counted(counts, sums)
        learned = self.beta[0] + successes, self.beta[1] + failures
        wide = WIDE[0] + successes, WIDE[1] + failures
        # With sums rounded up, as in the groups, the bound of a group holds for each of its arms.
        above = np.ceil(PER_OUTCOME * sums) / PER_OUTCOME
        weight = wide_weight(*self._counted(counts, above), self.beta, self.wide_share)
        per_known = self.per_known(counts, self.beta), self.per_known(counts, WIDE)
        return [*learned, *wide, weight, *per_known]

    def of_groups(self, counts: FloatArray, sums: FloatArray, *_: FloatArray) -> list[FloatArray]:
        """`parts`, and before the last two what `LargeValues` needs: `N_PARTS` in all."""
        a, b, wide_a, wide_b, weight, *per_known = self.parts(counts, sums)
        scales = -np.log(b) - betaln(a, b), -np.log(wide_b) - betaln(wide_a, wide_b)
        mean = a / (a + b)
        std = np.sqrt(mean * (1 - mean) / (a + b + 1))
        return [a, b, wide_a, wide_b, weight, *scales, mean, std, *per_known]

    def of_group(self, count: float, total: float, *_: float) -> tuple[float, ...]:
        """What `of_groups` gives, for one group whose sum is in steps."""
        d, share = self.dispersion, self.wide_share
        successes, failures = total / d, max(count - total, 0.0) / d
        a, b = self.beta[0] + successes, self.beta[1] + failures
        wide_a, wide_b = WIDE[0] + successes, WIDE[1] + failures
        likely, wide_likely = float(betaln(a, b)), float(betaln(wide_a, wide_b))
        odds, of_prior = self._of_prior
        weight = float(expit(odds + wide_likely - (likely - of_prior))) if share else 0.0
        scales = -math.log(b) - likely, -math.log(wide_b) - wide_likely
        mean = a / (a + b)
        std = math.sqrt(mean * (1 - mean) / (a + b + 1))
        per_known = 1 / (count + d * sum(self.beta)), 1 / (count + d * sum(WIDE))
        return (a, b, wide_a, wide_b, weight, *scales, mean, std, *per_known)

    @cached_property
    def _of_prior(self) -> tuple[float, float]:
        """What the weights of all groups need: the logit of the share, and log B(a, b)."""
        return float(logit(self.wide_share)), float(betaln(*self.beta))

    def per_known(self, counts: FloatArray, prior: Beta) -> FloatArray:
        """1 / n_i, where n_i counts the outcomes of an arm and those that a prior is worth."""
        return 1 / (counts + self.dispersion * sum(prior))

    def _counted(self, counts: FloatArray, sums: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The successes and failures that outcomes count as."""
        # A sum may exceed its count by rounding.
        return sums / self.dispersion, np.maximum(counts - sums, 0.0) / self.dispersion

    def fitted(
        self, counts: FloatArray, sums: FloatArray, squares: float, *, wide: bool
    ) -> LearnedPrior:
        """What the outcomes of all arms say: first the dispersion, and then the prior.

        The search for the prior starts from this one. ``squares`` is the sum of the squares of all
        outcomes. Without ``wide`` the share of the wide prior stays.
        """
        seen = np.flatnonzero(counts)
        _warn_of_small(counts, sums, squares)
        # Pairs as complex numbers: numpy finds distinct numbers faster than distinct rows.
        pairs, times = np.unique(counts[seen] + 1j * sums[seen], return_counts=True)
        counts, sums, n_arms = pairs.real, pairs.imag, times.astype(np.float64)
        dispersion = fit_dispersion(counts, sums, n_arms, squares)
        # A sum may exceed its count by rounding.
        successes, failures = sums / dispersion, np.maximum((counts - sums) / dispersion, 0.0)
        beta = fit_beta(successes, failures, n_arms, self.beta)
        share = fit_wide_share(successes, failures, n_arms, beta) if wide else self.wide_share
        return LearnedPrior(beta, dispersion, share)

    def interval(self, level: float = _LEVEL) -> tuple[float, float]:
        """The ends of an interval that has this share of the arms."""
        low, high = self.given(np.zeros(1), np.zeros(1)).interval(level)
        return float(low[0]), float(high[0])

    def __str__(self) -> str:
        low, high = self.interval()
        law = "Beta({:.3g}, {:.3g})".format(*self.beta)
        if self.wide_share >= _SHOWN:
            law += f", or Beta(1, 1) for {self.wide_share:.1%} of the arms"
        return f"learned prior {law}: {_LEVEL:.0%} of the arms are between {low:.3g} and {high:.3g}"


def _warn_of_small(counts: FloatArray, sums: FloatArray, squares: float) -> None:
    # The ratio is 1 for coins, and the size of outcomes that are 0 or all the same.
    if squares < SMALL * sums.sum() and counts.sum() >= _ENOUGH:
        warn_user(
            "outcomes are far below 1 where they are not 0, so that little is learned from them; "
            "divide them by a smaller number, such as a value that few exceed, and cut what is "
            "then above 1"
        )


@dataclass(frozen=True, eq=False)
class LearnedPosterior:
    """The posteriors of some arms, which are computed when somebody looks at them.

    Sessions keep one per decision, and explain few decisions.

    Attributes
    ----------
    prior
        What was learned at that moment.
    counts, sums
        Shape (n,): how many outcomes the arms had, and their sums.
    """

    prior: LearnedPrior
    counts: FloatArray
    sums: FloatArray

    @cached_property
    def _law(self) -> BetaMixturePosterior:
        return self.prior.given(self.counts, self.sums)

    @property
    def a(self) -> FloatArray:
        """Shape (n,): the first parameters, for arms that are like the others."""
        return self._law.a[:, 0]

    @property
    def b(self) -> FloatArray:
        """Shape (n,): the second parameters, for arms that are like the others."""
        return self._law.b[:, 0]

    def mean(self) -> FloatArray:
        """The means, shape (n,)."""
        return self._law.mean()

    def interval(self, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """The lower and upper ends of the equal-tailed intervals, shape (n,) each."""
        return self._law.interval(level)
