"""A policy in use: arms with names, decisions with ids, feedback whenever it comes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, Unpack, overload

from numpy.typing import ArrayLike

from superarm.core import Policy, Reward
from superarm.core.arguments import as_count
from superarm.offpolicy import ShownLog
from superarm.sessions import files, state
from superarm.sessions.arms import NamedArms, add_arms
from superarm.sessions.decisions import Decision, Name
from superarm.sessions.expiry import Expiry
from superarm.sessions.feedback import check_places
from superarm.sessions.holdout import Holdout, Trial
from superarm.sessions.ledger import Ledger
from superarm.sessions.seeding import Seeding
from superarm.sessions.unlocked import Sets, UnlockedSession
from superarm.sessions.view import AskOptions, SessionView
from superarm.sessions.warm_start import taught_policy


class Session(SessionView):
    """A policy in use. It names the arms, issues decisions, and learns their outcomes later.

    Feedback may be partial, late, repeated and out of order. Arms can be added and retired. A
    session is saved in one file and continues from it bit for bit. It explains its decisions.

    Do not call `ask` or `tell` on the policy directly: it belongs to the session. Threads may share
    a session, because all methods take turns under one lock. A refused call changes nothing.

    Parameters
    ----------
    policy
        The policy that decides.
    names
        The names of the arms: distinct strings or whole numbers. The default is 0, 1, 2, ...
    seed
        A whole number. All random draws follow from it, as from ``np.random.default_rng(seed)``.
        None for fresh entropy.
    expiry
        When decisions expire. The default is never.
    rewards
        ``rewards(n_arms)`` makes the reward when arms are added, as ``superarm.LinearReward`` does.
    keep
        How many closed decisions are remembered, to recognise repeated feedback.
    explain_last
        How many of the last decisions `explain` can explain. Each keeps all of theta in memory.
    clock
        Returns seconds, like ``time.time``. They are saved, and must mean the same after a restart.
    key
        The beginning of the ids of decisions. The default is made from the seed.
    holdout
        The share of decisions with a random set instead of the policy's, or a `Holdout`. They teach
        the belief, too; `lift` says what the policy gains.

    Examples
    --------
    >>> import superarm as sa
    >>> policy = sa.thompson(sa.LinearReward(4), k=2)
    >>> session = Session(policy, ["ant", "bee", "cat", "dog"], seed=1)
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
        holdout: float | Holdout | None = None,
    ) -> None:
        if not isinstance(policy, Policy):
            raise TypeError(f"policy must be a Policy, got {type(policy).__name__}")
        n_arms = policy.reward.n_arms
        arms = NamedArms(range(n_arms) if names is None else names)
        if len(arms) != n_arms:
            raise ValueError(f"names must be of the policy's {n_arms} arms, got {len(arms)}")
        check_places(policy.belief, policy.feasible)
        made = UnlockedSession(
            policy=policy,
            arms=arms,
            ledger=Ledger(keep),
            seeding=Seeding.of(seed, key),
            expiry=Expiry() if expiry is None else expiry,
            explain_last=as_count(explain_last, "explain_last"),
            rewards=rewards,
            clock=clock,
            trial=Trial.of(holdout, arms.fixed_set, policy.feasible),
        )
        super().__init__(made)

    @classmethod
    def from_log(
        cls,
        log: ShownLog,
        k: int | None = None,
        *,
        policy: Policy | None = None,
        strength: float = 1.0,
        seed: int | None = None,
        **options: Any,
    ) -> Self:
        """A session that starts with what a log knows of its items: see `taught_policy`.

        ``options`` are those of a new session.
        """
        taught, names = taught_policy(log, k, policy=policy, strength=strength, seed=seed)
        return cls(taught, names, seed=seed, **options)

    @overload
    def ask(self, n: None = None, **options: Unpack[AskOptions]) -> Decision: ...
    @overload
    def ask(self, n: int, **options: Unpack[AskOptions]) -> list[Decision]: ...
    def ask(
        self,
        n: int | None = None,
        *,
        feasible: Sets = None,
        context: ArrayLike | None = None,
        propensities: int | None = None,
    ) -> Decision | list[Decision]:
        """The arms to pull now. With ``n``, a list of decisions, drawn one after the other.

        Decisions that are due expire first. If reward or oracle fail, no decision is issued, but
        what was drawn until then is gone.

        Parameters
        ----------
        n
            How many decisions; None for one decision, not in a list.
        feasible
            Replaces the policy's ``k`` in this round: see `Session.feasible`.
        context
            What is known of this round, for `tell` as well: a vector, or one row per arm.
        propensities
            How many samples to estimate each decision's propensities from. They use copies and a
            stream of their own: they change no decision, and their evaluations do not count.
        """
        count = 1 if n is None else as_count(n, "n", least=1)
        n_samples = 0 if propensities is None else as_count(propensities, "propensities", least=1)
        with self._lock:
            made = self._unlocked.ask(count, feasible, n_samples, context)
        return made[0] if n is None else made

    def tell(self, decision: Decision | str, outcomes: Mapping[Name, float]) -> tuple[Name, ...]:
        """Learn outcomes in [0, 1] of some arms of a decision. Returns the arms that were new.

        The same outcome again changes nothing. A different outcome for the same arm is a
        `ConflictError`, an unknown id an `UnknownDecisionError`, and a new outcome of an expired
        decision an `ExpiredDecisionError`, unless ``expiry.late`` is "ignore". After an error
        nothing of the call is learned.
        """
        with self._lock:
            return self._unlocked.tell(decision, outcomes)

    def expire(self) -> list[Decision]:
        """Close the decisions that have expired, as every `ask` does first. Returns them."""
        with self._lock:
            return self._unlocked.expire(float(self._unlocked.clock()))

    def mark(self) -> dict[str, Any]:
        """What the last `ask` changed besides its decisions, as small plain JSON: for `adopt`."""
        with self._lock:
            return state.mark_of(self._unlocked)

    def adopt(
        self, decisions: Sequence[Decision], mark: dict[str, Any], *, feasible: Sets = None
    ) -> None:
        """Take over the decisions that one `ask` of an equal session issued, without deciding.

        A session that adopts all logged decisions and is told all logged outcomes, in their order,
        continues bit for bit. No reward is evaluated. Of an `ask` with over 16,384 evaluations the
        mark has no answers, so that the oracle does not remember them. ``decisions`` is what `ask`
        returned, ``mark`` what `mark` returned right after it, and ``feasible`` what `ask` was
        given.

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
            session, sets = self._unlocked, self._unlocked.feasible(feasible)
            session.expire(float(session.clock()))
            records = session.next_records(decisions)
            state.load_mark(session, mark, sets, records)
            session.issue(records)

    def add_arms(
        self, names: Iterable[Name], *, prior: Any = None, reward: Reward | None = None
    ) -> None:
        """Add arms. The belief about the other arms stays. Caches of oracles are emptied.

        Parameters
        ----------
        names
            The names of the new arms.
        prior
            The prior of the new arms, if the belief has one per arm: see `BetaBelief.add_arms`.
        reward
            The reward of all arms, the new ones last; by default what ``rewards`` makes.
        """
        with self._lock:
            session = self._unlocked
            # The names are checked before the policy changes, and added after it has.
            new = session.arms.new_names(names)
            if new:
                add_arms(self.policy, len(new), prior, reward, session.rewards)
                session.arms.add(new)

    def retire(self, *names: Name) -> None:
        """Stop picking some arms. Their numbers and beliefs stay; late outcomes are learned."""
        with self._lock:
            self._unlocked.set_retired(names, True)

    def restore(self, *names: Name) -> None:
        """Pick retired arms again."""
        with self._lock:
            self._unlocked.set_retired(names, False)

    def fork(self, label: str | None = None) -> Session:
        """A session that knows the same, but draws from its own stream and issues its own ids.

        Belief and oracle are copied, the reward is shared. Open decisions stay with this session.
        ``label`` consists of letters, digits and "_", and no two forks may have the same. The
        default is 1, 2, ... Replicas that load the same file need a label each.
        """
        with self._lock:
            # Not __init__, which would check the names again: there may be millions.
            other = object.__new__(Session)
            SessionView.__init__(other, self._unlocked.fork(label))
            return other

    @classmethod
    def load(
        cls,
        path: str | Path,
        policy: Policy | Callable[[int], Policy],
        *,
        rewards: Callable[[int], Reward] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> Session:
        """The session of a file. It continues bit for bit.

        Parameters
        ----------
        path
            The file.
        policy
            A policy made like the saved one, which takes over its state; or ``policy(n_arms)``
            that makes one, for sessions whose arms come and go.
        rewards, clock
            As for a new session. They are code, so they are not in the file.
        """
        file = Path(path)
        return cls.from_bytes(file.read_bytes(), policy, rewards=rewards, clock=clock, path=file)

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
        """The session of `to_bytes`. ``path`` is its name in error messages."""
        with files.as_file_error(path):
            saved = files.decode(data, path)
            wanted = state.wanted_policy(saved)
        made = state.made_like(wanted, policy)  # errors of the caller's function stay
        with files.as_file_error(path):
            session = cls(made, rewards=rewards, clock=clock, **state.settings(saved))
            state.load_state(session._unlocked, saved)
        return session
