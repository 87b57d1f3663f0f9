"""What the runs over a table say: one result per policy, one row per arm, one row per run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from superarm.core.arguments import FloatArray, IndexArray
from superarm.environments import ReplayEnvironment
from superarm.reporting.statistics import Interval, mean_interval
from superarm.studies.cell import Rows
from superarm.studies.cells.table import NO_GAP, TableProblem
from superarm.studies.own_table.learnable import Learnable

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
        How much more the best policy that learns got per round, over paired runs.
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
    best_set, best_reward, random_reward, gap, missing, size
        Of the table: the names of the arms of the best fixed set, what this set and a random set
        get per round, the difference of these, the share of the cells that are missing, and the
        mean outcome, each weighted by itself: the size of outcomes that are not 0.
    learnable
        Which part of the gap is no luck.
    by_policy, results, learners
        One result per policy, in the order in which they were played, and the best first; and the
        policies that learn, the best first.
    as_good
        The policies that these runs do not distinguish from the best policy that learns.
    beats_luck
        Whether the best policy that learns has what no set that never changes can have. The test of
        luck is about such sets. Contexts may help, or arms change, if all are alike on average.
    adds, to_use
        For "contexts" and "features", if they were played: the policy to which they add, and what
        per round, over paired runs. And the policy to go on with, which knows more only where that
        has been shown to help.
    arms, run_rows
        The rows of arms.csv and runs.csv.
    """

    problem: TableProblem
    at: IndexArray
    best_set: list[str]
    best_reward: float
    random_reward: float
    gap: float
    missing: float
    size: float
    learnable: Learnable
    by_policy: dict[str, Result]
    results: list[Result]
    learners: list[Result]
    as_good: list[str]
    beats_luck: bool
    adds: dict[str, tuple[str, Interval]]
    to_use: str
    arms: list[dict[str, Any]]
    run_rows: list[dict[str, Any]]

    def of_learnable(self, result: Result) -> Interval | None:
        """The reward on a scale where random sets have 0 and all that can be learned is 1.

        The interval is over the runs. None if it is not certain that anything can be learned.
        """
        if not self.learnable.is_sure or result.gap_closed is None:
            return None
        ratio = self.gap / self.learnable.gap.mean
        return Interval(*(ratio * share for share in result.gap_closed))

    def in_points(self, reward: Interval) -> Interval | None:
        """Rewards per round as percentage points of the gap; None without a gap."""
        if self.gap <= NO_GAP:
            return None
        return Interval(*(100 * value / self.gap for value in reward))


def analyse(problem: TableProblem, rows: Rows, learnable: Learnable) -> Analysis:
    """Everything that follows from the rows."""
    table, played = problem.environment, results_of(rows)
    by_policy = {result.policy: result for result in played}
    results = sorted(played, key=lambda result: -result.reward.mean)
    adds = _adds(by_policy, problem.horizon)
    to_use = next((more for more, (_, reward) in adds.items() if reward.low > 0), "thompson")
    learners = [result for result in results if result.policy != "random"]
    first = learners[0] if learners else None
    best_set = [table.names[arm] for arm in table.best_arms(problem.k)]
    best_reward, random_reward = table.best_fixed(problem.k), table.random_set(problem.k)
    sums = squares = 0.0
    for column in table.table.T:  # of all columns together, squares would be another table
        sums += float(np.nansum(column, dtype=np.float64))
        squares += float(np.nansum(np.square(column, dtype=np.float64)))
    return Analysis(
        problem,
        np.array(rows[0]["checkpoints"], np.intp),
        best_set,
        best_reward=best_reward,
        random_reward=random_reward,
        gap=best_reward - random_reward,
        missing=float(table.n_missing.sum()) / table.table.size,
        size=squares / sums if sums else 1.0,
        learnable=learnable,
        by_policy=by_policy,
        results=results,
        learners=learners,
        # Their intervals contain 0. The random baseline may be as good, but is never the best.
        as_good=[
            one.policy for one in played if first and one is not first and one.behind.low <= 0
        ],
        beats_luck=first is not None
        and (first.regret.high < 0 or first.policy == to_use == "contexts"),
        adds=adds,
        to_use=to_use,
        arms=_arm_rows(table, best_set, played),
        run_rows=_run_rows(played, problem.horizon),
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
                behind=mean_interval(per_round[first] - per_round[policy]),
            )
        )
    return found


def numbers(analysis: Analysis, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Everything that the report shows as plain data, and the curves of every run."""
    table = analysis.problem.environment
    known: dict[str, Any] = {
        "settings": dict(settings),
        "n_rounds": table.n_rounds,
        "n_arms": table.n_arms,
        "n_missing": int(table.n_missing.sum()),
        "best_fixed_set": {
            "arms": analysis.best_set,
            "reward": analysis.best_reward,
        },
        # The word of earlier versions of the file, which programs may read.
        "chance": {"reward": analysis.random_reward},
        "learnable": {
            # Fewer than ten rows have no interval.
            "gap": [one if np.isfinite(one) else None for one in analysis.learnable.gap],
            "gap_in_hindsight": analysis.learnable.hindsight,
            "gap_by_luck": analysis.learnable.luck,
            "p_value": analysis.learnable.p_value,
        },
        "policies": [
            {
                "policy": result.policy,
                "reward": result.reward,
                "gap_closed": result.gap_closed,
                "regret": result.regret,
                "behind": result.behind,
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
        known["contexts_add"] = {"to": less, "reward": reward}
    return known


def _adds(results: Mapping[str, Result], horizon: int) -> dict[str, tuple[str, Interval]]:
    """What contexts add to features, or to "thompson" without them, and features to "thompson"."""
    found = {}
    for policy in (one for one in ("contexts", "features") if one in results):
        less = "features" if policy == "contexts" and "features" in results else "thompson"
        if less in results:
            got, base = (results[one].rewards[:, -1] / horizon for one in (policy, less))
            found[policy] = less, mean_interval(got - base)
    return found


def _arm_rows(
    table: ReplayEnvironment, best_set: Sequence[str], results: Sequence[Result]
) -> list[dict[str, Any]]:
    """One row per arm, the largest mean first: outcomes, and how often each policy picked it."""
    best = set(best_set)
    return [
        {
            "arm": table.names[arm],
            "mean_outcome": float(table.means[arm]),
            "n_missing": int(table.n_missing[arm]),
            "in_best_fixed_set": int(table.names[arm] in best),
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
