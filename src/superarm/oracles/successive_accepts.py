"""Successive accepts and rejects: the best k of m arms with a given number of rounds.

Bubeck, Wang, Viswanathan: "Multiple identifications in multi-armed bandits", ICML 2013. For k of m
it is the CSAR of Chen, Lin, King, Lyu, Chen, NeurIPS 2014.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from superarm.core import FeasibleSets, KOrSets, Reward, Sample, as_k_of_m, as_selection, top_k
from superarm.core.arguments import FloatArray, IndexArray, as_count, as_finite
from superarm.core.optional import CountsOutcomes
from superarm.core.showing import one_line
from superarm.oracles._counts import as_counting, outcomes_of
from superarm.oracles._state import check_state

_OPEN, _ACCEPTED, _REJECTED = 0.0, 1.0, -1.0


@dataclass(frozen=True)
class SuccessiveAcceptsReport:
    """Which arms are decided.

    Attributes
    ----------
    accepted, rejected
        The arms that are taken for the best, and for others.
    """

    accepted: IndexArray
    rejected: IndexArray
    certified: bool = False

    def ranking(self, arms: IndexArray, theta: Sample) -> None:
        """None: arms are picked by what is open, not by their values."""


class SuccessiveAccepts:
    """Pulls all open arms equally often, and decides one arm at the end of each of m - 1 phases.

    At the end of a phase, the open arm whose mean is farthest from the border is accepted, or
    rejected. In phase r the arms reach a number of pulls that grows like 1 / (m + 1 - r), as in the
    papers, and the phases together take ``horizon`` rounds. A round has k places: if fewer arms are
    open, accepted arms fill the others. After the last phase the accepted arms are picked. The
    papers bound the probability that the accepted arms are wrong, which falls exponentially with
    the horizon. It is not known beforehand, so nothing is certified.

    For additive rewards and a plain k, without evaluations; O(n_arms) per round. theta must be the
    means, so the belief is a `MeanBelief`. Make the oracle with the belief of its policy, as
    `successive_accepts` does. Which arms are decided is saved by ``state``, 8 bytes per arm.

    Parameters
    ----------
    belief
        The belief of the policy.
    horizon
        The number of rounds.

    Examples
    --------
    >>> import superarm as sa
    >>> policy = sa.policies.successive_accepts(sa.LinearReward(4), k=2, horizon=100)
    >>> rng, mu = np.random.default_rng(0), np.array([0.9, 0.8, 0.3, 0.1])
    >>> for _ in range(101):
    ...     arms = policy.ask(rng=rng)
    ...     policy.tell(arms, rng.random(2) < mu[arms], rng=rng)
    >>> arms, policy.belief.outcomes.counts
    (array([0, 1]), array([43., 65., 63., 31.]))
    """

    report: SuccessiveAcceptsReport | None = None

    __repr__ = one_line

    def __init__(self, belief: CountsOutcomes, horizon: int) -> None:
        self.belief = as_counting(belief)
        self.horizon = as_count(horizon, "horizon", least=1)
        self._round = 0
        self._decided = np.zeros(0)

    def select(self, reward: Reward, theta: ArrayLike, k: KOrSets, *, rng: Generator) -> IndexArray:
        """The open arms with the fewest outcomes, or what was accepted."""
        theta, _ = as_selection(reward, theta, k)
        sets, m = as_k_of_m(k, reward.n_arms), reward.n_arms
        counts = outcomes_of(self, self.belief, reward).counts
        decided = self._decided.copy() if len(self._decided) == m else np.zeros(m)
        # Several phases may end at once, in short horizons.
        n_over = int((phase_ends(m, sets.k, self.horizon) <= self._round).sum())
        while np.count_nonzero(decided) < n_over:
            _decide_one(decided, theta, sets.k, rng)
        if n_over == m - 1:
            decided[decided == _OPEN] = _ACCEPTED if (decided > 0).sum() < sets.k else _REJECTED
        self._decided, self._round = decided, self._round + 1
        self.report = SuccessiveAcceptsReport(
            np.flatnonzero(decided == _ACCEPTED), np.flatnonzero(decided == _REJECTED)
        )
        # Open arms first, the least seen before others. Then accepted arms, and rejected ones last.
        return top_k(3 * (decided == _OPEN) + decided - counts / (1 + counts), sets.k, rng=rng)

    def check_sets(self, feasible: FeasibleSets) -> None:
        """Refuse everything but all sets of k arms."""
        as_k_of_m(feasible, feasible.undecided.size, instead="clucb or top_two")

    def state(self) -> dict[str, Any]:
        """The round, the horizon and which arms are decided, as plain JSON."""
        return {
            "oracle": "SuccessiveAccepts",
            "horizon": self.horizon,
            "round": self._round,
            "decided": self._decided.tolist(),
        }

    def load(self, state: dict[str, Any]) -> None:
        """Become what ``state()`` described."""
        check_state(state, "SuccessiveAccepts")
        horizon = as_count(state.get("horizon"), "state['horizon']", least=1)
        n_rounds = as_count(state.get("round"), "state['round']")
        given: Any = state.get("decided")
        decided = np.zeros(0)  # as before the first round
        if given != []:
            decided = as_finite(given, "state['decided']", ndim=1, least=_REJECTED)
        self.horizon, self._round, self._decided = horizon, n_rounds, decided

    def forget(self) -> None:
        """Start again: no arm is decided."""
        self._round, self._decided = 0, np.zeros(0)


def phase_ends(n_arms: int, k: int, horizon: int) -> FloatArray:
    """Shape (n_arms - 1,): after how many rounds each phase ends.

    Examples
    --------
    >>> phase_ends(4, 2, horizon=100)
    array([ 63.,  78., 100.])
    """
    n_open = np.arange(n_arms, 1, -1)
    pulls = np.diff(1 / n_open, prepend=0.0)  # of each open arm in a phase, up to a factor
    # A round pulls k arms, and each of them once.
    rounds = np.cumsum(pulls * np.maximum(n_open / k, 1.0))
    return np.floor(rounds * (horizon / rounds[-1:]) + 1e-9)


def _decide_one(decided: FloatArray, means: FloatArray, k: int, rng: np.random.Generator) -> None:
    """Accept or reject the open arm that is farthest from the border."""
    arms = rng.permutation(np.flatnonzero(decided == _OPEN))
    arms = arms[np.argsort(-means[arms], kind="stable")]
    n_left = k - int((decided == _ACCEPTED).sum())  # how many of the open arms are accepted
    if n_left in (0, len(arms)):
        decided[arms[0]] = _ACCEPTED if n_left else _REJECTED
        return
    # The largest of the best, or the least of the others: the two ends of the order.
    above, below = means[arms[0]] - means[arms[n_left]], means[arms[n_left - 1]] - means[arms[-1]]
    if above >= below:
        decided[arms[0]] = _ACCEPTED
    else:
        decided[arms[-1]] = _REJECTED
