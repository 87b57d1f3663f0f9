"""Many decisions and many outcomes at a time, for sessions that only count.

All decisions of one call come from the same knowledge, and so do those of ``Session.ask(n)``. Here
they are drawn by few calls of numpy, if the belief `WorksInBulk`, the oracle is `TopK`, and the
sets are those of k arms; otherwise as by ``Session.ask(n)``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import repeat
from typing import Any

import numpy as np

from superarm.core.arguments import as_count
from superarm.core.bulk import WorksInBulk
from superarm.core.optional import offers
from superarm.errors import ConflictError
from superarm.sessions.decisions import Decision, Name
from superarm.sessions.each import is_simple, learn, records_of
from superarm.sessions.ledger import Record
from superarm.sessions.session import Session
from superarm.sessions.unlocked import UnlockedSession

# Decisions of one call and the arms in them, to bound the memory: about 1.6 kB per decision of 5.
_MOST_DECISIONS, _MOST_ARMS = 100_000, 5_000_000


def ask_many(session: Session, n: int, propensities: int | None = None) -> list[Decision]:
    """n decisions at once, with the law of ``Session.ask(n)``.

    The draws come from a stream that depends on the seed of the session and on the number of the
    first decision alone. The stream of ``Session.ask`` is not used. A call takes at most 100,000
    decisions, and 5,000,000 arms in all of them, because they are in memory at once.
    """
    n = as_count(n, "n", least=1)
    n_samples = 0 if propensities is None else as_count(propensities, "propensities", least=1)
    with session._lock:
        now = session._unlocked
        feasible = now.check(None, None)
        _check_size(n, "n", feasible.n_most)
        _check_size(n_samples, "propensities", feasible.n_most)
        if not (is_simple(now, feasible) and offers(now.policy.belief, WorksInBulk)):
            return now.ask(n, None, n_samples)
        time = float(now.clock())
        now.expire(time)
        made = _made(now, n, feasible.n_most, n_samples, time)
        now.issue(made)
        return [record.decision for record in made]


def tell_many(
    session: Session, told: Iterable[tuple[Decision | str, Mapping[Name, float]]]
) -> list[tuple[Name, ...]]:
    """Learn outcomes of many decisions. Returns the arms whose outcomes were new, per decision.

    The same as one ``Session.tell`` per decision, except that nothing is learned if one is refused.
    """
    with session._lock:
        now = session._unlocked
        pairs = [(now.ledger.find(decision), outcomes) for decision, outcomes in told]
        news = [record.new_outcomes(outcomes) for record, outcomes in pairs]
        records = [record for record, _ in pairs]
        is_late = [
            bool(new) and now._is_late(record) for record, new in zip(records, news, strict=True)
        ]
        is_once = len({record.decision.id for record in records}) == len(records)
        if not (is_once and now.learns_in_bulk):
            _check_repeated(records, news)
            return [now.tell(record.decision, outcomes) for record, outcomes in pairs]
        news = [{} if late else new for new, late in zip(news, is_late, strict=True)]
        learn(now, news)
        for record, new in zip(records, news, strict=True):
            now.remember(record, new)
        return [tuple([now.arms.names[arm] for arm in new]) for new in news]


def _check_repeated(records: list[Record], news: list[dict[int, float]]) -> None:
    """Refuse two outcomes of one arm of one decision before the first of them is learned."""
    seen: dict[tuple[str, int], float] = {}
    for record, new in zip(records, news, strict=True):
        id = record.decision.id
        for arm, outcome in new.items():
            if seen.setdefault((id, arm), outcome) != outcome:
                raise ConflictError(
                    f"a decision must be told one outcome per arm, got {seen[id, arm]} and "
                    f"{outcome} for an arm of {id}"
                )


def _check_size(n: int, name: str, k: int) -> None:
    most = max(1, min(_MOST_DECISIONS, _MOST_ARMS // k))
    if n > most:
        raise ValueError(
            f"{name} must be at most {most} per call with k={k}, got {n}; make several calls"
        )


def _made(session: UnlockedSession, n: int, k: int, n_samples: int, time: float) -> list[Record]:
    belief, first = session.policy.belief, session.n_decisions + 1
    drawn = belief.sample_top_many(n, k, rng=session.seeding.many(first))
    shares_of = _Shares(belief, k, n_samples, session).of if n_samples else None
    return records_of(session, drawn, repeat(session.rounds + 1), time, shares_of)


class _Shares:
    """Propensities from samples that all decisions of one call share, and the decision itself."""

    def __init__(self, belief: Any, k: int, n: int, session: UnlockedSession) -> None:
        rng = session.seeding.samples(session.n_decisions + 1)
        sets, _ = belief.sample_top_many(n, k, rng=rng)
        self._n = n + 1
        counts = np.bincount(sets.ravel(), minlength=belief.n_arms)
        self._arms: list[float] = ((counts + 1) / self._n).tolist()
        self._sets = Counter(map(tuple, sets.tolist()))

    def of(self, ranked: list[int]) -> dict[str, Any]:
        """What a decision says of its probabilities."""
        return {
            "propensities": tuple([self._arms[arm] for arm in ranked]),
            "set_propensity": (self._sets[tuple(sorted(ranked))] + 1) / self._n,
            "n_samples": self._n,
        }
