"""A Beta belief that forgets at a steady rate, for means that drift.

Raj, Kalyani: "Taming non-stationary bandits: a Bayesian approach", 2017 (discounted Thompson sampling). The discount
itself: Kocsis, Szepesvári 2006; Garivier, Moulines: "On upper-confidence bound policies for switching bandit
problems", ALT 2011.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from superarm.beliefs._beta import as_counts, as_prior, flip, grown
from superarm.beliefs.posteriors import BetaPosterior
from superarm.core.arguments import (
    FloatArray,
    IndexArray,
    as_count,
    as_feedback,
    as_fraction,
    as_state,
)

_LEAST = 1e-100  # a unit below this is folded into the counts: far from where floats end, and rarely reached


class DiscountedBetaBelief:
    """theta_i ~ Beta(a_i, b_i), where what was seen counts ``discount`` times less with every round that follows.

    After an update that says anything, a_i is the prior's a plus the sum of discount^(age) over the successes of arm
    i, the newest being of age 0, and b_i the same for failures. So an arm that is not pulled drifts back to its prior,
    and is tried again. About 1 / (1 - discount) rounds count. With a discount of 1 it is a `BetaBelief`.

    ``sample`` costs n_arms Beta draws; ``update`` O(arms told), since one number says how far all counts have faded,
    and O(n_arms) once in some thousands of rounds. 32 bytes an arm.

    Parameters
    ----------
    n_arms
        How many arms there are.
    discount
        In (0, 1]: how much of the evidence is left after a round.
    prior
        The (a, b) that every arm starts with and fades to, above 0: numbers, or arrays of shape (n_arms,).

    Attributes
    ----------
    a, b
        Shape (n_arms,): the parameters of the posteriors, computed when they are looked at.

    Examples
    --------
    >>> belief, rng = DiscountedBetaBelief(3, discount=0.5), np.random.default_rng(0)
    >>> belief.update([0, 2], [1.0, 0.0], rng=rng)
    >>> belief.update([0], [1.0], rng=rng)
    >>> belief.a, belief.b
    (array([2.5, 1. , 1. ]), array([1. , 1. , 1.5]))
    """

    def __init__(
        self, n_arms: int, discount: float = 0.99, prior: tuple[ArrayLike, ArrayLike] = (1.0, 1.0)
    ) -> None:
        self.n_arms = as_count(n_arms, "n_arms", least=1)
        self.discount = as_fraction(discount, "discount", high="]")
        self._prior_a, self._prior_b = as_prior(prior, self.n_arms)
        # What was seen, in units of which one is worth less with every round: a = prior a + unit · successes.
        self._successes, self._failures, self._unit = (
            np.zeros(self.n_arms),
            np.zeros(self.n_arms),
            1.0,
        )

    @classmethod
    def from_counts(
        cls,
        successes: ArrayLike,
        trials: ArrayLike,
        *,
        strength: float = 1.0,
        discount: float = 0.99,
        prior: tuple[ArrayLike, ArrayLike] = (1.0, 1.0),
    ) -> DiscountedBetaBelief:
        """A warm start as `BetaBelief.from_counts` has it; here the old counts fade like everything else.

        Examples
        --------
        >>> belief = DiscountedBetaBelief.from_counts([30, 2], [100, 100], strength=0.1)
        >>> belief.a, belief.b
        (array([4. , 1.2]), array([ 8. , 10.8]))
        """
        won, lost = as_counts(successes, trials, strength)
        belief = cls(len(won), discount, prior)
        belief._successes, belief._failures = won, lost
        return belief

    @property
    def a(self) -> FloatArray:
        """The prior's a and the faded successes, shape (n_arms,)."""
        return self._prior_a + self._unit * self._successes

    @property
    def b(self) -> FloatArray:
        """The prior's b and the faded failures, shape (n_arms,)."""
        return self._prior_b + self._unit * self._failures

    def mean(self) -> FloatArray:
        """The posterior means, shape (n_arms,)."""
        a = self.a
        return a / (a + self.b)

    def posterior(self, arms: IndexArray) -> BetaPosterior:
        """What is known of some arms now; it stays as it is when the belief learns."""
        a = self._prior_a[arms] + self._unit * self._successes[arms]
        return BetaPosterior(a, self._prior_b[arms] + self._unit * self._failures[arms])

    def sample(self, *, rng: np.random.Generator) -> FloatArray:
        """One draw from every posterior, in the order of the arms."""
        return rng.beta(self.a, self.b)

    def update(self, arms: ArrayLike, outcomes: ArrayLike, *, rng: np.random.Generator) -> None:
        """Fade what was seen of all arms, then count the outcomes in full; no arms, no round.

        Draws only for outcomes strictly between 0 and 1, as `BetaBelief` does.
        """
        arms, outcomes = as_feedback(arms, outcomes, self.n_arms)
        if not len(arms):
            return
        coins = flip(outcomes, rng=rng)
        self._unit *= self.discount
        if self._unit < _LEAST:
            self._successes *= self._unit
            self._failures *= self._unit
            self._unit = 1.0
        self._successes[arms] += coins / self._unit
        self._failures[arms] += (1 - coins) / self._unit

    def add_arms(self, n: int, prior: tuple[ArrayLike, ArrayLike] | None = None) -> None:
        """Make room for n more arms, which come last, with a prior of their own: (1, 1) unless given. O(n_arms)."""
        self._prior_a, self._prior_b, self._successes, self._failures = grown(
            n, prior, self._prior_a, self._prior_b, self._successes, self._failures
        )
        self.n_arms = len(self._successes)

    def state(self) -> dict[str, Any]:
        """The prior, what was seen and how far it has faded, as plain JSON."""
        return {
            "belief": "DiscountedBetaBelief",
            "n_arms": self.n_arms,
            "discount": self.discount,
            "unit": self._unit,
            "a": self._prior_a.tolist(),
            "b": self._prior_b.tolist(),
            "successes": self._successes.tolist(),
            "failures": self._failures.tolist(),
        }

    def load(self, state: dict[str, Any]) -> None:
        """Take over what ``state()`` described, the discount included."""
        arrays = as_state(
            state,
            "DiscountedBetaBelief",
            self.n_arms,
            arrays=("a", "b", "successes", "failures"),
            others=("discount", "unit"),
        )
        prior = as_prior((arrays["a"], arrays["b"]), self.n_arms)
        discount = as_fraction(state["discount"], "state['discount']", high="]")
        self._unit = as_fraction(state["unit"], "state['unit']", high="]")
        self.discount, (self._prior_a, self._prior_b) = discount, prior
        self._successes, self._failures = arrays["successes"], arrays["failures"]
