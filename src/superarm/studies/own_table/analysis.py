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


@dataclass(frozen=True, eq=False)
class Run:
    """One run of one policy.

    Attributes
    ----------
    policy, number
        The policy, and the number of the run; runs of the same number meet the same rows.
    at
        Shape (n_checkpoints,): the rounds for which totals are kept; the last is the horizon.
    reward, best, random
        Shape (n_checkpoints,): total rewards up to there, of the policy, and of the best fixed set
        and the random baseline in the same rows.
    n_shown
        Shape (n_arms,): in how many rounds each arm was picked.
    gap
        What the best fixed set gets more than the random baseline, by all rows of the table.
    """

    policy: str
    number: int
    at: IndexArray
    reward: FloatArray
    best: FloatArray
    random: FloatArray
    n_shown: IndexArray
    gap: float

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Run:
        """The run that a recorded row describes."""
        at, n_shown = (np.array(row[name], np.intp) for name in ("checkpoints", "n_shown"))
        reward, best, random = (np.array(row[name]) for name in ("reward", "best", "random"))
        return cls(row["policy"], row["run"], at, reward, best, random, n_shown, row["gap"])

    @property
    def regret(self) -> FloatArray:
        """The loss against the best fixed set up to each checkpoint; negative if it was beaten."""
        return self.best - self.reward

    @property
    def gap_closed(self) -> float:
        """Where the run ended between the random baseline, 0, and the best fixed set, 1.

        NaN if these are equal.
        """
        # A division by a rounding error would give an arbitrary number of any size.
        if self.gap <= NO_GAP:
            return float("nan")
        return float(self.reward[-1] - self.random[-1]) / self.gap


@dataclass(frozen=True)
class Result:
    """How one policy did, over its runs.

    Attributes
    ----------
    reward
        Reward per round.
    gap_closed
        Where the policy stands between the random baseline, 0, and the best fixed set, 1; None if
        these are equal.
    regret
        What it lost in all rounds together, against the best fixed set in the same rows.
    behind
        What the best policy that learns got more per round, over paired runs.
    """

    policy: str
    reward: Interval
    gap_closed: Interval | None
    regret: Interval
    behind: Interval


@dataclass(frozen=True, eq=False)
class Analysis:
    """Everything that the report, the files and the terminal show, computed once.

    Attributes
    ----------
    problem, runs, by_policy
        What was played, the runs, policy by policy, and those of each policy.
    learnable
        Which part of the gap is no luck.
    results
        One per policy, the best first.
    as_good
        The policies that these runs do not distinguish from the best policy that learns.
    adds
        For "contexts" and "features", if they were played: the policy to which they add, and what
        per round, over paired runs.
    arms, run_rows
        The rows of arms.csv and runs.csv.
    """

    problem: TableProblem
    runs: list[Run]
    by_policy: dict[str, list[Run]]
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
    runs = [Run.of(row) for row in rows]
    grouped: dict[str, list[Run]] = {}
    for run in runs:
        grouped.setdefault(run.policy, []).append(run)
    results = results_of(grouped)
    return Analysis(
        problem,
        runs,
        grouped,
        learnable,
        sorted(results, key=lambda result: -result.reward.mean),
        not_distinguished(results),
        _adds(grouped),
        _arm_rows(problem, grouped),
        [_run_row(run) for run in runs],
    )


def results_of(grouped: Mapping[str, list[Run]]) -> list[Result]:
    """One result per policy, from the runs of each and in their order."""
    found = []
    rewards = {
        policy: np.array([run.reward[-1] / run.at[-1] for run in own])
        for policy, own in grouped.items()
    }
    # Only the random baseline can be alone.
    best = max(rewards, key=lambda policy: (policy != "random", rewards[policy].mean()))
    for policy, own in grouped.items():
        closed = [run.gap_closed for run in own]
        found.append(
            Result(
                policy,
                mean_interval(rewards[policy]),
                # The gap is that of the table, so that either all runs have a share or none has.
                None if np.isnan(closed).any() else mean_interval(closed),
                mean_interval([run.regret[-1] for run in own]),
                # Runs with the same number meet the same rows, so that the paired difference has
                # a much narrower interval than the two means.
                paired_difference(rewards[best], rewards[policy]),
            )
        )
    return found


def not_distinguished(results: Sequence[Result]) -> list[str]:
    """The policies that may be as good as the best policy that learns.

    For them, the 95% interval of the paired difference contains 0.
    """
    # The random baseline may be the first if nothing can be learnt. It is still no winner.
    learners = [result for result in results if result.policy != "random"]
    best = max(learners, key=lambda result: result.reward.mean, default=None)
    others = [result for result in results if result is not best]
    return [one.policy for one in others if best is not None and one.behind.low <= 0]


def numbers(analysis: Analysis, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Everything that the report shows as plain data, and the curves of every run."""
    problem, runs = analysis.problem, analysis.runs
    table = problem.environment
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
    if "contexts" in analysis.adds:
        less, reward = analysis.adds["contexts"]
        known["contexts_add"] = {"to": less, "reward": reward.numbers}
    return known


def _adds(grouped: Mapping[str, list[Run]]) -> dict[str, tuple[str, Interval]]:
    """What contexts add to features, or to "thompson" without them, and features to "thompson"."""
    found = {}
    for policy in (one for one in ("contexts", "features") if one in grouped):
        less = "features" if policy == "contexts" and "features" in grouped else "thompson"
        got, base = (
            [run.reward[-1] / run.at[-1] for run in grouped.get(one, ())] for one in (policy, less)
        )
        if base:
            found[policy] = less, paired_difference(got, base)
    return found


def _arm_rows(problem: TableProblem, grouped: Mapping[str, list[Run]]) -> list[dict[str, Any]]:
    """One row per arm, the largest mean first: outcomes, and how often each policy picked it."""
    table = problem.environment
    best = set(table.best_arms(problem.k).tolist())
    shown = {
        policy: np.mean([run.n_shown for run in own], axis=0) / problem.horizon
        for policy, own in grouped.items()
    }
    return [
        {
            "arm": table.names[arm],
            "mean_outcome": float(table.means[arm]),
            "n_missing": int(table.n_missing[arm]),
            "in_best_fixed_set": int(arm in best),
            **{f"shown_by_{policy}": float(share[arm]) for policy, share in shown.items()},
        }
        # Stable: arms with equal means keep the order of the columns.
        for arm in np.argsort(-table.means, kind="stable").tolist()
    ]


def _run_row(run: Run) -> dict[str, Any]:
    return {
        "policy": run.policy,
        "run": run.number,
        "rounds": int(run.at[-1]),
        "reward": float(run.reward[-1]),
        "reward_of_best_fixed_set": float(run.best[-1]),
        "reward_of_chance": float(run.random[-1]),
        "regret": float(run.regret[-1]),
        "gap_closed": None if np.isnan(run.gap_closed) else run.gap_closed,
    }
