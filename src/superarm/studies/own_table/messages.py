"""What ``superarm run`` says in words: warnings, who wins, and what to do next."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from superarm.policies import Prior
from superarm.reporting.statistics import Interval
from superarm.studies.own_table.analysis import Analysis
from superarm.studies.own_table.gains import added, to_use
from superarm.studies.own_table.learnable import rows_for
from superarm.studies.own_table.programs import program

_MOST_MISSING = 0.9  # a larger share of missing cells gets a warning
_SMALL = 0.1  # luck that is below this share of the random baseline is called small


@dataclass(frozen=True)
class Step:
    """Something to do next: a sentence, and lines of code or of a terminal."""

    sentence: str
    code: str = ""


def warnings(analysis: Analysis) -> list[str]:
    """What makes the results doubtful, in full sentences."""
    found, learnable = [], analysis.learnable
    if analysis.missing > _MOST_MISSING:
        found.append(
            f"{analysis.missing:.1%} of the cells are missing. Policies learned from the few "
            f"others, and a missing cell counts as the mean of its column, so the results say "
            f"little. If only shown items have outcomes, use off-policy estimates "
            f"(superarm.offpolicy)."
        )
    if learnable.is_luck:
        found.append(
            f"The gap may be luck: nothing shows that the arms differ (p = "
            f"{learnable.p_value:.2g}). Compared within rows, the best arms are "
            f"{learnable.hindsight:.4g} per round above the random baseline. If the outcomes of "
            f"each row are shuffled among the arms, this is {learnable.luck:.4g} on average."
        )
    elif not np.isfinite(learnable.gap.low):
        found.append("The rows are too few to tell which arms are the best.")
    elif not learnable.is_sure:
        found.append(
            f"The arms differ (p = {learnable.p_value:.2g}), but the rows are too few to tell "
            f"which arms are the best: sets chosen on other rows beat the random baseline by "
            f"{interval(learnable.gap)} per round."
        )
    return found


def verdict(analysis: Analysis) -> str:
    """Which policy wins, against which others, and how much of what can be learned it got."""
    if not analysis.learners:
        return ""
    best = analysis.learners[0]
    beaten = [one.policy for one in analysis.learners[1:] if one.policy not in analysis.as_good]
    said = f"{best.policy} has the highest reward."
    if analysis.learnable.is_luck:
        said = f"{best.policy} has the highest reward in these rows, which may be luck, too."
    elif beaten:
        word = "has the highest reward" if analysis.as_good else "wins"
        said = f"{best.policy} {word}: in paired runs it is ahead of {', '.join(beaten)}."
    if analysis.as_good:
        said += f" These runs do not distinguish it from {', '.join(analysis.as_good)}."
    share = analysis.of_learnable(best)
    if share is not None:
        alone = "" if analysis.problem.known.contexts is None else " without contexts"
        said += f" It got {share.mean:.0%} of the gap that can be learned{alone}."
    return said


def contexts_sentence(analysis: Analysis) -> str:
    """What contexts add, with its interval over paired runs; empty without contexts."""
    found = added(analysis, "contexts")
    if found is None:
        return ""
    less, reward = found
    points = analysis.in_points(reward)
    of_gap = "" if points is None else f", {points.mean:.0f} points of the gap"
    said = f"Contexts add {interval(reward)} per round to {less}{of_gap}."
    if reward.low > 0:
        return said
    if reward.high < 0:
        return f"{said} They do harm here: leave them out."
    return f"{said} These runs do not show that they help."


def next_steps(
    analysis: Analysis,
    table: str,
    folder: str = "",
    *,
    prior: Prior | None = None,
    example: Mapping[str, str] | None = None,
    options: str = "",
) -> list[Step]:
    """What to do next with the ``table``.

    ``folder`` is where the files are, with a slash at its end. ``prior`` is that of the runs.
    ``example`` has the cells of the context in one row. ``options`` say which columns are no arms.
    """
    problem, learnable = analysis.problem, analysis.learnable
    again = f"superarm run {shlex.quote(table)} --k {problem.k}{options}"
    steps = []
    least = _SMALL * problem.environment.random_set(problem.k)
    if not learnable.is_sure and least > 0:
        n_rows = rows_for(learnable, problem.environment.n_rounds, least)
        more = f"with about {n_rows:,} rows, luck would be {_SMALL:.0%} of the random baseline"
        if n_rows <= problem.environment.n_rounds:
            more = "the arms differ by so little that any set will do"
        steps.append(Step(f"Collect more rows before you trust the best arms: {more}."))
    steps.append(
        Step(
            "Decide in a Python program, and learn from what happens:",
            program(analysis, folder, prior, example or {}),
        )
    )
    http = "Or decide over HTTP, from any language, with a page to watch:"
    if to_use(analysis) == "contexts":
        http = f"{http[:-1]}. Send the numbers of encoder.transform as the context:"
    steps.append(
        Step(
            http,
            f"superarm serve &\ncurl 127.0.0.1:8321/v1/bandits -H 'Content-Type: application/json' "
            f"-d {shlex.quote(f'@{folder}bandit.json')}",
        )
    )
    if problem.known.features is None:  # they say something about arms that were never shown
        sentence = "If features of the arms are known, such as a price or a category, try them:"
        command = f"{again} --features FEATURES.csv"
        steps.append(Step(sentence, command))
    if problem.known.contexts is None:
        sentence = (
            "If something is known before each round, such as the weekday, try it as a column:"
        )
        command = f"{again} --context COLUMNS"
        steps.append(Step(sentence, command))
    return steps


def interval(one: Interval) -> str:
    """A number with its interval, in four digits."""
    mean, low, high = (
        f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}" for value in one.numbers
    )
    return f"{mean} ({low} to {high})"
