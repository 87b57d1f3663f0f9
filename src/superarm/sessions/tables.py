"""A session, a decision and an explanation as columns, and as tables for notebooks."""

from __future__ import annotations

from typing import Any

import numpy as np

from superarm.core import notebook
from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.optional import CountsOutcomes, HasMean, HasPosterior
from superarm.core.policy import belief_at
from superarm.sessions.decisions import CERTIFIED, Decision
from superarm.sessions.explain import LEVEL, Explanation, Reason
from superarm.sessions.ledger import Record
from superarm.sessions.unlocked import UnlockedSession

_MOST_ROWS = 10  # of a table in a notebook


def arm_columns(session: UnlockedSession, among: IndexArray | None = None) -> dict[str, Any]:
    """One row per arm; ``mean``, ``low`` and ``high`` if the belief has posteriors."""
    arms = session.arms
    every = np.arange(len(arms)) if among is None else among
    names = [arms.names[arm] for arm in every.tolist()]
    columns: dict[str, Any] = {"arm": names, "retired": arms.is_retired[every]}
    means = _means(session, every)
    if means is None:
        return columns
    belief = _belief(session)
    if not isinstance(belief, HasPosterior):
        return {**columns, "mean": means}
    low, high = belief.posterior(every).interval(LEVEL)
    return {**columns, "mean": means, "low": low, "high": high}


def _belief(session: UnlockedSession) -> Any:
    """The belief of a round without a context; None if it needs one."""
    try:
        return belief_at(session.policy.belief, None)
    except ValueError:
        return None


def _means(session: UnlockedSession, arms: IndexArray) -> FloatArray | None:
    belief = _belief(session)
    if isinstance(belief, HasPosterior):
        return belief.posterior(arms).mean()
    if isinstance(belief, CountsOutcomes):  # NaN for arms without outcomes
        return np.asarray(belief.outcomes.mean())[arms]
    return np.asarray(belief.mean())[arms] if isinstance(belief, HasMean) else None


def decision_columns(session: UnlockedSession) -> dict[str, list[Any]]:
    """One row per arm of the open and the remembered decisions, in the order of the places."""
    ledger = session.ledger
    records = [*ledger.open.values(), *ledger.closed.values()]
    rows = [
        row
        for record in sorted(records, key=lambda one: one.decision.number)
        for row in _rows(record)
    ]
    names = ("decision", "round", "time", "status", "place", "arm", "value", "outcome")
    more = ("propensity", "set_propensity", "context")
    return {name: [row[name] for row in rows] for name in (*names, *more)}


def _rows(record: Record) -> list[dict[str, Any]]:
    one = record.decision
    nothing = [None] * len(one.arms)
    shared = {
        "decision": one.id,
        "round": one.round,
        "time": one.time,
        "status": record.status,
        "set_propensity": one.set_propensity,
        "context": None if one.context is None else np.array(one.context).tolist(),
    }
    per_arm = zip(one.arms, record.arms.tolist(), one.values or nothing, strict=True)
    shares = one.propensities or nothing
    return [
        {
            **shared,
            "place": place if one.ranked else None,
            "arm": name,
            "value": value,
            "outcome": record.outcomes.get(number),
            "propensity": shares[place],
        }
        for place, (name, number, value) in enumerate(per_arm)
    ]


def session_line(session: UnlockedSession) -> str:
    """A session in one line."""
    arms, policy = session.arms, session.policy
    retired = f" ({len(arms.retired)} retired)" if len(arms.retired) else ""
    return (
        f"Session({len(arms):,} arms{retired}, k={policy.k!r}, {session.n_decisions:,} decisions, "
        f"{len(session.ledger.open):,} open, {type(policy.belief).__name__}, "
        f"{type(policy.oracle).__name__})"
    )


def session_html(session: UnlockedSession) -> str:
    """The best arms of a session."""
    means = _means(session, np.arange(len(session.arms)))
    order = np.arange(len(session.arms)) if means is None else np.argsort(-means, kind="stable")
    # Quantiles of the shown arms only: a session may have a million arms.
    columns = arm_columns(session, order[:_MOST_ROWS])
    n_shown = len(columns["arm"])
    means, lows, highs = (columns.get(name, [None] * n_shown) for name in ("mean", "low", "high"))
    rows = []
    for place, arm in enumerate(columns["arm"]):
        low, mean, high = (one[place] for one in (lows, means, highs))
        name = f"{arm}{' (retired)' if columns['retired'][place] else ''}"
        ends = "" if low is None else f"{low:.3f} to {high:.3f}"
        known = mean is not None and not np.isnan(mean)
        picture = notebook.interval(low, mean, high) if known else ""
        rows.append([name, f"{mean:.3f}" if known else "", ends, picture])
    some = f"{n_shown} of {len(session.arms):,} arms, " if n_shown < len(session.arms) else ""
    note = f"{some}by posterior mean"
    head = ["arm", "mean", "95% interval", ""]
    return notebook.table(head, rows, title=session_line(session), note=note)


def decision_html(decision: Decision) -> str:
    """The arms of a decision, with their places."""
    shares = decision.propensities
    head = ["place", "arm", "sampled", *(["propensity"] if shares is not None else [])]
    rows = []
    for place, arm in enumerate(decision.arms):
        value = None if decision.values is None else decision.values[place]
        row = [place + 1 if decision.ranked else "", arm, notebook.number(value)]
        rows.append([*row, *([notebook.number(shares[place])] if shares is not None else [])])
    sure = CERTIFIED if decision.certified else "not certified"
    title = f"Decision {decision.id}, round {decision.round}"
    return notebook.table(head, rows, title=title, note=sure, left=2)


def explanation_html(found: Explanation) -> str:
    """The reasons of a decision, with their posteriors."""
    out = [] if found.best_left_out is None else [found.best_left_out]
    rows = [_reason_row(str(place), one) for place, one in enumerate(found.reasons, start=1)]
    rows += [_reason_row("left out", one) for one in out]
    head = ["place", "arm", "", "posterior, 95%", "sampled", "score"]
    by = "" if found.lost_by is None else f"; the best arm left out lost by {found.lost_by:.4g}"
    note = f"score: {found.score_is or 'the oracle did not order arms in this round'}{by}"
    title = f"Why decision {found.decision.id}"
    return notebook.table(head, rows, title=title, note=note, left=3)


def _reason_row(place: str, one: Reason) -> list[Any]:
    known = one.mean is not None and one.low is not None
    text = f"{one.mean:.3f} ({one.low:.3f} to {one.high:.3f})" if known else ""
    picture = notebook.interval(one.low, one.mean, one.high, value=one.value)
    return [place, one.arm, picture, text, notebook.number(one.value), notebook.number(one.score)]
