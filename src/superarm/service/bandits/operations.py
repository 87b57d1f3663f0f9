"""Run the operations of requests, as long as anybody waits for their answers."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial
from typing import Any

from superarm.core.stopping import stopping
from superarm.service.bandits import loading, parts
from superarm.service.bandits.actor import Actor, Awaited, Waiting, look_all, only, resolve
from superarm.service.bandits.changes import Ask, decide_each
from superarm.service.bandits.failures import problem_of
from superarm.service.bandits.live import Live
from superarm.service.bandits.outcomes import Tell, tell_each
from superarm.service.bandits.patience import GivenUpError, given_up, within
from superarm.service.log.events import Bandit, DamagedLogError
from superarm.service.log.store import NameTakenError, Store, StoreError, Turn
from superarm.service.problems import Fault, Problem
from superarm.sessions.each import asks_each, most_each, tells_each

_log = logging.getLogger("superarm.service")
# The trace of a known kind of failure says nothing more than its message.
_KNOWN = StoreError | DamagedLogError | Problem | GivenUpError
LONGEST_S = 0.05  # a commit contains the operations of this time, so slow ones delay few others
MOST_TOGETHER = 128  # requests of one event: who looks for one of them reads all of the event


def arranged(batch: list[Waiting]) -> list[Waiting]:
    """Operations in the order in which they run: plain requests for decisions side by side.

    Operations that wait at the same time have no order yet. So outcomes go before plain requests,
    which then know more. All other operations keep their places.
    """
    made: list[Waiting] = []
    asks: list[Waiting] = []
    for waiting in batch:
        if _is_plain(waiting.operation):
            asks.append(waiting)
            continue
        if type(waiting.operation) is not Tell:
            made += asks
            asks = []
        made.append(waiting)
    return made + asks


def current(
    store: Store, own: parts.Factories, actor: Actor, turn: Turn, batch: list[Waiting]
) -> Live:
    """The bandit after its last event, also if another process made that event."""
    # While anybody waits: loading may make a reward, which is code of the operator.
    with stopping(partial(look_all, batch)):
        live = loading.current(store, actor.bandit, own, actor.live, turn.news)
    actor.live = live
    return live


def run(live: Live, turn: Turn, batch: list[Waiting]) -> tuple[list[Any], Exception | None]:
    """Run the first operations, all of them unless that takes long or one of them fails.

    Returns their answers, which may be problems, and the failure after which the bandit in memory
    may be wrong.
    """
    answers: list[Any] = []
    # Requests of fast operations share one commit. A slow operation is committed alone, so that
    # its answer does not wait for the operations behind it.
    end = time.perf_counter() + LONGEST_S
    while len(answers) < len(batch):
        waiting = batch[len(answers)]
        if waiting.deletes:  # in a turn of its own
            break
        group: list[Any] = []
        try:
            group = _group(live, batch, len(answers))
            if group:
                run_each = decide_each if type(group[0]) is Ask else tell_each
                answers += run_each(live, turn, group)
            else:
                answers.append(_answer(waiting, live, turn))
        except Fault as fault:
            return [*answers, *[fault.problem] * max(1, len(group))], fault
        except GivenUpError as error:
            return [*answers, given_up()], error
        if time.perf_counter() >= end:
            break
    return answers, None


def _group(live: Live, batch: list[Waiting], place: int) -> list[Any]:
    """The operations from a place on that are carried out at once; none if that is not possible."""
    first: Any = batch[place].operation
    most = 0
    if type(first) is Tell:
        most = len(batch) if tells_each(live.session) else 0
    elif _is_plain(first) and asks_each(live.session):
        most = max(1, most_each(live.session))
    found: list[Any] = []
    for waiting in batch[place : place + min(most, MOST_TOGETHER)]:
        operation: Any = waiting.operation
        is_like = type(operation) is Tell if type(first) is Tell else _is_plain(operation)
        if not is_like or waiting.reply.is_over:
            break
        found.append(operation)
    return found


def _is_plain(operation: Any) -> bool:
    """Whether it is a request for a decision that may be decided together with others."""
    return type(operation) is Ask and operation.asked.keys() <= {"metadata"}


def _answer(waiting: Waiting, live: Live, turn: Turn) -> Any:
    if waiting.reply.is_over:  # nothing has begun, so nothing has changed
        return given_up()
    try:
        with stopping(waiting.look):
            return waiting.operation(live, turn)
    except Problem as problem:
        return problem


def log_fault(bandit: Bandit, fault: Exception) -> None:
    """Say in the log of the server what failed."""
    fields = {"bandit": bandit.id}
    if isinstance(fault, GivenUpError):
        _log.warning("given_up", extra={"fields": fields})
    else:
        _log.error("fault", exc_info=fault.__cause__, extra={"fields": fields})


def log_failure(bandit: Bandit, error: BaseException) -> None:
    """Say in the log of the server why a turn failed."""
    trace = None if isinstance(error, _KNOWN) else error
    fields = {"bandit": bandit.id, "why": str(error)}
    _log.error("turn_failed", exc_info=trace, extra={"fields": fields})


async def slowly(pool: Executor, seconds: float, function: Callable[..., Any], *args: Any) -> Any:
    """The result of a function in a thread. It is given up after some seconds; 0 for never."""
    loop = asyncio.get_running_loop()
    reply = Awaited(1)
    waiting = Waiting(lambda *_: None, reply)

    def work() -> None:
        answer = result_of(waiting, function, *args)
        loop.call_soon_threadsafe(resolve, [waiting], [answer])

    pool.submit(work)
    with within(seconds, reply):
        return only(await reply.future)


def result_of(waiting: Waiting, function: Callable[..., Any], *args: Any) -> Any:
    """The result of a function for a request, or the exception that answers it."""
    try:
        with stopping(waiting.look):
            return function(*args)
    except NameTakenError as error:
        return error
    except Exception as error:
        answer = problem_of(error)
        if answer is not error:
            answer.__cause__ = error
        return answer
