"""What the runs over a table say: one result per policy, one row per arm, one row per run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from superarm.core.arguments import FloatArray, IndexArray
from superarm.reporting.statistics import Interval, mean_interval, paired_difference
from superarm.studies.cells.table import NO_GAP, TableProblem
from superarm.studies.own_table.learnable import Learnable
from superarm.studies.study import Rows

_CURVES = ("reward", "best", "random")  # of a row, at the checkpoints


@dataclass(frozen=True, eq=False)
class Result:
    """How one policy did, over its runs. Runs of the same number meet the same rows.

    Attributes
    ----------
    rewards, best, random
        Shape (n_runs, n_checkpoints): total rewards up to there, of the policy, and of the best
        fixed set and the random baseline in the same rows.
    closed
        Shape (n_runs,): where each run ended between the random baseline, 0, and the best fixed
        set, 1; None if these are equal.
    shown
        Shape (n_arms,): the share of the rounds in which each arm was picked.
    reward, gap_closed, regret
        Over the runs: the reward per round, ``closed``, and what the policy lost in all rounds
        together against the best fixed set, which is negative if that was beaten.
    behind
        What the best policy that learns got more per round, over paired runs.
    """

    policy: str
    rewards: FloatArray
    best: FloatArray
    random: FloatArray
    closed: FloatArray | None
    shown: FloatArray
    reward: Interval
    gap_closed: Interval | None
    regret: Interval
    behind: Interval


@dataclass(frozen=True, eq=False)
class Analysis:
    """Everything that the report, the files and the terminal show, computed once.

    Attributes
    ----------
    problem, at
        What was played, and the rounds for which totals are kept; the last is the horizon.
    learnable
        Which part of the gap is no luck.
    by_policy, results
        One result per policy, in the order in which they were played, and the best first.
    as_good
        The policies that these runs do not distinguish from the best policy that learns.
    adds
        For "contexts" and "features", if they were played: the policy to which they add, and what
        per round, over paired runs.
    arms, run_rows
        The rows of arms.csv and runs.csv.
    """

    problem: TableProblem
    at: IndexArray
    by_policy: dict[str, Result]
    learnable: Learnable
    results: list[Result]
    as_good: list[str]
    adds: dict[str, tuple[str, Interval]]
    arms: list[dict[str, Any]]
    run_rows: list[dict[str, Any]]

    @cached_property
    def learners(self) -> list[Result]:
        """The results of the policies that learn, the best first."""
        return [result for result in self.results if result.policy != "random"]

    @property
    def missing(self) -> float:
        """The share of the cells that are missing."""
        table = self.problem.environment
        return float(table.n_missing.sum()) / (table.n_rounds * table.n_arms)

    def of_learnable(self, result: Result) -> Interval | None:
        """The reward on a scale where random sets have 0 and all that can be learned is 1.

        The interval is over the runs. None if it is not certain that anything can be learned.
        """
        if not self.learnable.is_sure or result.gap_closed is None:
            return None
        ratio = self.problem.gap / self.problem.horizon / self.learnable.gap.mean
        return Interval(*(ratio * share for share in result.gap_closed.numbers))

    def in_points(self, reward: Interval) -> Interval | None:
        """Rewards per round as percentage points of the gap; None without a gap."""
        gap = self.problem.gap / self.problem.horizon
        if gap <= NO_GAP:
            return None
        return Interval(*(100 * value / gap for value in reward.numbers))

    @cached_property
    def to_use(self) -> str:
        """The policy to go on with: one that knows more only where that has been shown to help."""
        better = [policy for policy, (_, reward) in self.adds.items() if reward.low > 0]
        return better[0] if better else "thompson"


def analyse(problem: TableProblem, rows: Rows, learnable: Learnable) -> Analysis:
    """Everything that follows from the rows."""
    results = results_of(rows)
    by_policy = {result.policy: result for result in results}
    return Analysis(
        problem,
        np.array(rows[0]["checkpoints"], np.intp),
        by_policy,
        learnable,
        sorted(results, key=lambda result: -result.reward.mean),
        not_distinguished(results),
        _adds(by_policy, problem.horizon),
        _arm_rows(problem, results),
        _run_rows(results, problem.horizon),
    )


def results_of(rows: Rows) -> list[Result]:
    """One result per policy, from the rows of its runs and in their order."""
    runs: dict[str, Rows] = {}
    for row in rows:
        runs.setdefault(row["policy"], []).append(row)
    horizon, gap = rows[0]["checkpoints"][-1], rows[0]["gap"]
    per_round = {
        policy: np.array([row["reward"][-1] for row in own]) / horizon
        for policy, own in runs.items()
    }
    # Only the random baseline can be alone.
    first = max(runs, key=lambda policy: (policy != "random", per_round[policy].mean()))
    found = []
    for policy, own in runs.items():
        rewards, best, random = (np.array([row[name] for row in own]) for name in _CURVES)
        # The gap is that of the table, so that either all runs have a share or none has. A division
        # by a rounding error would give an arbitrary number of any size.
        closed = None if gap <= NO_GAP else (rewards[:, -1] - random[:, -1]) / gap
        found.append(
            Result(
                policy,
                rewards,
                best,
                random,
                closed,
                shown=np.mean([row["n_shown"] for row in own], axis=0) / horizon,
                reward=mean_interval(per_round[policy]),
                gap_closed=None if closed is None else mean_interval(closed),
                regret=mean_interval(best[:, -1] - rewards[:, -1]),
                # Runs with the same number meet the same rows, so that the paired difference has
                # a much narrower interval than the two means.
                behind=paired_difference(per_round[first], per_round[policy]),
            )
        )
    return found


def not_distinguished(results: Sequence[Result]) -> list[str]:
    """The policies that may be as good as the best policy that learns.

    For them, the 95% interval of the paired difference contains 0.
    """
    # The random baseline may be the first if nothing can be learned. It is still no winner.
    learners = [result for result in results if result.policy != "random"]
    best = max(learners, key=lambda result: result.reward.mean, default=None)
    others = [result for result in results if result is not best]
    return [one.policy for one in others if best is not None and one.behind.low <= 0]


def numbers(analysis: Analysis, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Everything that the report shows as plain data, and the curves of every run."""
    problem, table = analysis.problem, analysis.problem.environment
    known: dict[str, Any] = {
        "settings": dict(settings),
        "n_rounds": table.n_rounds,
        "n_arms": table.n_arms,
        "n_missing": int(table.n_missing.sum()),
        "best_fixed_set": {
            "arms": [table.names[arm] for arm in table.best_arms(problem.k)],
            "reward": problem.best_reward,
        },
        # The word of earlier versions of the file, which programs may read.
        "chance": {"reward": problem.random_reward},
        "learnable": {
            # Fewer than ten rows have no interval.
            "gap": [one if np.isfinite(one) else None for one in analysis.learnable.gap.numbers],
            "gap_in_hindsight": analysis.learnable.hindsight,
            "gap_by_luck": analysis.learnable.luck,
            "p_value": analysis.learnable.p_value,
        },
        "policies": [
            {
                "policy": result.policy,
                "reward": result.reward.numbers,
                "gap_closed": None if result.gap_closed is None else result.gap_closed.numbers,
                "regret": result.regret.numbers,
                "behind": result.behind.numbers,
            }
            for result in analysis.results
        ],
        "checkpoints": analysis.at.tolist(),
        "curves": [
            {"policy": policy, "run": run, "reward": reward.tolist(), "regret": regret.tolist()}
            for policy, one in analysis.by_policy.items()
            for run, (reward, regret) in enumerate(
                zip(one.rewards, one.best - one.rewards, strict=True)
            )
        ],
    }
    if "contexts" in analysis.adds:
        less, reward = analysis.adds["contexts"]
        known["contexts_add"] = {"to": less, "reward": reward.numbers}
    return known


