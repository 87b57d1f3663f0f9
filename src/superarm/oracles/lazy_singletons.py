"""Oracle+'s decision from remembered answers, with a few evaluations per round."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from superarm.core import FeasibleSets, KOrSets, Pools, Reward, as_selection
from superarm.core.arguments import FloatArray, IndexArray, as_count
from superarm.core.k_of_m import kth_largest
from superarm.core.optional import Uniform, kind_has
from superarm.core.showing import one_line
from superarm.oracles._bounds import LazySingletonsReport
from superarm.oracles._budget import as_budget
from superarm.oracles._lazy.audits import AUDITS, arm_to_audit, as_audits, doubtful
from superarm.oracles._lazy.contradictions import EARLY, warn_of_equal
from superarm.oracles._lazy.look_ahead import NEW, PLAINLY_TOO_LARGE, last_place, look_ahead
from superarm.oracles._lazy.saved_arms import from_state, state_of
from superarm.oracles._lazy.single_arms import SingleArms
from superarm.oracles._state import check_loaded, check_state, refuse_noisy

# A batch is at least this share of the evaluations so far, so that there are O(log) batches.
_SHARE_PER_BATCH = 1 / 8
_NONE = np.zeros(0, np.intp)


class LazySingletons:
    """The set that `Singletons` would pick, certified by bounds from remembered answers.

    Arm i alone is worth f_i(theta_i), and f_i does not change from round to round. So the answers
    of earlier rounds bound f_i at the new theta. The set is certified as soon as the worst lower
    bound in it is above the best upper bound outside, or both are known to be equal. Until then,
    the arms that stand in the way are evaluated. Among arms of exactly equal value at the k-th
    place, the random choice may differ from that of `Singletons`; if all are equal, it warns.

    The oracle uses what the reward declares: ``lipschitz``, ``monotone``, ``zero_is_absent`` and
    ``concave``. With ``zero_is_absent``, (0, r(empty)) is a free point of every arm; without it,
    every arm must be evaluated once. If two answers contradict the declared B, one of the questions
    is asked again. The same answer means that B is too small: it is raised, with a warning. Another
    answer means a noisy or changing reward, which is an error. ``monotone`` and ``concave`` are
    given up, with a warning, when an answer contradicts them.

    A set is certified given these declarations. A wrong B may exclude an arm whose answer would
    contradict it. So some evaluations are audits of arms whose bounds leave no doubt: in turn the
    arm that the least error of B would put in doubt, and a random one. ``report.excluded`` says
    what share of wrong bounds they exclude. They use no draw of ``rng`` and change no decision as
    long as the declarations are true.

    Among other feasible sets than those of k arms, it picks what `Singletons` picks. The set that
    is best by the middles of the bounds is certified if it is best even with its own arms at their
    lower bounds and all others at their upper bounds. Until then, the arms that make the difference
    are evaluated, the least known first (as in CLUCB: Chen, Lin, King, Lyu, Chen 2014). Arms whose
    membership the sets already decide are never evaluated.

    A round takes O(n_points · n_arms) time for the bounds and O(n_arms) per batch of evaluations.
    The number of batches grows with the logarithm of the evaluations. Memory: 16 · n_points + 8
    bytes per arm, 264 by default. The memory is only a cache, which ``state`` and ``load`` save:
    without it the answers are the same, up to random tie-breaking, but cost more evaluations.

    Parameters
    ----------
    n_points
        How many answers are remembered per arm.
    batch
        How many arms are evaluated together at least, if that many are in question. Set it to the
        number of workers of an executor: there are more evaluations in fewer batches.
    budget
        The largest number of evaluations per round; None for no limit.
    audits
        In t rounds there are at most this many audits times the root of t, one per round at most;
        0 for none. They count as evaluations.

    Examples
    --------
    >>> import superarm as sa
    >>> reward, rng = sa.Counted(sa.LinearReward(1000)), np.random.default_rng(0)
    >>> lazy, plain = LazySingletons(), sa.Singletons()
    >>> for _ in range(200):
    ...     theta = rng.random(1000)
    ...     arms = lazy.select(reward, theta, 5, rng=rng)
    ...     assert np.array_equal(arms, plain.select(reward.uncounted, theta, 5, rng=rng))
    >>> reward.evaluations < 1000  # for 200 rounds; Oracle+ makes 1,000 in each
    True
    """

    report: LazySingletonsReport | None = None
    is_start = False  # whether `LocalSearch` begins with the sets, which may then be random

    __repr__ = one_line

    def __init__(
        self,
        *,
        n_points: int = 16,
        batch: int = 1,
        budget: int | None = None,
        audits: float = AUDITS,
    ) -> None:
        self.n_points = as_count(n_points, "n_points", least=4)
        self.batch = as_count(batch, "batch", least=1)
        self.budget = as_budget(budget)
        self.audits = as_audits(audits)
        self._reward: Reward | None = None
        self._known: SingleArms | None = None

    def select(self, reward: Reward, theta: ArrayLike, k: KOrSets, *, rng: Generator) -> IndexArray:
        """The k arms worth most alone."""
        theta, feasible = as_selection(reward, theta, k)
        known = self._meet(reward)
        now = _Round(reward, known, theta, feasible, self.budget)
        now.begin()
        known.audits.rounds += 1
        while True:
            arms, certified = now.certify(self.batch, rng)
            is_audited = certified and known.audits.are_due(self.audits)
            # A declaration that an audit shows to be wrong is corrected, and the set is found anew.
            if not (is_audited and now.audit(arms)):
                break
        if known.audits.rounds == EARLY and not self.is_start:
            warn_of_equal(known, theta)
        found = now.lower, now.upper, now.evaluations, certified
        self.report = LazySingletonsReport(*found, known.audits.made, known.audits.drawn)
        return arms

    def state(self) -> dict[str, Any]:
        """The remembered answers, and what they showed about the reward, as plain JSON."""
        known = {"memory": None} if self._known is None else state_of(self._known)
        return {"oracle": "LazySingletons", "n_points": self.n_points, **known}

    def load(self, state: dict[str, Any]) -> None:
        """Become what ``state()`` described, for the reward of the next ``select``."""
        check_state(state, "LazySingletons", "memory")
        self._known = None if state["memory"] is None else from_state(state, self.n_points)
        self._reward = None

    def forget(self) -> None:
        """Forget the reward and its answers."""
        self._reward = self._known = None

    def _meet(self, reward: Reward) -> SingleArms:
        """What is known about this reward: nothing if it is new. A loaded state fits any."""
        known = self._known
        if known is not None and reward is self._reward:  # as in most rounds
            return known
        refuse_noisy(self, reward, "NoisySingletons or Singletons")
        if known is None or self._reward is not None:
            known = SingleArms.new(reward, self.n_points)
        else:
            check_loaded(known.n_arms, reward)
        self._known, self._reward = known, reward
        return known


@dataclass(eq=False)
class _Round:
    """One round: the evaluations, and the bounds that the answers give.

    ``lower`` and ``upper``, shape (n_arms,), bound what each arm is worth alone. ``base`` is what
    arms are compared with: the empty set if sets differ in size; else any number will do.
    """

    reward: Reward
    known: SingleArms
    theta: FloatArray
    feasible: FeasibleSets
    budget: int | None
    evaluations: int = 0
    lower: FloatArray = field(init=False)
    upper: FloatArray = field(init=False)
    base: float = 0.0

    def begin(self) -> None:
        """Get a first point for every undecided arm, and the bounds.

        The point is free if a mean of zero is an absent arm, and one evaluation per arm otherwise.
        """
        known, zero_is_absent = self.known, self.reward.zero_is_absent
        new, by_size = np.flatnonzero(known.n == 0), not self.feasible.same_size
        wants_empty = by_size or (len(new) and zero_is_absent)
        if wants_empty and known.empty is None and self.left():
            self.evaluations += 1
            known.empty = self.reward(np.empty(0, np.intp), np.empty(0))
        if len(new):
            new = new[self.feasible.undecided[new]]
        if len(new) and zero_is_absent and known.empty is not None:
            known.add_for_all(0.0, known.empty)
            new = new[:0]  # every arm has a point now
        self.base = known.empty if by_size and known.empty is not None else 0.0
        # Assumption 4 gives the bounds of arms without an answer.
        self.lower, self.upper = known.bounds(self.theta, least=0.0, most=self.reward.upper)
        if len(new):
            # A small budget goes to the arms of the largest means.
            likely = new[np.argsort(-self.theta[new], kind="stable")[: self.left()]]
            self.ask(likely, self.theta[likely])

    def left(self) -> int:
        """How many evaluations may still be made."""
        return self.reward.n_arms if self.budget is None else max(0, self.budget - self.evaluations)

    def certify(self, batch: int, rng: Generator) -> tuple[IndexArray, bool]:
        """Evaluate arms until the bounds prove that a set is the best. The set; False if not."""
        known, base = self.known, self.base
        asked = np.zeros(len(self.theta), bool)
        while True:
            # Sets of different sizes are compared by what arms add to the empty set.
            gains = (self.lower - base, self.upper - base) if base else (self.lower, self.upper)
            arms, contested, n_necessary = best_and_rivals(self.feasible, *gains, rng=rng)
            left = self.left()
            if not len(contested) or not left:
                return arms, not len(contested)
            size = max(batch, int(_SHARE_PER_BATCH * self.evaluations), n_necessary)
            chosen = contested[: min(size, left)]
            x = self.theta[chosen]
            if known.used <= PLAINLY_TOO_LARGE and (known.n[chosen] <= NEW).any():
                last = last_place(self.feasible, self.lower, self.upper, arms)
                # A second evaluation in the same round is at theta, which settles the arm.
                x = np.where(asked[chosen], x, look_ahead(known, chosen, x, *last))
            asked[chosen] = True
            self.ask(chosen, x)

    def audit(self, arms: IndexArray) -> bool:
        """Evaluate an arm whose bounds leave no doubt, if there is one. Whether they were wrong."""
        audits, bounds = self.known.audits, (self.lower, self.upper)
        arm = arm_to_audit(audits.made, self.feasible, arms, *bounds) if self.left() else None
        if arm is None:
            return False
        wrong = self.ask(np.array([arm]), self.theta[[arm]])
        if wrong:
            audits.begin_anew()
        else:
            audits.passed()
        return wrong

    def ask(self, arms: IndexArray, x: FloatArray) -> bool:
        """Evaluate arms alone at the means ``x``. Whether a declaration turned out to be wrong."""
        means = np.zeros(self.reward.n_arms)
        means[arms] = x
        values = self.reward.batch(Pools.singletons(arms, len(means)), means)
        self.evaluations += len(arms)
        wrong = self.known.learn(arms, x, values, self._again)
        # A corrected declaration changes the bounds of all arms.
        some = slice(None) if wrong else arms
        bounds = self.known.bounds(self.theta[some], some, least=0.0, most=self.reward.upper)
        self.lower[some], self.upper[some] = bounds
        return wrong

    def _again(self, arm: int, x: float) -> float | None:
        """Evaluate an arm once more, within the budget."""
        if not self.left():
            return None
        self.evaluations += 1
        return self.reward(np.array([arm]), np.array([x]))


def best_and_rivals(
    feasible: FeasibleSets, lower: FloatArray, upper: FloatArray, *, rng: np.random.Generator
) -> tuple[IndexArray, IndexArray, int]:
    """The best set by the middles of the bounds, and the arms that keep it from being certified.

    The most urgent arms come first. The number says how many of them must be evaluated in any case,
    as far as this is known. ``lower`` and ``upper``, shape (n_arms,), bound what each arm adds.
    """
    if kind_has(type(feasible), Uniform):
        arms = feasible.best(lower + upper, rng=rng)
        return arms, *_contested(arms, lower, upper)
    arms = feasible.best((lower + upper) / 2, rng=rng)
    return arms, doubtful(feasible, arms, lower, upper), 0


def _contested(arms: IndexArray, lower: FloatArray, upper: FloatArray) -> tuple[IndexArray, int]:
    """The arms that keep a set of k arms from being certified, and how many must be evaluated.

    The set is certified if its weakest arm is above its strongest rival outside. Whatever the k-th
    largest value is, it lies between the k-th largest lower and upper bounds. An arm whose bounds
    enclose both can be neither in nor out until it is evaluated.
    """
    outside = np.ones(len(lower), bool)
    outside[arms] = False
    if not outside.any():
        return _NONE, 0
    others = outside.nonzero()[0]
    weakest, rival = arms[lower[arms].argmin()], others[upper[others].argmax()]
    if lower[weakest] > upper[rival]:
        return _NONE, 0
    low, high = kth_largest(lower, len(arms)), kth_largest(upper, len(arms))
    width = upper - lower
    # An arm that may turn out to be tied is in question, too: ties are broken at random, not by
    # what is known of the arms.
    may_change = (upper >= lower[weakest]) & (lower <= upper[rival]) & (width > 0)
    in_question = may_change.nonzero()[0]
    enclosing = (lower[in_question] < low) & (upper[in_question] > high)
    urgency = np.where(enclosing, np.inf, upper[in_question])
    pair = weakest if width[weakest] >= width[rival] else rival
    urgency[(in_question == pair) & ~enclosing] = np.finfo(np.float64).max
    return in_question[np.argsort(-urgency, kind="stable")], int(enclosing.sum())
