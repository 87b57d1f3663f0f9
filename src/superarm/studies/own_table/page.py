"""The report of ``superarm run``: one HTML file for a person with a table and no Python."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from superarm.experiments.figures import band, label_ends, plain, render
from superarm.experiments.report import STYLE, table
from superarm.experiments.stats import Interval
from superarm.own_table.findings import Finding, arms_table, find, not_told_apart
from superarm.own_table.playing import PLAYERS, Game, Run

_MOST_ARMS = 50
_BEST_COLOUR, _CHANCE_COLOUR = "#009E73", "#777777"
# A colour and a dash for each policy; those that are of one family share the colour.
_STYLES = {
    "cts": ("#0072B2", "-"),
    "single-seed": ("#0072B2", "--"),
    "gaussian": ("#D55E00", "-"),
    "discounted": ("#56B4E9", "-"),
    "sliding": ("#56B4E9", "--"),
    "cucb": ("#999999", "-"),
    "kl-ucb": ("#E69F00", "-"),
    "escb": ("#E69F00", "--"),
    "epsilon-greedy": ("#CC79A7", "-"),
    "explore-then-commit": ("#CC79A7", "--"),
    "exp3": ("#882255", "-"),
    "random": ("#000000", "-"),
}


def picture(game: Game, runs: Sequence[Run]) -> bytes:
    """Two panels, as a PNG file: the reward a round up to each round, and what was lost against the best fixed set."""

    def draw(figure: Any) -> None:
        left, right = figure.subplots(1, 2)
        at = runs[0].at
        # The first rounds are so few that their mean is noise, and would set the scale.
        late = at >= min(max(10, game.horizon // 50), game.horizon)
        ends: dict[str, tuple[float, str]] = {}
        losses: dict[str, tuple[float, str]] = {}
        for policy in dict.fromkeys(run.policy for run in runs):
            own = [run for run in runs if run.policy == policy]
            colour, dash = _STYLES[policy]
            means = np.array([run.reward / run.at for run in own])
            band(left, at[late], means[:, late], colour, dash, least=-np.inf)
            band(right, at, np.array([run.regret for run in own]), colour, dash, least=-np.inf)
            ends[policy] = float(means[:, -1].mean()), colour
            losses[policy] = float(np.mean([run.regret[-1] for run in own])), colour
        for name, values, colour in (
            ("best fixed set", [run.best / run.at for run in runs], _BEST_COLOUR),
            ("chance", [run.chance / run.at for run in runs], _CHANCE_COLOUR),
        ):
            line = np.mean(values, axis=0)
            left.plot(at[late], line[late], color=colour, linestyle=":", linewidth=1.7)
            ends[name] = float(line[-1]), colour
        right.axhline(0, color=_BEST_COLOUR, linestyle=":", linewidth=1.7)
        losses["best fixed set"] = 0.0, _BEST_COLOUR
        left.set_title("reward a round, so far", loc="left")
        right.set_title("lost against the best fixed set", loc="left")
        for axis, names, y in ((left, ends, "reward"), (right, losses, "reward lost, in all")):
            plain(axis, "round", y)
            axis.set_xlim(0, game.horizon)
            label_ends(axis, names)

    return render(draw)


def html(
    game: Game, runs: Sequence[Run], settings: Mapping[str, Any], version: str, image: bytes
) -> str:
    """The whole page."""
    world, found = game.world, find(runs)
    name = escape(str(settings["table"]))
    data = base64.b64encode(image).decode()
    n_runs = len({run.number for run in runs})
    best = ", ".join(escape(world.names[arm]) for arm in world.best_arms(game.k))
    arms = arms_table(game, runs)
    paragraphs = "\n".join(f"<p>{text}</p>" for text in _explained(game, settings, best, n_runs))
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>superarm: {name}</title><style>{STYLE}</style></head><body>
<h1>{name}: {game.k} of {world.n_arms:,} arms, round after round</h1>
<p class="dim">Made by <code>superarm run</code>, superarm {escape(version)}: {game.horizon:,} rounds,
{n_runs} runs of each policy, rows in {game.order} order, seed {settings["seed"]}.</p>
<h2 id="answer">The answer</h2>
{_answer(found, game, runs)}
{table(_CAPTION, _policy_rows(found, game))}
<img alt="Reward a round, and what was lost against the best fixed set, for each policy"
src="data:image/png;base64,{data}">
<p><small>Each curve is the mean of {n_runs} runs, and its band the 95% interval of that mean.</small></p>
<h2 id="how">What was done</h2>
{paragraphs}
<h2 id="policies">The policies</h2>
<ul>{"".join(f"<li><strong>{escape(one.policy)}</strong>: {escape(PLAYERS[one.policy].about)}</li>" for one in found)}
</ul>
<h2 id="arms">The arms</h2>
{_arms(arms, [one.policy for one in found])}
<h2 id="not">What this does not say</h2>
{_limits(game)}
</body></html>
"""


_CAPTION = (
    "Means over the runs, with 95% intervals. Gap closed: 0% is chance, 100% is the best set that never changes, "
    "known only afterwards."
)


