"""What sub-problems showed, as data and as text."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SubProblems:
    """The recommended oracle next to `Exhaustive`, on random sub-problems with few of the arms.

    Attributes
    ----------
    oracle
        The oracle that was checked.
    n_problems, n_arms, k
        How many sub-problems, how many arms each of them has, and the arms per set.
    mean_ratio, worst_ratio
        The value of the oracle's set divided by the value of the best set: on average, and in the
        worst sub-problem.
    others
        The mean ratio of several oracles in the same sub-problems, by name.
    """

    oracle: str
    n_problems: int
    n_arms: int
    k: int
    mean_ratio: float
    worst_ratio: float
    others: dict[str, float]

    def __str__(self) -> str:
        many = "s" if self.n_problems > 1 else ""
        return (
            f"on {self.n_problems} random sub-problem{many} ({self.k} of {self.n_arms} arms), "
            f"sets of {self.oracle} were worth {self.mean_ratio:.3f} of the best set on average, "
            f"{self.worst_ratio:.3f} at worst"
        )
