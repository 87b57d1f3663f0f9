"""Which of some sets is worth most, from noisy answers: successive elimination.

All sets that are still in get one answer per sweep. So the difference of two sets has one sample
per sweep, and its bound is that of the differences, which is narrower than the bounds of two sets
by themselves. Bounds hold at any time, so one may look after every sweep (Even-Dar, Mannor,
Mansour: "Action elimination and stopping conditions for the multi-armed bandit", JMLR 2006).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from superarm.core import Pools, Reward, top_k
from superarm.core.arguments import FloatArray, IndexArray, as_values
from superarm.core.declarations import evaluations_per_value
from superarm.core.progress import current_round
from superarm.oracles._noise import N_WARM_UP, Noise
from superarm.oracles._noise_checks import warn_of_few_values

# Sweeps between two looks, as a share of the sweeps so far: a look costs time, not evaluations.
_SHARE_PER_LOOK = 1 / 10


class Winner(NamedTuple):
    """The set that won, by its place among the sets.

    ``value``: the average of its answers; NaN without an answer. ``slack``: by how much another set
    may be worth more; inf if nothing is known.
    """

    place: int
    value: float
    slack: float


class Sweeps:
    """Answers about some sets: equally many about each set that is still in.

    Parameters
    ----------
    sets
        The sets, ascending each.
    most
        The largest number of evaluations.
    about
        What the contest is about, for the messages of progress.
    """

    def __init__(
        self,
        reward: Reward,
        theta: FloatArray,
        sets: list[IndexArray],
        noise: Noise,
        most: int,
        about: str = "one contest",
    ) -> None:
        self.reward, self.theta, self.sets, self.noise = reward, theta, sets, noise
        self.places = np.arange(len(sets))
        self.answers: FloatArray = np.zeros((0, len(sets)))
        self.evaluations, self.most, self.about = 0, most, about
        self._each = evaluations_per_value(reward)
        self._pools = Pools.of(sets, reward.n_arms)
        shown = current_round()
        if shown is not None:
            shown.undecided = self.undecided
        if noise.is_cold:
            self._warm_up()

    def sweep(self, alpha: float) -> bool:
        """Get some more answers about all sets that are in; False if too few evaluations are left.

        The first answers are as many as it takes to conclude anything.
        """
        n = len(self.answers)
        n_wanted = max(1, self.noise.n_first(alpha) - n, int(_SHARE_PER_LOOK * n))
        times = min(n_wanted, self._n_left() // len(self.places))
        if times < 1:
            return False
        # One batch for all sweeps, so that an executor has much to do at once.
        values = self._ask(self._pools.join(*[self._pools] * (times - 1)))
        self.answers = np.concatenate([self.answers, values.reshape(times, -1)])
        return True

    def below(self, place: int, alpha: float) -> tuple[FloatArray, FloatArray]:
        """How much more each set seems to be worth than one of them, and how far that may be off.

        Shape (number of sets that are in,) each. ``place`` counts among these.
        """
        means = self.answers.mean(axis=0)
        off = self.noise.off_pairs(self.answers, place, alpha, float(self.reward.upper))
        return means - means[place], off

    def keep(self, stays: NDArray[np.bool_]) -> None:
        """Let only some of the sets that are in stay in."""
        if not stays.all():
            self.places, self.answers = self.places[stays], self.answers[:, stays]
            self._pools = Pools.of([self.sets[place] for place in self.places], len(self.theta))

    def learn(self) -> None:
        """Let the next decision know how large the noise is, about."""
        if len(self.answers) > 1:
            rest = self.answers - self.answers.mean(axis=0)
            self.noise.warm_up(rest.ravel(), float(self.reward.upper))

    def undecided(self) -> str:
        """How many sets are still in, as words."""
        return f"{len(self.places):,} of {len(self.sets):,} sets, {self.about}"

    def _n_left(self) -> int:
        return (self.most - self.evaluations) // self._each

    def _warm_up(self) -> None:
        times = min(N_WARM_UP, self._n_left() - len(self.sets))
        if times > 1:
            one = Pools.of([self.sets[0]] * times, len(self.theta))
            answers = self._ask(one)
            warn_of_few_values(self.reward, answers)
            self.noise.warm_up(answers, float(self.reward.upper))

    def _ask(self, pools: Pools) -> FloatArray:
        self.evaluations += len(pools) * self._each
        return as_values(self.reward.batch(pools, self.theta), pools)


def best_of(sweeps: Sweeps, delta: float, tolerance: float, *, rng: np.random.Generator) -> Winner:
    """A set that is worth at most ``tolerance`` less than the best one, or the best guess.

    No set is worth more than the winner by more than its slack, with probability 1 - delta. Proof:
    let b be a best set. If for each other set the difference to b never seems larger than it is, by
    more than its bound, then b is never eliminated, because another set never seems surely better.
    So the slack is at least that of b, which is at least what b is worth more. There are n - 1 such
    pairs, with delta / (n - 1) each.
    """
    alpha, slack = delta / max(1, len(sweeps.sets) - 1), np.inf
    leader = 0
    while len(sweeps.places) > 1 and sweeps.sweep(alpha):
        leader = int(top_k(sweeps.answers.mean(axis=0), 1, rng=rng)[0])
        more, off = sweeps.below(leader, alpha)
        most = more + off
        most[leader] = 0.0
        slack = float(most.max())
        if slack <= tolerance:
            break
        winner = sweeps.places[leader]
        sweeps.keep(most >= 0)
        leader = int(np.flatnonzero(sweeps.places == winner)[0])
    if len(sweeps.places) == 1:
        slack = 0.0
    sweeps.learn()
    n = len(sweeps.answers)
    value = float(sweeps.answers[:, leader].mean()) if n else np.nan
    return Winner(int(sweeps.places[leader]), value, slack)


def better_than_first(sweeps: Sweeps, delta: float, tolerance: float) -> Winner:
    """A set that is surely worth more than the first one; the first one if there is none.

    With probability 1 - delta: a winner other than the first set is worth more, and if the first
    set wins, no set is worth more by more than its slack, which is at most ``tolerance`` unless the
    evaluations are used up. Each other set must not seem better than it is, and a best set not
    worse: n bounds, with delta / n each.
    """
    alpha, known, slack = delta / len(sweeps.sets), 0.0, np.inf
    while sweeps.sweep(alpha):
        more, off = sweeps.below(0, alpha)
        least, most = more - off, more + off
        least[0], most[0] = -np.inf, 0.0
        best = int(least.argmax())
        if least[best] > 0:
            sweeps.learn()
            return Winner(int(sweeps.places[best]), float(sweeps.answers[:, best].mean()), np.inf)
        # A set that cannot be worth much more needs no further answers.
        stays = most > tolerance
        known = max(known, float(most[~stays].max(initial=0.0)))
        slack = max(known, float(most.max()))
        if not stays.any():
            break
        stays[0] = True
        sweeps.keep(stays)
    sweeps.learn()
    return Winner(0, float(sweeps.answers[:, 0].mean()) if len(sweeps.answers) else np.nan, slack)
