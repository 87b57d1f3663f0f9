"""A bandit as clients see it: in numbers, with its best arms, and the lines of its log."""

from __future__ import annotations

import json
from collections.abc import Iterable
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
from superarm.sessions.verdict import Late

_LEVEL = 0.95  # of the interval of each arm
_MOST_EXACT = 2**53
_INTERNAL = ("mark", "again")  # members of an event that only the service needs


def summary(bandit: Bandit, counts: Iterable[int]) -> Answer:
    """A bandit in numbers."""
    head = {"id": bandit.id, "name": bandit.name, "k": bandit.k, "created": bandit.created}
    return {**head, **dict(zip(COUNTS, counts, strict=True))}


def logged_summary(store: Store, bandit: Bandit) -> Answer:
    """A bandit in numbers, from its last event."""
    last = store.last(bandit.number)
    return summary(bandit, json.loads(last.body)["counts"] if last else [0] * len(COUNTS))


def names(live: Live, turn: Turn) -> tuple[Any, ...]:
    """The names of all arms, as an operation. Arms that come later have higher numbers."""
    return live.session.names


def with_query(names: tuple[Any, ...], query: str) -> Any:
    """The numbers of the arms with ``query`` in their names. Not for the thread of the bandit."""
    # People search without regard to case.
    wanted = query.casefold()
    return np.array([i for i, name in enumerate(names) if wanted in name.casefold()], np.intp)


def state(live: Live, turn: Turn, top: int, among: Any = None) -> Answer:
    """A bandit with its spec and its ``top`` arms, of all or ``among`` some numbers; O(n_arms)."""
    session = live.session
    names = session.names
    # Numbers: names and features are many, and the log has them.
    sizes: dict[str, Any] = {"arms": len(names)}
    if "features" in live.spec:
        sizes["features"] = len(live.spec["features"][0])
    if "warm_start" in live.spec:
        known = live.spec["warm_start"]
        sizes["warm_start"] = {"strength": known["strength"], "rounds": len(known["arms"])}
    return {
        **summary(live.bandit, live.counts),
        "spec": _readable({**live.spec, **sizes}),
        "retired": [str(name) for name in session.retired],
        "events": live.seq,
        "merged": live.merged,
        "posterior": _posterior(live, names, top, among),
    }


def verdict(live: Live, turn: Turn, delta: float, dependent: bool, late: Late) -> Answer:
    """Whether the best arms are known, as an operation; O(k · n_arms)."""
    try:
        found = live.session.verdict(delta, dependent=dependent, late=late)
    except (TypeError, ValueError) as error:
        raise Problem(422, f"no verdict can be given: {shown_error(error)}") from error
    return {**asdict(found), "text": str(found)}


def lift(live: Live, turn: Turn, delta: float) -> Answer:
    """What the policy gains over the hold-out, as an operation."""
    if live.session.holdout is None:
        raise Problem(422, "a lift needs a hold-out, got none", fix="create it with holdout")
    found = live.session.lift(delta)
    return {**asdict(found), "text": str(found)}


def list_arms(live: Live, turn: Turn, limit: int, after: int, among: Any = None) -> Answer:
    """Arms in the order in which they came, from place ``after`` on, as an operation; O(n_arms).

    All arms, or those ``among`` some numbers in ascending order.
    """
    names, belief = live.session.names, _shown_belief(live)
    found = np.arange(len(names)) if among is None else among
    found = found[np.searchsorted(found, after) :]
    rows = _rows(live, names, belief, _known_means(belief), found[:limit])
    return {"arms": rows, "next": str(found[limit]) if len(found) > limit else None}


def _posterior(live: Live, names: tuple[Any, ...], top: int, among: Any) -> list[Answer]:
    belief = _shown_belief(live)
    means = _known_means(belief)
    some = np.arange(len(names)) if among is None else among
    return _rows(live, names, belief, means, _largest(means, some, top))


def _rows(live: Live, names: tuple[Any, ...], belief: Any, means: Any, shown: Any) -> list[Answer]:
    """What is known of the arms with the numbers ``shown``."""
    session = live.session
    posterior: Any = belief.posterior(shown) if isinstance(belief, HasPosterior) else None
    lows: list[Any] = [None] * len(shown)
    highs = lows
    if posterior is not None:
        lows, highs = (ends.tolist() for ends in posterior.interval(_LEVEL))
    rows = []
    for place, arm in enumerate(shown.tolist()):
        mean = float(means[arm])
        row = {
            "arm": names[arm],
            "mean": None if mean < 0 else mean,
            "low": lows[place],
            "high": highs[place],
        }
        if isinstance(posterior, BetaPosterior | LearnedPosterior):
            row |= {"a": float(posterior.a[place]), "b": float(posterior.b[place])}
        rows.append({**row, "retired": session.is_retired(names[arm])})
    return rows


def _shown_belief(live: Live) -> Any:
    """The belief that the arms are shown by: in contexts, that of a round with the average one."""
    belief: Any = live.session.policy.belief
    average = belief.average_context if isinstance(belief, MayLackContexts) else None
    return belief if average is None else belief.at(average)


def _known_means(belief: Any) -> Any:
    # An arm without outcomes may have no mean. It comes last.
    return np.nan_to_num(np.asarray(_means(belief), np.float64), nan=-1.0)


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
