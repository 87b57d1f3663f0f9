"""What a session does, without the lock that lets threads share it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from superarm.core import FeasibleSets, Policy, Reward, as_feasible
from superarm.core.arguments import IndexArray
from superarm.core.bulk import SamplesTops, WorksInBulk
from superarm.core.copies import copy_policy
from superarm.core.optional import check_sets, kind_has, offers
from superarm.core.places import LearnsPlaces
from superarm.core.policy import belief_at
from superarm.core.reports import Reports, best_first
from superarm.errors import ExpiredDecisionError, UnknownDecisionError
from superarm.offpolicy import Propensities, propensities
from superarm.sessions.answers import Listener
from superarm.sessions.arms import NamedArms
from superarm.sessions.decisions import Context, Decision, Name, as_plain_context, shares_of
from superarm.sessions.expiry import Expiry
from superarm.sessions.explain import Explanation, explain
from superarm.sessions.feedback import check_places, feedback_of
from superarm.sessions.holdout import Trial
from superarm.sessions.ledger import Evidence, Ledger, Record, known_of
from superarm.sessions.seeding import Seeding

Sets: TypeAlias = int | FeasibleSets | None  # None for those of the policy
Why: TypeAlias = Evidence | Callable[[], Evidence]


@dataclass
class UnlockedSession:
    """A policy, the names of its arms, a generator, and the decisions so far.

    `Session` is what users see of it, and documents the verbs.
    """

    policy: Policy
    arms: NamedArms
    ledger: Ledger
    seeding: Seeding
    expiry: Expiry
    explain_last: int
    rewards: Callable[[int], Reward] | None
    clock: Callable[[], float]
    trial: Trial | None = None
    rounds: int = 0
    n_decisions: int = 0
    rng: np.random.Generator = field(init=False)
    evidence: OrderedDict[str, Why] = field(init=False, default_factory=OrderedDict)
    listener: Listener | None = field(init=False, repr=False)
    learns_in_bulk: bool = field(init=False)
    samples_tops: bool = field(init=False)
    _expired_at: tuple[float, int] | None = field(init=False, default=None)
    _learns_places: bool = field(init=False)
    _can_expire: bool = field(init=False)

    def __post_init__(self) -> None:
        self.rng, self.listener = self.seeding.generator(), Listener.of(self)
        # Looked up once: none of this changes in the life of a session.
        belief = self.policy.belief
        self._learns_places = offers(belief, LearnsPlaces)
        self.learns_in_bulk = offers(belief, WorksInBulk) and not self._learns_places
        self.samples_tops = offers(belief, SamplesTops)
        self._can_expire = self.expiry.can_expire

    def feasible(self, given: Sets) -> FeasibleSets:
        """The sets that may be chosen in a round. Refuses if there is none."""
        policy, arms = self.policy, self.arms
        sets = policy.feasible if given is None else as_feasible(given, policy.reward.n_arms)
        return arms.without(sets, arms.is_retired) if arms.any_retired else sets

    def check(self, given: Sets, context: ArrayLike | None) -> FeasibleSets:
        """The sets of a round. Refuses them, or the context, if `ask` could not use them."""
        sets, belief = self.feasible(given), belief_at(self.policy.belief, context)
        if sets is not self.policy.feasible:
            check_sets(self.policy.oracle, sets)
        if self._learns_places:
            check_places(belief, sets)
        return sets

    def ask(
        self, n: int, given: Sets, n_samples: int, context: ArrayLike | None = None
    ) -> list[Decision]:
        """Make and issue n decisions, or none if one of them fails."""
        # Constraints and contexts are refused before expiry changes anything.
        feasible, now = self.check(given, context), float(self.clock())
        known = None if context is None else as_plain_context(context)
        if self._can_expire:
            self.expire(now)
        # All or none: nothing is issued before the last decision is made.
        with self.listener or nullcontext():
            made = [self._decide(feasible, one, now, n_samples, known) for one in range(1, n + 1)]
        evidence = {decision.id: why for decision, _, why in made if why is not None}
        self.issue([Record(decision, ranked) for decision, ranked, _ in made], evidence=evidence)
        return [decision for decision, _, _ in made]

    def tell(self, decision: Decision | str, outcomes: Mapping[Name, float]) -> tuple[Name, ...]:
        """Learn outcomes of a decision. Returns the arms whose outcomes were new."""
        record = self.ledger.find(decision)
        new = record.new_outcomes(outcomes)
        if not new or self._is_late(record):
            return ()
        # The belief may still refuse, so the record changes after it.
        self._tell(record, new)
        self.remember(record, new)
        return tuple([self.arms.names[arm] for arm in new])

    def remember(self, record: Record, new: Mapping[int, float]) -> bool:
        """Add new outcomes to a decision. Returns whether they were the last ones."""
        record.outcomes.update(new)
        if not new or len(record.outcomes) < len(record.arms):
            return False
        self.ledger.close(record, "told")
        self._count(record, record.outcomes)
        return True

    def expire(self, now: float) -> list[Decision]:
        """Close the decisions that have expired. Returns them."""
        # Nothing more can be due at the same time in the same round, so `Session.expire` followed
        # by `Session.ask` looks for expired decisions once.
        if not self._can_expire or self._expired_at == (now, self.rounds):
            return []
        self._expired_at = now, self.rounds
        closed = []
        for record in self.ledger.due(self.expiry, now=now, rounds=self.rounds):
            if self.expiry.missing is not None:
                missing = dict.fromkeys(record.missing(), self.expiry.missing)
                self._tell(record, missing)
                self._count(record, {**record.outcomes, **missing})
            self.ledger.close(record, "expired")
            closed.append(record.decision)
        return closed

    def _count(self, record: Record, outcomes: Mapping[int, float]) -> None:
        """A complete decision counts for the lift."""
        if self.trial is not None:
            self.trial.add(list(outcomes.values()), record.decision.holdout)

    def _tell(self, record: Record, outcomes: dict[int, float]) -> None:
        context = record.context(self.policy.reward.n_arms)
        arms, told, places, n_before = feedback_of(record, outcomes, self.policy.belief)
        self.policy.tell(
            arms, told, rng=self.rng, context=context, places=places, n_before=n_before
        )

    def next_records(self, decisions: Sequence[Decision], *, each: bool = False) -> list[Record]:
        """The records of decisions of an equal session that are next here, of one round or each."""
        for place, one in enumerate(decisions, start=1):
            id = f"{self.seeding.key}-{self.n_decisions + place}"
            wanted = id, self.rounds + (place if each else 1)
            if (one.id, one.round) != wanted:
                raise ValueError(
                    f"the next decision must be {wanted[0]} of round {wanted[1]}, got {one}"
                )
        return [Record(one, np.array(self.arms.of(one.arms), np.intp)) for one in decisions]

    def issue(
        self,
        records: list[Record],
        n_rounds: int = 1,
        evidence: Mapping[str, Why] = MappingProxyType({}),
    ) -> None:
        """Remember the decisions of some rounds, and by their ids why the last ones were made."""
        self.rounds += n_rounds
        self.n_decisions += len(records)
        for record in records:
            self.ledger.add(record)
        self.evidence.update(evidence)
        while len(self.evidence) > self.explain_last:
            self.evidence.popitem(last=False)

    def set_retired(self, names: Sequence[Name], retired: bool) -> None:
        """Retire or restore arms."""
        changed = self.arms.retiring(names, retired)
        if retired and changed.any():
            # Refuses if no set would be left, or if the oracle cannot leave arms out.
            check_sets(self.policy.oracle, self.arms.without(self.policy.feasible, changed))
        self.arms.is_retired = changed

    def explain(self, decision: Decision | str) -> Explanation:
        """Why a decision was made."""
        record = self.ledger.find(decision)
        known = record.decision
        if known.holdout:
            raise UnknownDecisionError(
                f"decision must be one that the policy made, got {known.id} of the hold-out"
            )
        if known.id not in self.evidence:
            raise UnknownDecisionError(
                f"decision must be one of the last {self.explain_last} since the session was "
                f"made or loaded (explain_last), got {known.id}; its evidence is not kept"
            )
        belief = belief_at(self.policy.belief, record.context(self.policy.reward.n_arms))
        why = self.evidence[known.id]
        found = why if isinstance(why, Evidence) else why()
        return explain(known, found, self.arms.names, belief)

    def fork(self, label: str | None) -> UnlockedSession:
        """A session that knows the same and has no decisions yet."""
        seeding = self.seeding.fork(label)
        other = replace(
            self,
            policy=copy_policy(self.policy),
            arms=self.arms.copy(),
            ledger=Ledger(self.ledger.keep),
            seeding=seeding,
            trial=None if self.trial is None else self.trial.fresh(),
            rounds=0,
            n_decisions=0,
        )
        # Last, so that a fork that fails does not use up its label.
        self.seeding.forks.append(seeding.path[-1])
        return other

    def _decide(
        self,
        feasible: FeasibleSets,
        place: int,
        now: float,
        n_samples: int,
        context: Context | None,
    ) -> tuple[Decision, IndexArray, Evidence | None]:
        """Make one decision, the ``place``-th of this round; its arms in order, and why."""
        number = self.n_decisions + place
        sampled = None
        if n_samples:  # before the decision, which may change what the oracle remembers
            sampled = self._sampled(number, n_samples, feasible, context)
        if self.trial is not None and self.trial.is_due(rng=self.rng):
            ranked, evidence = self.trial.draw(self.policy, feasible, rng=self.rng), None
            about: dict[str, Any] = {"values": None, "certified": False, "holdout": True}
        else:
            ranked, about, evidence = self._choose(feasible, context)
        if sampled is not None:
            about |= shares_of(sampled, ranked)
        decision = Decision(
            id=f"{self.seeding.key}-{number}",  # decision_number reads it
            arms=tuple([self.arms.names[arm] for arm in ranked.tolist()]),
            round=self.rounds + 1,
            time=now,
            context=context,
            **about,
        )
        return decision, ranked, evidence

    def _choose(
        self, feasible: FeasibleSets, context: Context | None
    ) -> tuple[IndexArray, dict[str, Any], Evidence]:
        """The policy's set, best first, what a decision says about it, and why it was chosen."""
        policy, oracle = self.policy, self.policy.oracle
        before = oracle.report
        arms, theta = policy.decide(rng=self.rng, feasible=feasible, context=context)
        report = oracle.report
        # If the oracle repeated an answer, its report is about an earlier round.
        if report is before or not kind_has(type(report), Reports):
            report = None
        belief = belief_at(policy.belief, context)
        ranked = best_first(arms, theta, oracle=oracle, report=report, belief=belief)
        drawn = theta.drawn(arms)
        values = {} if drawn is None else dict(zip(arms.tolist(), drawn.tolist(), strict=True))
        about = {
            "values": None if drawn is None else tuple([values[arm] for arm in ranked.tolist()]),
            "certified": report is not None and bool(report.certified),
        }
        # Kept now, because later feedback changes the belief.
        posterior, parts = known_of(belief, arms) if self.explain_last else (None, None)
        return ranked, about, Evidence(arms, ranked, theta, report, posterior, feasible, parts)

    def _sampled(
        self, number: int, n: int, feasible: FeasibleSets, context: Context | None
    ) -> Propensities:
        rng = self.seeding.samples(number)
        if self.trial is not None:
            return self.trial.sampled(self.policy, n, feasible, context, rng=rng)
        return propensities(self.policy, n, rng=rng, feasible=feasible, context=context)

    def _is_late(self, record: Record) -> bool:
        """Whether feedback comes too late and is ignored. Raises if it is to be refused."""
        if record.status == "told":
            return False
        if record.status == "open" and not (
            self._can_expire
            and self.expiry.is_due(record.decision, now=float(self.clock()), rounds=self.rounds)
        ):
            return False
        if self.expiry.late == "ignore":
            return True
        raise ExpiredDecisionError(
            f"decision {record.decision.id} has expired, so its outcomes are refused"
        )
