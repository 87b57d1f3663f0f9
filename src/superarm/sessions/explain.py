"""Why a session decided as it did: as data, as text, and as a picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from superarm.core import Choices, Draw
from superarm.core.arguments import FloatArray, IndexArray
from superarm.sessions.decisions import Decision, Name


@dataclass(slots=True)
class Evidence:
    """What a session keeps of a decision so that it can be explained.

    Attributes
    ----------
    arms
        The numbers of the chosen arms, ascending.
    theta
        The sample that the oracle saw.
    report
        The oracle's report on this round. None if the oracle did not report on it.
    posterior
        The posterior of the chosen arms before the decision. None if the belief has none.
    feasible
        The sets that could have been chosen.
    """

    arms: IndexArray
    theta: Draw
    report: Any
    posterior: Any
    feasible: Choices


@dataclass(frozen=True)
class Reason:
    """What spoke for one arm. None where the belief or the oracle does not say.

    Attributes
    ----------
    arm
        Its name.
    rank
        Its place by score, 1 for the best.
    value
        What was sampled for it.
    mean, low, high
        Its posterior when it was chosen, with the equal-tailed 95% interval.
    score
        What the oracle ordered the arms by; see `Explanation.score_is`.
    lower, upper
        The bounds on its worth alone that certified it (`LazySingletons`).
    tests
        The numbers of the tests that it was in (`GroupTesting`).
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
        return f"{self.arm}: {', '.join(parts)}" if parts else str(self.arm)


@dataclass(frozen=True)
class Explanation:
    """Why each arm of a decision is in.

    Attributes
    ----------
    decision
        The decision.
    score_is
        What the oracle ordered the arms by, in words; None where it did not order arms, or did not report on this
        round.
    reasons
        One for each arm of the set, the best first.
    best_left_out
        The best arm that is not in, if it is known; its posterior is as of now.
    lost_by
        By how much: the smallest score in the set less its own; with bounds, what it surely lost by.
    """

    decision: Decision
    score_is: str | None
    reasons: tuple[Reason, ...]
    best_left_out: Reason | None
    lost_by: float | None

    def __str__(self) -> str:
        sure = "certified" if self.decision.certified else "not certified"
        lines = [f"decision {self.decision.id}, round {self.decision.round}, {sure}"]
        lines.append(f"score: {self.score_is or 'the oracle did not order arms in this round'}")
        lines += [f"  {place}. {reason}" for place, reason in enumerate(self.reasons, start=1)]
        if self.best_left_out is None:
            lines.append("best left out: not known")
        else:
            by = "" if self.lost_by is None else f", lost by {self.lost_by:.4g}"
            lines.append(f"best left out: {self.best_left_out}{by}")
        return "\n".join(lines)

    def figure(self) -> Any:
        """A matplotlib Figure: posterior intervals, means and sampled values. Needs ``superarm[plots]``."""
        raise NotImplementedError


def explain(decision: Decision, kept: Evidence, names: list[Name], belief: Any) -> Explanation:
    """The explanation of a decision from what was kept of it."""
    score_is, scores, order = _scores(kept)
    if order is None:
        order = (
            np.arange(len(kept.arms))
            if scores is None
            else np.argsort(-scores[kept.arms], kind="stable")
        )
    ranked = score_is is not None
    posterior = [None] * len(kept.arms) if kept.posterior is None else _posteriors(kept.posterior)
    reasons = tuple(
        _reason(
            kept, int(kept.arms[place]), names, posterior[place], scores, rank if ranked else None
        )
        for rank, place in enumerate(order, start=1)
    )
    out = _best_left_out(kept, scores)
    if out is None or scores is None:
        return Explanation(decision, score_is, reasons, None, None)
    now = (
        _posteriors(belief.posterior(np.array([out])))[0] if hasattr(belief, "posterior") else None
    )
    rest = _reason(kept, out, names, now, scores, len(kept.arms) + 1)
    report = kept.report
    if hasattr(report, "lower"):
        lost_by = float(report.lower[kept.arms].min() - report.upper[out])
    else:
        lost_by = float(scores[kept.arms].min() - scores[out])
    return Explanation(decision, score_is, reasons, rest, lost_by)


def _scores(kept: Evidence) -> tuple[str | None, FloatArray | None, IndexArray | None]:
    """What the arms were ordered by, in words and by arm, NaN where unknown; and the places of the set, best first."""
    report, n_arms = kept.report, kept.theta.n_arms
    if hasattr(report, "grades"):
        return "grade, from the tests that an arm was in", report.grades, None
    if hasattr(report, "lower") and hasattr(report, "upper"):
        return "worth alone, the middle of its bounds", (report.lower + report.upper) / 2, None
    if hasattr(report, "order"):
        gains = np.full(n_arms, np.nan)
        gains[report.order] = np.diff(report.values, prepend=0.0)
        return "what it added when it was added", gains, np.searchsorted(kept.arms, report.order)
    values: FloatArray = np.asarray(getattr(report, "values", np.nan))
    if values.shape == (n_arms,):
        return "worth alone", np.where(np.isnan(values), -np.inf, values), None
    if values.shape == kept.arms.shape:
        every = kept.theta.drawn(np.arange(n_arms))
        known = np.full(n_arms, np.nan) if every is None else every.copy()
        known[kept.arms] = values
        return "sampled value", known, None
    return None, None, None


def _best_left_out(kept: Evidence, scores: FloatArray | None) -> int | None:
    if scores is None:
        return None
    rest = scores.copy() if not hasattr(kept.report, "lower") else kept.report.upper.copy()
    rest[kept.arms] = np.nan
    if not isinstance(kept.feasible, int):
        rest[~kept.feasible.undecided] = np.nan
    if np.isnan(rest).all():
        return None
    return int(np.nanargmax(rest))


def _reason(
    kept: Evidence,
    arm: int,
    names: list[Name],
    posterior: tuple[float, float, float] | None,
    scores: FloatArray | None,
    rank: int | None,
) -> Reason:
    report, at = kept.report, np.array([arm])
    place = np.flatnonzero(kept.arms == arm)
    drawn = kept.theta.drawn(kept.arms) if len(place) else None
    value = kept.theta.drawn(at) if drawn is None else drawn[place]
    mean, low, high = (None, None, None) if posterior is None else posterior
    score = None if scores is None or np.isnan(scores[arm]) else float(scores[arm])
    has_bounds, has_tests = (
        hasattr(report, "lower"),
        hasattr(report, "grades") and hasattr(report, "tests"),
    )
    tests = None
    if has_tests:
        alone = np.zeros(kept.theta.n_arms)
        alone[arm] = 1.0
        tests = tuple(np.flatnonzero(report.tests.sum(alone)).tolist())
    return Reason(
        arm=names[arm],
        rank=rank,
        value=None if value is None else float(value[0]),
        mean=mean,
        low=low,
        high=high,
        score=score,
        lower=float(report.lower[arm]) if has_bounds else None,
        upper=float(report.upper[arm]) if has_bounds else None,
        tests=tests,
    )


def _posteriors(posterior: Any) -> list[Any]:
    return list(
        zip(
            posterior.mean().tolist(),
            *(end.tolist() for end in posterior.interval(0.95)),
            strict=True,
        )
    )
