"""What can be read of a session, asked, and saved: nothing here changes it."""

from __future__ import annotations

import json
import pickle
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal, TypedDict

from numpy.typing import ArrayLike

from superarm.core import frames
from superarm.core.states import keeping_arrays
from superarm.offpolicy.export import Export
from superarm.sessions import files, state, tables
from superarm.sessions.arms import size_of
from superarm.sessions.decisions import Decision, Name, Status
from superarm.sessions.explain import Explanation
from superarm.sessions.holdout import Holdout, Lift
from superarm.sessions.unlocked import Sets, UnlockedSession
from superarm.sessions.verdict import Late, Verdict, verdict_of
from superarm.sets import Feasible


class AskOptions(TypedDict, total=False):
    """What `Session.ask` takes besides the number of decisions."""

    feasible: Sets
    context: ArrayLike | None
    propensities: int | None


class SessionView:
    """What can be read of a session. `Session` adds the verbs that change it.

    Attributes
    ----------
    policy, expiry, explain_last
        As given to the session.
    """

    def __init__(self, session: UnlockedSession) -> None:
        self._unlocked = session
        self._lock = threading.RLock()
        self.policy, self.expiry = session.policy, session.expiry
        self.explain_last = session.explain_last

    def __repr__(self) -> str:
        return tables.session_line(self._unlocked)

    def _repr_html_(self) -> str:
        with self._lock:
            return tables.session_html(self._unlocked)

    def __getstate__(self) -> bytes:
        # Under the lock, which cannot be pickled. The policy and its reward must be.
        with self._lock:
            return pickle.dumps(self._unlocked)

    def __setstate__(self, state: bytes) -> None:
        SessionView.__init__(self, pickle.loads(state))

    @property
    def names(self) -> tuple[Name, ...]:
        """The names of all arms, in the order of their numbers; retired arms included."""
        return tuple(self._unlocked.arms.names)

    @property
    def retired(self) -> tuple[Name, ...]:
        """The names of the arms that are no longer picked."""
        return tuple(
            self._unlocked.arms.names[number] for number in self._unlocked.arms.retired.tolist()
        )

    def __contains__(self, name: object) -> bool:
        return name in self._unlocked.arms.numbers

    def numbers(self, names: Iterable[Name]) -> list[int]:
        """The numbers of some arms."""
        return self._unlocked.arms.of(names)

    def names_of(self, numbers: Iterable[int]) -> list[Name]:
        """The names of some arms by their numbers, without a copy of all names."""
        names = self._unlocked.arms.names
        return [names[number] for number in numbers]

    def is_retired(self, name: Name) -> bool:
        """Whether an arm is no longer picked."""
        return bool(self._unlocked.arms.is_retired[self._unlocked.arms.of([name])[0]])

    def feasible(self, k: int | None = None, **constraints: Any) -> Feasible:
        """Constraints for `ask`: like `Feasible`, but with names of arms instead of numbers.

        ``k`` is by default that of the policy. ``available``, ``must`` and ``must_not`` are names,
        ``groups`` are `Group` objects with names, and ``weights`` maps names to weights. An arm
        without a weight weighs 0. `ask` always leaves retired arms out.

        Examples
        --------
        >>> import superarm as sa
        >>> policy = sa.thompson(sa.LinearReward(4), k=2)
        >>> session = sa.Session(policy, ["ant", "bee", "cat", "dog"], seed=1)
        >>> session.ask(feasible=session.feasible(must=["dog"], must_not=["bee"])).arms
        ('dog', 'ant')
        """
        with self._lock:
            size = size_of(self.policy.feasible) if k is None else k
            return self._unlocked.arms.constraints(size, **constraints)

    def check(self, feasible: Sets = None, *, context: ArrayLike | None = None) -> None:
        """Refuse constraints and contexts that `ask` would refuse. Draws and changes nothing."""
        with self._lock:
            self._unlocked.check(feasible, context)

    @property
    def keep(self) -> int:
        """How many closed decisions are remembered."""
        return self._unlocked.ledger.keep

    @property
    def rounds(self) -> int:
        """How often `Session.ask` was called."""
        return self._unlocked.rounds

    @property
    def open(self) -> list[Decision]:
        """The decisions that wait for outcomes, the oldest first."""
        with self._lock:
            return [record.decision for record in self._unlocked.ledger.open.values()]

    @property
    def n_open(self) -> int:
        """How many decisions wait for outcomes."""
        return len(self._unlocked.ledger.open)

    @property
    def decisions(self) -> list[Decision]:
        """The open decisions and the last ``keep`` closed ones, in the order of their numbers."""
        with self._lock:
            records = [*self._unlocked.ledger.open.values(), *self._unlocked.ledger.closed.values()]
        # Outside the lock: decisions never change.
        return sorted((record.decision for record in records), key=lambda one: one.number)

    @property
    def n_decisions(self) -> int:
        """How many decisions were issued."""
        return self._unlocked.n_decisions

    def status(self, decision: Decision | str) -> Status:
        """Whether a decision is "open", complete ("told") or "expired"."""
        with self._lock:
            return self._unlocked.ledger.find(decision).status

    def decision(self, id: str) -> Decision:
        """The decision with an id, if it is open or remembered."""
        with self._lock:
            return self._unlocked.ledger.find(id).decision

    def outcomes(self, decision: Decision | str) -> dict[Name, float]:
        """The outcomes of a decision that are known so far."""
        with self._lock:
            known = self._unlocked.ledger.find(decision).outcomes
            return {self._unlocked.arms.names[arm]: known[arm] for arm in sorted(known)}

    def explain(self, decision: Decision | str) -> Explanation:
        """Why each arm is in the set, and which arm was left out.

        Only the last ``explain_last`` decisions since the session was made or loaded.
        """
        with self._lock:
            return self._unlocked.explain(decision)

    def to_pandas(self, what: Literal["arms", "decisions"] = "arms") -> Any:
        """A DataFrame with one row per arm; or per arm of each remembered decision."""
        return frames.to_pandas(self._columns(what))

    def to_arrow(self, what: Literal["arms", "decisions"] = "arms") -> Any:
        """The same as `to_pandas`, as a ``pyarrow.Table``."""
        return frames.to_arrow(self._columns(what))

    def to_parquet(self, folder: str | Path) -> list[Path]:
        """Write the open and the remembered decisions as Parquet files, one per day.

        `superarm.offpolicy.export.SCHEMA` has the columns. `Log.from_parquet` and `ParquetLog` read
        the folder. The file of a day replaces one of an earlier call, with the decisions that have
        been forgotten since (``keep``): use a new folder to keep these. Returns the paths of the
        files.
        """
        with self._lock:
            names = self.names
            records = [*self._unlocked.ledger.open.values(), *self._unlocked.ledger.closed.values()]
            rows = [
                (one.decision, one.status, [one.outcomes.get(arm) for arm in one.arms.tolist()])
                for one in records
            ]
        with Export(whole_numbers=all(isinstance(name, int) for name in names)) as export:
            for decision, status, known in rows:
                plain, number = decision.as_dict(), decision.number
                export.decide(plain, number=number, status=status, outcomes=known)
            return export.write(folder, names)

    def _columns(self, what: str) -> dict[str, Any]:
        if what not in ("arms", "decisions"):
            raise ValueError(f'what must be "arms" or "decisions", got {what!r}')
        with self._lock:
            made = tables.arm_columns if what == "arms" else tables.decision_columns
            return made(self._unlocked)

    def verdict(
        self, delta: float = 0.05, *, dependent: bool = False, late: Late = "any"
    ) -> Verdict:
        """Whether the best arms are known, except with probability ``delta``: see `Verdict`.

        It may be asked at any time: looking again and again does not make it wrong more often. The
        mean of an outcome must depend on the arm alone, and not on time, a context, the place or
        the other arms of the set. Contextual, discounted and position-biased beliefs, constraints
        and rewards that are not additive are refused. Retired arms do not take part. The error is
        at most ``delta`` while the arms stay as they are, and at most ``delta`` for all verdicts
        after arms were added or retired. Decisions that expire without ``expiry.missing`` must lose
        their outcomes regardless of what they are. O(k · n_arms + open decisions).

        Parameters
        ----------
        delta
            The error probability that is allowed.
        dependent
            Whether outcomes of one decision may depend on each other, such as clicks that exclude
            each other. This takes up to twice as many outcomes.
        late
            "any" if outcomes may come late because of what they are: clicks at once, no click after
            a day. Outcomes that are awaited then count as the least favourable. "alike" leaves them
            out, which is right if good and bad outcomes are equally late.

        Examples
        --------
        >>> import superarm as sa
        >>> policy = sa.thompson(sa.LinearReward(3), k=1)
        >>> session = sa.Session(policy, ["tea", "jam", "pie"], seed=0)
        >>> for _ in range(300):
        ...     decision = session.ask()
        ...     _ = session.tell(decision, {arm: float(arm == "tea") for arm in decision.arms})
        >>> session.verdict().arms
        ('tea',)
        """
        with self._lock:
            return verdict_of(self._unlocked, delta, dependent=dependent, late=late)()

    @property
    def holdout(self) -> Holdout | None:
        """The hold-out, as given to the session."""
        return None if self._unlocked.trial is None else self._unlocked.trial.holdout

    def lift(self, delta: float = 0.05) -> Lift:
        """What the policy gains over the hold-out, by the complete decisions: see `Lift`.

        It may be asked at any time: the interval holds at all times at once, except with
        probability ``delta``. Decisions must be completed alike in both groups: if outcomes of
        one are lost more often, or the more so the worse they are, the lift is not right. Nor is
        it while bad outcomes are late. Expired decisions count if ``expiry.missing`` is given.

        Examples
        --------
        >>> import superarm as sa
        >>> policy = sa.thompson(sa.LinearReward(3), k=1)
        >>> session = sa.Session(policy, ["tea", "jam", "pie"], seed=0, holdout=0.2)
        >>> for _ in range(300):
        ...     decision = session.ask()
        ...     _ = session.tell(decision, {arm: float(arm == "tea") for arm in decision.arms})
        >>> found = session.lift()
        >>> found.n_holdout, 0 < found.low < found.high
        (48, True)
        """
        with self._lock:
            if self._unlocked.trial is None:
                raise ValueError("a lift needs a hold-out, got none; make the session with holdout")
            return self._unlocked.trial.lift(delta)

    def save(self, path: str | Path) -> None:
        """Write everything that later decisions depend on into one file.

        If the process is killed, the path has the old session or the new one. The session that
        the path had before is kept beside it as ``.previous``. See `superarm.sessions.files`.
        """
        files.write(Path(path), self.to_bytes())

    def to_bytes(self) -> bytes:
        """The bytes that `save` writes."""
        return self.snapshot()()

    def snapshot(self, dumps: Callable[[Any], str] = json.dumps) -> Callable[[], bytes]:
        """A function that returns what `to_bytes` would return now: most of the work can wait.

        ``dumps`` writes the decisions as JSON: a faster library than ``json`` may space it
        otherwise.
        """
        with self._lock, keeping_arrays():
            now = state.state_later(self._unlocked)
        return lambda: files.encode(now(), dumps)
