"""Probes about several properties at once, for inspections with a budget.

Each draws one question, and changes it in several ways. A property costs one or two evaluations
per probe, instead of two to six.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from superarm.advice.asking import AskingMany, Findings, batch, probe, same, singles
from superarm.advice.probes import Lipschitz
from superarm.advice.random_inputs import RandomInputs
from superarm.advice.shape_probes import part_and_whole

_WIDE = 200  # arms in a set, at most, where sets are larger than usual

Combined = Callable[[RandomInputs], AskingMany]


@dataclass(frozen=True)
class Required:
    """A set again, in another order, in two batches, at moved means, with an arm of mean 0."""

    lipschitz: Lipschitz
    upper: float
    zero_is_absent: bool

    names = ("deterministic", "batch = single", "mean-only", "order", "lipschitz", "bounded")

    def n_evaluations(self, n_arms: int) -> int:
        """How many evaluations a probe needs at most."""
        return 6 + (self.zero_is_absent and n_arms > 1)

    def __call__(self, draw: RandomInputs) -> AskingMany:
        """One set."""
        arms = draw.arms(draw.size(least=1))
        outside = draw.arms(1) if self.zero_is_absent else arms[:0]
        arms = np.sort(arms[~np.isin(arms, outside)]) if len(arms) > 1 else arms
        more = outside[~np.isin(outside, arms)]
        means = draw.means(len(arms))
        shuffled, there = draw.rng.permutation(len(arms)), draw.move(means)
        theta, other = draw.means(draw.n_arms), draw.means(draw.n_arms)
        theta[arms] = other[arms] = means
        sets, rows = [arms, arms[shuffled], arms], [means, means[shuffled], there]
        if len(more):
            sets.append(np.append(arms, more))
            rows.append(np.append(means, 0.0))
        # The first question comes again at the end: a reward may remember the last one.
        sort = [True, False] + [True] * (len(sets) - 1)
        values = yield singles([*sets, arms], [*rows, means], sort)
        (batched,) = yield batch([arms], theta)
        (elsewhere,) = yield batch([arms], other)
        base = values[0]
        found: Findings = {
            "deterministic": same(arms, means, [base, values[-1]]),
            "batch = single": same(
                arms, means, [batched, base], "a batch and a single call differ"
            ),
            "mean-only": same(
                arms,
                means,
                [batched, elsewhere],
                "in a batch the value changes with the means of arms outside the set",
            ),
            "order": probe(
                sets[:2],
                rows[:2],
                values[:2],
                abs(values[1] - base),
                "the order of the arms changes the value",
                sort=False,
            ),
            "lipschitz": self.lipschitz.moved(arms, means, there, values[[0, 2]]),
            "bounded": probe(
                [arms],
                [means],
                [base],
                max(-base, base - self.upper),
                f"not within [0, {self.upper:g}]",
            ),
        }
        if len(more):
            what = "an arm of mean 0 is not worth as much as an absent one"
            pair, at = [sets[3], arms], [rows[3], means]
            off = abs(values[3] - base)
            found["zero_is_absent"] = probe(pair, at, [values[3], base], off, what)
        return found


def alone(draw: RandomInputs) -> AskingMany:
    """A single arm at three means: monotone, and concave."""
    arm = draw.arms(1)
    x = np.sort(np.concatenate([draw.means(1), draw.rng.random(2)]))
    means = [x[[j]] for j in range(3)]
    values = yield singles([arm] * 3, means)
    falls = max(values[0] - values[1], values[1] - values[2])
    width = x[2] - x[0]
    share = (x[1] - x[0]) / width if width else 0.0
    # f(x1) >= (1 - s) f(x0) + s f(x2), where x1 = (1 - s) x0 + s x2
    chord = (1 - share) * values[0] + share * values[2]
    return {
        "monotone": probe([arm] * 3, means, values, falls, "higher means lower the value"),
        "concave": probe(
            [arm] * 3, means, values, chord - values[1], "the middle is below the chord"
        ),
    }


def interactions(draw: RandomInputs) -> AskingMany:
    """What an arm adds to a set, and to a part of the set: submodular, and monotone in S."""
    if draw.n_arms < 2:
        return {}
    # Larger sets than usual: an arm that another one needs is in most of them.
    wide = draw.rng.random() < 0.5
    most = min(draw.n_arms, _WIDE) if wide else draw.n_arms
    size = int(draw.rng.integers(1, most)) if wide else draw.size(least=1, most=most - 1)
    sets, rows = part_and_whole(draw, draw.arms(size + 1))
    values = yield singles(sets, rows)
    to_part, to_all = values[0] - values[1], values[2] - values[3]
    first = 0 if to_part < to_all else 2
    pair, at = sets[first : first + 2], rows[first : first + 2]
    return {
        "submodular": probe(
            sets, rows, values, to_all - to_part, "an arm adds more to a set than to a part of it"
        ),
        "monotone in S": probe(
            pair[::-1],
            at[::-1],
            values[first : first + 2][::-1],
            -min(to_part, to_all),
            "one more arm lowers the value",
        ),
    }
