"""What arms added to sets in earlier rounds, and the bounds that follow on what they add now.

Answers are kept together by what they have in common: a base set, and the means of its arms when it
was evaluated.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from superarm.core.arguments import FloatArray, IndexArray, as_arms, as_unit

# A round looks through no more bases than this, however few answers each has.
_MOST_BASES = 256


class Base:
    """Upper bounds on r(base ∪ {arm}), at given means of the base, as the reward answered them.

    Attributes
    ----------
    base, at
        Shape (n_base,): the arms of the base, ascending, and their means.
    value
        The value of the base at these means.
    arms, x, values
        Shape (n_answers,): an arm, its mean, and the bound. An arm may occur more than once.
    """

    def __init__(self, base: IndexArray, at: FloatArray, value: float) -> None:
        self.base, self.at, self.value = base, at, value
        self.members = frozenset(base.tolist())
        self.arms, self.x, self.values = np.zeros(0, np.intp), np.zeros(0), np.zeros(0)
        self._gains = np.zeros(0)

    def add(self, arms: IndexArray, x: FloatArray, values: FloatArray) -> None:
        """More answers for this base at these means."""
        self.arms, self.x = np.concatenate([self.arms, arms]), np.concatenate([self.x, x])
        self.values = np.concatenate([self.values, values])

    @property
    def gains(self) -> FloatArray:
        """Shape (n_answers,): what each arm added to the base, at least 0."""
        if len(self._gains) < len(self.values):
            self._gains = np.maximum(self.values - self.value, 0.0)
        return self._gains

    def state(self) -> dict[str, Any]:
        """All of it, as plain JSON."""
        return {
            "value": self.value,
            "base": self.base.tolist(),
            "at": self.at.tolist(),
            "arms": self.arms.tolist(),
            "x": self.x.tolist(),
            "values": self.values.tolist(),
        }

    @classmethod
    def of(cls, state: dict[str, Any], n_arms: int) -> Base:
        """What ``state()`` described."""
        base = as_arms(np.asarray(state["base"], np.intp), n_arms)
        made = cls(base, as_unit(state["at"], "state['at']", base.shape), float(state["value"]))
        arms, values = np.asarray(state["arms"], np.intp), np.asarray(state["values"], np.float64)
        if arms.size and not (arms.min() >= 0 and arms.max() < n_arms):
            raise ValueError(
                f"state['arms'] must be between 0 and {n_arms - 1}, "
                f"got {arms.min()} to {arms.max()}"
            )
        if values.shape != arms.shape or not np.isfinite([made.value, *values]).all():
            raise ValueError(f"state['values'] must be finite, one per arm of {len(arms)} arms")
        x = as_unit(np.asarray(state["x"], np.float64), "state['x']", arms.shape)
        made.add(arms, x, values)
        return made

    def where(self, theta: FloatArray, *, diminishing: bool) -> FloatArray:
        """Shape (n_base,): the means at which `upper` needs the value of the base."""
        now = theta[self.base]
        return np.minimum(now, self.at) if diminishing else now

    def upper(
        self, theta: FloatArray, lipschitz: FloatArray, worth: float, *, diminishing: bool
    ) -> FloatArray:
        """Upper bounds on what each of ``arms`` adds to the base, or to any larger set, at theta.

        With diminishing returns, an arm adds no more than it adds to the base at the smaller means
        ``where``. There, the base and the arm are worth no more than in the answer, and a higher
        mean of the arm adds at most in proportion. Without diminishing returns, the answer can only
        have moved by B_i times the change of each mean.

        Parameters
        ----------
        theta, lipschitz
            Shape (n_arms,): the means now, and the B_i.
        worth
            The value of the base at the means ``where``.
        diminishing
            Whether returns diminish: see `LazyGreedy`.
        """
        x = theta[self.arms]
        if not diminishing:
            moved = lipschitz[self.base] @ np.abs(theta[self.base] - self.at)
            return self.values + moved + lipschitz[self.arms] * np.abs(x - self.x) - worth
        return _in_proportion(np.maximum(self.values - worth, 0.0), x, self.x)


def _in_proportion(gains: FloatArray, x: FloatArray, answered: FloatArray) -> FloatArray:
    """What arms add at the means x at most, if they add ``gains`` at the means ``answered``."""
    if answered.all():  # the usual case
        return gains * np.maximum(1.0, x / answered)
    # An answer at mean 0 says nothing about higher means.
    known = (x <= answered) | (answered > 0)
    share = np.maximum(1.0, np.divide(x, answered, out=np.ones_like(x), where=answered > 0))
    return np.where(known, gains * share, np.inf)


def upper_of_all(
    bases: list[Base], theta: FloatArray, lipschitz: FloatArray, *, diminishing: bool
) -> FloatArray:
    """``base.upper`` of the answers of all bases, one base after the other.

    With the value that each base had. There are many bases with few answers each, so that one
    operation for all of them is several times faster.
    """
    if not diminishing:
        return np.concatenate(
            [base.upper(theta, lipschitz, base.value, diminishing=False) for base in bases]
        )
    arms = np.concatenate([base.arms for base in bases])
    gains = np.concatenate([base.gains for base in bases])
    return _in_proportion(gains, theta[arms], np.concatenate([base.x for base in bases]))


class RememberedGains:
    """Up to 256 bases, with ``n_answers`` answers of 24 bytes in total.

    When there are more, the base that was used longest ago is dropped.
    """

    def __init__(self, n_answers: int) -> None:
        self.n_answers = n_answers
        self.bases: list[Base] = []  # the one used last comes last
        # Whether it is known that there is room for all bases: not yet for those of a state.
        self._fits = False

    def within(self, arms: IndexArray) -> list[Base]:
        """The bases that are subsets of these arms."""
        members = frozenset(arms.tolist())
        return [base for base in self.bases if base.members <= members]

    def use(self, base: Base) -> None:
        """Note that a base, new or known, was used, and drop what there is no room for."""
        others = [one for one in self.bases if one is not base]
        is_known = len(others) < len(self.bases)
        self.bases = [*others, base]
        if is_known and self._fits:
            return
        self._fits = True
        total = sum([len(one.arms) for one in self.bases])
        while total > self.n_answers or len(self.bases) > _MOST_BASES:
            total -= len(self.bases.pop(0).arms)


def pack(arms: IndexArray, expected: FloatArray, most: float) -> list[list[int]]:
    """Groups of arms that are expected to add at most ``most`` together.

    The strongest arm that is left is put together with the weakest ones.

    Examples
    --------
    >>> pack(np.array([4, 5, 6, 7]), np.array([0.1, 0.7, 0.2, 0.8]), 1.0)
    [[7, 4], [5, 6]]
    """
    rank = np.argsort(-expected, kind="stable")
    ranked, adds = arms[rank].tolist(), expected[rank].tolist()
    groups, i, j = [], 0, len(ranked) - 1
    while i <= j:
        group, total = [ranked[i]], adds[i]
        i += 1
        while j >= i and total + adds[j] <= most:
            group.append(ranked[j])
            total += adds[j]
            j -= 1
        groups.append(group)
    return groups
