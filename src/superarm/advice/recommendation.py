"""From what the probes showed to an oracle, in sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from superarm.advice import settings
from superarm.advice.evidence import Noise, doubt
from superarm.advice.group_results import GroupSearch
from superarm.advice.noisy_advice import PLAIN, hidden, n_repeats, noisy_settings
from superarm.advice.oracle_costs import ORACLE_COSTS, make_oracle
from superarm.advice.reasons import reason
from superarm.advice.results import Property
from superarm.advice.rules import (
    CHOICES,
    RELIED_ON,
    case_of,
    facts_of,
    open_properties,
    rests_on,
)
from superarm.advice.sub_problems import SubChecks
from superarm.advice.sub_results import SubProblems
from superarm.advice.suggestions import fix, suggestions
from superarm.advice.text import listed, shown_s
from superarm.core import Oracle
from superarm.oracles import Exhaustive, LocalSearch, Singletons

_SHOWN = 3  # groups in a text
_PASSES = 2  # over all swaps, from a random set


@dataclass(frozen=True)
class Recommendation:
    """Which oracle suits a reward, and why.

    Printing it gives all of it in sentences.

    Attributes
    ----------
    oracle
        The name of its class.
    case
        The rule that chose it, a key of ``CHOICES``.
    why
        The reason, in a sentence.
    evaluations
        How many evaluations it makes per round at most, after the first round.
    cost
        The same in words, with the time that the evaluations take.
    fix_first
        What the reward should no longer do or declare.
    suggestions
        What else the reward could declare, or declare better.
    undecided
        The properties that the choice depends on and that had too few probes. With more probes,
        another oracle may be recommended.
    confidence
        The confidence that each group of properties that the oracle relies on is violated in at
        most 15% of such probes. None if a property that the oracle relies on is undecided, or if
        it relies on none.
    warnings
        What may go wrong with this oracle.
    groups
        Arms that are worth more together, for ``LocalSearch(groups=...)``, which `auto` uses, or
        which is the start of `NoisyLocalSearch`. Empty for other oracles.
    settings
        Other settings of the oracle that `auto` uses: restarts of `LocalSearch`, or error
        probability, tolerance and budget of an oracle for noise.
    repeats
        How many answers to average, by ``BlackBox(repeats=...)``, so that noise hides no undecided
        property; None if noise hides none.
    """

    oracle: str
    case: str
    why: str
    evaluations: int
    cost: str
    fix_first: tuple[str, ...]
    suggestions: tuple[str, ...]
    undecided: tuple[str, ...] = ()
    confidence: float | None = None
    warnings: tuple[str, ...] = ()
    groups: tuple[tuple[int, ...], ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    repeats: int | None = None

    def call(self) -> str:
        """The oracle with its settings, as in Python."""
        given = [f"{name}={value!r}" for name, value in self.settings.items()]
        if self.groups:
            shown = [str(group) for group in self.groups[:_SHOWN]]
            more = ["..."] if len(self.groups) > _SHOWN else []
            groups = f"groups=[{', '.join(shown + more)}]"
            noisy = self.oracle in PLAIN
            given.append(f"start=LocalSearch(Singletons(), {groups})" if noisy else groups)
        return f"{self.oracle}({', '.join(given)})" if given else self.oracle

    def build(self) -> Oracle:
        """A new oracle with these settings, as `auto` uses it."""
        more: dict[str, Any] = {}
        if self.groups and self.oracle in PLAIN:
            more["start"] = LocalSearch(Singletons(), groups=self.groups)
        elif self.groups:
            more["groups"] = self.groups
        return make_oracle(self.oracle, **self.settings, **more)

    def open_questions(self) -> str:
        """What is undecided, and may change the choice, in words."""
        names = [name for name in self.undecided if name not in RELIED_ON]
        if len(names) < len(self.undecided):
            names.append("what is required or declared")
        return listed(names)

    def to_decide(self) -> str:
        """What may decide the open questions, in a sentence."""
        if self.repeats is None:
            return "More probes may change the advice"
        return (
            f"Noise hides the answer. More probes do not help, but averages do: "
            f"BlackBox(repeats={self.repeats}) may change the advice"
        )

    def __str__(self) -> str:
        lines = [f"Fix first: {line}." for line in self.fix_first]
        lines.append(f"Recommended: {self.call()}, since {self.why}.")
        lines += [f"Warning: {line}." for line in self.warnings]
        if self.undecided:
            lines.append(f"Not certain: {self.open_questions()} undecided. {self.to_decide()}.")
        if self.confidence is not None:
            lines.append(
                f"Confidence: {math.floor(100 * self.confidence)}% that what the oracle relies on "
                f"is violated in at most {settings.SHARE:.0%} of such probes."
            )
        lines.append(f"Cost per round: {self.cost}.")
        return "\n".join(lines + [f"Consider: {line}." for line in self.suggestions])


def recommend(
    rows: dict[str, Property],
    *,
    n_arms: int,
    k: int,
    evaluation_s: float | None,
    used: float,
    loss: float,
    usual: float,
    noise: Noise,
    checks: SubChecks,
    repeats: int = 1,
    search: GroupSearch | None = None,
    together: Sequence[Sequence[str]] = (),
) -> Recommendation:
    """Choose by the rules.

    Parameters
    ----------
    rows
        What the probes showed, by name.
    n_arms, k
        The size of the problem.
    evaluation_s
        Seconds per value, if known.
    used
        The steepest slope seen, as a share of the declared B.
    loss
        What Oracle+ lost against a swap on average, as a share.
    usual
        The size of an ordinary value.
    noise
        How much equal questions differ.
    repeats
        Evaluations that the reward makes per value.
    checks
        What the sets of oracles were worth in sub-problems.
    search
        Arms that interact, if these were searched for.
    together
        Groups of properties that were probed together, each probe being about all of its group.
    """
    if search is not None and search.found:
        loss = math.inf  # swaps in random sets do not show what the groups found are worth
    facts = facts_of(rows, n_arms, k)
    case = case_of(facts, n_arms, k)
    oracle = CHOICES[case]
    given = noisy_settings(oracle, n_arms, k, usual, noise, repeats)
    most = ORACLE_COSTS[PLAIN.get(oracle, oracle)].most(n_arms, k)
    # Where most values are sums, the groups that were found are all there are.
    all_found = search is not None and search.by_sums and search.found
    if oracle == "LocalSearch" and _helps(rows, usual) and not all_found:
        given = {"restarts": settings.RESTARTS}
        most *= 1 + _PASSES * settings.RESTARTS
    evaluations = int(given.get("budget", repeats * most))
    undecided = open_properties(rows, n_arms, k)
    # Averages help only if noise hides what the choice depends on.
    by_noise = tuple(name for name in hidden(rows) if name in undecided)
    took = None if evaluation_s is None else evaluations / repeats * evaluation_s
    return Recommendation(
        oracle=oracle,
        case=case,
        why=reason(case, rows, n_arms, k),
        evaluations=evaluations,
        cost=_cost(oracle, evaluations, took),
        fix_first=tuple(f"{row.name}: {fix(row)}" for row in rows.values() if row.is_error),
        suggestions=tuple(suggestions(rows, used, case, loss, PLAIN.get(oracle))),
        undecided=undecided,
        confidence=_confidence(rows, case, together),
        groups=_together(search) if oracle.endswith("LocalSearch") else (),
        settings=given,
        repeats=n_repeats(by_noise, usual, noise, repeats),
        warnings=tuple(
            _warnings(oracle, rows, usual, math.comb(n_arms, k), checks.of(oracle), search)
        ),
    )


def _confidence(
    rows: dict[str, Property], case: str, together: Sequence[Sequence[str]]
) -> float | None:
    needed = {row.name: row for row in rests_on(rows, case)}
    if not needed or not all(row.holds for row in needed.values()):
        return None
    # Probes that are about several properties at once leave one doubt. All doubts add up.
    total = 0.0
    for group in [*together, *([name] for name in needed)]:
        n_probes = [needed.pop(name).n_probes for name in group if name in needed]
        total += doubt(min(n_probes)) if n_probes else 0.0
    return max(0.0, 1 - total)


def _helps(rows: dict[str, Property], usual: float) -> bool:
    """Whether arms are worth more together than alone, by more than rounding."""
    return rows["submodular"].n_violated > 0 and rows["submodular"].worst > settings.LOSES * usual


def _together(search: GroupSearch | None) -> tuple[tuple[int, ...], ...]:
    return () if search is None else tuple(one.arms for one in search.found if one.extra > 0)


def _warnings(
    oracle: str,
    rows: dict[str, Property],
    usual: float,
    n_sets: int,
    check: SubProblems | None,
    search: GroupSearch | None,
) -> list[str]:
    lines = []
    groups = "" if search is None or not search.found else search.shown()
    row = rows["submodular"]
    # More than the limit of Exhaustive would be no advice.
    cost = f", by {n_sets:,} evaluations per round" if n_sets <= Exhaustive().limit else ""
    if oracle.endswith(("LocalSearch", "Greedy")) and _helps(rows, usual):
        # With noise, one evaluation per set is not sure.
        sure = "" if oracle in PLAIN else f". Only Exhaustive is sure to find the best set{cost}"
        lines.append(
            f"{oracle} can miss the best set, because arms are worth more together than alone: an "
            f"arm added {row.worst:.3g} more to a set than to a part of it, where an ordinary "
            f"value is {usual:.3g}{sure}"
            + (f". {oracle} tries the groups that were found: {groups}" if groups else "")
        )
    elif groups:
        lines.append(f"some arms interact: {groups}. Larger groups may be missed")
    if check is not None and check.mean_ratio < 1 - settings.LOSES:
        better = max(check.others, key=lambda name: check.others[name])
        instead = ""
        if check.others[better] > check.mean_ratio + settings.LOSES:
            instead = f"; {better} reached {check.others[better]:.3f}"
        lines.append(f"{check}{instead}")
    return lines


def _cost(oracle: str, evaluations: int, took_s: float | None) -> str:
    if evaluations == 0:
        return "no evaluations"
    cost = f"{evaluations:,} evaluations ({shown_s(took_s)})"
    if oracle == "LocalSearch":
        return f"about {cost}, and more where it swaps"
    if oracle in PLAIN:
        return f"at most {cost}, its budget, and fewer when the set is certified before"
    if ORACLE_COSTS[oracle].exact:
        return cost
    return f"at most {cost}, and far fewer with remembered answers (superarm plan measures them)"
