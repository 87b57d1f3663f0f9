"""List decisions, newest first, all of them or those with one status.

Nothing here looks through a log for a status. Decisions have consecutive numbers. The open ones are
in memory, an index has the events of expired decisions, and all others are complete.
"""

from __future__ import annotations

import bisect
import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice

from superarm.service.bandits.decisions import answers_in, logged, with_counts
from superarm.service.bandits.live import Live
from superarm.service.bandits.records import Answer
from superarm.service.bandits.sizes import n_numbers
from superarm.service.log.events import Event
from superarm.service.log.store import Store, Turn
from superarm.sessions import Decision, decision_number

_EVENTS_PER_READ = 20  # each event may have thousands of decisions
_EXPIRED_PER_READ = 200
_MOST_EXAMINED = 100_000  # numbers that one request looks at for complete decisions
_MOST_LISTED = 200_000  # arms and numbers of contexts in one page


def list_decisions(
    live: Live, turn: Turn, status: str | None, limit: int, before: int | None
) -> Callable[[], Answer]:
    """Decisions with numbers below ``before``, newest first; fewer than ``limit`` if they are long.

    The operation returns a function for another thread, so that decisions need not wait for it.
    """
    newest = live.session.n_decisions
    if before is not None:
        newest = min(before - 1, newest)
    # All in memory, which belongs to the thread of the bandit.
    still_open = live.session.open
    if status == "open":
        return partial(_list_open, turn.store, live, still_open, newest, limit)
    return partial(_list, turn.store, live, still_open, status, newest, limit)


def _list(
    store: Store,
    live: Live,
    still_open: list[Decision],
    status: str | None,
    newest: int,
    limit: int,
) -> Answer:
    is_open, first = partial(_is_open, still_open), store.first_decision(live.bandit.number)
    if status is None:
        made = _fitting(islice(_newest_first(store, live, newest, limit), limit))
        last = newest - len(made) + 1
        more = last > first
    else:
        numbers, last, more = _numbers(store, live, is_open, status, (first, newest), limit)
        made = _fitting(one for one, _ in with_counts(store, live, numbers))
        if made and len(made) < len(numbers):  # the next page goes on where this one ends
            last, more = decision_number(made[-1]["id"]), True
    found = [logged(store, live, one, is_open=is_open(decision_number(one["id"]))) for one in made]
    return {"decisions": found, "next": str(last) if more else None}


def _fitting(found: Iterable[Answer]) -> list[Answer]:
    """The first decisions, as many as one answer may have; at least one."""
    made: list[Answer] = []
    n_listed = 0
    for one in found:
        n_listed += len(one["arms"]) + n_numbers(one)
        if made and n_listed > _MOST_LISTED:
            break
        made.append(one)
    return made


def _numbers(
    store: Store,
    live: Live,
    is_open: Callable[[int], bool],
    status: str,
    between: tuple[int, int],
    limit: int,
) -> tuple[list[int], int, bool]:
    """Numbers of decisions with a status, the last number looked at, and whether more may come."""
    first, newest = between
    expired = _expired(store, live, newest)
    some = expired if status == "expired" else _complete(is_open, newest, expired)
    numbers: list[int] = []
    for number, fits in some:
        if number < first:  # only in the archive
            break
        if len(numbers) == limit:
            return numbers, numbers[-1], True
        if fits:
            numbers.append(number)
        elif newest - number >= _MOST_EXAMINED:  # few are complete: the next page goes on here
            return numbers, number, number > first
    return numbers, first, False


def _complete(
    is_open: Callable[[int], bool], newest: int, expired: Iterator[tuple[int, bool]]
) -> Iterator[tuple[int, bool]]:
    """Numbers in descending order, and whether the decision is complete."""
    next_expired = next(expired, (0, True))[0]
    for number in range(newest, 0, -1):
        if number == next_expired:
            next_expired = next(expired, (0, True))[0]
            yield number, False
        else:
            yield number, not is_open(number)


def _is_open(still_open: list[Decision], number: int) -> bool:
    place = bisect.bisect_left(still_open, number, key=_number)
    return place < len(still_open) and _number(still_open[place]) == number


def _number(decision: Decision) -> int:
    return decision_number(decision.id)


def _expired(store: Store, live: Live, newest: int) -> Iterator[tuple[int, bool]]:
    """The numbers of expired decisions up to ``newest``, in descending order."""
    seq = _seq_above(store, live, newest)
    while some := store.expired_before(live.bandit.number, seq, _EXPIRED_PER_READ):
        for event in some:
            for number in reversed(_ids(event)):
                if number <= newest:
                    yield number, True
        seq = some[-1].seq


def _seq_above(store: Store, live: Live, newest: int) -> int:
    """A seq below which are all expiries of decisions up to ``newest``, and few others.

    Decisions expire in the order in which they were issued, so this is a binary search.
    """
    low, high = 1, live.seq + 1
    while high - low > 1:
        middle = (low + high) // 2
        found = store.expired_before(live.bandit.number, middle, 1)
        if found and _ids(found[0])[0] > newest:
            high = found[0].seq
        else:
            low = middle
    return high


def _ids(event: Event) -> list[int]:
    return [decision_number(id) for id in json.loads(event.body)["decisions"]]


def _list_open(store: Store, live: Live, every: list[Decision], newest: int, limit: int) -> Answer:
    end = bisect.bisect_right(every, newest, key=_number)
    some = [_number(one) for one in reversed(every[max(0, end - limit) : end])]
    made = _fitting(one for one, _ in with_counts(store, live, some))
    found = [logged(store, live, one, is_open=True) for one in made]
    more = made and (end > limit or len(made) < len(some))
    return {"decisions": found, "next": str(decision_number(made[-1]["id"])) if more else None}


def _newest_first(store: Store, live: Live, number: int, limit: int) -> Iterator[Answer]:
    """Logged decisions with numbers up to ``number``, in descending order."""
    n_events = min(limit, _EVENTS_PER_READ)
    while number > 0:
        events = store.decided_before(live.bandit.number, number, n_events)
        if not events:
            return
        for event in events:
            for one in reversed(answers_in(live, event)):
                if decision_number(one["id"]) <= number:
                    # The next read begins here, perhaps in the middle of a batch.
                    number = decision_number(one["id"]) - 1
                    yield one
