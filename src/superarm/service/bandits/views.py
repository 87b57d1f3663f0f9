"""A bandit as clients see it: in numbers, with its best arms, and the lines of its log."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any

import numpy as np

from superarm.beliefs.learned_prior import LearnedPosterior
from superarm.beliefs.posteriors import BetaPosterior
from superarm.core.contexts import MayLackContexts
from superarm.core.optional import CountsOutcomes, HasMean, HasPosterior
from superarm.service.bandits.live import COUNTS, Live
from superarm.service.bandits.records import Answer
from superarm.service.log.events import Bandit, Event
from superarm.service.log.store import Store, Turn
from superarm.service.problems import Problem, shown_error
from superarm.sessions.verdict import Late, verdict_later

_LEVEL = 0.95  # of the interval of each arm
_MOST_EXACT = 2**53
_OF_BETAS = (BetaPosterior, LearnedPosterior)
_INTERNAL = ("mark", "again")  # members of an event that only the service needs
_COUNTS = re.compile(r'"counts":(\[[0-9,]*\])\}\Z')
_LONGEST_COUNTS = 1000  # characters


def summary(bandit: Bandit, counts: Iterable[int]) -> Answer:
    """A bandit in numbers."""
    head = {"id": bandit.id, "name": bandit.name, "k": bandit.k, "created": bandit.created}
    return {**head, **dict(zip(COUNTS, counts, strict=True))}


def logged_summary(store: Store, bandit: Bandit) -> Answer:
    """A bandit in numbers, from its last event."""
    last = store.last(bandit.number)
    return summary(bandit, counts_in(last.body) if last else [0] * len(COUNTS))


def counts_in(body: str) -> list[int]:
    """The counts of an event, which come last in it.

    An event may have the names of a million arms, which need not be read for that.

    Examples
    --------
    >>> counts_in('{"arms":["a"],"counts":[1,2,0]}')
    [1, 2, 0]
    """
    # A name cannot look like it: quotation marks in texts are escaped.
    found = _COUNTS.search(body, max(0, len(body) - _LONGEST_COUNTS))
    return json.loads(body)["counts"] if found is None else json.loads(found[1])


def names(live: Live, turn: Turn) -> tuple[Any, ...]:
    """The names of all arms, as an operation. Arms that come later have higher numbers."""
    return live.session.names


def with_query(names: tuple[Any, ...], query: str) -> Any:
    """The numbers of the arms with ``query`` in their names. Not for the thread of the bandit."""
    # People search without regard to case.
    wanted = query.casefold()
    return np.array([i for i, name in enumerate(names) if wanted in name.casefold()], np.intp)


def means(live: Live, turn: Turn) -> Any:
    """The means of all arms, as an operation; O(n_arms)."""
    return np.array(_means(_shown_belief(live)), np.float64)


def best(means: Any, top: int, among: Any = None) -> Any:
    """The ``top`` arms, of all or ``among`` some numbers, by descending mean."""
    some = np.arange(len(means)) if among is None else among
    return _largest(_known(means), some, top)


def state(live: Live, turn: Turn, shown: Any) -> Callable[[], Answer]:
    """A bandit with its spec and the arms with the numbers ``shown``, as an operation.

    It returns a function for another thread, so that decisions need not wait for it.
    """
    session = live.session
    # Numbers: names and features are many, and the log has them.
    sizes: dict[str, Any] = {"arms": session.policy.reward.n_arms}
    if "features" in live.spec:
        sizes["features"] = len(live.spec["features"][0])
    if "warm_start" in live.spec:
        known = live.spec["warm_start"]
        sizes["warm_start"] = {"strength": known["strength"], "rounds": len(known["arms"])}
    about = {
        **summary(live.bandit, live.counts),
        "spec": _readable({**live.spec, **sizes}),
        "retired": [str(name) for name in session.retired],
        "events": live.seq,
        "merged": live.merged,
    }
    rows = _rows(live, shown)
    return lambda: {**about, "posterior": rows()}


def verdict(
    live: Live, turn: Turn, delta: float, dependent: bool, late: Late
) -> Callable[[], Answer]:
    """Whether the best arms are known, as an operation; O(k · n_arms).

    It returns a function for another thread, which does most of the work.
    """
    try:
        judge = verdict_later(live.session, delta, dependent=dependent, late=late)
    except (TypeError, ValueError) as error:
        raise Problem(422, f"no verdict can be given: {shown_error(error)}") from error
    return lambda: _shown(judge())


def _shown(found: Any) -> Answer:
    return {**asdict(found), "text": str(found)}


def lift(live: Live, turn: Turn, delta: float) -> Answer:
    """What the policy gains over the hold-out, as an operation."""
    if live.session.holdout is None:
        raise Problem(422, "a lift needs a hold-out, got none", fix="create it with holdout")
    return _shown(live.session.lift(delta))


def list_arms(
    live: Live, turn: Turn, limit: int, after: int, among: Any = None
) -> Callable[[], Answer]:
    """Arms in the order in which they came, from place ``after`` on, as an operation.

    All arms, or those ``among`` some numbers in ascending order. It returns a function for another
    thread.
    """
    n_arms = live.session.policy.reward.n_arms
    # One more than fits says whether there is a next page.
    found = np.arange(after, min(n_arms, after + limit + 1)) if among is None else among
    found = found[np.searchsorted(found, after) :]
    rows = _rows(live, found[:limit])
    after_these = str(found[limit]) if len(found) > limit else None
    return lambda: {"arms": rows(), "next": after_these}


def _rows(live: Live, shown: Any) -> Callable[[], list[Answer]]:
    """A function with what is known now of the arms with the numbers ``shown``."""
    session, belief = live.session, _shown_belief(live)
    posterior: Any = belief.posterior(shown) if isinstance(belief, HasPosterior) else None
    names = session.names_of(shown.tolist())
    retired = [session.is_retired(name) for name in names]
    # The same numbers, without those of all other arms.
    is_quick = isinstance(posterior, _OF_BETAS)
    means = None if is_quick else np.asarray(_means(belief), np.float64)[shown]
    return lambda: _rows_of(names, posterior, posterior.mean() if is_quick else means, retired)


def _rows_of(names: list[Any], posterior: Any, means: Any, retired: list[bool]) -> list[Answer]:
    lows: list[Any] = [None] * len(names)
    highs = lows
    if posterior is not None:
        lows, highs = (ends.tolist() for ends in posterior.interval(_LEVEL))
    rows = []
    for place, mean in enumerate(_known(means).tolist()):
        row = {
            "arm": names[place],
            "mean": None if mean < 0 else mean,
            "low": lows[place],
            "high": highs[place],
        }
        if isinstance(posterior, _OF_BETAS):
            row |= {"a": float(posterior.a[place]), "b": float(posterior.b[place])}
        rows.append({**row, "retired": retired[place]})
    return rows


def _shown_belief(live: Live) -> Any:
    """The belief that the arms are shown by: in contexts, that of a round with the average one."""
    belief: Any = live.session.policy.belief
    average = belief.average_context if isinstance(belief, MayLackContexts) else None
    return belief if average is None else belief.at(average)


def _known(means: Any) -> Any:
    # An arm without outcomes may have no mean. It comes last.
    return np.nan_to_num(means, nan=-1.0)


def _means(belief: Any) -> Any:
    # A belief without posteriors may show a bound as its mean. Then the outcomes have the mean.
    if isinstance(belief, CountsOutcomes) and not isinstance(belief, HasPosterior):
        return belief.outcomes.mean()
    has_mean = isinstance(belief, HasMean)
    return belief.mean() if has_mean else belief.posterior(np.arange(belief.n_arms)).mean()


def _largest(means: Any, among: Any, top: int) -> Any:
    """The ``top`` of some arms, by descending mean."""
    if len(among) > top:
        # O(n_arms) instead of a full sort: a bandit may have millions of arms.
        among = among[np.argpartition(-means[among], top)[:top]] if top else among[:0]
    # Stable: equal means keep the order of the arms.
    return among[np.argsort(-means[among], kind="stable")]


def _readable(spec: dict[str, Any]) -> dict[str, Any]:
    """A spec whose seed is exact in every JSON reader: a large one is text."""
    seed = spec.get("seed", 0)
    return {**spec, "seed": str(seed)} if seed > _MOST_EXACT else spec


def line(bandit: Bandit, event: Event) -> bytes:
    """An event as a line of the log that clients read."""
    body = json.loads(event.body)
    for name in _INTERNAL:
        body.pop(name, None)
    counts = dict(zip(COUNTS, body.pop("counts"), strict=True))
    if "spec" in body:
        body["spec"] = _readable(body["spec"])
    head = {"seq": event.seq, "time": event.time, "kind": event.kind, "bandit": bandit.id}
    if event.key is not None:
        head["key"] = event.key
    return json.dumps({**head, **body, "counts": counts}).encode() + b"\n"
