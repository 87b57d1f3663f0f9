"""A Beta belief that forgets at a constant rate, for means that drift.

Raj, Kalyani: "Taming non-stationary bandits: a Bayesian approach", 2017 (discounted Thompson
sampling). The discount itself: Kocsis, Szepesvári 2006; Garivier, Moulines: "On upper-confidence
bound policies for switching bandit problems", ALT 2011.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from superarm.beliefs import beta_counts
from superarm.beliefs._beta import as_counts, as_prior
from superarm.beliefs._scores import with_shared
from superarm.beliefs.beta_counts import BetaCounts
from superarm.core.arguments import FloatArray, IndexArray, as_count, as_fraction, as_state
from superarm.core.showing import one_line


class DiscountedBetaBelief:
    """theta_i ~ Beta(a_i, b_i), where each new round multiplies older evidence by ``discount``.

    a_i is the prior's a plus the sum of discount^age over the successes of arm i; the newest
    success has age 0. b_i is the same for failures. So an arm that is not pulled returns to its
    prior, and is tried again. About 1 / (1 - discount) rounds count. A round is an update with at
    least one outcome. With a discount of 1 this is `BetaBelief`.

    ``sample`` costs n_arms Beta draws, or as many inverse distribution functions if a seed is
    shared. ``update`` costs O(arms updated), and O(n_arms) once in some thousand rounds. Takes 32
    bytes per arm.

    Parameters
    ----------
    n_arms
        How many arms there are.
    discount
        In (0, 1]: the share of the evidence that is left after one round.
    prior
        The (a, b) that every arm starts with and returns to, above 0: numbers, or arrays of shape
        (n_arms,).
    shared
        From 0 to 1: how much of the seed all arms share, as in `SharedSeedBelief`.

    Attributes
    ----------
    a, b
        Shape (n_arms,): the parameters of the posteriors, computed on each access.

    Examples
    --------
    >>> import numpy as np
    >>> belief, rng = DiscountedBetaBelief(3, discount=0.5), np.random.default_rng(0)
    >>> belief.update([0, 2], [1.0, 0.0], rng=rng)
    >>> belief.update([0], [1.0], rng=rng)
    >>> belief.a, belief.b
    (array([2.5, 1. , 1. ]), array([1. , 1. , 1.5]))
    """

    __repr__ = one_line

    def __init__(
        self,
        n_arms: int,
        discount: float = 0.99,
        prior: tuple[ArrayLike, ArrayLike] = (1.0, 1.0),
        *,
        shared: float = 0.0,
    ) -> None:
        self.n_arms = as_count(n_arms, "n_arms", least=1)
        self.discount = as_fraction(discount, "discount", high="]")
        self.shared = as_fraction(shared, "shared", low="[", high="]")
        self.counts = BetaCounts.empty(self.n_arms, prior)

    @classmethod
    def from_counts(
        cls,
        successes: ArrayLike,
        trials: ArrayLike,
        *,
        discount: float = 0.99,
        strength: float = 1.0,
        prior: tuple[ArrayLike, ArrayLike] = (1.0, 1.0),
        shared: float = 0.0,
    ) -> DiscountedBetaBelief:
        """A warm start like `BetaBelief.from_counts`; the old counts fade like all evidence.

        Examples
        --------
        >>> belief = DiscountedBetaBelief.from_counts([30, 2], [100, 100], strength=0.1)
        >>> belief.a, belief.b
        (array([4. , 1.2]), array([ 8. , 10.8]))
        """
        won, lost = as_counts(successes, trials, strength)
        belief = cls(len(won), discount, prior, shared=shared)
        belief.counts.successes, belief.counts.failures = won, lost
        return belief

    a, b = property(beta_counts.a_of), property(beta_counts.b_of)
    mean, posterior = beta_counts.mean, beta_counts.posterior
    sample, update = beta_counts.sample, beta_counts.update
    add_arms = beta_counts.add_arms

    def _count(self, arms: IndexArray, coins: FloatArray) -> None:
        """Discount the evidence about all arms, then count the outcomes of a round."""
        # Fade first, so that the outcomes of this round have age 0 and count in full.
        self.counts.fade(self.discount)
        self.counts.add(arms, coins)

    def state(self) -> dict[str, Any]:
        """The prior, the counts and their weight as plain JSON."""
        return {
            "belief": "DiscountedBetaBelief",
            "n_arms": self.n_arms,
            "discount": self.discount,
            "shared": self.shared,
            "unit": self.counts.unit,
            **self.counts.prior_state(),
            "successes": self.counts.successes.tolist(),
            "failures": self.counts.failures.tolist(),
        }

    def load(self, state: dict[str, Any]) -> None:
        """Become what ``state()`` described, including the discount."""
        state = with_shared(state)
        arrays = as_state(
            state,
            "DiscountedBetaBelief",
            self.n_arms,
            arrays=("a", "b", "successes", "failures"),
            others=("discount", "shared", "unit"),
        )
        prior = as_prior((arrays["a"], arrays["b"]), self.n_arms)
        discount = as_fraction(state["discount"], "state['discount']", high="]")
        shared = as_fraction(state["shared"], "state['shared']", low="[", high="]")
        # Saved with the counts rather than multiplied into them: a restored belief must have the
        # same floats, not only nearly the same means.
        unit = as_fraction(state["unit"], "state['unit']", high="]")
        # Assigned last, when all of the state has been checked.
        self.discount, self.shared = discount, shared
        self.counts = BetaCounts(*prior, arrays["successes"], arrays["failures"], unit)
