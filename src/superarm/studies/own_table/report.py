"""The files of ``superarm run``: numbers, and a page for people who have a table and no Python."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from superarm.beliefs import LinearBelief
from superarm.catalog import POLICIES
from superarm.features import Encoder
from superarm.reporting import files
from superarm.reporting.figures import Look, band, inline, look, name_curves, panels, render
from superarm.reporting.palette import INK, RED
from superarm.reporting.statistics import Interval
from superarm.reporting.tables import Table
from superarm.studies.cells.knowing import shared_of
from superarm.studies.cells.table import part_of
from superarm.studies.own_table.analysis import Analysis, numbers
from superarm.studies.own_table.messages import (
    Step,
    contexts_sentence,
    interval,
    next_steps,
    verdict,
    warnings,
)
from superarm.studies.study import Done
from superarm.version import __version__

# All files that `write` may write.
_DATA = ("numbers.json", "runs.csv", "arms.csv", "bandit.json", "context.json")
FILES = (*_DATA, "picture.svg", "report.html")
_TEMPLATE = Path(__file__).parent / "report.html"
_MOST_ARMS = 50  # on the page; arms.csv has all of them
_BEST, _RANDOM = Look(RED, ":"), Look(INK, ":")
_PICTURE = "Reward per round, and what was lost against the best fixed set, for each policy"

_STAR = "★\N{NO-BREAK SPACE}"  # stays with the first word of the name


def write(
    found: Analysis,
    settings: dict[str, Any],
    path: Path,
    folder: Path,
    encoder: Encoder | None,
    example: Mapping[str, str | None],
    options: str,
) -> Done:
    """Write all files of a run of the table in ``path``; returns what the terminal shows.

    ``example`` and ``options`` are as in `next_steps`.
    """
    steps = partial(next_steps, found, prior=settings["prior"], example=example, options=options)
    texts = {
        "numbers.json": json.dumps(numbers(found, settings), indent=1, allow_nan=False) + "\n",
        "runs.csv": files.as_csv(found.run_rows),
        "arms.csv": files.as_csv(found.arms),
        "bandit.json": json.dumps(_bandit(found, settings), ensure_ascii=False) + "\n",
    }
    # Without the packages that draw, people still get their numbers.
    lacking = files.lacks("matplotlib", "jinja2")
    if not lacking:
        svg = render(partial(draw, analysis=found))
        # Files are named as seen from the page, and below as seen from the terminal.
        page = html(found, settings, svg, steps(path.name))
        texts |= {"picture.svg": svg, "report.html": page}
    if encoder is not None:
        state = json.dumps(encoder.state(), ensure_ascii=False)
        texts = {"context.json": state + "\n", **texts}
    # The page comes last: once it is there, all other files are complete.
    last = [files.write(folder / name, text) for name, text in texts.items()][-1]
    to_do = "\n".join(
        step.sentence + "".join(f"\n    {line}" for line in step.code.splitlines())
        for step in steps(path.as_posix(), f"{folder.as_posix()}/")
    )
    notes = [
        *(f"Warning: {warning}" for warning in warnings(found)),
        verdict(found),
        contexts_sentence(found),
        f"What to do next\n{to_do}",
    ]
    if lacking:
        install = f"pip install {' '.join(lacking)}"
        notes.append(f"The tables were written, but no page: it needs {install}")
    return Done(folder if lacking else last, [summary(found)], notes)


def draw(figure: Any, analysis: Analysis) -> None:
    """Two panels: the reward per round so far, and what was lost against the best fixed set."""
    policies, at, horizon = analysis.by_policy, analysis.at, analysis.problem.horizon
    # Names stand in two columns. Two of the names are no policies.
    rewards, losses = panels(figure, 2, n_names=(len(policies) + 3) // 2)
    # In the first rounds the mean is mostly noise, and would set the scale.
    late = at >= min(max(10, horizon // 50), horizon)
    ends: dict[str, tuple[float, Look]] = {}
    lost: dict[str, tuple[float, Look]] = {"best fixed set": (0.0, _BEST)}
    for policy, result in policies.items():
        part = part_of(policy, analysis.problem)
        # Colours of the catalog are changed for dark screens; this policy is not in the catalog.
        style = look(part.label) if policy in POLICIES else Look(part.colour, part.dash)
        band(rewards, at[late], (result.rewards / at)[:, late], style, least=-np.inf)
        band(losses, at, result.best - result.rewards, style, least=-np.inf)
        ends[policy], lost[policy] = (result.reward.mean, style), (result.regret.mean, style)
    for name, values, style in (
        # The mean over the runs of all policies: in shuffled order each run meets other rows.
        ("best fixed set", [result.best for result in policies.values()], _BEST),
        ("random baseline", [result.random for result in policies.values()], _RANDOM),
    ):
        line = np.mean(np.concatenate(values) / at, axis=0)
        rewards.plot(at[late], line[late], color=style.colour, linestyle=":", linewidth=1.7)
        ends[name] = float(line[-1]), style
    losses.axhline(0, color=_BEST.colour, linestyle=":", linewidth=1.7)
    rewards.set_title("reward per round, so far", loc="left")
    losses.set_title("lost against the best fixed set", loc="left")
    for axis, names, y in ((rewards, ends, "reward"), (losses, lost, "reward lost, in all")):
        axis.set(xlabel="round", ylabel=y)
        axis.set_xlim(0, horizon)
        name_curves(axis, names)


def html(
    analysis: Analysis,
    settings: Mapping[str, Any],
    svg: str,
    steps: Sequence[Step] = (),
) -> str:
    """The whole page; ``svg`` is the picture, ``steps`` are what to do next."""
    problem, table = analysis.problem, analysis.problem.environment
    return files.render(
        _TEMPLATE,
        settings=settings,
        version=__version__,
        problem=problem,
        table=table,
        n_runs=len(analysis.results[0].rewards),
        n_cells=table.n_rounds * table.n_arms,
        n_missing=int(table.n_missing.sum()),
        best_arms=", ".join(analysis.best_set),
        best=f"{analysis.best_reward:.4g}",
        random=f"{analysis.random_reward:.4g}",
        learnable=analysis.learnable,
        can_be_learned=interval(analysis.learnable.gap),
        warnings=warnings(analysis),
        verdict=verdict(analysis),
        contexts=contexts_sentence(analysis),
        steps=steps,
        nothing_to_learn=analysis.results[0].gap_closed is None,
        policies=[part_of(result.policy, problem) for result in analysis.results],
        results=_results_table(analysis),
        arms=_arms_table(analysis),
        picture=inline(svg, "picture", _PICTURE) if svg else "",
    )


def _bandit(found: Analysis, settings: dict[str, Any]) -> dict[str, Any]:
    """The request that makes a bandit with these arms, for the service."""
    problem, prior, chosen = found.problem, settings.get("prior"), found.to_use
    arms = list(problem.environment.names)
    bandit: dict[str, Any] = {"name": Path(settings["table"]).stem, "arms": arms, "k": problem.k}
    if chosen == "thompson":
        return bandit if prior is None else {**bandit, "prior": prior}
    kind = "linear" if problem.model is LinearBelief else "logistic"
    bandit["belief"] = {"kind": kind, "shared": shared_of(problem.k)}
    if problem.known.features is not None:
        bandit["features"] = problem.known.features.tolist()
    if chosen == "contexts":
        assert problem.known.contexts is not None
        bandit["belief"]["context"] = problem.known.contexts.shape[1]
    return bandit


def summary(analysis: Analysis) -> Table:
    """The table for the terminal, which has at most 80 columns."""
    problem = analysis.problem
    rows = [["best fixed set", f"{analysis.best_reward:.4g}", "100%", "", ""]]
    if (learnable := _learnable_row(analysis)) is not None:
        rows.append(["learnable", *learnable, ""])
    for result in analysis.results:
        points = analysis.in_points(result.behind)
        behind = [] if points is None or not any(points) else points
        rows.append(
            [
                result.policy,
                f"{result.reward.mean:.4g}",
                *_share(result.gap_closed, 0),
                "{:.0f} ({:.0f} to {:.0f})".format(*behind) if behind else "",
            ]
        )
    return Table(
        ["policy", "per round", "gap closed", "95% interval", "points behind"],
        rows,
        title=f"{problem.k} of {problem.environment.n_arms:,} arms, {problem.horizon:,} rounds",
        caption="learnable: sets chosen on other rows; points behind: over paired runs",
    )


def _learnable_row(analysis: Analysis) -> list[str] | None:
    """What can be learned: the reward per round, and the share of the gap with its interval."""
    found = analysis.in_points(analysis.learnable.gap)
    if found is None or not np.isfinite(found.low):
        return None
    share = Interval(*(points / 100 for points in found))
    return [f"{analysis.random_reward + analysis.learnable.gap.mean:.4g}", *_share(share, 0)]


def _share(share: Interval | None, digits: int) -> list[str]:
    """A share, and its interval with this number of digits."""
    if share is None:
        return ["–", ""]
    # A single run has no interval.
    bounded = np.isfinite(share.low)
    ends = f"{share.low:.{digits}%} to {share.high:.{digits}%}" if bounded else ""
    return [f"{share.mean:.1%}", ends]


def _results_table(analysis: Analysis) -> Table:
    problem = analysis.problem
    best, random = (f"{value:.4g}" for value in (analysis.best_reward, analysis.random_reward))
    # The parentheses say that this is no policy that one could use.
    rows = [["(best fixed set)", best, "100%", "", "", "0"]]
    if (learnable := _learnable_row(analysis)) is not None:
        reward, share, ends = learnable
        rows.append(["(what can be learned)", reward, f"{share} ({ends})", "100%", "", ""])
    for result in analysis.results:
        got, (closed, ends) = analysis.of_learnable(result), _share(result.gap_closed, 1)
        rows.append(
            [
                result.policy,
                interval(result.reward),
                f"{closed} ({ends})" if ends else closed,
                "–" if got is None else f"{got.mean:.0%}",
                interval(result.behind) if any(result.behind) else "",
                interval(result.regret),
            ]
        )
    rows.append(["(random baseline, on average)", random, "0%", "", "", ""])
    heading = ["policy", "reward per round", "gap closed", "of what can be learned"]
    return Table(
        [*heading, "behind the best policy", f"lost in {problem.horizon:,} rounds"],
        rows,
        caption="Means over the runs, with 95% intervals. Gap closed: 0% is the random baseline, "
        "100% is the best set that never changes, known only afterwards. More is better. Behind "
        "the best policy: in reward per round, over paired runs.",
    )


def _arms_table(analysis: Analysis) -> Table:
    policies = [result.policy for result in analysis.results]
    rows = [
        [
            f"{_STAR if arm['in_best_fixed_set'] else ''}{arm['arm']}",
            f"{arm['mean_outcome']:.4f}",
            f"{arm['n_missing']:,}",
            *(f"{arm[f'shown_by_{policy}']:.1%}" for policy in policies),
        ]
        for arm in analysis.arms[:_MOST_ARMS]
    ]
    caption = "★ is in the best fixed set. Shown: the share of rounds, mean over the runs."
    if len(analysis.arms) > _MOST_ARMS:
        caption += f" The {_MOST_ARMS} best of {len(analysis.arms):,} arms; arms.csv has all."
    heading = ["arm", "mean outcome", "cells missing", *(f"shown by {name}" for name in policies)]
    return Table(heading, rows, caption=caption)
