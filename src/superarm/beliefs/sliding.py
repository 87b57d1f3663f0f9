"""A Beta belief about the last rounds only, for means that change at once.

Trovò, Paladino, Restelli, Gatti: "Sliding-window Thompson sampling for non-stationary environments", JAIR 2020. The
window itself: Garivier, Moulines: "On upper-confidence bound policies for switching bandit problems", ALT 2011.
"""

from __future__ import annotations

from collections import deque
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from superarm.beliefs._beta import as_prior, flip, grown
from superarm.beliefs.posteriors import BetaPosterior
from superarm.core.arguments import (
    FloatArray,
    IndexArray,
    as_arms,
    as_count,
    as_feedback,
    as_state,
    as_unit,
)

Round = tuple[IndexArray, FloatArray]  # the arms that were told about, and 0 or 1 for each


class SlidingBetaBelief:
    """theta_i ~ Beta(a_i, b_i), where only the last ``window`` rounds count, and those in full.

    A round is an update that says anything. Successes and failures are whole numbers, so what leaves the window is
    gone without a trace: the counts are exactly those of the rounds in it. With fewer rounds than the window it is a
    `BetaBelief`.

    ``sample`` costs n_arms Beta draws, ``update`` O(arms told now, and in the round that leaves). 32 bytes an arm, and
    about 300 bytes and 16 for each of its arms a round in the window.

    Parameters
    ----------
    n_arms
        How many arms there are.
    window
        How many rounds count, at least 1.
    prior
        The (a, b) of an arm of which nothing is seen in the window: numbers, or arrays of shape (n_arms,). A warm start
        goes here, too: it would never leave the window.

    Attributes
    ----------
    a, b
        Shape (n_arms,): the parameters of the posteriors, computed when they are looked at.

    Examples
    --------
    >>> belief, rng = SlidingBetaBelief(2, window=2), np.random.default_rng(0)
    >>> for outcome in (1.0, 1.0, 0.0):
    ...     belief.update([0], [outcome], rng=rng)
    >>> belief.a, belief.b  # the first success is out of the window
    (array([2., 1.]), array([2., 1.]))
    """

    def __init__(
        self, n_arms: int, window: int = 1000, prior: tuple[ArrayLike, ArrayLike] = (1.0, 1.0)
    ) -> None:
        self.n_arms = as_count(n_arms, "n_arms", least=1)
        self.window = as_count(window, "window", least=1)
        self._prior_a, self._prior_b = as_prior(prior, self.n_arms)
        self._rounds: deque[Round] = deque()
        self._successes, self._failures = np.zeros(self.n_arms), np.zeros(self.n_arms)

    @property
    def a(self) -> FloatArray:
        """The prior's a and the successes in the window, shape (n_arms,)."""
        return self._prior_a + self._successes

    @property
    def b(self) -> FloatArray:
        """The prior's b and the failures in the window, shape (n_arms,)."""
        return self._prior_b + self._failures

    def mean(self) -> FloatArray:
        """The posterior means, shape (n_arms,)."""
        a = self.a
        return a / (a + self.b)

    def posterior(self, arms: IndexArray) -> BetaPosterior:
        """What is known of some arms now; it stays as it is when the belief learns."""
        a, b = (
            self._prior_a[arms] + self._successes[arms],
            self._prior_b[arms] + self._failures[arms],
        )
        return BetaPosterior(a, b)

    def sample(self, *, rng: np.random.Generator) -> FloatArray:
        """One draw from every posterior, in the order of the arms."""
        return rng.beta(self.a, self.b)

    def update(self, arms: ArrayLike, outcomes: ArrayLike, *, rng: np.random.Generator) -> None:
        """Count the outcomes, and no longer those of the round that leaves the window; no arms, no round.

        Draws only for outcomes strictly between 0 and 1, as `BetaBelief` does.
        """
        arms, outcomes = as_feedback(arms, outcomes, self.n_arms)
        if not len(arms):
            return
        self._add(arms.copy(), flip(outcomes, rng=rng).copy())  # the caller's arrays may change
        if len(self._rounds) > self.window:
            old, coins = self._rounds.popleft()
            self._successes[old] -= coins
            self._failures[old] -= 1 - coins

    def add_arms(self, n: int, prior: tuple[ArrayLike, ArrayLike] | None = None) -> None:
        """Make room for n more arms, which come last, with a prior of their own: (1, 1) unless given. O(n_arms)."""
        self._prior_a, self._prior_b, self._successes, self._failures = grown(
            n, prior, self._prior_a, self._prior_b, self._successes, self._failures
        )
        self.n_arms = len(self._successes)

    def state(self) -> dict[str, Any]:
        """The prior and the rounds in the window, the oldest first, as plain JSON."""
        return {
            "belief": "SlidingBetaBelief",
            "n_arms": self.n_arms,
            "window": self.window,
            "a": self._prior_a.tolist(),
            "b": self._prior_b.tolist(),
            "sizes": [len(arms) for arms, _ in self._rounds],
            "arms": [arm for arms, _ in self._rounds for arm in arms.tolist()],
            "coins": [int(coin) for _, coins in self._rounds for coin in coins.tolist()],
        }

    def load(self, state: dict[str, Any]) -> None:
        """Take over what ``state()`` described, the window included."""
        others = ("window", "sizes", "arms", "coins")
        arrays = as_state(state, "SlidingBetaBelief", self.n_arms, arrays=("a", "b"), others=others)
        # Made anew, so that everything is checked before anything here changes.
        new = SlidingBetaBelief(self.n_arms, state["window"], (arrays["a"], arrays["b"]))
        for arms, coins in _rounds(state, self.n_arms):
            new._add(arms, coins)
        if len(new._rounds) > new.window:
            raise ValueError(
                f"state must have at most {new.window} rounds (its window), got {len(new._rounds)}"
            )
        self.__dict__.update(new.__dict__)

    def _add(self, arms: IndexArray, coins: FloatArray) -> None:
        self._rounds.append((arms, coins))
        self._successes[arms] += coins
        self._failures[arms] += 1 - coins


def _rounds(state: dict[str, Any], n_arms: int) -> list[Round]:
    sizes = [as_count(size, "a size in state['sizes']", least=1) for size in state["sizes"]]
    n_told = sum(sizes)
    for key in ("arms", "coins"):
        if len(state[key]) != n_told:
            raise ValueError(
                f"state[{key!r}] must have {n_told} numbers (the sum of its sizes), got {len(state[key])}"
            )
    if not set(state["coins"]) <= {0, 1}:
        raise ValueError("state['coins'] must be 0 or 1 each")
    ends = np.cumsum([0, *sizes]).tolist()
    rounds = []
    for start, stop in pairwise(ends):
        coins = as_unit(state["coins"][start:stop], "state['coins']", (stop - start,))
        rounds.append((as_arms(state["arms"][start:stop], n_arms), coins.astype(np.float64)))
    return rounds
