"""What features and contexts add to the policies that do not know them."""

from __future__ import annotations

from superarm.reporting.statistics import Interval, paired_difference
from superarm.studies.own_table.analysis import Analysis, by_policy


def added(analysis: Analysis, policy: str) -> tuple[str, Interval] | None:
    """What "contexts" or "features" get more per round than the policy that knows less.

    The name of that policy, and the difference over paired runs. None if either did not play.
    """
    runs = by_policy(analysis.runs)
    less = "features" if policy == "contexts" and "features" in runs else "thompson"
    if policy not in runs or less not in runs:
        return None
    rewards = {one: [run.reward[-1] / run.at[-1] for run in runs[one]] for one in (policy, less)}
    return less, paired_difference(rewards[policy], rewards[less])


def to_use(analysis: Analysis) -> str:
    """The policy to go on with: one that knows more only where that has been shown to help."""
    for policy in ("contexts", "features"):
        if (found := added(analysis, policy)) is not None and found[1].low > 0:
            return policy
    return "thompson"
