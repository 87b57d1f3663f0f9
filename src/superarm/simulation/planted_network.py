"""Planted best arms in a two-layer network: how much they win by, and a proof that they win."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from superarm.core.arguments import FloatArray, IndexArray
from superarm.core.special import expit

# The largest mean of an arm that is not planted.
_MOST_X = 0.9
# Smaller values of x are as good as 0, for which there is no instance.
_LEAST_X = 1e-6
_BISECTIONS = 40
# The bisections after which arms that cannot make the best swap are left out of the next ones.
_STEPS_TO_LOOK = (2, 5, 10)
# Of values: far more than sums in another order differ.
_ROUNDING = 1e-9
# The factor by which x falls until the proof succeeds.
_STEP_DOWN = 0.9


@dataclass(frozen=True)
class PlantedNetwork:
    """A network whose first k arms are planted as the best set.

    Attributes
    ----------
    W1, w2
        The weights, shapes (n_hidden, n_arms) and (n_hidden,), none negative.
    k
        How many arms are planted.
    """

    W1: FloatArray
    w2: FloatArray
    k: int

    def swap_gap(self, planted: FloatArray, others: FloatArray) -> float:
        """How much the planted set loses by the least harmful swap of one arm.

        ``planted`` and ``others`` are the means of the planted arms and of all other arms.
        """
        total = self._inputs(planted, others)[0].sum(axis=1)
        return float(self.w2 @ expit(total) - self._swapped(planted, others).max())

    def is_proven(self, planted: FloatArray, others: FloatArray) -> bool:
        """Whether no swap of several arms can be less harmful than the best swap of one arm.

        The network is monotone and submodular for non-negative weights: several arms together add
        at most the sum of what each of them adds alone. The check looks at all 2^k subsets of the
        planted arms.
        """
        ours, theirs = self._inputs(planted, others)
        total = ours.sum(axis=1)
        second_best = float(self.w2 @ expit(total)) - self.swap_gap(planted, others)
        for n_out in range(2, self.k + 1):
            for out in combinations(range(self.k), n_out):
                stay = total - ours[:, out].sum(axis=1)
                value = float(self.w2 @ expit(stay))
                added = self.w2 @ expit(stay[:, None] + theirs) - value
                if value + np.sort(added)[-n_out:].sum() > second_best:
                    return False
        return True

    def largest_x(self, planted: FloatArray, spread: FloatArray, gap: float) -> float:
        """The largest x for which other arms of means x · spread leave the gap; 0 if none does."""
        low, high = 0.0, _MOST_X
        if self.swap_gap(planted, high * spread) >= gap:
            low = high
        else:
            near, among = self, spread
            for step in range(_BISECTIONS):
                middle = (low + high) / 2
                is_wide = near.swap_gap(planted, middle * among) >= gap
                low, high = (middle, high) if is_wide else (low, middle)
                if step in _STEPS_TO_LOOK:
                    keep = near._may_be_best(planted, low * among, high * among)
                    columns = np.concatenate([np.arange(self.k), self.k + keep])
                    near = PlantedNetwork(near.W1[:, columns], self.w2, self.k)
                    among = among[keep]
        while low > _LEAST_X and not self.is_proven(planted, low * spread):
            low *= _STEP_DOWN
        return low if low > _LEAST_X else 0.0

    def _swapped(self, planted: FloatArray, others: FloatArray) -> FloatArray:
        """Shape (k, n_others): the value with each planted arm replaced by each other arm."""
        ours, theirs = self._inputs(planted, others)
        total = ours.sum(axis=1)
        return np.array(
            [self.w2 @ expit(total[:, None] - ours[:, [s]] + theirs) for s in range(self.k)]
        )

    def _may_be_best(self, planted: FloatArray, low: FloatArray, high: FloatArray) -> IndexArray:
        """The other arms of which one makes the best swap, for all means from low to high.

        Values rise with means, so an arm whose value at ``high`` is below the best at ``low`` never
        does.
        """
        best = float(self._swapped(planted, low).max())
        values = self._swapped(planted, high).max(axis=0)
        return (values >= best - _ROUNDING * abs(best)).nonzero()[0]

    def _inputs(self, planted: FloatArray, others: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What the planted arms, and all other arms, put into each neuron."""
        return self.W1[:, : self.k] * planted, self.W1[:, self.k :] * others
