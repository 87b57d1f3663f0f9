"""Greedy when answers are noisy: best-arm identification in every step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from superarm.core import FeasibleSets, KOrSets, Reward, as_selection
from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.declarations import evaluations_per_value
from superarm.core.progress import one_round
from superarm.core.showing import one_line
from superarm.oracles._budget import likeliest
from superarm.oracles._contests import Sweeps, Winner, best_of
from superarm.oracles._greedy import BuiltReport, may_end
from superarm.oracles._noisy_settings import ContestSettings
from superarm.oracles._sets import extendable
from superarm.oracles._state import check_state


@dataclass(frozen=True, eq=False)
class NoisyGreedyReport(BuiltReport):
    """How a set was built, and what is certain about it.

    ``order`` is that of `GreedyReport`: the arms as they were added.

    Attributes
    ----------
    values
        Shape (k,): the average answer about the set after each arm. NaN where the arm was the only
        one that could be added, or where the budget left no evaluation.
    slack
        Shape (k,): by how much the best arm of each step may be better than the arm that was added.
        inf where the budget did not suffice for any bound. All of it holds with the probability of
        the oracle, also where the budget ended a step.
    evaluations
        How many evaluations it took.
    certified
        Whether every step is within the tolerance, and also the decision to add no further arm, if
        that was possible. It does not mean that no set is better.
    """

    slack: FloatArray
    evaluations: int
    certified: bool

    __repr__ = one_line

    @property
    def loss(self) -> float:
        """The sum of the slack: what noise may have cost.

        For monotone submodular rewards and sets of k arms, the set is worth at least 1 - 1/e of
        the best set, minus this.
        """
        return float(self.slack.sum())


@dataclass(eq=False, repr=False, kw_only=True)
class NoisyGreedy(ContestSettings):
    """Adds an arm that raises the value most, up to ``tolerance``, k times, from noisy answers.

    Each step is a contest: all arms that may be added get the same number of answers, arms that are
    surely worse than another one are dropped, and the contest ends when no arm can be better than
    the leader by more than ``tolerance``. Singla, Tschiatschek and Krause ("Noisy submodular
    maximization via adaptive sampling", AAAI 2016) have such steps, too.

    **With probability 1 - delta, every step of a run is within its slack of the best step**,
    whenever the run is stopped, and certified steps have a slack of at most ``tolerance``. This
    holds if the noise has mean 0, is independent from answer to answer, and

    - with ``noise_std``: is sub-Gaussian with this standard deviation;
    - with ``answers_in``: all answers are in this range;
    - with neither: has the same law for all sets of a step, or is symmetric. It is then learned.

    Proof: a contest is right with probability 1 - d (see ``superarm.oracles._contests``). The
    steps of round t have equal shares of d = delta · 6 / (pi² t²), and these add up to delta.

    **Guarantee.** For monotone submodular rewards and sets of k arms, the set is worth at least
    1 - 1/e of the best set minus the sum of the slack (Nemhauser, Wolsey and Fisher 1978, with an
    error per step). The reward need not be separable. Of its declarations only ``upper`` is used:
    values must be in [0, upper].

    Evaluations: with noise of standard deviation s, an arm that is worse than the best one by g
    takes about 4 s² / max(g, tolerance)² · log(n_arms k t² / delta) answers in a step. Nothing is
    remembered from round to round but how large the noise is, about.

    Other feasible sets must be `Extendable`. If a set may have fewer arms, adding none takes part
    in the contest. Weights of arms are obeyed, but what an arm adds is not divided by its weight.

    Parameters
    ----------
    delta
        The probability that any step is worse than its slack says.
    noise_std
        A bound on the standard deviation of the noise of one answer (its sub-Gaussian parameter).
        By default the noise is learned, for some more evaluations.
    answers_in
        (low, high), the range of all answers, for learned noise with different laws that are not
        symmetric.
    tolerance
        How much less than the best arm an arm may add. With 0, equal arms use up the budget.
    budget
        The largest number of evaluations per round, shared evenly among the steps that are left.
        A step that uses up its share adds the leader.
    per
        "run" if ``delta`` is for all rounds together, "round" if it is for each round.

    Examples
    --------
    >>> import superarm as sa
    >>> rng = np.random.default_rng(0)
    >>> exact = sa.CoverageReward([[1, 1, 0], [1, 1, 0], [0, 0, 1]])
    >>> noisy = sa.BlackBox(
    ...     lambda arms, means: exact(arms, means) + rng.normal(0, 0.1),
    ...     n_arms=3, lipschitz=2.0, upper=3.0, noisy=True,
    ... )
    >>> oracle = NoisyGreedy(tolerance=0.1)
    >>> oracle.select(noisy, [0.9, 0.7, 0.5], 2, rng=rng)  # the first two overlap
    array([0, 2])
    >>> oracle.report.certified, oracle.report.loss <= 0.2
    (True, True)
    """

    report: NoisyGreedyReport | None = field(default=None, init=False)

    def select(self, reward: Reward, theta: ArrayLike, k: KOrSets, *, rng: Generator) -> IndexArray:
        """The arms that greedy adds."""
        theta, feasible = as_selection(reward, theta, k)
        feasible = extendable(self, feasible)
        order, spent, end = feasible.must, 0, 0.0
        known = np.full(len(order), np.nan), np.zeros(len(order))
        delta = self._share_of_next_round() / max(1, feasible.n_most - len(order))
        left = np.flatnonzero(feasible.extend(order))
        with one_round() as shown:
            shown.budget(self.budget)
            while len(left):
                most = (self.budget - spent) // max(1, feasible.n_most - len(order))
                stays = may_end(feasible, order)
                arm, found, n = self._step(reward, theta, (order, left, stays), most, delta, rng)
                spent += n
                if arm is None:
                    end = found.slack
                    break
                order = np.append(order, arm)
                known = np.append(known[0], found.value), np.append(known[1], found.slack)
                left = np.flatnonzero(feasible.extend(order))
        certified = bool((np.append(known[1], end) <= self.tolerance).all())
        self.report = NoisyGreedyReport(order, *known, spent, certified)
        return np.sort(order)

    def check_sets(self, feasible: FeasibleSets) -> None:
        """Refuse sets that cannot be built arm by arm."""
        extendable(self, feasible)

    def state(self) -> dict[str, Any]:
        """How many rounds there were, and how large the noise is, about, as plain JSON."""
        return {"oracle": "NoisyGreedy", **self._memory()}

    def load(self, state: dict[str, Any]) -> None:
        """Become what ``state()`` described."""
        check_state(state, "NoisyGreedy", "n_rounds", "variance")
        self._remember(state)

    def _step(
        self,
        reward: Reward,
        theta: FloatArray,
        choice: tuple[IndexArray, IndexArray, bool],
        most: int,
        delta: float,
        rng: Generator,
    ) -> tuple[int | None, Winner, int]:
        """The arm to add, None for no arm, how it won, and the evaluations."""
        order, left, stays = choice
        n_sets = len(left) + stays
        if n_sets == 1:
            return int(left[0]), Winner(0, np.nan, 0.0), 0
        n_most = most // evaluations_per_value(reward) - stays
        arms = likeliest(reward, theta, left, min(len(left), max(1, n_most)), rng=rng)
        if len(arms) + stays < 2 or n_most < 1:
            # There is nothing to compare: the likeliest arm is added.
            return int(arms[0]), Winner(0, np.nan, np.inf), 0
        sets = [np.sort(np.append(order, arm)) for arm in arms] + [np.sort(order)] * stays
        sweeps = Sweeps(reward, theta, sets, self._noise, most, f"step {len(order) + 1}")
        found = best_of(sweeps, delta, self.tolerance, rng=rng)
        if len(arms) < len(left):
            found = found._replace(slack=np.inf)  # an arm that was not evaluated may be better
        arm = int(arms[found.place]) if found.place < len(arms) else None
        return arm, found, sweeps.evaluations
