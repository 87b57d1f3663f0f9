"""A policy in use: arms with names, decisions with ids, feedback whenever it comes.

One class with many verbs, which share a lock and little else; what they do is in the other files of this package.
"""

from __future__ import annotations

import threading
import time
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np

from superarm.core import FeasibleSets, Policy, Reward, as_feasible
from superarm.core.arguments import as_count
from superarm.errors import ExpiredDecisionError, SessionFileError, UnknownDecisionError
from superarm.sessions import file, marks, saving
from superarm.sessions.available import by_name, without
from superarm.sessions.copying import copied, grow
from superarm.sessions.deciding import Occasion, decide
from superarm.sessions.decisions import Decision, Expiry, Ledger, Name, Record
from superarm.sessions.explain import Explanation, Kept, explain
from superarm.sessions.origin import Origin
from superarm.sessions.roster import Roster
from superarm.sets.feasible import Feasible


class Session:
    """A policy in use. Owns its generator, names the arms, and gives out decisions that are told about later.

    Feedback may be partial, late, repeated and out of order. Arms come and go. A session is saved in one file and goes
    on from it bit for bit, and it says why it decided as it did.

    All methods take turns under one lock, so threads may share a session; the order in which they come decides. The
    policy belongs to the session: asked or told by others, it is another policy. What is refused changes nothing.

    Parameters
    ----------
    policy
        What decides.
    names
        The names of the arms, distinct strings or whole numbers; 0, 1, 2, ... unless given.
    seed
        A whole number; everything drawn follows from it, as from ``np.random.default_rng(seed)``. None for fresh
        entropy.
    expiry
        When decisions expire; never, unless given.
    rewards
        ``rewards(n_arms)`` gives the reward when arms are added, for example ``superarm.LinearReward``.
    keep
        How many closed decisions are remembered, so that repeated feedback is known for what it is.
    explain_last
        How many of the last decisions `explain` can explain: theta and the oracle's report are kept for each.
    clock
        Seconds, as ``time.time`` gives them; they go into the file, so they must mean the same after a restart.
    key
        What the ids of decisions begin with; made from the seed unless given. For those who keep many sessions, whose
        seeds may be equal.

    Attributes
    ----------
    policy, names, expiry, keep, explain_last
        As above; ``names`` has those of retired arms, too.
    rounds
        How often it was asked.

    Examples
    --------
    >>> import superarm as sa
    >>> session = Session(sa.cts(sa.LinearReward(4), k=2), ["ant", "bee", "cat", "dog"], seed=1)
    >>> decision = session.ask()
    >>> decision.id, decision.arms
    ('6b86b273-1', ('ant', 'bee'))
    >>> session.tell(decision.id, {"bee": 1.0})
    ('bee',)
    >>> session.tell(decision.id, {"bee": 1.0, "ant": 0.0})  # the bee is known already
    ('ant',)
    >>> session.open
    []
    """

    def __init__(
        self,
        policy: Policy,
        names: Sequence[Name] | None = None,
        *,
        seed: int | None = None,
        expiry: Expiry | None = None,
        rewards: Callable[[int], Reward] | None = None,
        keep: int = 1000,
        explain_last: int = 1,
        clock: Callable[[], float] = time.time,
        key: str | None = None,
    ) -> None:
        if not isinstance(policy, Policy):
            raise TypeError(f"policy must be a Policy, got {type(policy).__name__}")
        self._roster = Roster(range(policy.reward.n_arms) if names is None else names)
        if len(self._roster) != policy.reward.n_arms:
            raise ValueError(
                f"names must be of the policy's {policy.reward.n_arms} arms, got {len(self._roster)}"
            )
        self.expiry = Expiry() if expiry is None else expiry
        self.explain_last = as_count(explain_last, "explain_last")
        self._ledger = Ledger(keep)
        self._origin = Origin.of(seed, key)
        self._rng = self._origin.generator()
        self._rewards, self._clock = rewards, clock
        self.rounds = self._n_decisions = 0
        self._lock = threading.RLock()
        self._kept: OrderedDict[str, Kept] = OrderedDict()
        self.policy = policy

    @property
    def names(self) -> tuple[Name, ...]:
        """The names of all arms, in the order of their numbers."""
        return tuple(self._roster.names)

    @property
    def retired(self) -> tuple[Name, ...]:
        """The names of the arms that are not picked any more."""
        return tuple(self._roster.names[number] for number in self._roster.retired.tolist())

    def __contains__(self, name: object) -> bool:
        return name in self._roster.numbers

    def numbers(self, names: Iterable[Name]) -> list[int]:
        """The numbers of some arms."""
        return self._roster.of(names)

    def is_retired(self, name: Name) -> bool:
        """Whether an arm is not picked any more."""
        return bool(self._roster.is_retired[self._roster.of([name])[0]])

    @property
    def keep(self) -> int:
        """How many closed decisions are remembered."""
        return self._ledger.keep

    @property
    def open(self) -> list[Decision]:
        """The decisions that wait for outcomes, the oldest first."""
        with self._lock:
            return [record.decision for record in self._ledger.open.values()]

    @property
    def decisions(self) -> list[Decision]:
        """The open decisions and the last ``keep`` closed ones, in the order in which they were given out."""
        with self._lock:
            records = [*self._ledger.open.values(), *self._ledger.closed.values()]
            return sorted(
                (record.decision for record in records),
                key=lambda one: int(one.id.rpartition("-")[2]),
            )

    @property
    def n_open(self) -> int:
        """How many decisions wait for outcomes."""
        return len(self._ledger.open)

    @property
    def n_decisions(self) -> int:
        """How many decisions were given out."""
        return self._n_decisions

    def status(self, decision: Decision | str) -> Literal["open", "told", "expired"]:
        """Whether a decision waits for outcomes, has them all, or has expired."""
        with self._lock:
            return self._ledger.find(_id(decision)).status

    def decision(self, id: str) -> Decision:
        """The decision of an id, among those that are open or remembered."""
        with self._lock:
            return self._ledger.find(id).decision

    def outcomes(self, decision: Decision | str) -> dict[Name, float]:
        """What has been told about a decision so far."""
        with self._lock:
            told, names = self._ledger.find(_id(decision)).outcomes, self._roster.names
            return {names[arm]: told[arm] for arm in sorted(told)}

    def feasible(self, k: int | None = None, **constraints: Any) -> Feasible:
        """Constraints for `ask`, as `Feasible` has them, with names for arms; ``k`` is the policy's unless given.

        ``available``, ``must`` and ``must_not`` are names, ``groups`` are of `Group` with names, and ``weights`` maps
        names to weights, others weighing nothing. Retired arms are left out by `ask` in any case.

        Examples
        --------
        >>> import superarm as sa
        >>> session = Session(sa.cts(sa.LinearReward(4), k=2), ["ant", "bee", "cat", "dog"], seed=1)
        >>> session.ask(feasible=session.feasible(must=["dog"], must_not=["bee"])).arms
        ('ant', 'dog')
        """
        with self._lock:
            size: Any = getattr(self.policy.k, "k", self.policy.k) if k is None else k
            return by_name(size, self._roster.of, len(self._roster), **constraints)

    @overload
    def ask(
        self,
        n: None = None,
        *,
        feasible: int | FeasibleSets | None = None,
        propensities: int | None = None,
    ) -> Decision: ...

    @overload
    def ask(
        self, n: int, *, feasible: int | FeasibleSets | None = None, propensities: int | None = None
    ) -> list[Decision]: ...

    def ask(
        self,
        n: int | None = None,
        *,
        feasible: int | FeasibleSets | None = None,
        propensities: int | None = None,
    ) -> Decision | list[Decision]:
        """The arms to pull now; with a number, so many decisions together, drawn one after the other.

        ``feasible`` takes the place of the policy's ``k`` in this round: see `Session.feasible`. ``propensities`` is
        a number of samples from which each decision's probabilities are found out; they come from a stream of their
        own and on copies, so the same sets are chosen with and without, and their evaluations are not counted.

        Expires first what is due. If the reward or the oracle fails, no decision is given out; what was drawn is gone.
        """
        count = 1 if n is None else as_count(n, "n", least=1)
        n_samples = 0 if propensities is None else as_count(propensities, "propensities", least=1)
        with self._lock:
            now = float(self._clock())
            k = self._choices(feasible)
            self._expire(now)
            # All or none: a batch is given out when its last decision is made.
            made = [self._decide(k, place, now, n_samples) for place in range(1, count + 1)]
            self.rounds += 1
            self._n_decisions += count
            for record, kept in made:
                self._ledger.add(record)
                if self.explain_last:
                    self._kept[record.decision.id] = kept
            while len(self._kept) > self.explain_last:
                self._kept.popitem(last=False)
            decisions = [record.decision for record, _ in made]
        return decisions[0] if n is None else decisions

    def check(self, feasible: int | FeasibleSets | None = None) -> None:
        """Refuse constraints that no set fulfils, as `ask` would; nothing is drawn and nothing expires."""
        with self._lock:
            self._choices(feasible)

    def tell(self, decision: Decision | str, outcomes: Mapping[Name, float]) -> tuple[Name, ...]:
        """Learn what some arms of a decision did, each in [0, 1]; says of which arms that was news.

        The same again changes nothing. Another outcome for the same arm is a `ConflictError`, an id that is not known
        an `UnknownDecisionError`, and news of an expired decision an `ExpiredDecisionError`, unless ``expiry.late`` is
        "ignore". Then nothing of the call is learnt.
        """
        with self._lock:
            record = self._ledger.find(_id(decision))
            new = record.news(outcomes)
            if not new:
                return ()
            due = record.status == "open" and self.expiry.is_due(
                record.decision, now=float(self._clock()), rounds=self.rounds
            )
            if due or record.status == "expired":
                if self.expiry.late == "ignore":
                    return ()
                raise ExpiredDecisionError(
                    f"decision {record.decision.id} has expired, so its outcomes are refused"
                )
            arms = record.arms if len(new) == len(record.arms) else np.array(list(new), np.intp)
            self.policy.tell(arms, np.array(list(new.values())), rng=self._rng)
            record.outcomes.update(new)
            if len(record.outcomes) == len(record.arms):
                self._ledger.close(record, "told")
            return tuple(self._roster.names[arm] for arm in new)

    def mark(self) -> dict[str, Any]:
        """What `ask` leaves behind besides its decisions, small and as plain JSON: for `adopt`."""
        with self._lock:
            return marks.mark_of(self.policy, self._rng)

    def adopt(
        self,
        decisions: Sequence[Decision],
        mark: dict[str, Any],
        *,
        feasible: int | FeasibleSets | None = None,
    ) -> None:
        """Take over what another session made of the same past gave out by one `ask`, without deciding it again.

        For those who keep a log: a session that adopts each logged decision and is told each logged outcome, in their
        order, has the same belief, generator, evaluations and open decisions, bit for bit; no reward is evaluated.
        What an oracle remembers is not taken over, but for a policy's own `Rarely`, which knows what it repeats.

        Parameters
        ----------
        decisions
            What `ask` gave.
        mark
            What `mark` said right after it.
        feasible
            What `ask` was given.

        Examples
        --------
        >>> import superarm as sa
        >>> first, second = (Session(sa.cts(sa.LinearReward(4), k=2), seed=1) for _ in range(2))
        >>> decision = first.ask()
        >>> second.adopt([decision], first.mark())
        >>> second.policy.evaluations, first.ask().arms == second.ask().arms
        (4, True)
        """
        with self._lock:
            k = self._choices(feasible)
            self._expire(float(self._clock()))
            records = [
                Record(one, np.array(self._roster.of(one.arms), np.intp)) for one in decisions
            ]
            for place, one in enumerate(decisions, start=1):
                wanted = f"{self._origin.key}-{self._n_decisions + place}", self.rounds + 1
                if (one.id, one.round) != wanted:
                    raise ValueError(
                        f"the next decision must be {wanted[0]} of round {wanted[1]}, got {one}"
                    )
            marks.restore(mark, self.policy, self._rng, k, [record.arms for record in records])
            self.rounds += 1
            self._n_decisions += len(records)
            for record in records:
                self._ledger.add(record)

    def expire(self) -> list[Decision]:
        """Close the decisions that have expired, as every `ask` does first; says which."""
        with self._lock:
            return self._expire(float(self._clock()))

    def add_arms(
        self, names: Iterable[Name], *, prior: Any = None, reward: Reward | None = None
    ) -> None:
        """Add arms. What is known of the others stays; what an oracle remembers of the old reward is forgotten.

        Parameters
        ----------
        names
            Their names.
        prior
            What their belief starts with, where the belief has a prior for each arm: see `BetaBelief.add_arms`.
        reward
            The reward of all arms, the new ones last; by default what ``rewards`` makes.
        """
        with self._lock:
            new = self._roster.new(names)
            if not new:
                return
            grow(self.policy, len(new), prior, reward, self._rewards)
            self._roster.add(new)

    def retire(self, *names: Name) -> None:
        """Stop picking some arms. They keep their numbers and what is known of them, and may still be told about."""
        self._set_retired(names, True)

    def restore(self, *names: Name) -> None:
        """Pick retired arms again."""
        self._set_retired(names, False)

    def explain(self, decision: Decision | str) -> Explanation:
        """Why each arm is in, and what was left out: for the last ``explain_last`` decisions since the start."""
        with self._lock:
            id = _id(decision)
            record = self._ledger.find(id)
            if id not in self._kept:
                raise UnknownDecisionError(
                    f"decision must be one of the last {self.explain_last} since the session was made or loaded "
                    f"(explain_last), got {id}; what decided it is not kept"
                )
            return explain(record.decision, self._kept[id], self._roster.names, self.policy.belief)

    def fork(self, label: str | None = None) -> Session:
        """A session that knows what this one knows and goes its own way: its stream and its ids are other ones.

        Open decisions stay with this session. ``label`` names the fork, in letters, digits and "_", once each; 1, 2,
        ... unless given. Replicas that load the same file need a label each. Belief and oracle are copied, the reward
        is shared.
        """
        with self._lock:
            origin = self._origin.fork(label)
            other = object.__new__(Session)
            other.__dict__.update(self.__dict__)
            other.policy, other._roster = copied(self.policy), self._roster.copy()
            other._origin, other._rng, other.rounds, other._n_decisions = (
                origin,
                origin.generator(),
                0,
                0,
            )
            other._lock, other._ledger, other._kept = (
                threading.RLock(),
                Ledger(self.keep),
                OrderedDict(),
            )
            self._origin.forks.append(origin.path[-1])
            return other

    def save(self, path: str | Path) -> None:
        """Write everything that decides into one file; what the path had before is kept beside it as ``.previous``.

        Killed at any moment, the path has the old session or the new one. See `superarm.sessions.file`.
        """
        file.write(Path(path), self.to_bytes())

    def to_bytes(self) -> bytes:
        """What `save` writes."""
        return self.snapshot()()

    def snapshot(self) -> Callable[[], bytes]:
        """What `to_bytes` would give now, made when it is called for: that is most of the work, and can wait."""
        with self._lock:
            document = saving.document_of(self)
        return lambda: file.encode(document)

    @classmethod
    def load(
        cls,
        path: str | Path,
        policy: Policy | Callable[[int], Policy],
        *,
        rewards: Callable[[int], Reward] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> Session:
        """The session of a file, which goes on bit for bit.

        Parameters
        ----------
        path
            The file.
        policy
            A policy made as the saved one was, which takes over its state; or ``policy(n_arms)`` that makes it, for
            sessions whose arms come and go.
        rewards, clock
            As for a new session: they are code, and not in the file.
        """
        path = Path(path)
        return cls.from_bytes(path.read_bytes(), policy, rewards=rewards, clock=clock, path=path)

    @classmethod
    def from_bytes(
        cls,
        data: bytes,
        policy: Policy | Callable[[int], Policy],
        *,
        rewards: Callable[[int], Reward] | None = None,
        clock: Callable[[], float] = time.time,
        path: Path = Path("session"),
    ) -> Session:
        """The session of `to_bytes`; ``path`` is what errors call it."""
        try:
            document = file.decode(data, path)
            made = saving.as_policy(document, policy)
            session = cls(made, rewards=rewards, clock=clock, **saving.settings(document))
            saving.restore(session, document)
            return session
        except SessionFileError:
            raise
        except (KeyError, IndexError, TypeError, ValueError, zipfile.BadZipFile) as error:
            raise SessionFileError(f"{path} does not fit: {error}") from error

    def _choices(self, feasible: int | FeasibleSets | None) -> FeasibleSets:
        """What may be chosen in this round, if there is anything."""
        k = without(self.policy.k if feasible is None else feasible, self._roster.is_retired)
        return as_feasible(k, len(self._roster))

    def _decide(
        self, k: FeasibleSets, place: int, now: float, n_samples: int
    ) -> tuple[Record, Kept]:
        number = self._n_decisions + place
        samples = self._origin.samples(number) if n_samples else None
        on = Occasion(
            f"{self._origin.key}-{number}",
            self.rounds + 1,
            now,
            self.explain_last > 0,
            n_samples,
            samples,
        )
        return decide(self.policy, k, self._roster.names, on, rng=self._rng)

    def _expire(self, now: float) -> list[Decision]:
        due = self._ledger.due(self.expiry, now=now, rounds=self.rounds)
        for record in due:
            missing = record.missing()
            if self.expiry.missing is not None:
                self.policy.tell(missing, np.full(len(missing), self.expiry.missing), rng=self._rng)
            self._ledger.close(record, "expired")
        return [record.decision for record in due]

    def _set_retired(self, names: tuple[Name, ...], retired: bool) -> None:
        with self._lock:
            changed = self._roster.but(names, retired)
            k = without(self.policy.k, changed)
            as_feasible(k, len(self._roster))  # refuses what would leave nothing to choose
            self._roster.is_retired = changed


def _id(decision: Decision | str) -> str:
    return decision.id if isinstance(decision, Decision) else decision
