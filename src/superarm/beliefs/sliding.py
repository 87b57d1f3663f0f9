"""A Beta belief about the most recent rounds only, for means that change abruptly.

Trovò, Paladino, Restelli, Gatti: "Sliding-window Thompson sampling for non-stationary
environments", JAIR 2020. The window itself: Garivier, Moulines: "On upper-confidence bound policies
for switching bandit problems", ALT 2011.
"""

from __future__ import annotations

from collections import deque
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from superarm.beliefs import beta_counts
from superarm.beliefs._scores import with_shared
from superarm.beliefs.beta_counts import BetaCounts
from superarm.core.arguments import (
    FloatArray,
    IndexArray,
    as_arms,
    as_count,
    as_fraction,
    as_state,
    as_unit,
)
from superarm.core.showing import one_line

# The arms of an update, and a success (1) or failure (0) for each.
Round = tuple[IndexArray, FloatArray]


class SlidingBetaBelief:
    """theta_i ~ Beta(a_i, b_i), where only the last ``window`` rounds count.

    A round is an update with at least one outcome. Successes and failures are whole numbers, so the
    counts are exactly those of the rounds in the window. Until the window is full this is
    `BetaBelief`.

    ``sample`` costs n_arms Beta draws, or as many inverse distribution functions if a seed is
    shared. ``update`` costs O(arms updated + arms of the round that
    leaves the window). Takes 32 bytes per arm, and per round in the window about 300 bytes plus 16
    bytes per arm of the round.

    Parameters
    ----------
    n_arms
        How many arms there are.
    window
        How many rounds count, at least 1.
    prior
        The (a, b) of an arm without outcomes in the window: numbers, or arrays of shape (n_arms,).
        Counts for a warm start go here as well; they never leave the window.
    shared
        From 0 to 1: how much of the seed all arms share, as in `SharedSeedBelief`.

    Attributes
    ----------
    a, b
        Shape (n_arms,): the prior plus the successes and failures in the window.

    Examples
    --------
    >>> belief, rng = SlidingBetaBelief(2, window=2), np.random.default_rng(0)
    >>> for outcome in (1.0, 1.0, 0.0):
    ...     belief.update([0], [outcome], rng=rng)
    >>> belief.a, belief.b  # the first success has left the window
    (array([2., 1.]), array([2., 1.]))
    """

    __repr__ = one_line

    def __init__(
        self,
        n_arms: int,
        window: int = 1000,
        prior: tuple[ArrayLike, ArrayLike] = (1.0, 1.0),
        *,
        shared: float = 0.0,
    ) -> None:
        self.n_arms = as_count(n_arms, "n_arms", least=1)
        self.window = as_count(window, "window", least=1)
        self.shared = as_fraction(shared, "shared", low="[", high="]")
        self.counts = BetaCounts.empty(self.n_arms, prior)
        self._rounds: deque[Round] = deque()

    a, b = property(beta_counts.a_of), property(beta_counts.b_of)
    mean, posterior = beta_counts.mean, beta_counts.posterior
    sample, update = beta_counts.sample, beta_counts.update
    add_arms = beta_counts.add_arms

    def _count(self, arms: IndexArray, coins: FloatArray) -> None:
        """Count the outcomes of a round, and drop the round that leaves the window."""
        # Copies: the caller may write to its arrays later.
        self._add(arms.copy(), coins.copy())
        if len(self._rounds) > self.window:
            # Coins are whole numbers, so that adding and removing leaves no rounding behind.
            self.counts.remove(*self._rounds.popleft())

    def state(self) -> dict[str, Any]:
        """The prior and the rounds in the window, the oldest first, as plain JSON."""
        return {
            "belief": "SlidingBetaBelief",
            "n_arms": self.n_arms,
            "window": self.window,
            "shared": self.shared,
            **self.counts.prior_state(),
            "sizes": [len(arms) for arms, _ in self._rounds],
            "arms": [arm for arms, _ in self._rounds for arm in arms.tolist()],
            "coins": [int(coin) for _, coins in self._rounds for coin in coins.tolist()],
        }

    def load(self, state: dict[str, Any]) -> None:
        """Become what ``state()`` described, including the window."""
        others = ("window", "shared", "sizes", "arms", "coins")
        state = with_shared(state)
        arrays = as_state(state, "SlidingBetaBelief", self.n_arms, arrays=("a", "b"), others=others)
        # A new belief checks everything before anything changes here.
        prior, shared = (arrays["a"], arrays["b"]), state["shared"]
        new = SlidingBetaBelief(self.n_arms, state["window"], prior, shared=shared)
        for arms, coins in _rounds(state, self.n_arms):
            new._add(arms, coins)
        if len(new._rounds) > new.window:
            raise ValueError(
                f"state must have at most {new.window} rounds (its window), got {len(new._rounds)}"
            )
        self.__dict__.update(new.__dict__)

    def _add(self, arms: IndexArray, coins: FloatArray) -> None:
        self._rounds.append((arms, coins))
        self.counts.add(arms, coins)


def _rounds(state: dict[str, Any], n_arms: int) -> list[Round]:
    """The rounds of a saved state, checked."""
    sizes = [as_count(size, "a size in state['sizes']", least=1) for size in state["sizes"]]
    n_coins = sum(sizes)
    for key in ("arms", "coins"):
        if len(state[key]) != n_coins:
            raise ValueError(
                f"state[{key!r}] must have {n_coins} numbers (the sum of its sizes), "
                f"got {len(state[key])}"
            )
    if not set(state["coins"]) <= {0, 1}:
        raise ValueError("state['coins'] must be 0 or 1 each")
    ends = np.cumsum([0, *sizes]).tolist()
    rounds = []
    for start, stop in pairwise(ends):
        coins = as_unit(state["coins"][start:stop], "state['coins']", (stop - start,))
        rounds.append((as_arms(state["arms"][start:stop], n_arms), coins.astype(np.float64)))
    return rounds
