"""One round of lazy greedy: the evaluations, and what is learned from them."""

from __future__ import annotations

from typing import Any

import numpy as np

from superarm.core import Pools, Reward
from superarm.core.arguments import FloatArray, IndexArray, as_count, as_finite
from superarm.core.declarations import is_diminishing
from superarm.core.states import as_saved_number, refusing
from superarm.core.warn import warn_user
from superarm.oracles._lazy.audits import rival_to_audit
from superarm.oracles._lazy.gains import Base, RememberedGains, pack, upper_of_all
from superarm.oracles._lazy.single_arms import Audits
from superarm.oracles._lazy.stage import Stage

# An answer may exceed its bound by this share: batches and single calls round differently.
_ROUNDING = 1e-9
# Fewer answers than this are not worth the evaluation that it takes to use them again.
_WORTH_KEEPING = 8
# A batch is at least this share of the step's evaluations so far, so that there are O(log) batches.
_SHARE_PER_BATCH = 1 / 8

# The numbers below are guesses that decide only what is evaluated first, never which arm wins.

# What an arm adds in a step as a share of what it adds alone, before a step has shown it.
_FIRST_SHARE = 0.5
# What a group adds as a multiple of what was expected of it, before a group has shown it.
_FIRST_FACTOR = 1.2
# An arm that is expected to add less than this share of the best gain is better ruled out in a
# group.
_WEAK = 0.9
# A group is filled up to this share of the best gain.
_FULL = 0.97
# The factor moves by this much per batch of groups, towards this share of groups that fail.
_FACTOR_STEP, _FAILING_GROUPS = 0.2, 0.4


class ContradictionError(Exception):
    """An answer is above its upper bound, so that the reward is not what it declares."""


class KnownSets:
    """What one reward answered about sets, and what the answers showed about it.

    Attributes
    ----------
    lipschitz
        Shape (n_arms,): the declared B_i.
    gains
        The remembered answers.
    submodular, diminishing
        Whether the reward is submodular, and declares ``diminishing``, until an answer contradicts
        it.
    warned
        Whether a warning about a wrong declaration was given: there is at most one.
    empty
        The value of the empty set; None if it was not evaluated.
    shares, factor
        What an arm adds in each step, by the number of arms before, as a share of what it adds
        alone; and what a group of arms adds as a multiple of what was expected.
    audits
        What was audited of the bounds on what arms add to others.
    """

    def __init__(self, lipschitz: FloatArray, n_answers: int, *, diminishing: bool) -> None:
        self.lipschitz, self.gains = lipschitz, RememberedGains(n_answers * len(lipschitz))
        self.submodular, self.diminishing, self.warned = True, diminishing, False
        self.empty: float | None = None
        self.shares: dict[int, float] = {}
        self.factor = _FIRST_FACTOR
        self.audits = Audits()

    @classmethod
    def new(cls, reward: Reward, n_answers: int) -> KnownSets:
        """Nothing is known but what the reward declares."""
        lipschitz = np.array(np.broadcast_to(reward.lipschitz, reward.n_arms), np.float64)
        return cls(lipschitz, n_answers, diminishing=is_diminishing(reward))

    def state(self) -> dict[str, Any]:
        """All of it, as plain JSON."""
        return {
            "submodular": self.submodular,
            "diminishing": self.diminishing,
            "warned": self.warned,
            "factor": self.factor,
            "empty": self.empty,
            "shares": [[step, share] for step, share in self.shares.items()],
            "lipschitz": self.lipschitz.tolist(),
            "bases": [base.state() for base in self.gains.bases],
            "audits": self.audits.state(),
        }

    @classmethod
    @refusing("LazyGreedy")
    def of(cls, state: dict[str, Any], n_answers: int) -> KnownSets:
        """What ``state()`` described."""
        missing = [name for name in _IN_STATE if name not in state]
        if missing:
            raise ValueError(f"state must have {missing[0]!r}, got only {sorted(state)}")
        lipschitz = as_finite(state["lipschitz"], "state['lipschitz']", ndim=1, least=0.0)
        known = cls(lipschitz, n_answers, diminishing=bool(state["diminishing"]))
        known.gains.bases = [Base.of(base, len(lipschitz)) for base in state["bases"]]
        known.submodular, known.warned = bool(state["submodular"]), bool(state["warned"])
        known.shares = {
            as_count(step, "a step of state['shares']"): as_saved_number(share, "shares")
            for step, share in state["shares"]
        }
        known.factor, empty = as_saved_number(state["factor"], "factor"), state["empty"]
        known.empty = None if empty is None else as_saved_number(empty, "empty")
        known.audits = Audits.of(state.get("audits"))
        return known


