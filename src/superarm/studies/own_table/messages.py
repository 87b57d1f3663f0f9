"""What ``superarm run`` says: warnings, who wins, and what to do next, with programs for it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from superarm.beliefs.learned_prior import SMALL
from superarm.policies import Prior
from superarm.reporting.statistics import Interval
from superarm.studies.cells.knowing import shared_of
from superarm.studies.cells.table import TableProblem
from superarm.studies.own_table.analysis import Analysis
from superarm.studies.own_table.learnable import rows_for

_MOST_MISSING = 0.9  # a larger share of missing cells gets a warning
SMALL_OUTCOMES = (
    "Outcomes that are not 0 are about {:.2g}, and Thompson sampling learns little from outcomes "
    "far below 1. Divide all of them by a smaller number, such as a value that few exceed, and "
    "write 1 for what is then above 1."
)
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
    if analysis.size < SMALL:
        found.append(SMALL_OUTCOMES.format(analysis.size))
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
    highest = "has the highest reward"
    if analysis.results[0] is not best:  # the random baseline is the first
        highest += " of the policies that learn"
    said = f"{best.policy} {highest}."
    if analysis.learnable.is_luck and not analysis.beats_luck:
        said = f"{best.policy} {highest} in these rows, which may be luck, too."
    elif beaten:
        word = highest if analysis.as_good else "wins"
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
    if "contexts" not in analysis.adds:
        return ""
    less, reward = analysis.adds["contexts"]
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
    example: Mapping[str, str | None] | None = None,
    options: str = "",
) -> list[Step]:
    """What to do next with the ``table``.

    ``folder`` is where the files are, with a slash at its end. ``prior`` is that of the runs.
    ``example`` has the cells of the context in one row.
    ``options`` say which columns are no arms, and where features are.
    """
    problem, learnable = analysis.problem, analysis.learnable
    again = f"superarm run {shlex.quote(table)} --k {problem.k}{options}"
    steps = []
    least = _SMALL * analysis.random_reward
    if not learnable.is_sure and least > 0 and not analysis.beats_luck:
        n_rows = rows_for(learnable, problem.environment.n_rounds, least)
        more = f"with about {n_rows:,} rows, luck would be {_SMALL:.0%} of the random baseline"
        if n_rows <= problem.environment.n_rounds:
            more = "the arms differ by so little that any set will do"
        steps.append(Step(f"Collect more rows before you trust the best arms: {more}."))
    chosen = analysis.to_use
    if chosen == "thompson":
        program = _plain(problem.k, folder, prior)
    else:
        program = _with_more(problem, folder, example or {}, uses_contexts=chosen == "contexts")
    steps.append(Step("Decide in a Python program, and learn from what happens:", program))
    http = "Or decide over HTTP, from any language, with a page to watch:"
    if chosen == "contexts":
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
    mean, low, high = (f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}" for value in one)
    return f"{mean} ({low} to {high})"


def _plain(k: int, folder: str, prior: Prior | None) -> str:
    """A Python program that decides without features and contexts."""
    given = "" if prior is None else f", prior={prior!r}"
    arms = json.dumps(f"{folder}arms.csv", ensure_ascii=False)  # is a string of Python, too
    return f"""\
import csv
import superarm as sa

with open({arms}, encoding="utf-8") as file:
    names = [row["arm"] for row in csv.DictReader(file)]
session = sa.Session(sa.thompson(sa.LinearReward(len(names)), k={k}{given}), names, seed=0)
decision = session.ask()  # decision.arms are to be shown
session.tell(decision, {{arm: 0.0 for arm in decision.arms}})  # what happened, from 0 to 1"""


def _with_more(
    problem: TableProblem, folder: str, example: Mapping[str, str | None], *, uses_contexts: bool
) -> str:
    """A program that uses features, contexts, or both."""
    bandit, context = (
        json.dumps(f"{folder}{name}", ensure_ascii=False)
        for name in ("bandit.json", "context.json")
    )
    known = "len(names)" if problem.known.features is None else 'bandit["features"]'
    width = ", context=len(encoder.names)" if uses_contexts else ""
    model, shared = problem.model.__name__, f"shared={shared_of(problem.k):.3g}"
    lines = [
        "import json",
        "import superarm as sa",
        f"from superarm.beliefs import {model}",
        *(["from superarm.features import Encoder"] if uses_contexts else []),
        "",
        f'with open({bandit}, encoding="utf-8") as file:',
        "    bandit = json.load(file)",
        'names = bandit["arms"]',
    ]
    if uses_contexts:
        lines += [
            f'with open({context}, encoding="utf-8") as file:',
            "    encoder = Encoder.load(json.load(file))",
            f"context = encoder.transform([{dict(example)}])[0]  # what is known of this round",
        ]
    lines += [
        f"belief = {model}({known}{width}, {shared})",
        f"policy = sa.Policy(belief, sa.TopK(), sa.LinearReward(len(names)), k={problem.k})",
        "session = sa.Session(policy, names, seed=0)",
        f"decision = session.ask({'context=context' if uses_contexts else ''})",
        "session.tell(decision, {arm: 0.0 for arm in decision.arms})  # what happened, from 0 to 1",
    ]
    return "\n".join(lines)
