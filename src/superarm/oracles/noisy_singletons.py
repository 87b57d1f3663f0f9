"""Oracle+'s decision when answers are noisy, certified with an error probability.

The arms that decide are evaluated: the weakest arm in the set and the strongest arm outside, as in
LUCB (Kalyanakrishnan, Tewari, Auer, Stone: "PAC subset selection in stochastic multi-armed
bandits", ICML 2012).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from superarm.core import FeasibleSets, KOrSets, Reward, as_selection, top_k
from superarm.core.arguments import FloatArray, IndexArray, as_count
from superarm.core.declarations import evaluations_per_value
from superarm.core.progress import one_round
from superarm.core.states import as_saved_array, refusing
from superarm.oracles._bounds import BoundsReport
from superarm.oracles._noise import Symmetric
from superarm.oracles._noisy_answers import Answers
from superarm.oracles._noisy_round import NoisyRound
from superarm.oracles._noisy_settings import NoisySettings, saved_variance
from superarm.oracles._sets import as_required_and_open
from superarm.oracles._state import check_loaded, check_state

# With less room, the first answers are spread evenly: see `NoisyRound.room`.
_AMPLE = 2.0


class NoisySingletonsReport(BoundsReport):
    """What is known about the arms after a ``select``: the attributes are those of `BoundsReport`.

    ``evaluations`` counts ``repeats`` per answer, if the reward averages. A set may be certified
    although ``lower`` and ``upper`` of two arms overlap, by a bound of their difference.
    """


@dataclass(eq=False, repr=False, kw_only=True)
class NoisySingletons(NoisySettings):
    """The k arms worth most alone, certified although every answer has noise.

    Arm i alone is worth f_i(theta_i), and f_i does not change from round to round. An answer is
    f_i(theta_i) plus noise. In each round the weakest arm in the set and the strongest arm outside
    are evaluated, until no arm outside is worth more than an arm inside by more than
    ``tolerance``. Then the set is certified. Answers of earlier rounds bound f_i at the new theta
    through ``lipschitz``, ``monotone``, ``concave`` and ``zero_is_absent``.

    **All certified sets of a run are right with probability 1 - delta**, whenever it is stopped, if
    the reward is as declared, and if the noise has mean 0, given all that happened before, and is
    of the kind that is declared:

    - ``noise_std``: it is sub-Gaussian with this standard deviation.
    - ``answers_in``: all answers are in this range.
    - neither: it is symmetric. Its spread is learned, and may differ from answer to answer.

    Proof: the answers of an arm are put into groups, by a rule that does not look at the answer.
    For each group one boundary holds at all sizes with probability 1 - alpha (see
    ``superarm.oracles._noise``). The intervals of the mean in which the answers of all rounds are
    added up have half of delta, shared equally among arms and levels. The answers of one round
    about one arm have a quarter: the j-th round in which an arm is evaluated has
    delta / 4 · 6 / (pi² j² n_arms). The differences of two arms in one round have the last quarter:
    in round t each of them has delta / 4 · 6 / (pi² t² k (n_arms - k)), which is enough. For let a
    set be wrong. The best arm outside may be taken from the k best arms, and the worst arm inside
    from the other arms, so that one of k (n_arms - k) differences is misjudged, which are known
    before the answers of the round. (With constraints, k and n_arms are of the arms to choose
    from.) The alphas add up to delta. If no boundary is crossed, what is
    certified is right.

    The union costs evaluations: they grow with log(n_arms j² / delta), where one comparison of two
    arms in one round would need log(1 / delta). Learned noise costs more: symmetric noise says
    nothing before about 2 log(1 / alpha) answers, and bounded answers have a term of the range
    times log(1 / alpha) / n, and no bounds of differences.

    Time per round: O(2^n_levels · n_arms), and O(k · n_arms) per step. Memory: 48 · 2^n_levels
    bytes per arm. The reward should be separable, as for `Singletons`. Of constraints it knows
    ``available``, ``must`` and ``must_not`` only, so that sessions can retire arms. Arms that these
    decide about are not evaluated.

    Parameters
    ----------
    delta
        The probability that any certified set of the run is wrong.
    noise_std
        A bound on the standard deviation of the noise of one answer (its sub-Gaussian parameter),
        which is an average if the reward has ``repeats``. Evaluations grow with its square. By
        default the noise is learned.
    answers_in
        (low, high), the range of all answers, for noise that is not symmetric, such as answers of 0
        and 1. The noise is then learned from the spread of the answers.
    tolerance
        By how much an arm outside may be worth more than an arm in a certified set. With 0, arms of
        equal value are never told apart, and use up the budget.
    budget
        The largest number of evaluations per round. When it is used up, the set is the best guess
        by average answers, and ``report.certified`` is False. Arms of which nothing is known near
        theta are evaluated once for it, with up to half of the budget. If the budget is too small
        to prove anything, all of it goes to successive halving.
    n_levels
        How finely answers of earlier rounds are remembered, as 2^(n_levels - 1) intervals.

    Examples
    --------
    >>> import superarm as sa
    >>> rng = np.random.default_rng(0)
    >>> noisy = sa.BlackBox(
    ...     lambda arms, means: means.sum() + rng.normal(0, 0.05), n_arms=30, lipschitz=1.0,
    ...     upper=30.0, monotone=True, zero_is_absent=True, noisy=True,
    ... )
    >>> oracle, theta = NoisySingletons(noise_std=0.05, tolerance=0.01), rng.random(30)
    >>> arms = oracle.select(noisy, theta, 3, rng=rng)
    >>> oracle.report.certified, np.array_equal(arms, np.sort(np.argsort(theta)[-3:]))
    (True, True)
    """

    n_levels: int = 7
    report: NoisySingletonsReport | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.n_levels = as_count(self.n_levels, "n_levels", least=1)
        self._reward: Reward | None = None
        self._known: tuple[Answers, FloatArray] | None = None
        # None goes on without bounds of differences: see `load`.
        self._n_rounds: int | None = 0

    def select(self, reward: Reward, theta: ArrayLike, k: KOrSets, *, rng: Generator) -> IndexArray:
        """The k arms worth most alone."""
        theta, feasible = as_selection(reward, theta, k)
        must, is_open, size = as_required_and_open(self, feasible)
        answers, rounds = self._meet(reward)
        each = evaluations_per_value(reward)
        n_most = self.budget // each
        if self._n_rounds is not None:
            self._n_rounds += 1
        now = NoisyRound(
            reward, answers, rounds, theta, self.delta, self._noise, size, is_open, self._n_rounds
        )
        room = now.room(n_most)

        def best(values: FloatArray) -> IndexArray:
            among = np.flatnonzero(is_open)
            return among[top_k(values[among], size, rng=rng)] if size else among[:0]

        with one_round() as shown:
            shown.budget(n_most * each)
            shown.undecided = lambda: now.undecided(self.tolerance)
            if 1 <= room < _AMPLE:
                now.begin_evenly(n_most)
            while True:
                arms = best(now.lower + now.upper)
                pair = now.in_doubt(arms, self.tolerance)
                n_free = 0 if room < 1 else now.n_free(n_most)
                if not len(pair) or now.n_answers >= n_free:
                    break
                now.step(pair, n_free)
            if len(pair):
                looks = now.halve(n_most) if room < 1 else now.guess(n_most)
                arms = best(looks)
                pair = now.in_doubt(arms, self.tolerance)
        spent, certified = now.n_answers * each, not len(pair)
        self.report = NoisySingletonsReport(now.lower, now.upper, spent, certified)
        return np.sort(np.append(must, arms))

    def check_sets(self, feasible: FeasibleSets) -> None:
        """Refuse constraints besides arms that are required or unavailable."""
        as_required_and_open(self, feasible)

    def state(self) -> dict[str, Any]:
        """The answers so far as plain JSON."""
        known, learned = self._known, self.noise_std is None
        memory = None
        if known is not None:
            memory = {**known[0].state(with_v=learned), "rounds": known[1].tolist()}
            memory |= {} if self._n_rounds is None else {"n_rounds": self._n_rounds}
        state = {"oracle": "NoisySingletons", "n_levels": self.n_levels, "memory": memory}
        if isinstance(self._noise, Symmetric):
            state["variance"] = self._variance()
        return state

    @refusing("NoisySingletons")
    def load(self, state: dict[str, Any]) -> None:
        """Become what ``state()`` described, for the reward of the next ``select``."""
        check_state(state, "NoisySingletons", "memory", "n_levels")
        if state["n_levels"] != self.n_levels:
            raise ValueError(f"state must have n_levels={self.n_levels}, got {state['n_levels']}")
        memory, variance = state["memory"], saved_variance(state.get("variance"))
        # The squares of one kind of noise prove nothing for another kind. States of before noise
        # was learned have none, and only those of symmetric noise have a variance.
        is_symmetric = isinstance(self._noise, Symmetric)
        same_kind = memory is not None and "v" in memory and ("variance" in state) == is_symmetric
        known, n_rounds = None, None
        if memory is not None and (self.noise_std is not None or same_kind):
            rounds = as_saved_array(memory["rounds"], "rounds", least=0.0)
            known = Answers.of(memory, self.n_levels), rounds
            # Before there were bounds of differences, single arms had their share of delta.
            if (n_rounds := memory.get("n_rounds")) is not None:
                n_rounds = as_count(n_rounds, "state['n_rounds']")
        self.forget()
        self._guess_variance(variance)
        if known is not None:
            self._known, self._n_rounds = known, n_rounds

    def forget(self) -> None:
        """Forget the reward and its answers."""
        self._reward = self._known = None
        self._n_rounds = 0
        self._guess_variance(None)

    def _meet(self, reward: Reward) -> tuple[Answers, FloatArray]:
        """The answers about this reward, and in how many rounds each arm was evaluated."""
        if self._known is None or (self._reward is not None and reward is not self._reward):
            # The last row is the empty set.
            n_rows = reward.n_arms + 1
            self._known = Answers.none(n_rows, self.n_levels), np.zeros(reward.n_arms)
            self._n_rounds = 0
        check_loaded(len(self._known[1]), reward)
        self._reward = reward
        return self._known
