"""What the runs say: a row a policy, a row an arm, a row a run; numbers only, the same for the same seed."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from superarm.experiments.stats import Interval, mean_interval, paired_difference
from superarm.own_table.playing import Game, Run


@dataclass(frozen=True)
class Finding:
    """How one policy did, over its runs.

    Attributes
    ----------
    reward
        Reward a round.
    gap_closed
        Where it stands between chance, 0, and the best fixed set, 1; None where these are equal.
    regret
        What it lost in all rounds together, against the best fixed set in the same rows.
    """

    policy: str
    reward: Interval
    gap_closed: Interval | None
    regret: Interval


def find(runs: Sequence[Run]) -> list[Finding]:
    """A finding for each policy, the best first."""
    found = []
    for policy in dict.fromkeys(run.policy for run in runs):
        own = [run for run in runs if run.policy == policy]
        closed = [run.gap_closed for run in own]
        found.append(
            Finding(
                policy,
                mean_interval([run.reward[-1] / run.at[-1] for run in own]),
                None if np.isnan(closed).any() else mean_interval(closed),
                mean_interval([run.regret[-1] for run in own]),
            )
        )
    return sorted(found, key=lambda finding: -finding.reward.mean)


def not_told_apart(runs: Sequence[Run], best: str) -> list[str]:
    """The policies that may be as good as the best: the 95% interval of the paired difference has 0 in it."""
    rewards = {
        policy: [run.reward[-1] for run in runs if run.policy == policy]
        for policy in dict.fromkeys(run.policy for run in runs)
    }
    return [
        policy
        for policy, got in rewards.items()
        if policy != best and paired_difference(rewards[best], got).low <= 0
    ]


def arms_table(game: Game, runs: Sequence[Run]) -> list[dict[str, Any]]:
    """A row an arm, the largest mean first: its outcomes, and in which share of the rounds each policy showed it."""
    world = game.world
    best = set(world.best_arms(game.k).tolist())
    shown = {
        policy: np.mean([run.n_shown for run in runs if run.policy == policy], axis=0)
        / game.horizon
        for policy in dict.fromkeys(run.policy for run in runs)
    }
    return [
        {
            "arm": world.names[arm],
            "mean_outcome": float(world.means[arm]),
            "n_missing": int(world.n_missing[arm]),
            "in_best_fixed_set": int(arm in best),
            **{f"shown_by_{policy}": float(share[arm]) for policy, share in shown.items()},
        }
        for arm in np.argsort(-world.means, kind="stable").tolist()
    ]


def runs_table(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """A row a run."""
    return [
        {
            "policy": run.policy,
            "run": run.number,
            "rounds": int(run.at[-1]),
            "reward": float(run.reward[-1]),
            "reward_of_best_fixed_set": float(run.best[-1]),
            "reward_of_chance": float(run.chance[-1]),
            "regret": float(run.regret[-1]),
            "gap_closed": None if np.isnan(run.gap_closed) else run.gap_closed,
        }
        for run in runs
    ]


def numbers(game: Game, runs: Sequence[Run], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Everything that the report shows, as plain data, and the curves of every run."""
    world = game.world
    return {
        "settings": dict(settings),
        "n_rounds": world.n_rounds,
        "n_arms": world.n_arms,
        "n_missing": int(world.n_missing.sum()),
        "best_fixed_set": {
            "arms": [world.names[arm] for arm in world.best_arms(game.k)],
            "reward": world.best_fixed(game.k),
        },
        "chance": {"reward": world.random_set(game.k)},
        "policies": [
            {
                "policy": finding.policy,
                "reward": _as_list(finding.reward),
                "gap_closed": None if finding.gap_closed is None else _as_list(finding.gap_closed),
                "regret": _as_list(finding.regret),
            }
            for finding in find(runs)
        ],
        "checkpoints": runs[0].at.tolist(),
        "curves": [
            {
                "policy": run.policy,
                "run": run.number,
                "reward": run.reward.tolist(),
                "regret": run.regret.tolist(),
            }
            for run in runs
        ],
    }


def as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as CSV, with their keys as a line of names."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _as_list(interval: Interval) -> list[float]:
    """The mean, and the ends of its 95% interval."""
    return [interval.mean, interval.low, interval.high]
