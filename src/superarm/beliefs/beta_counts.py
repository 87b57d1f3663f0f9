"""Beta posteriors as a prior plus counts, for beliefs in which evidence loses its weight.

`DiscountedBetaBelief` and `SlidingBetaBelief` keep a `BetaCounts` as their attribute ``counts`` and
decide which evidence counts for how much. The rest follows from the counts: they take over the
functions below as methods (``mean = beta_counts.mean``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from superarm.beliefs._beta import as_prior, grown
from superarm.beliefs._scores import beta_draw
from superarm.beliefs.beta import flip
from superarm.beliefs.posteriors import BetaPosterior
from superarm.core.arguments import FloatArray, IndexArray, as_feedback

# A smaller unit is multiplied into the counts: far from the end of the floats, and rarely reached.
_LEAST_UNIT = 1e-100


@dataclass
class BetaCounts:
    """a = prior_a + unit · successes, and b = prior_b + unit · failures.

    One number, the unit, says how much all counts have faded, so that fading costs O(1).

    Attributes
    ----------
    prior_a, prior_b, successes, failures
        Shape (n_arms,) each.
    unit
        The weight of a count, in (0, 1].

    Examples
    --------
    >>> counts = BetaCounts.empty(2, prior=(1.0, 1.0))
    >>> counts.add(np.array([0]), np.array([1.0]))
    >>> counts.fade(0.5)
    >>> counts.a, counts.b
    (array([1.5, 1. ]), array([1., 1.]))
    """

    prior_a: FloatArray
    prior_b: FloatArray
    successes: FloatArray
    failures: FloatArray
    unit: float = 1.0

    @classmethod
    def empty(cls, n_arms: int, prior: tuple[ArrayLike, ArrayLike]) -> BetaCounts:
        """No outcomes yet."""
        return cls(*as_prior(prior, n_arms), np.zeros(n_arms), np.zeros(n_arms))

    @property
    def a(self) -> FloatArray:
        """The first parameters of the posteriors, shape (n_arms,)."""
        return self.prior_a + self.unit * self.successes

    @property
    def b(self) -> FloatArray:
        """The second parameters of the posteriors, shape (n_arms,)."""
        return self.prior_b + self.unit * self.failures

    def posterior(self, arms: IndexArray) -> BetaPosterior:
        """The posteriors of some arms; O(arms)."""
        return BetaPosterior(
            self.prior_a[arms] + self.unit * self.successes[arms],
            self.prior_b[arms] + self.unit * self.failures[arms],
        )

    def add(self, arms: IndexArray, coins: FloatArray) -> None:
        """Count one success (coin 1) or failure (coin 0) per arm, with full weight."""
        self.successes[arms] += coins / self.unit
        self.failures[arms] += (1 - coins) / self.unit

    def remove(self, arms: IndexArray, coins: FloatArray) -> None:
        """Undo ``add``; exact for counts that have not faded."""
        self.successes[arms] -= coins / self.unit
        self.failures[arms] -= (1 - coins) / self.unit

    def fade(self, factor: float) -> None:
        """Multiply the weight of all counts so far by a factor in (0, 1]."""
        self.unit *= factor
        if self.unit < _LEAST_UNIT:
            self.successes *= self.unit
            self.failures *= self.unit
            self.unit = 1.0

    def prior_state(self) -> dict[str, Any]:
        """The prior as plain JSON."""
        return {"a": self.prior_a.tolist(), "b": self.prior_b.tolist()}


class HasCounts(Protocol):
    """A belief whose posteriors follow from its `BetaCounts` alone."""

    n_arms: int
    shared: float
    counts: BetaCounts


class CountsRounds(Protocol):
    """A belief with an idea of its own of how the outcomes of rounds count."""

    n_arms: int

    def _count(self, arms: IndexArray, coins: FloatArray) -> None:
        """Count the successes (1) and failures (0) of the arms of one round."""


def a_of(self: HasCounts) -> FloatArray:
    """The prior's a plus the successes that count, shape (n_arms,)."""
    return self.counts.a


def b_of(self: HasCounts) -> FloatArray:
    """The prior's b plus the failures that count, shape (n_arms,)."""
    return self.counts.b


def mean(self: HasCounts) -> FloatArray:
    """The posterior means, shape (n_arms,)."""
    # Each access to a computes it anew, so that it is read once.
    a = self.counts.a
    return a / (a + self.counts.b)


def posterior(self: HasCounts, arms: IndexArray) -> BetaPosterior:
    """The posteriors of some arms at this moment. Later updates do not change the answer."""
    return self.counts.posterior(arms)


def sample(self: HasCounts, *, rng: np.random.Generator) -> FloatArray:
    """One draw from every posterior, in the order of the arms."""
    return beta_draw(self.counts.a, self.counts.b, self.shared, rng=rng)


def update(
    self: CountsRounds, arms: ArrayLike, outcomes: ArrayLike, *, rng: np.random.Generator
) -> None:
    """Count the outcomes of a round. An update with no arms is no round.

    Draws only for outcomes strictly between 0 and 1, as `BetaBelief` does.
    """
    arms, outcomes = as_feedback(arms, outcomes, self.n_arms)
    if len(arms):
        # The coins come first: if drawing fails, nothing has changed yet.
        self._count(arms, flip(outcomes, rng=rng))


def add_arms(self: HasCounts, n: int, prior: tuple[ArrayLike, ArrayLike] | None = None) -> None:
    """Append n arms with a prior of their own, (1, 1) by default. O(n_arms)."""
    counts = self.counts
    counts.prior_a, counts.prior_b, counts.successes, counts.failures = grown(
        n, prior, counts.prior_a, counts.prior_b, counts.successes, counts.failures
    )
    self.n_arms = len(counts.successes)