def _adds(results: Mapping[str, Result], horizon: int) -> dict[str, tuple[str, Interval]]:
    """What contexts add to features, or to "thompson" without them, and features to "thompson"."""
    found = {}
    for policy in (one for one in ("contexts", "features") if one in results):
        less = "features" if policy == "contexts" and "features" in results else "thompson"
        if less in results:
            got, base = (results[one].rewards[:, -1] / horizon for one in (policy, less))
            found[policy] = less, paired_difference(got, base)
    return found


def _arm_rows(problem: TableProblem, results: Sequence[Result]) -> list[dict[str, Any]]:
    """One row per arm, the largest mean first: outcomes, and how often each policy picked it."""
    table = problem.environment
    best = set(table.best_arms(problem.k).tolist())
    return [
        {
            "arm": table.names[arm],
            "mean_outcome": float(table.means[arm]),
            "n_missing": int(table.n_missing[arm]),
            "in_best_fixed_set": int(arm in best),
            **{f"shown_by_{result.policy}": float(result.shown[arm]) for result in results},
        }
        # Stable: arms with equal means keep the order of the columns.
        for arm in np.argsort(-table.means, kind="stable").tolist()
    ]


def _run_rows(results: Sequence[Result], horizon: int) -> list[dict[str, Any]]:
    """One row per run, policy by policy."""
    return [
        {
            "policy": one.policy,
            "run": run,
            "rounds": horizon,
            "reward": float(reward),
            "reward_of_best_fixed_set": float(best),
            "reward_of_chance": float(random),
            "regret": float(best - reward),
            "gap_closed": None if one.closed is None else float(one.closed[run]),
        }
        for one in results
        for run, (reward, best, random) in enumerate(
            zip(one.rewards[:, -1], one.best[:, -1], one.random[:, -1], strict=True)
        )
    ]
