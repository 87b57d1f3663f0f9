"""What an inspection found, as data and as text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from superarm.advice import settings
from superarm.advice.group_results import GroupSearch
from superarm.advice.sub_results import SubProblems
from superarm.advice.text import aligned, listed, row_of, shown_s
from superarm.core import notebook

if TYPE_CHECKING:
    from superarm.advice.recommendation import Recommendation

_SHOWN = 8  # numbers of a set in a text
_HEAD = ("property", "verdict", "violated", "rate (95%)", "worst")


@dataclass(frozen=True)
class Witness:
    """Evaluations that show a violation, and that anybody can repeat.

    Attributes
    ----------
    sets, means, values
        One entry per evaluation: the arms, their means in the same order, and the value (None if
        the reward failed).
    what
        What the evaluations show, in a sentence.
    """

    sets: tuple[tuple[int, ...], ...]
    means: tuple[tuple[float, ...], ...]
    values: tuple[float | None, ...]
    what: str

    @classmethod
    def of(
        cls,
        sets: Sequence[ArrayLike],
        means: Sequence[ArrayLike],
        values: Sequence[float],
        what: str,
    ) -> Witness:
        """From arrays."""
        return cls(
            tuple(tuple(np.asarray(arms, np.intp).tolist()) for arms in sets),
            tuple(tuple(np.asarray(row, np.float64).tolist()) for row in means),
            # JSON has no NaN. None stands for a value that the reward did not give.
            tuple(float(value) if math.isfinite(value) else None for value in values),
            what,
        )

    def __str__(self) -> str:
        answers = [
            f"r({_shown(arms)}; {_shown(means)}) = {'?' if value is None else f'{value:.6g}'}"
            for arms, means, value in zip(self.sets, self.means, self.values, strict=True)
        ]
        return f"{self.what}: {', '.join(answers)}"


@dataclass(frozen=True)
class Property:
    """One property of a reward, and what its probes showed.

    Attributes
    ----------
    name
        The property.
    kind
        "required" of every reward, "declared" by this one, or "undeclared".
    n_probes, n_violated
        How many probes there were, and how many showed a violation.
    rate_upper
        A 95% upper bound on the share of such probes that show a violation: Clopper and Pearson's,
        and with a budget one that is valid whenever the probes stop. None if there were no probes.
    worst
        The size of the worst violation; 0 if there was none.
    witness
        The probe that showed the worst violation; None if there was none.
    note
        What else the probes showed.
    """

    name: str
    kind: str
    n_probes: int
    n_violated: int
    rate_upper: float | None
    worst: float
    witness: Witness | None
    note: str = ""

    @property
    def holds(self) -> bool:
        """Whether no probe showed a violation, and there were enough probes to say so."""
        return (
            self.n_violated == 0
            and self.rate_upper is not None
            and self.rate_upper < settings.SHARE
        )

    @property
    def undecided(self) -> bool:
        """Whether no probe showed a violation, but there were too few probes to say more."""
        return self.n_violated == 0 and not self.holds

    @property
    def nearly_always(self) -> bool:
        """Whether nearly all probes showed a violation."""
        return self.n_violated > 0 and self.n_violated >= settings.FAILING * self.n_probes

    @property
    def is_error(self) -> bool:
        """Whether it is required or declared, and violated."""
        return self.n_violated > 0 and self.kind != "undeclared"

    @property
    def verdict(self) -> str:
        """One of "ok" and "ERROR", "holds" and "fails" if it is undeclared, and "undecided".

        "not probed" without a probe.
        """
        if not self.n_probes and not self.note:  # probes that noise hid leave a note only
            return "not probed"
        if self.undecided:
            return "undecided"
        if self.kind == "undeclared":
            return "holds" if self.holds else "fails"
        return "ok" if self.holds else "ERROR"


@dataclass(frozen=True)
class Inspection:
    """What the probes of a reward showed: print it, or read its ``rows``.

    A property that held in all probes is not proved. ``rate_upper`` bounds, with 95% confidence,
    the share of probes drawn in the same way that would show a violation. If it is above 15%, the
    property is "undecided".

    Attributes
    ----------
    reward
        The name of the class of the reward.
    n_arms, k
        How many arms there are, and the size of the sets that were probed most.
    rows
        One `Property` per row.
    evaluations
        For how many sets the reward was evaluated.
    single_s, batch_s
        Seconds per single call (the median), and seconds per set in a batch. None if no call
        succeeded.
    noise
        The largest difference between two evaluations of the same set at the same means.
    recommendation
        Which oracle suits the reward, why, and what the reward could declare.
    check
        The recommended oracle next to all sets; None if there was no evaluation left for that, or
        if noise or failures prevent it.
    budget
        The largest number of evaluations that was allowed; None without a budget.
    stopped
        Whether the inspection was stopped before its end.
    groups
        The search for arms that interact; None if too few evaluations were left for it.
    """

    reward: str
    n_arms: int
    k: int
    rows: tuple[Property, ...]
    evaluations: int
    single_s: float | None
    batch_s: float | None
    noise: float
    recommendation: Recommendation
    check: SubProblems | None = None
    budget: int | None = None
    stopped: bool = False
    groups: GroupSearch | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing that is required or declared was violated."""
        return not self.errors

    @property
    def failing(self) -> bool:
        """Whether nearly all evaluations failed, so that nothing can be said about the reward."""
        return self["answers"].nearly_always

    @property
    def errors(self) -> tuple[Property, ...]:
        """What is required or declared, and violated."""
        return tuple(row for row in self.rows if row.is_error)

    @property
    def findings(self) -> tuple[Property, ...]:
        """What is not declared, whether it held or failed."""
        return tuple(row for row in self.rows if row.kind == "undeclared")

    def __getitem__(self, name: str) -> Property:
        """The row of a property."""
        return row_of({row.name: row for row in self.rows}, name)

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain JSON, with the verdicts."""
        rows = [{**asdict(row), "verdict": row.verdict} for row in self.rows]
        return {**asdict(self), "rows": rows, "ok": self.ok}

    def summary(self) -> str:
        """One line about size and cost."""
        return (
            f"{self.reward} of {self.n_arms:,} arms, sets of about {self.k}: "
            f"{self.evaluations:,} evaluations, {shown_s(self.single_s)} per single call, "
            f"{shown_s(self.batch_s)} per set in batches"
        )

    def meaning(self) -> list[str]:
        """What the verdicts mean, and why the probes ended."""
        if self.failing:
            row = self["answers"]
            why = "the probes ended early, because " if self.stopped else ""
            return [f"{why}{row.n_violated:,} of {row.n_probes:,} evaluations failed"]
        lines = [
            f"holds, ok: at most {settings.SHARE:.0%} of such probes violate it, with "
            f"{1 - settings.DELTA:.0%} confidence"
        ]
        missing = [row.name for row in self.rows if row.verdict == "not probed"]
        if missing:
            lines.append(f"not probed: {listed(missing)}")
        if self.stopped:
            lines.append("stopped early: this is what is known so far")
        elif self.budget is not None:
            used = "nothing undecided can change the advice, but rare violations may be missed"
            if self.recommendation.undecided:
                left = self.budget - self.evaluations
                used = "the rest decides nothing more" if left else "the budget is used up"
            lines.append(f"{self.evaluations:,} of {self.budget:,} evaluations: {used}")
        if self.check is not None:
            lines.append(str(self.check))
        if self.groups is not None:
            lines.append(str(self.groups))
        return lines

    def table(self) -> list[tuple[str, str, str, str, str]]:
        """The rows as text: property, verdict, violated of probes, bound on the rate, worst."""
        return [
            (
                row.name,
                row.verdict,
                f"{row.n_violated} of {row.n_probes}",
                "" if row.rate_upper is None else f"< {row.rate_upper:.2%}",
                f"{row.worst:.3g}" if row.n_violated else "",
            )
            for row in self.rows
            if row.verdict != "not probed" or (self.budget is None and not self.failing)
        ]

    def __repr__(self) -> str:
        found = f"{len(self.errors)} error{'s' if len(self.errors) > 1 else ''}"
        return f"Inspection({self.reward}, {'ok' if self.ok else found})"

    def _repr_html_(self) -> str:
        # What to do first, then the evidence.
        notes = [*self.advice(), *self.meaning(), *self.remarks()]
        return notebook.table(_HEAD, self.table(), title=self.summary(), note=notes, left=2)

    def advice(self) -> list[str]:
        """The recommendation in lines. If nearly all evaluations failed, what to do about that."""
        if not self.failing:
            return str(self.recommendation).splitlines()
        fixes = [f"Fix first: {line}." for line in self.recommendation.fix_first]
        return [*fixes, "No oracle is recommended before that."]

    def remarks(self) -> list[str]:
        """Witnesses of the violations, errors first, and notes."""
        bad = [*self.errors, *(row for row in self.findings if row.n_violated)]
        lines = [f"{row.verdict} {row.name}. {row.witness}" for row in bad]
        return lines + [f"{row.name}: {row.note}" for row in self.rows if row.note]

    def __str__(self) -> str:
        table = aligned([_HEAD, *self.table()])
        notes = [*self.meaning(), *self.remarks()]
        parts = [self.summary(), "", *table, "", *notes, "", *self.advice()]
        return "\n".join(parts)


def _shown(values: tuple[int, ...] | tuple[float, ...]) -> str:
    cells = ", ".join(f"{value:.6g}" for value in values[:_SHOWN])
    return f"[{cells}, ... {len(values)} in all]" if len(values) > _SHOWN else f"[{cells}]"
