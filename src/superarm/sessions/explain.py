"""Why a session decided as it did: as data, as text, and as a figure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from superarm.core import Belief, Pools, Scores, frames
from superarm.core.arguments import IndexArray
from superarm.core.optional import Posterior
from superarm.sessions.decisions import CERTIFIED, Decision, Name
from superarm.sessions.ledger import Evidence, HasPrior, known_of

LEVEL = 0.95  # of the intervals of posteriors
_IN, _OUT, _SAMPLED = "#0072B2", "#999999", "#D55E00"  # from the palette of Okabe and Ito


@dataclass(frozen=True)
class Reason:
    """What spoke for one arm. None where the belief or the oracle does not say.

    Attributes
    ----------
    arm, rank
        The name of the arm, and its place among all arms: 1 for the best. None without scores.
    value
        The value that was sampled for it.
    mean, low, high
        Its posterior mean when it was chosen, and the equal-tailed 95% interval.
    score
        What the oracle ordered the arms by: see `Explanation.score_is`.
    lower, upper
        The bounds on its worth alone that certified it (`LazySingletons`).
    tests
        The numbers of the tests that it was in (`GroupTesting`).
    base, columns, own
        What adds up to its mean, before cuts to [0, 1]: the mean of an average arm, what each
        column of features and context adds, and what its own outcomes add (`LinearBelief`).
    mostly
        The column that matters most, such as "feature 2".
    """

    arm: Name
    rank: int | None = None
    value: float | None = None
    mean: float | None = None
    low: float | None = None
    high: float | None = None
    score: float | None = None
    lower: float | None = None
    upper: float | None = None
    tests: tuple[int, ...] | None = None
    base: float | None = None
    columns: tuple[float, ...] | None = None
    own: float | None = None
    mostly: str | None = None

    def __str__(self) -> str:
        parts = [] if self.value is None else [f"sampled {self.value:.4g}"]
        if self.mean is not None and self.low is not None and self.high is not None:
            parts.append(f"posterior {self.mean:.4g} [{self.low:.4g}, {self.high:.4g}]")
        if self.score is not None:
            parts.append(f"score {self.score:.4g}")
        if self.lower is not None and self.upper is not None:
            parts.append(f"between {self.lower:.4g} and {self.upper:.4g}")
        if self.tests is not None:
            parts.append(f"in {len(self.tests)} tests")
        if self.columns is not None:
            added = f"{sum(self.columns):+.2g} by features and context"
            if self.mostly is not None:
                most = max(self.columns, key=abs)
                added += f" ({most:+.2g} by {self.mostly})"
            parts.append(f"{self.base:.2g} on average, {added}, {self.own:+.2g} by its outcomes")
        return f"{self.arm}: {', '.join(parts)}" if parts else str(self.arm)


@dataclass(frozen=True)
class Explanation:
    """Why each arm of a decision is in the set.

    Attributes
    ----------
    decision, score_is
        The decision, and what the oracle ordered the arms by, in words. ``score_is`` is None if the
        oracle did not order arms, or did not report on this round.
    reasons
        One `Reason` per arm of the set, in the order of the decision: the best first.
    best_left_out
        The best arm that is not in the set, if it is known. Its posterior is the present one.
    lost_by
        The smallest score in the set minus the score of ``best_left_out``. With bounds, the margin
        that is certain.
    prior
        What had been learned about all arms, in words (`LearnedBetaBelief`); None without that.
    """

    decision: Decision
    score_is: str | None
    reasons: tuple[Reason, ...]
    best_left_out: Reason | None
    lost_by: float | None
    prior: str | None = None

    def __str__(self) -> str:
        sure = CERTIFIED if self.decision.certified else "not certified"
        lines = [f"decision {self.decision.id}, round {self.decision.round}, {sure}"]
        lines.append(f"score: {self.score_is or 'the oracle did not order arms in this round'}")
        lines += [] if self.prior is None else [self.prior]
        lines += [f"  {place}. {reason}" for place, reason in enumerate(self.reasons, start=1)]
        if self.best_left_out is None:
            lines.append("best left out: not known")
        else:
            by = "" if self.lost_by is None else f", lost by {self.lost_by:.4g}"
            lines.append(f"best left out: {self.best_left_out}{by}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"Explanation({self.decision!r})"

    def _repr_html_(self) -> str:
        from superarm.sessions.tables import explanation_html  # which knows explanations

        return explanation_html(self)

    def figure(self) -> Any:
        """A matplotlib Figure: posterior intervals, means and sampled values, one row per arm.

        Needs ``superarm[plots]``.
        """
        return _figure(self)


def explain(
    decision: Decision, evidence: Evidence, names: list[Name], belief: Belief
) -> Explanation:
    """The explanation of a decision from its evidence."""
    arms, report = evidence.arms, evidence.report
    scores = None if report is None else report.ranking(arms, evidence.theta)
    known = _rows(evidence.posterior, evidence.contributions)
    if known is not None:
        known = known[evidence.first :]
    make = _Reasons(evidence, names, scores)
    reasons = tuple(
        make.of(
            int(arms[place]),
            rank=None if scores is None else rank,
            known={} if known is None else known[place],
        )
        for rank, place in enumerate(np.searchsorted(arms, evidence.ranked).tolist(), start=1)
    )
    prior = _prior_of(evidence.posterior)
    if scores is None:
        return Explanation(decision, None, reasons, None, None, prior)
    out = _best_left_out(evidence, scores)
    if out is None:
        return Explanation(decision, scores.meaning, reasons, None, None, prior)
    now = _rows(*known_of(belief, np.array([out])))
    rest = make.of(out, rank=len(arms) + 1, known={} if now is None else now[0])
    return Explanation(decision, scores.meaning, reasons, rest, _margin(arms, out, scores), prior)


def _prior_of(posterior: Posterior | None) -> str | None:
    return str(posterior.prior) if isinstance(posterior, HasPrior) else None


def _best_left_out(evidence: Evidence, scores: Scores) -> int | None:
    """The arm of the largest score, or upper bound, that could have been chosen and was not."""
    rest = (scores.values if scores.upper is None else scores.upper).copy()
    # NaN for what is chosen or impossible: nanargmax passes over it.
    rest[evidence.arms] = np.nan
    rest[~evidence.feasible.undecided] = np.nan
    return None if np.isnan(rest).all() else int(np.nanargmax(rest))


def _margin(arms: IndexArray, out: int, scores: Scores) -> float:
    # With bounds, the arm left out is worth at most its upper bound, the others at least the lower.
    if scores.lower is not None and scores.upper is not None:
        return float(scores.lower[arms].min() - scores.upper[out])
    return float(scores.values[arms].min() - scores.values[out])


@dataclass(frozen=True)
class _Reasons:
    """Makes the reasons of one decision."""

    evidence: Evidence
    names: list[Name]
    scores: Scores | None

    def of(self, arm: int, *, rank: int | None, known: dict[str, Any]) -> Reason:
        reason = Reason(self.names[arm], rank, self._sampled(arm), **known)
        scores = self.scores
        if scores is None:
            return reason
        return replace(
            reason,
            score=None if np.isnan(scores.values[arm]) else float(scores.values[arm]),
            lower=None if scores.lower is None else float(scores.lower[arm]),
            upper=None if scores.upper is None else float(scores.upper[arm]),
            tests=None if scores.tests is None else _tests_with(arm, scores.tests),
        )

    def _sampled(self, arm: int) -> float | None:
        """The value that was sampled for an arm, if it was drawn."""
        arms, theta = self.evidence.arms, self.evidence.theta
        # An oracle that asked for the k largest only has drawn the values of the whole set,
        # and theta gives them for exactly this set.
        chosen = theta.drawn(arms)
        if chosen is not None and arm in arms:
            return float(chosen[np.searchsorted(arms, arm)])
        alone = theta.drawn(np.array([arm]))
        return None if alone is None else float(alone[0])


def _tests_with(arm: int, tests: Pools) -> tuple[int, ...]:
    """The numbers of the tests that an arm is in."""
    # The sums of a unit vector over the tests: 1 where the arm is in.
    alone = np.zeros(tests.n_arms)
    alone[arm] = 1.0
    return tuple(np.flatnonzero(tests.sum(alone)).tolist())


def _rows(posterior: Posterior | None, contributions: Any) -> list[dict[str, Any]] | None:
    """What is known of each arm, by the names of the attributes of `Reason`."""
    if posterior is None:
        return None
    low, high = posterior.interval(LEVEL)
    ends = zip(posterior.mean().tolist(), low.tolist(), high.tolist(), strict=True)
    rows: list[dict[str, Any]] = [{"mean": a, "low": b, "high": c} for a, b, c in ends]
    if contributions is not None:
        added = zip(contributions.columns.tolist(), contributions.own.tolist(), strict=True)
        for row, (columns, own) in zip(rows, added, strict=True):
            row |= {"base": contributions.base, "columns": tuple(columns), "own": own}
            if any(columns):
                row["mostly"] = contributions.name_of(int(np.abs(columns).argmax()))
    return rows


def _figure(explanation: Explanation) -> Any:
    out = explanation.best_left_out
    rows = [*explanation.reasons, *([] if out is None else [out])]
    n_in = len(explanation.reasons)
    size = 7.5, 1.5 + 0.42 * len(rows)
    drawing = frames.optional("matplotlib.figure", "figure")
    figure = drawing.Figure(figsize=size, layout="constrained")
    axis = figure.subplots()
    for row, reason in enumerate(rows):
        _draw_reason(axis, row, reason, _IN if row < n_in else _OUT)
    labels = [f"{reason.arm}" for reason in rows[:n_in]]
    labels += [f"{reason.arm} (left out)" for reason in rows[n_in:]]
    # A name may have two dollar signs, which matplotlib would take for a formula.
    axis.set_yticks(range(len(rows)), labels, parse_math=False)
    axis.set_ylim(len(rows) - 0.4, -0.6)  # the best at the top
    axis.set_xlim(-0.02, 1.02)
    axis.set_xlabel("mean outcome")
    axis.grid(axis="x", color="#e5e5e5", linewidth=0.8)
    axis.set_axisbelow(True)
    axis.spines[["top", "right", "left"]].set_visible(False)
    axis.tick_params(axis="y", length=0)
    if out is not None:
        axis.axhline(n_in - 0.5, color="#bbbbbb", linewidth=0.8, linestyle="--")
    edge: dict[str, Any] = {"markeredgecolor": "white"}
    interval = axis.plot([], [], "-o", color=_IN, linewidth=3, label="posterior, 95%", **edge)
    sampled = axis.plot([], [], "D", color=_SAMPLED, label="sampled", **edge)
    keys = [*interval, *sampled]
    figure.legend(handles=keys, loc="outside lower center", ncols=2, frameon=False)
    sure = CERTIFIED if explanation.decision.certified else "not certified"
    # Of the figure, because long names of arms leave little room above the axis.
    title = f"Decision {explanation.decision.id}, {sure}"
    figure.suptitle(title, x=0.01, ha="left", fontsize=11)
    return figure


def _draw_reason(axis: Any, row: int, reason: Reason, colour: str) -> None:
    edge = {"markeredgecolor": "white"}
    if reason.low is not None and reason.high is not None:
        ends = [reason.low, reason.high]
        axis.plot(ends, [row, row], color=colour, linewidth=3, solid_capstyle="round")
    if reason.mean is not None:
        axis.plot(reason.mean, row, "o", color=colour, markersize=7, **edge)
    if reason.value is not None:
        axis.plot(reason.value, row, "D", color=_SAMPLED, markersize=6, zorder=3, **edge)
