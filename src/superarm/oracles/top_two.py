"""Top-two Thompson sampling for sets: the arms that decide which set is the best.

Russo: "Simple Bayesian algorithms for best-arm identification", COLT 2016, for single arms; which
arm of a pair is pulled follows Qin, You: "Dual-directed algorithm design for efficient pure
exploration", 2023.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from superarm.core import FeasibleSets, KOrSets, Reward, Sample, as_feasible, is_uniform
from superarm.core.arguments import FloatArray, IndexArray, as_count
from superarm.core.showing import one_line
from superarm.oracles._counts import as_counting, begun
from superarm.sets.feasible import Feasible
from superarm.theory.evidence import information, log_evidence


@dataclass(frozen=True)
class TopTwoReport:
    """What the sets differ in.

    Attributes
    ----------
    leader
        The best set for the sample.
    wanted
        The arms that distinguish challengers from the leader, those of the first challenger first.
    """

    leader: IndexArray
    wanted: tuple[int, ...]
    certified: bool = False

    def ranking(self, arms: IndexArray, theta: Sample) -> None:
        """None: arms are picked by what they tell, not by their values."""


class TopTwo:
    """Picks the arms that tell the best set from its challengers.

    theta is a sample of the belief, and its best set is the leader. The best set of another sample,
    if it is a different one, is a challenger. A pair of arms, one that only the leader has and one
    that only the challenger has, is drawn at random, and one of the two is wanted: each with the
    probability that is its share of the evidence so far (`information`). Each of ``n_draws``
    samples can add an arm. When challengers have become rare, the remaining places go to the pairs
    of an arm of the k largest means and an arm outside that are hardest to tell apart
    (`log_evidence`). The first arm of a pair is drawn in the same way. The other arm comes when the
    pair, with one more outcome of the first arm, would still be the hardest. Nothing here depends
    on when one stops, so use `Session.verdict` for that, or stop when the budget is used.

    For additive rewards, without evaluations. Among feasible sets other than k of m or of some of
    the m arms, the set with the wanted arms is picked, the first ones first, and otherwise the arms
    with the fewest outcomes. A round costs n_draws + 1 samples of the belief and calls of ``best``,
    and O(best · n_arms) time for a plain k. Arms without outcomes are picked first. Make the oracle
    with the belief of its policy, as `top_two` does.

    Parameters
    ----------
    belief
        The belief of the policy: it must have ``sample`` and count its outcomes.
    n_draws
        How many samples may become challengers.
    best
        How many arms are looked for, if not the k that are pulled per round. With k = 1 arms are
        pulled one at a time, as in the papers. Only for a plain k, also without some arms.

    Examples
    --------
    >>> import superarm as sa
    >>> policy, rng = sa.policies.top_two(sa.LinearReward(5), k=1), np.random.default_rng(0)
    >>> for _ in range(200):
    ...     arms = policy.ask(rng=rng)
    ...     policy.tell(arms, rng.random(1) < [0.9, 0.8, 0.2, 0.1, 0.1][arms[0]], rng=rng)
    >>> policy.belief.outcomes.counts  # the first two are hard to tell apart
    array([106.,  88.,   2.,   2.,   2.])
    """

    report: TopTwoReport | None = None

    __repr__ = one_line

    def __init__(self, belief: Any, *, n_draws: int = 4, best: int | None = None) -> None:
        self.belief: Any = as_counting(belief)
        self.n_draws = as_count(n_draws, "n_draws", least=1)
        self.best = None if best is None else as_count(best, "best", least=1)

    def select(self, reward: Reward, theta: ArrayLike, k: KOrSets, *, rng: Generator) -> IndexArray:
        """The arms that decide."""
        theta, feasible, outcomes, first = begun(self, reward, theta, k, rng=rng)
        if first is not None:
            return first
        arms = _arms_of(feasible)
        sought = self._sought(feasible, arms)
        leader = sought.best(theta, rng=rng)
        wanted = self._wanted(leader, sought, outcomes, rng)
        self.report = TopTwoReport(leader, tuple(wanted))
        if arms is not None and sought.n_most < len(arms):
            rest = np.zeros(reward.n_arms)
            rest[arms] = _closeness(outcomes.counts[arms], outcomes.sums[arms], sought.n_most, rng)
        else:
            rest = 1 / (1 + outcomes.counts + rng.random(reward.n_arms))
        return feasible.best(_urgency(wanted, rest, feasible), rng=rng)

    def check_sets(self, feasible: FeasibleSets) -> None:
        """Refuse constraints with ``best``, and fewer arms than that."""
        self._sought(feasible, _arms_of(feasible))

    def _sought(self, feasible: FeasibleSets, arms: IndexArray | None) -> FeasibleSets:
        """The sets among which the best one is looked for."""
        if self.best is None:
            return feasible
        if arms is None:
            raise ValueError(
                f"best={self.best} needs sets of a plain k, without constraints, got "
                f"{feasible!r}; leave best out"
            )
        if is_uniform(feasible):
            return as_feasible(self.best, len(feasible.undecided))
        return Feasible(self.best, available=feasible.undecided)

    def _wanted(
        self, leader: IndexArray, sought: FeasibleSets, outcomes: Any, rng: np.random.Generator
    ) -> list[int]:
        """One arm for each challenger, without repetitions."""
        wanted: dict[int, None] = {}  # keeps the order
        for _ in range(self.n_draws):
            challenger = sought.best(self.belief.sample(rng=rng), rng=rng)
            mine, its = np.setdiff1d(leader, challenger), np.setdiff1d(challenger, leader)
            if len(mine) and len(its):
                wanted[_one_of(rng.choice(mine), rng.choice(its), outcomes, rng)] = None
            elif len(mine) or len(its):  # one of the sets has more arms
                wanted[int(rng.choice(np.append(mine, its)))] = None
        return list(wanted)


def _one_of(i: int, j: int, outcomes: Any, rng: np.random.Generator) -> int:
    """One arm of a pair, by its share of the evidence."""
    shares = _share(*information(outcomes.counts, outcomes.sums, ([i], [j])))
    return int(i if rng.random() < shares[0] else j)


def _share(mine: FloatArray, its: FloatArray) -> FloatArray:
    """The first number as a share of both; a half if both are 0."""
    total = mine + its
    return np.where(total > 0, mine / np.where(total > 0, total, 1.0), 0.5)


def _arms_of(feasible: FeasibleSets) -> IndexArray | None:
    """The arms of which all sets of k are feasible; None if there are other constraints."""
    is_plain = is_uniform(feasible) or (isinstance(feasible, Feasible) and feasible.is_plain)
    return np.flatnonzero(feasible.undecided) if is_plain else None


def _closeness(
    counts: FloatArray, sums: FloatArray, k: int, rng: np.random.Generator
) -> FloatArray:
    """Shape (n_arms,), from 0 to 1: the place of each arm when the closest pairs come first."""
    noise = rng.random(len(counts))
    # Arms with equal means draw lots.
    order = np.lexsort((noise, -sums / np.maximum(counts, 1)))
    pair = order[:k, None], order[None, k:]
    evidence = log_evidence(counts, sums, pair)
    mine, its = information(counts, sums, pair)
    is_first = rng.random(evidence.shape) < _share(mine, its)
    # The other arm waits for what one more outcome of the first one adds.
    n = np.maximum(counts, 1)
    after_i, after_j = evidence + mine / n[pair[0]], evidence + its / n[pair[1]]
    least = np.empty(len(counts))
    least[order[:k]] = np.where(is_first, evidence, after_j).min(axis=1)
    least[order[k:]] = np.where(is_first, after_i, evidence).min(axis=0)
    closeness = np.empty(len(counts))
    closeness[np.lexsort((noise, least))] = np.linspace(1, 0, len(counts))
    return closeness


def _urgency(wanted: list[int], rest: FloatArray, feasible: FeasibleSets) -> FloatArray:
    """Values whose best set has as many of the wanted arms as possible, the first ones first."""
    if is_uniform(feasible):
        values = rest.copy()
        values[wanted] = 1 + np.arange(len(wanted), 0, -1)
        return values
    # Halves, so that each arm outweighs all later ones together.
    halves = 0.5 ** np.arange(len(wanted))
    values = rest * 0.5 ** len(wanted) / (4 * max(1, feasible.n_most))
    values[wanted] = halves
    return values
