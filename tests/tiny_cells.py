"""Cells that take milliseconds, for tests of the runner and of the store."""

from superarm.studies import Cell

PROBLEMS = (
    {"family": "linear", "n_arms": 20, "k": 2, "gap": 0.2},
    {"family": "network", "n_arms": 12, "k": 2, "gap": 0.05},
)
POLICIES = (
    {"name": "cts"},
    {"name": "random"},
    {"name": "gt-qts-k-of-m", "delta": 0.2, "n_tests": 10},
    {"name": "gt-qts", "delta": 0.2, "n_tests": 10},
)
TINY = [
    Cell(
        "play",
        {"problem": problem, "policy": policy, "horizon": 30, "label": policy["name"]},
        seed=3,
        run=run,
    )
    for run in range(2)
    for problem in PROBLEMS
    for policy in POLICIES
]