_IN_STATE = (
    "submodular",
    "diminishing",
    "warned",
    "factor",
    "empty",
    "shares",
    "lipschitz",
    "bases",
)


class GreedyRound:
    """Asks the reward about sets within a budget, until the best arm to add is known."""

    def __init__(
        self,
        reward: Reward,
        known: KnownSets,
        theta: FloatArray,
        *,
        budget: int | None,
        batch: int,
        audits: float,
    ) -> None:
        self.reward, self.known, self.theta = reward, known, theta
        self.budget, self.batch, self._audits = budget, batch, audits
        self.evaluations = 0
        self._until = self._steps = 0

    def limit(self, steps: int) -> None:
        """Give this step an equal share of the budget, if this many steps are left."""
        self._steps = steps
        left = 0 if self.budget is None else max(0, self.budget - self.evaluations)
        self._until = self.evaluations + -(-left // steps)

    def room(self) -> int:
        """How many evaluations the step at hand may still make."""
        if self.budget is None:
            return self.reward.n_arms
        return max(0, self._until - self.evaluations)

    def value_of(self, arms: IndexArray, means: FloatArray) -> float:
        """The value of one set."""
        self.evaluations += 1
        return float(self.reward(arms, means))

    def settle(self, stage: Stage) -> bool:
        """Evaluate until the best arm is certain. False if the budget ends this earlier."""
        known, before, consulted = self.known, self.evaluations, False
        share = known.shares.get(len(stage.base), _FIRST_SHARE)
        while True:
            gain = stage.gain()
            arms = stage.in_question(gain).nonzero()[0]
            if len(arms) and gain > -np.inf and not consulted:
                self._consult(stage, gain)
                consulted = True
                continue
            if not len(arms) or not self.room():
                break
            expected = np.minimum(known.factor * share * stage.alone[arms], stage.upper[arms])
            weak = (expected < _WEAK * gain) & ~stage.tried[arms] & known.diminishing
            if weak.all():  # every arm that has a chance was evaluated
                self._rule_out(stage, arms, expected, gain)
                continue
            strong = arms[~weak][(-expected[~weak]).argsort(kind="stable")]
            size = max(self.batch, int(_SHARE_PER_BATCH * (self.evaluations - before)))
            self._evaluate(stage, strong[: min(size, self.room())])
            best = int(np.argmax(stage.exact))
            # Later steps expect the share that the best arm has shown.
            if stage.alone[best] > 0:
                share = max(0.0, stage.exact[best] - stage.worth) / stage.alone[best]
        if not len(arms):
            self._audit(stage)
        known.shares[len(stage.base)] = share
        if len(stage.here.arms) >= _WORTH_KEEPING:
            known.gains.use(stage.here)
        return not len(arms)

    def _audit(self, stage: Stage) -> None:
        """Evaluate an arm that the bounds rule out, if it is time, to see whether they hold."""
        audits = self.known.audits
        # Rounds audit one step after the other.
        turn = audits.rounds % (len(stage.base) + self._steps) == len(stage.base)
        if not (turn and audits.are_due(self._audits) and self.room()):
            return
        arms = np.setdiff1d(np.flatnonzero(np.isneginf(stage.exact)), stage.closed)
        if len(arms):
            self._evaluate(stage, np.array([rival_to_audit(audits.made, arms, stage.upper)]))
            audits.passed()

    def _consult(self, stage: Stage, gain: float) -> None:
        """Use bounds from earlier rounds, as long as one evaluation rules out more than one arm."""
        known, theta, diminishing = self.known, stage.theta, self.known.diminishing
        for base, hope in self._hopes(stage, gain):
            if not self.room():
                break
            # Bounds that were used in the meantime may have ruled out the same arms.
            if len(set(stage.still_in_question(hope, gain).tolist())) < 2:
                continue
            worth = self._worth_now(base, stage)
            bounds = base.upper(theta, known.lipschitz, worth, diminishing=diminishing)
            stage.lower(base.arms, bounds, assumed=True)
            known.gains.use(base)

    def _hopes(self, stage: Stage, gain: float) -> list[tuple[Base, IndexArray]]:
        """The bases that may rule out more than one arm, with these arms; the most arms first."""
        known, bases = self.known, self.known.gains.within(stage.base)
        if not bases:
            return []
        # With the values that the bases had: their values now would cost evaluations.
        bounds = upper_of_all(bases, stage.theta, known.lipschitz, diminishing=known.diminishing)
        arms = np.concatenate([base.arms for base in bases])
        places = ((bounds < gain) & stage.in_question(gain)[arms]).nonzero()[0]
        # Where the answers of each base begin among these places.
        ends = np.cumsum([len(base.arms) for base in bases])
        cuts = [0, *places.searchsorted(ends).tolist()]
        hopes = [
            (base, arms[places[start:stop]])
            for base, start, stop in zip(bases, cuts, cuts[1:], strict=False)
            if stop - start > 1
        ]
        return sorted(hopes, key=lambda pair: -len(pair[1]))

    def _worth_now(self, base: Base, stage: Stage) -> float:
        """The value of a base where its bounds need it; evaluated unless it is known."""
        at = base.where(stage.theta, diminishing=self.known.diminishing)
        if np.array_equal(at, base.at):
            return base.value
        if len(at) == len(stage.base) and np.array_equal(at, stage.theta[stage.base]):
            return stage.worth
        return self.value_of(base.base, at)

    def _evaluate(self, stage: Stage, arms: IndexArray) -> None:
        """Evaluate the base with each of some arms."""
        values = self._values(stage, stage.with_each(arms))
        gains = values - stage.worth
        off = gains > stage.upper[arms] + _ROUNDING * np.maximum(np.abs(values), abs(stage.worth))
        stage.exact[arms] = values
        stage.lower(arms, gains)
        stage.here.add(arms, stage.theta[arms], values)
        if off.any():
            self._give_up(stage, int(arms[np.argmax(off)]))

    def _rule_out(self, stage: Stage, arms: IndexArray, expected: FloatArray, gain: float) -> None:
        """Evaluate groups of arms that should add less than the best arm, even together."""
        groups = pack(arms, expected, _FULL * gain)[: self.room()]
        members = np.concatenate([np.array(group, np.intp) for group in groups])
        sizes = np.array([len(group) for group in groups])
        ends = np.cumsum(sizes)
        values = self._values(stage, stage.with_groups(members, sizes))
        # The value of a group bounds the value with each of its arms, since no arm lowers a value.
        bounds = np.repeat(values, sizes)
        stage.tried[members] = True
        stage.lower(members, bounds - stage.worth, assumed=True)
        stage.here.add(members, stage.theta[members], bounds)
        each = np.zeros(len(stage.theta))
        each[arms] = expected
        expected_of_groups = np.add.reduceat(each[members], ends - sizes)
        failing = float(np.mean(values - stage.worth > expected_of_groups))
        self.known.factor *= 1.0 + _FACTOR_STEP * (failing - _FAILING_GROUPS)

    def _values(self, stage: Stage, pools: Pools) -> FloatArray:
        """The values of sets at the means of the round."""
        self.evaluations += len(pools)
        return self.reward.batch(pools, stage.theta)

    def _give_up(self, stage: Stage, arm: int) -> None:
        """Give up the assumption that an answer contradicts, with a warning the first time."""
        known = self.known
        known.audits.begin_anew()
        adds = f"{stage.exact[arm] - stage.worth:.6g}"
        what = f"arm {arm} adds {adds} to the arms {stage.base}, which is more than"
        if known.diminishing and stage.assumed[arm]:
            known.diminishing = False
            known.gains = RememberedGains(known.gains.n_answers)
            message = f"the reward declares diminishing, but {what} other answers allow"
        else:
            known.submodular = False
            message = f"the reward is not submodular, or not lipschitz as declared: {what} it can"
        if not known.warned:
            warn_user(f"{message}. LazyGreedy continues without that assumption")
        known.warned = True
        raise ContradictionError
