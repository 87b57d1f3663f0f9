"""The paper's belief: one Beta posterior per arm (section 3.1).

Read ``sample`` and ``update`` first: they are all of Thompson sampling. ``sample_top``, further
down, draws the k largest values only; its algorithm is in `superarm.beliefs.beta_top_k`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from superarm.beliefs import _beta
from superarm.beliefs._beta import as_counts, as_prior, grown
from superarm.beliefs._beta_prior import Prior, kept_prior, longer_prior, since
from superarm.beliefs._many_rounds import MOST_ARMS, Rounds, one_by_one
from superarm.beliefs._many_tops import ManyTops
from superarm.beliefs._next_tops import next_tops
from superarm.beliefs._scores import PlainPosteriors, SharedScores
from superarm.beliefs.beta_top_k import BetaTopK
from superarm.beliefs.posteriors import BetaPosterior
from superarm.core.arguments import (
    FloatArray,
    IndexArray,
    as_count,
    as_feedback,
    as_fraction,
    as_k,
    as_state,
)
from superarm.core.k_of_m import top_k
from superarm.core.showing import one_line
from superarm.core.states import as_numbers

_CERTAIN = frozenset((0.0, 1.0))
# Up to this many outcomes a Python set is faster than numpy.
_FEW = 16


class BetaBelief:
    """theta_i ~ Beta(a_i, b_i), updated by eqs. posterior1 and posterior2.

    ``sample`` costs n_arms Beta draws and ``update`` O(arms updated). The belief takes 16 bytes per
    arm. ``sample_top`` finds the k largest values of a sample without drawing the other values, for
    8 more bytes per arm.

    Parameters
    ----------
    n_arms
        How many arms there are.
    prior
        The (a, b) that every arm starts with, above 0: numbers, or arrays of shape (n_arms,). The
        paper uses (1, 1).

    Attributes
    ----------
    a, b
        Shape (n_arms,): the parameters of the posteriors. To change them by hand, assign a whole
        array. After ``sample_top`` the arrays are read-only, because it keeps values computed from
        them.

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

    __repr__ = one_line
    mean = _beta.mean

    def __init__(self, n_arms: int, prior: tuple[ArrayLike, ArrayLike] = (1.0, 1.0)) -> None:
        self.n_arms = as_count(n_arms, "n_arms", least=1)
        self.a, self.b = as_prior(prior, self.n_arms)
        # None if it is not known: states that were saved before it was kept do not have it.
        self._prior: Prior | None = kept_prior(prior)
        self._top = BetaTopK()  # what sample_top keeps from call to call

    def sample(self, *, rng: np.random.Generator) -> FloatArray:
        """One draw from every posterior, in the order of the arms."""
        return rng.beta(self.a, self.b)

    def update(self, arms: ArrayLike, outcomes: ArrayLike, *, rng: np.random.Generator) -> None:
        """Y_i ~ Bern(X_i), a_i += Y_i, b_i += 1 - Y_i (eqs. posterior1 and posterior2).

        Draws only for outcomes strictly between 0 and 1.
        """
        arms, outcomes = as_feedback(arms, outcomes, self.n_arms)
        coins = flip(outcomes, rng=rng)
        # What sample_top keeps depends on a and b, so it is adapted before and after they change.
        keeps = self._top.above is not None  # not for few arms
        if keeps:
            self._top.before_update(self, len(arms))
        self.a[arms] += coins
        self.b[arms] += 1 - coins
        if keeps:
            self._top.after_update(arms)

    def update_many(
        self, arms: Sequence[ArrayLike], outcomes: Sequence[ArrayLike], *, rng: np.random.Generator
    ) -> None:
        """The same as one ``update`` per round, bit for bit."""
        if len(arms) == 1 or type(self).update is not BetaBelief.update:
            for one in zip(arms, outcomes, strict=True):
                self.update(*one, rng=rng)
            return
        rounds = Rounds.of(arms, outcomes, self.n_arms)
        coins = flip(rounds.outcomes, rng=rng)
        keeps = self._top.above is not None
        if keeps:  # it keeps nothing if one of the updates alone would make it start afresh
            self._top.before_update(self, int(rounds.sizes.max(initial=0)))
        np.add.at(self.a, rounds.arms, coins)
        np.add.at(self.b, rounds.arms, 1 - coins)
        if keeps:
            self._top.after_update(np.unique(rounds.arms))

    @classmethod
    def from_counts(
        cls,
        successes: ArrayLike,
        trials: ArrayLike,
        *,
        strength: float = 1.0,
        prior: tuple[ArrayLike, ArrayLike] = (1.0, 1.0),
    ) -> BetaBelief:
        """A warm start: a belief that has already seen these successes in these trials.

        Parameters
        ----------
        successes, trials
            Shape (n_arms,): clicks and impressions, for example. They need not be whole numbers.
        strength
            How much an old trial counts; 1 counts as much as a new trial. Use less if the counts
            are from another time, or from sets that were chosen in another way. The mean stays the
            same, and fewer new outcomes are needed to change it.
        prior
            The prior that the counts are added to.

        Examples
        --------
        >>> BetaBelief.from_counts([30, 2], [100, 100], strength=0.1).a
        array([4. , 1.2])
        """
        won, lost = as_counts(successes, trials, strength)
        a, b = as_prior(prior, len(won))
        return cls(len(won), (a + won, b + lost))

    def coins(self) -> tuple[FloatArray, FloatArray] | None:
        """How many outcomes each arm had since its prior, and how many coins showed 1.

        Shape (n_arms,) each. None if a and b do not tell: a state without a prior was loaded, or
        they were changed by hand.
        """
        return None if self._prior is None else since(self._prior, self.a, self.b)

    def posterior(self, arms: IndexArray) -> BetaPosterior:
        """The posteriors of some arms at this moment. Later updates do not change the answer."""
        return BetaPosterior(self.a[arms], self.b[arms])

    def add_arms(self, n: int, prior: tuple[ArrayLike, ArrayLike] | None = None) -> None:
        """Append n arms with a prior of their own, (1, 1) by default. O(n_arms)."""
        a, b = grown(n, prior, self.a, self.b)
        self._top.forget()
        if self._prior is not None:
            self._prior = longer_prior(self._prior, prior, self.n_arms, len(a))
        self.a, self.b, self.n_arms = a, b, len(a)

    def state(self) -> dict[str, Any]:
        """The posteriors as plain JSON, and the level of ``sample_top`` once there is one."""
        state = {
            "belief": "BetaBelief",
            "n_arms": self.n_arms,
            "a": as_numbers(self.a),
            "b": as_numbers(self.b),
        }
        if self._prior is not None:
            state["prior"] = [as_numbers(each) for each in self._prior]
        level = self.level
        return state if level is None else {**state, "top": {"k": level[0], "margin": level[1]}}

    def load(self, state: dict[str, Any]) -> None:
        """Become what ``state()`` described."""
        arrays = as_state(state, "BetaBelief", self.n_arms, arrays=("a", "b"))
        if min(values.min() for values in arrays.values()) <= 0:
            raise ValueError("state must have every a and b above 0")
        # Only states written after a call of sample_top have "top".
        level = self._as_level(state["top"]) if "top" in state else None
        prior = state.get("prior")
        if prior is not None:
            as_prior(prior, self.n_arms)  # refuses others
        self._prior = None if prior is None else kept_prior(prior)
        self.a, self.b, self._top = arrays["a"], arrays["b"], BetaTopK()
        self.level = level

    def sample_many(self, n: int, *, rng: np.random.Generator) -> FloatArray:
        """n samples, shape (n, n_arms)."""
        # A subclass with another law of a sample must not get the law of this class.
        if type(self).sample is not BetaBelief.sample:
            return np.array([self.sample(rng=rng) for _ in range(n)])
        return rng.beta(self.a, self.b, (n, self.n_arms))

    def sample_top(self, k: int, *, rng: np.random.Generator) -> tuple[IndexArray, FloatArray]:
        """The arms of the k largest values of a sample, ascending, and these values.

        The law is that of ``sample`` followed by the k largest; the draws differ. A tie at the k-th
        place is broken at random. The first call costs a whole sample, and so does a call now and
        then as the posteriors move. All other calls cost O(k · n_arms^(1/3)). Whole samples are
        always drawn for few arms, when k changes from call to call, and for a subclass with a
        ``sample`` or ``update`` of its own.
        """
        k = as_k(k, self.n_arms)
        if self._draws_few(k):
            return self._top.draw(self, k, rng=rng)
        theta = self.sample(rng=rng)
        arms = top_k(theta, k, rng=rng)
        return arms, theta[arms]

    def sample_top_many(
        self, n: int, k: int, *, rng: np.random.Generator
    ) -> tuple[IndexArray, FloatArray]:
        """The same as ``sample_top`` for n independent samples, at once: shape (n, k) each."""
        n, k = as_count(n, "n", least=1), as_k(k, self.n_arms)
        if type(self).sample is not BetaBelief.sample or self.n_arms > MOST_ARMS:
            return one_by_one(self, n, k, rng=rng)
        nothing = np.zeros(self.n_arms)
        tops = ManyTops(PlainPosteriors(self.a, self.b), nothing, nothing > 0, SharedScores(0.0))
        return tops.draw(n, k, rng=rng)

    def sample_tops(
        self, n: int, k: int, *, rng: np.random.Generator
    ) -> tuple[IndexArray, FloatArray]:
        """The same as n calls of ``sample_top`` in law, in less time: shape (n, k) each.

        Other than ``sample_top_many``, it uses what ``sample_top`` keeps from call to call.
        """
        n, k = as_count(n, "n", least=1), as_k(k, self.n_arms)
        if self._draws_few(k):
            return next_tops(self._top, self, n, k, rng=rng)
        return one_by_one(self, n, k, rng=rng)

    @property
    def level(self) -> tuple[int, float] | None:
        """The (k, margin) that ``sample_top`` works with, once it has them.

        Together with a and b they determine all that ``sample_top`` keeps.
        """
        return self._top.level(self)

    @level.setter
    def level(self, level: tuple[int, float] | None) -> None:
        if level is not None and not self._draws_few(level[0]):
            level = None
        if level != self.level:
            self._top.set_level(self, level)

    def _draws_few(self, k: int) -> bool:
        """Whether ``sample_top`` saves time, and may rely on ``sample`` and ``update`` of here."""
        if not self._top.pays(k, self.n_arms):
            return False
        return type(self).sample is BetaBelief.sample and type(self).update is BetaBelief.update

    def _as_level(self, top: Any) -> tuple[int, float]:
        if not isinstance(top, dict) or top.keys() != {"k", "margin"}:
            raise ValueError(f"state['top'] must have k and margin, got {top!r}")
        return as_k(top["k"], self.n_arms), as_fraction(top["margin"], "state['top']['margin']")

    def __getstate__(self) -> dict[str, Any]:
        # The level determines the rest, together with a and b. The rest is large.
        return {**self.__dict__, "_top": self.level}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({"_prior": None, **state})
        # Copies: arrays that were unpickled may have memory that can't be made writeable again.
        self.a, self.b, self._top = self.a.copy(), self.b.copy(), BetaTopK()
        self.level = state["_top"]


def flip(outcomes: FloatArray, *, rng: np.random.Generator) -> FloatArray:
    """Y_i ~ Bern(X_i), the paper's coin: draws only for outcomes strictly between 0 and 1."""
    if len(outcomes) > _FEW or not _CERTAIN.issuperset(outcomes.tolist()):
        inside = (outcomes > 0) & (outcomes < 1)
        outcomes = outcomes.copy()
        outcomes[inside] = rng.random(np.count_nonzero(inside)) < outcomes[inside]
    return outcomes
