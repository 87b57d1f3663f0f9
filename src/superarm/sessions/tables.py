"""A session, a decision and an explanation as columns, and as tables for notebooks."""

from __future__ import annotations

from typing import Any

import numpy as np

from superarm.core import notebook
from superarm.core.optional import Contextual, HasPosterior
from superarm.sessions.decisions import CERTIFIED, Decision, Record
from superarm.sessions.explain import Explanation, Reason
from superarm.sessions.unlocked import UnlockedSession

_LEVEL = 0.95  # of the intervals of posteriors
_MOST_ROWS = 10  # of a table in a notebook


def arm_columns(session: UnlockedSession) -> dict[str, Any]:
    """One row per arm; ``mean``, ``low`` and ``high`` if the belief has posteriors."""
    arms, belief = session.arms, session.policy.belief
    columns: dict[str, Any] = {"arm": list(arms.names), "retired": arms.is_retired.copy()}
    every = np.arange(len(arms))
    # The means of a belief of contexts are those of a round, and here is none.
    if isinstance(belief, HasPosterior) and not isinstance(belief, Contextual):
        posterior = belief.posterior(every)
        low, high = posterior.interval(_LEVEL)
        columns |= {"mean": posterior.mean(), "low": low, "high": high}
    elif hasattr(belief, "mean") and not isinstance(belief, Contextual):
        columns["mean"] = np.asarray(belief.mean())
    return columns


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
    size = policy.k if isinstance(policy.k, int) else repr(policy.k)
    return (
        f"Session({len(arms):,} arms{retired}, k={size}, {session.n_decisions:,} decisions, "
        f"{len(session.ledger.open):,} open, {type(policy.belief).__name__}, "
        f"{type(policy.oracle).__name__})"
    )


def session_html(session: UnlockedSession) -> str:
    """The best arms of a session."""
    columns = arm_columns(session)
    means = np.nan_to_num(np.asarray(columns.get("mean", np.zeros(len(session.arms))), float))
    best = np.argsort(-means, kind="stable")[:_MOST_ROWS].tolist()
    rows = []
    for arm in best:
        name = f"{columns['arm'][arm]}{' (retired)' if columns['retired'][arm] else ''}"
        if "low" in columns:
            ends = [float(columns[end][arm]) for end in ("low", "mean", "high")]
            picture = notebook.interval(*ends)
            rows.append([name, f"{ends[1]:.3f}", f"{ends[0]:.3f} to {ends[2]:.3f}", picture])
        else:
            rows.append([name, f"{means[arm]:.3f}" if "mean" in columns else "", "", ""])
    note = f"{len(best)} of {len(session.arms):,} arms, by posterior mean"
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
