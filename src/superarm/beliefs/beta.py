"""The paper's belief: a Beta posterior for each arm (section 3.1)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from superarm.beliefs._beta import as_counts, as_prior, flip, grown
from superarm.beliefs.above import Above, n_wanted
from superarm.beliefs.posteriors import BetaPosterior
from superarm.core._top_k import top_k
from superarm.core.arguments import (
    FloatArray,
    IndexArray,
    as_count,
    as_feedback,
    as_fraction,
    as_k,
    as_state,
)

_LEAST = 2048  # from so many arms on, sample_top draws few of them
_SHARE = 16  # as long as it wants no more than one in so many; an update of more begins anew


class BetaBelief:
    """theta_i ~ Beta(a_i, b_i), updated by eqs. posterior1 and posterior2.

    ``sample`` costs n_arms Beta draws, ``update`` O(arms told). 16 bytes an arm. ``sample_top`` finds the k largest of
    such a sample without drawing the others, for 8 bytes an arm more.

    Parameters
    ----------
    n_arms
        How many arms there are.
    prior
        The (a, b) that every arm starts with, above 0: numbers, or arrays of shape (n_arms,). The paper's is (1, 1).

    Attributes
    ----------
    a, b
        Shape (n_arms,): the parameters of the posteriors. To change them by hand, assign a whole array; after a
        ``sample_top`` they are read-only, since it keeps account of them.

    Examples
    --------
    >>> belief = BetaBelief(3)
    >>> belief.update([0, 2], [1.0, 0.0], rng=np.random.default_rng(0))
    >>> belief.a, belief.b
    (array([2., 1., 1.]), array([1., 1., 2.]))
    >>> belief.mean()
    array([0.66666667, 0.5       , 0.33333333])
    >>> arms, values = BetaBelief(10_000).sample_top(3, rng=np.random.default_rng(0))
    >>> arms, values.round(4)
    (array([ 208, 1527, 8712]), array([0.9998, 0.9999, 0.9998]))
    """

    _above: Above | None = (
        None  # what sample_top keeps, from its first call on; read through _account
    )

    def __init__(self, n_arms: int, prior: tuple[ArrayLike, ArrayLike] = (1.0, 1.0)) -> None:
        self.n_arms = as_count(n_arms, "n_arms", least=1)
        self.a, self.b = as_prior(prior, self.n_arms)

    @classmethod
    def from_counts(
        cls,
        successes: ArrayLike,
        trials: ArrayLike,
        *,
        strength: float = 1.0,
        prior: tuple[ArrayLike, ArrayLike] = (1.0, 1.0),
    ) -> BetaBelief:
        """A warm start: the belief of one who has seen so many successes in so many trials of each arm.

        Parameters
        ----------
        successes, trials
            Shape (n_arms,): clicks and impressions, say. They need not be whole.
        strength
            How much an old trial counts, 1 for as much as a new one. Less where the counts are from another time, or
            from sets that were chosen otherwise: the mean stays, and less has to be seen to change it.
        prior
            What stands behind the counts.

        Examples
        --------
        >>> BetaBelief.from_counts([30, 2], [100, 100], strength=0.1).a
        array([4. , 1.2])
        """
        won, lost = as_counts(successes, trials, strength)
        a, b = as_prior(prior, len(won))
        return cls(len(won), (a + won, b + lost))

    def mean(self) -> FloatArray:
        """The posterior means, shape (n_arms,)."""
        return self.a / (self.a + self.b)

    def posterior(self, arms: IndexArray) -> BetaPosterior:
        """What is known of some arms now; it stays as it is when the belief learns."""
        return BetaPosterior(self.a[arms], self.b[arms])

    def sample(self, *, rng: np.random.Generator) -> FloatArray:
        """One draw from every posterior, in the order of the arms."""
        return rng.beta(self.a, self.b)

    def sample_many(self, n: int, *, rng: np.random.Generator) -> FloatArray:
        """n samples, shape (n, n_arms)."""
        if type(self).sample is not BetaBelief.sample:
            return np.array([self.sample(rng=rng) for _ in range(n)])
        return rng.beta(self.a, self.b, (n, self.n_arms))

    def sample_top(self, k: int, *, rng: np.random.Generator) -> tuple[IndexArray, FloatArray]:
        """The k arms of the largest values of a sample, ascending, and these values; ties at the k-th place drawn.

        The same in law as ``sample`` and then the k largest, by other draws. The first call, and a call now and then
        as the posteriors move, costs a whole sample; all others O(k · n_arms^(1/3)). Whole samples are drawn always
        for few arms, for a k that changes from call to call, and where a subclass has its own ``sample`` or ``update``.
        """
        k = as_k(k, self.n_arms)
        if not self._pays(k):
            theta = self.sample(rng=rng)
            arms = top_k(theta, k, rng=rng)
            return arms, theta[arms]
        above = self._account()
        if above is not None and above.suits(k):
            arms, below = above.draw(rng=rng)
            if len(arms) >= k:
                best = top_k(-below, k, rng=rng)
                best = best[np.argsort(arms[best])]
                return arms[best], 1 - below[best]
            theta = above.draw_rest(arms, below, rng=rng)
        else:
            theta = self.sample(rng=rng)
        self._forget()
        self._above = Above.drawn(self.a, self.b, k, theta)
        arms = top_k(theta, k, rng=rng)
        return arms, theta[arms]

    def update(self, arms: ArrayLike, outcomes: ArrayLike, *, rng: np.random.Generator) -> None:
        """Y_i ~ Bern(X_i), a_i += Y_i, b_i += 1 - Y_i. Draws only for outcomes strictly between 0 and 1."""
        arms, outcomes = as_feedback(arms, outcomes, self.n_arms)
        outcomes = flip(outcomes, rng=rng)
        above = self._account(n_changes=len(arms))
        if above is not None:
            above.unlock()
        self.a[arms] += outcomes
        self.b[arms] += 1 - outcomes
        if above is not None:
            above.told(arms)

    def add_arms(self, n: int, prior: tuple[ArrayLike, ArrayLike] | None = None) -> None:
        """Make room for n more arms, which come last, with a prior of their own: (1, 1) unless given. O(n_arms)."""
        a, b = grown(n, prior, self.a, self.b)
        self._forget()
        self.a, self.b, self.n_arms = a, b, len(a)

    @property
    def level(self) -> tuple[int, float] | None:
        """The k and the margin that ``sample_top`` works with, once it has them; with a and b they are all it keeps."""
        above = self._account()
        return None if above is None else (above.k, above.margin)

    @level.setter
    def level(self, level: tuple[int, float] | None) -> None:
        if level != self.level:
            self._forget()
            self._above = (
                None if level is None or not self._pays(level[0]) else Above(self.a, self.b, *level)
            )

    def state(self) -> dict[str, Any]:
        """The posteriors as plain JSON, and the level that ``sample_top`` works with, once it has one."""
        state = {
            "belief": "BetaBelief",
            "n_arms": self.n_arms,
            "a": self.a.tolist(),
            "b": self.b.tolist(),
        }
        above = self._account()
        return state if above is None else {**state, "top": {"k": above.k, "margin": above.margin}}

    def load(self, state: dict[str, Any]) -> None:
        """Take over the posteriors of ``state()``."""
        arrays = as_state(state, "BetaBelief", self.n_arms, arrays=("a", "b"))
        if min(values.min() for values in arrays.values()) <= 0:
            raise ValueError("state must have every a and b above 0")
        above = None
        if "top" in state:  # where sample_top was used
            top = state["top"]
            if not isinstance(top, dict) or top.keys() != {"k", "margin"}:
                raise ValueError(f"state['top'] must have k and margin, got {top!r}")
            k, margin = (
                as_k(top["k"], self.n_arms),
                as_fraction(top["margin"], "state['top']['margin']"),
            )
            above = Above(arrays["a"], arrays["b"], k, margin) if self._pays(k) else None
        self.a, self.b, self._above = arrays["a"], arrays["b"], above

    def __getstate__(self) -> dict[str, Any]:
        above = self._account()
        return {**self.__dict__, "_above": None if above is None else (above.k, above.margin)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.a, self.b = (
            self.a.copy(),
            self.b.copy(),
        )  # unpickled arrays can be such as cannot be unlocked
        level = state.get("_above")
        self._above = None if level is None else Above(self.a, self.b, *level)

    def _pays(self, k: int) -> bool:
        """Whether few draws are worth their overhead, and ``sample`` and ``update`` are those that they rest on."""
        if self.n_arms < _LEAST or self.n_arms < _SHARE * n_wanted(k):
            return False
        return type(self).sample is BetaBelief.sample and type(self).update is BetaBelief.update

    def _account(self, n_changes: int = 0) -> Above | None:
        """What sample_top keeps; forgotten where the posteriors were changed by hand, or many are about to change."""
        above = self._above
        if above is not None and not (
            above.is_about(self.a, self.b) and _SHARE * n_changes <= self.n_arms
        ):
            self._forget()
        return self._above

    def _forget(self) -> None:
        if self._above is not None:
            self._above.unlock()
        self._above = None