def _answer(found: Sequence[Finding], game: Game, runs: Sequence[Run]) -> str:
    world, k = game.world, game.k
    best, chance = world.best_fixed(k), world.random_set(k)
    if found[0].gap_closed is None:
        return "<p>All arms have the same mean, so every set is as good as any other, and there is nothing to learn.</p>"
    learners = [finding for finding in found if finding.policy != "random"]
    lines = [
        f"{_arms_of(k)} by chance would have given {chance:.4g} a round; the best {_arms_of(k)} that never change, "
        f"known only afterwards, {best:.4g}."
    ]
    if learners:
        winner = learners[0]
        lines.append(
            f"The best of the policies that learn, <strong>{escape(winner.policy)}</strong>, got "
            f"{winner.reward.mean:.4g}: it closed <strong>{_percent(winner.gap_closed)}</strong> of the gap between "
            f"the two."
        )
        if others := not_told_apart(runs, winner.policy):
            lines.append(f"These runs do not tell it apart from {escape(', '.join(others))}.")
    return f"<p>{' '.join(lines)}</p>"


def _policy_rows(found: Sequence[Finding], game: Game) -> list[list[str]]:
    rows = [["policy", "reward a round", "gap closed", f"lost in {game.horizon:,} rounds"]]
    best = game.world.best_fixed(game.k)
    rows.append(["(best fixed set)", f"{best:.4g}", "100%", "0"])
    for finding in found:
        closed = "–" if finding.gap_closed is None else _percent(finding.gap_closed)
        rows.append([finding.policy, _four(finding.reward), closed, _four(finding.regret)])
    rows.append(["(chance, on average)", f"{game.world.random_set(game.k):.4g}", "0%", ""])
    return rows


def _explained(game: Game, settings: Mapping[str, Any], best: str, n_runs: int) -> list[str]:
    world, k = game.world, game.k
    cells = world.n_rounds * world.n_arms
    missing = int(world.n_missing.sum())
    lines = [
        f"The table has a column for each of {world.n_arms:,} arms, and {settings['n_rows']:,} rows, which are the "
        f"rounds. In every round a policy picks {_arms_of(k)} without seeing the row. Then it is told the cells of its "
        f"own arms, and of no others, and its reward is their sum. From this it learns which arms to pick.",
        f"The best fixed set is the {_arms_of(k)} of the largest means: <strong>{best}</strong>. Nobody could have "
        f"known it beforehand.",
    ]
    if skipped := settings["skipped"]:
        lines.append(f"Left out as no arms: {escape(', '.join(skipped))}.")
    if missing:
        lines.append(
            f"{missing:,} of {cells:,} cells ({missing / cells:.1%}) are missing. Of such a cell a policy is told "
            f"nothing. In the rewards on this page it counts as the mean of its column, for everyone alike."
        )
    if game.horizon < settings["n_rows"]:
        which = (
            f"the first {game.horizon:,} rows, and everything on this page is about these"
            if game.order == "given"
            else f"{game.horizon:,} rows that are drawn anew for each run; the best fixed set is that of all rows"
        )
        lines.append(
            f"Not every row is played: each run has {which}. <code>--horizon</code> changes that."
        )
    lines.append(
        f"Each policy played {n_runs} times, and its runs are paired with those of the others: the same rows in the "
        f"same order."
    )
    return lines


def _limits(game: Game) -> str:
    order = (
        "All runs met the same rows in the same order, as they are in the file. So the intervals say how much is due "
        "to the policies' own chance, and not how other rows would have gone."
        if game.order == "given"
        else "The rows came in an order that was drawn for each run. If arms became better or worse in the course of "
        "time, this hides it: compare with <code>--order given</code>."
    )
    points = [
        order,
        "The table is taken for what would have happened whatever was picked. If showing an arm changes what happens "
        "later, no table can tell.",
        "The reward is the sum of the outcomes. Where arms of a set help or hinder each other, it is another one.",
        "A set that changes may beat the best fixed set, where arms change: then more than 100% of the gap is closed.",
    ]
    return f"<ul>{''.join(f'<li>{point}</li>' for point in points)}</ul>"


def _arms(arms: Sequence[Mapping[str, Any]], policies: Sequence[str]) -> str:
    rows = [
        ["arm", "mean outcome", "cells missing", *(f"shown by {policy}" for policy in policies)]
    ]
    rows += [
        [
            f"{'★ ' if arm['in_best_fixed_set'] else ''}{arm['arm']}",
            f"{arm['mean_outcome']:.4f}",
            f"{arm['n_missing']:,}",
            *(f"{arm[f'shown_by_{policy}']:.1%}" for policy in policies),
        ]
        for arm in arms[:_MOST_ARMS]
    ]
    caption = "★ is in the best fixed set. Shown: in which share of the rounds, mean over the runs."
    if len(arms) > _MOST_ARMS:
        caption += f" The {_MOST_ARMS} best of {len(arms):,} arms; arms.csv has all."
    return table(caption, rows)


def _arms_of(k: int) -> str:
    return "1 arm" if k == 1 else f"{k:,} arms"


def _percent(interval: Interval | None) -> str:
    if interval is None:
        return "–"
    if not np.isfinite(interval.low):
        return f"{interval.mean:.1%}"
    return f"{interval.mean:.1%} ({interval.low:.1%} to {interval.high:.1%})"


def _four(interval: Interval) -> str:
    mean, low, high = (
        f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}" for value in _ends(interval)
    )
    return f"{mean} ({low} to {high})"


def _ends(interval: Interval) -> tuple[float, float, float]:
    return interval.mean, interval.low, interval.high
