"""Decisions that are asked for at the same time, and outcomes that come at the same time.

Each decision has a round of its own. Nothing is learned between them, so their samples are
independent draws from the same belief, by few calls of numpy. Their law is that of as many calls of
`Session.ask`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from superarm.core import FeasibleSets, KOfM
from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.optional import Posterior
from superarm.core.policy import Sample
from superarm.oracles.top_k import TopK, TopKReport
from superarm.sessions import state
from superarm.sessions.decisions import Decision, Name, Status
from superarm.sessions.ledger import Evidence, Record, known_of
from superarm.sessions.session import Session
from superarm.sessions.unlocked import UnlockedSession, Why

_MOST_VALUES = 1 << 20  # that are drawn at once, if every sample needs the values of all arms


def asks_each(session: Session) -> bool:
    """Whether `ask_each` may be used now: whether samples of the belief are all that decides."""
    now = session._unlocked
    is_all = now.samples_tops and not now.arms.any_retired
    return is_all and is_simple(now, now.policy.feasible)


def most_each(session: Session) -> int:
    """How many decisions `ask_each` can make, once all due decisions have expired.

    No more than until another one is due.
    """
    now = session._unlocked
    most, rounds = max(1, _MOST_VALUES // now.policy.reward.n_arms), now.expiry.after_rounds
    if rounds is None:
        return most
    oldest = next(iter(now.ledger.open.values()), None)
    passed = 0 if oldest is None else now.rounds - oldest.decision.round
    return min(most, rounds - passed)


def ask_each(session: Session, n: int) -> tuple[list[Decision], dict[str, Any]]:
    """n decisions, each in a round of its own, and the mark for `adopt_each`.

    See `asks_each` and `most_each`. One decision is that of `Session.ask`, bit for bit.
    """
    with session._lock:
        now = session._unlocked
        feasible, time = now.policy.feasible, float(now.clock())
        now.expire(time)
        drawn = now.policy.belief.sample_tops(n, feasible.n_most, rng=now.rng)
        made = records_of(now, drawn, count(now.rounds + 1), time)
        now.issue(made, n, _evidence_of(now, feasible, made, drawn))
        return [record.decision for record in made], state.mark_of(now)


def adopt_each(session: Session, decisions: Sequence[Decision], mark: dict[str, Any]) -> None:
    """Take over the decisions that one `ask_each` of an equal session issued: `Session.adopt`."""
    with session._lock:
        now = session._unlocked
        now.expire(float(now.clock()))
        records = now.next_records(decisions, each=True)
        state.load_mark(now, mark, now.feasible(None), records)
        now.issue(records, len(records))


def tells_each(session: Session) -> bool:
    """Whether `tell_each` may be used: whether the belief learns many decisions at once."""
    return session._unlocked.learns_in_bulk


class Told(NamedTuple):
    """What `tell_each` did with the outcomes of one decision.

    Attributes
    ----------
    new
        The arms whose outcomes were new.
    is_complete
        Whether they were the last ones of the decision.
    status
        That of the decision now.
    """

    new: list[Name]
    is_complete: bool
    status: Status


def tell_each(
    session: Session, told: Iterable[tuple[str, Mapping[Any, float]]]
) -> list[Told | Exception]:
    """Learn outcomes of decisions, as by one `Session.tell` each, bit for bit.

    See `tells_each`. An exception instead of an answer is what `Session.tell` would have raised. If
    this function raises one itself, the belief has failed, and the session cannot be used any more.
    """
    with session._lock:
        now, made = session._unlocked, list[Told | Exception]()
        names, news = now.arms.names, list[dict[int, float]]()
        for id, outcomes in told:
            try:
                record = now.ledger.find(id)
                new = record.new_outcomes(outcomes)
                if new and now._is_late(record):
                    new = {}
            except (ValueError, TypeError) as error:
                made.append(error)
                continue
            news.append(new)
            # Before they are learned: nothing of this needs the belief.
            is_complete = now.remember(record, new)
            made.append(Told([names[arm] for arm in new], is_complete, record.status))
        learn(now, news)
        return made


def counts_of(session: Session) -> tuple[int, int, int]:
    """The numbers of rounds, of decisions, and of open decisions."""
    now = session._unlocked
    return now.rounds, now.n_decisions, len(now.ledger.open)


def is_simple(session: UnlockedSession, feasible: FeasibleSets) -> bool:
    """Whether the k arms with the largest values of a sample are a decision."""
    policy = session.policy
    return (
        session.trial is None
        and isinstance(feasible, KOfM)
        and type(policy.oracle) is TopK
        and policy.reward.additive
    )


def records_of(
    session: UnlockedSession,
    drawn: tuple[IndexArray, FloatArray],
    rounds: Iterable[int],
    time: float,
    shares_of: Callable[[list[int]], dict[str, Any]] | None = None,
) -> list[Record]:
    """The next decisions, from arms and values of shape (n, k) each, and from their rounds.

    ``shares_of(arms)`` is what a decision says of its probabilities, if anything.
    """
    arms, values = drawn
    first = session.n_decisions + 1
    # Best first, and equals in the order of their numbers, as in `best_first`.
    order = np.arange(len(arms))[:, None], (-values).argsort(axis=1, kind="stable")
    ranked, sorted_values = arms[order], values[order].tolist()
    names, key = session.arms.names, session.seeding.key
    made = []
    for number, round, row, numbers, at in zip(
        count(first), rounds, ranked, ranked.tolist(), sorted_values, strict=False
    ):
        more = {} if shares_of is None else shares_of(numbers)
        decision = Decision(
            f"{key}-{number}",
            tuple([names[arm] for arm in numbers]),
            tuple(at),
            True,  # TopK is
            round,
            time,
            **more,
        )
        made.append(Record(decision, row))
    return made


def learn(session: UnlockedSession, told: Iterable[Mapping[int, float]]) -> None:
    """Learn outcomes by number, one mapping per decision, as `Policy.tell` does one by one."""
    # Ascending, so that what is learned does not depend on the ranking of the arms.
    rows = [(sorted(outcomes), outcomes) for outcomes in told if outcomes]
    arms = [numbers for numbers, _ in rows]
    outcomes = [[known[arm] for arm in numbers] for numbers, known in rows]
    session.policy.belief.update_many(arms, outcomes, rng=session.rng)


def _evidence_of(
    session: UnlockedSession,
    feasible: FeasibleSets,
    made: list[Record],
    drawn: tuple[IndexArray, FloatArray],
) -> dict[str, Why]:
    """What `Session.ask` would remember of the last decisions, made when somebody asks for it."""
    first = max(0, len(made) - session.explain_last)
    last, arms, values = made[first:], drawn[0][first:], drawn[1][first:]
    if not last:
        return {}
    # One posterior for all of them: it takes as long as that of one decision.
    known = known_of(session.policy.belief, arms.ravel())
    of = partial(_evidence, session.policy.reward.n_arms, feasible, known, last, arms, values)
    return {record.decision.id: partial(of, place) for place, record in enumerate(last)}


def _evidence(
    n_arms: int,
    feasible: FeasibleSets,
    known: tuple[Posterior | None, Any],
    made: list[Record],
    arms: IndexArray,
    values: FloatArray,
    place: int,
) -> Evidence:
    theta = Sample.of_top(n_arms, arms[place], values[place])
    ranked, report, first = made[place].arms, TopKReport(values[place]), place * arms.shape[1]
    return Evidence(arms[place], ranked, theta, report, known[0], feasible, known[1], first)
