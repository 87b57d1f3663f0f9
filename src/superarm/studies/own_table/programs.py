"""The programs that ``superarm run`` proposes: they decide with the policy that did best."""

from __future__ import annotations

import json
from collections.abc import Mapping

from superarm.policies import Prior
from superarm.studies.cells.knowing import shared_of
from superarm.studies.cells.table import TableProblem
from superarm.studies.own_table.analysis import Analysis
from superarm.studies.own_table.gains import to_use


def program(
    analysis: Analysis, folder: str, prior: Prior | None, example: Mapping[str, str]
) -> str:
    """A Python program; ``example`` has the cells of the context in one row."""
    chosen = to_use(analysis)
    if chosen == "thompson":
        return _plain(analysis.problem.k, folder, prior)
    return _with_more(analysis.problem, folder, example, uses_contexts=chosen == "contexts")


def _plain(k: int, folder: str, prior: Prior | None) -> str:
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
    problem: TableProblem, folder: str, example: Mapping[str, str], *, uses_contexts: bool
) -> str:
    """A program that uses features, contexts, or both."""
    bandit, context = (
        json.dumps(f"{folder}{name}", ensure_ascii=False)
        for name in ("bandit.json", "context.json")
    )
    row = json.dumps(dict(example), ensure_ascii=False)
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
            f"context = encoder.transform([{row}])[0]  # what is known of this round",
        ]
    lines += [
        f"belief = {model}({known}{width}, {shared})",
        f"policy = sa.Policy(belief, sa.TopK(), sa.LinearReward(len(names)), k={problem.k})",
        "session = sa.Session(policy, names, seed=0)",
        f"decision = session.ask({'context=context' if uses_contexts else ''})",
        "session.tell(decision, {arm: 0.0 for arm in decision.arms})  # what happened, from 0 to 1",
    ]
    return "\n".join(lines)
