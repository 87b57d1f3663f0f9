"""A search for arms that interact, with the evaluations that nothing else needs.

Random probes of few arms rarely have both arms of one pair. Where most values are sums, the
values of the set of all arms and of random halves show whether any arms interact, and a binary
search finds a smallest group that does. Otherwise pairs are evaluated one by one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from superarm.advice.asking import Probe, batch, probe, singles
from superarm.advice.group_results import ArmGroup, GroupSearch
from superarm.advice.ledger import Ledger
from superarm.advice.pair_tables import candidates, n_among, positive
from superarm.advice.random_inputs import RandomInputs
from superarm.core.arguments import FloatArray, IndexArray

_LOWEST = 0.8  # mean: high, because interactions often grow with the means, and without ties
_MOST_GROUPS = 3  # found by sums. If more arms interact, pairs are evaluated one by one.
_PILOT = 6  # pairs that show whether most arms interact
_LARGEST = 4  # arms of a group
_MOST_PAIRS = 5_000  # evaluated one by one
_RESERVE = 80  # evaluations that test candidates
_CHUNK = 256  # sets per batch, so that an inspection can be stopped
_LOWER = (1.0, 0.5, 0.25)  # of their means: groups that are picked anyway may not be at lower ones
_TRIED = 3  # pairs whose sets are compared with those of the arms worth most alone


class Unanswered(Exception):  # noqa: N818 - ends a search, and is no error of the user
    """The reward failed."""


class InteractionSearch:
    """Searches once, and keeps what it found.

    Attributes
    ----------
    result
        None before the search, or if there was no budget for it.
    k
        Arms per set.
    """

    def __init__(self, ledger: Ledger, draw: RandomInputs) -> None:
        self.result: GroupSearch | None = None
        self._ledger, self._draw, self._done = ledger, draw, False
        self.k, self._n = draw.k, draw.n_arms
        self._alone = self._theta = np.zeros(0)
        self._nothing, self._most = 0.0, 0

    def run(self, case: str, left: int) -> bool:
        """Search with at most ``left`` evaluations; whether the verdicts have changed."""
        n_halves = math.ceil(math.log2(max(self._n, 2)))
        least = self._n + 2 + _PILOT + n_halves + _RESERVE
        if self._done or not 1 < self.k < self._n or left < least:
            return False
        self._done = True
        ledger = self._ledger
        ledger.watch.about = "arms that interact"
        before = ledger.evaluate.n_evaluated
        self._most = before + left
        try:
            found, n_pairs, by_sums, excluded = self._searched(case, n_halves)
        except Unanswered:
            return False
        spent = ledger.evaluate.n_evaluated - before
        groups = tuple(group for group, _ in found)
        of = math.comb(self._n, 2)
        self.result = GroupSearch(groups, n_pairs, of, by_sums, excluded, spent)
        return any(changed for _, changed in found)

    def _searched(
        self, case: str, n_halves: int
    ) -> tuple[list[tuple[ArmGroup, bool]], int, bool, float]:
        rng, n, of = self._draw.rng, self._n, math.comb(self._n, 2)
        order = rng.permutation(n).astype(np.intp)
        self._theta = _LOWEST + (1 - _LOWEST) * rng.random(n)
        values = self._values([order[:0], *(np.array([arm]) for arm in range(n))])
        self._nothing, self._alone = float(values[0]), values[1:]
        # Noise of many values would hide every group, so that sums are of no use.
        if not self._ledger.noisy:
            groups, sparse, excluded = self._by_sums(order, n_halves)
            if sparse:
                found = [self._tested(group, case) for group in groups]
                return _kept(found), of, True, excluded
        room = min(_MOST_PAIRS, self._left() - _RESERVE)
        arms = np.sort(order[: n_among(room, n)])
        if len(arms) < 3:
            raise Unanswered
        return self._one_by_one(arms, case)

    def _by_sums(self, order: IndexArray, n_halves: int) -> tuple[list[IndexArray], bool, float]:
        """Groups that interact, whether these are all, and the interaction that would be missed."""
        groups: list[IndexArray] = []
        rest, excluded = order, 0.0
        off, slack = self._off([order[2 * j : 2 * j + 2] for j in range(min(_PILOT, self._n // 2))])
        if np.mean(off > slack) >= 0.5:
            return groups, False, excluded  # most arms interact, so that sums show nothing
        while True:
            halves = [rest[self._draw.rng.random(len(rest)) < 0.5] for _ in range(n_halves)]
            sets = [rest, *halves]
            off, slack = self._off(sets)
            excluded = max(excluded, float(slack.max()))
            odd = int(np.argmax(off - slack))
            if off[odd] <= slack[odd]:
                return groups, True, excluded
            needed = n_halves + 2 + _LARGEST * (n_halves + 2) + _RESERVE
            group = None
            if len(groups) < _MOST_GROUPS and self._left() >= needed:
                group = self._smallest(sets[odd])
            if group is None:
                return groups, False, excluded
            groups.append(group)
            rest = rest[~np.isin(rest, group)]

    def _off(self, sets: Sequence[IndexArray]) -> tuple[FloatArray, FloatArray]:
        """How far values are from the sums of their arms, and how far they may be by rounding."""
        values = self._values(sets)
        adds = self._alone - self._nothing
        sums = np.array([self._nothing + adds[arms].sum() for arms in sets])
        sizes = [float(np.abs(self._alone[arms]).sum()) for arms in sets]
        slack = [
            self._ledger.rounding([value, size])
            for value, size in zip(values.tolist(), sizes, strict=True)
        ]
        return np.abs(values - sums), np.array(slack)

    def _smallest(self, arms: IndexArray) -> IndexArray | None:
        """A smallest group of a set whose value is not the sum; None if it has many arms.

        The shortest part from the left that interacts ends with an arm of a group. That arm goes to
        the front, and the shortest part is found again, until these arms alone interact.
        """
        group = arms[:0]
        while len(group) <= _LARGEST:
            if len(group) > 1 and self._interacts(group):
                return np.sort(group)
            # arms[:low] with the group does not interact, arms[:high] does.
            low, high = 0, len(arms)
            while high - low > 1:
                middle = (low + high) // 2
                interacts = self._interacts(np.append(group, arms[:middle]))
                low, high = (low, middle) if interacts else (middle, high)
            group, arms = np.append(group, arms[low]), arms[:low]
            if not len(arms) and not self._interacts(group):
                return None
        return None

    def _interacts(self, arms: IndexArray) -> bool:
        off, slack = self._off([arms])
        return bool(off[0] > slack[0])

    def _one_by_one(
        self, arms: IndexArray, case: str
    ) -> tuple[list[tuple[ArmGroup, bool]], int, bool, float]:
        """All pairs of these arms."""
        first, second = np.triu_indices(len(arms), 1)
        sets = [arms[[i, j]] for i, j in zip(first, second, strict=True)]
        table = np.full((len(arms), len(arms)), np.nan)
        table[first, second] = table[second, first] = self._values(sets)
        alone = self._alone[arms]
        extra = table - alone[:, None] - alone + self._nothing
        separable = _needs_separable(case)
        if separable:
            tried, size = candidates(table, alone, _TRIED)
            # Nothing is worth more alone than the best two arms, so that no order shows theirs.
            low, high = sorted(np.argsort(-alone, kind="stable")[:2].tolist())
            i, j = sorted(divmod(int(np.nanargmax(extra)), len(arms)))
            tried = list(dict.fromkeys([*tried, (low, high), (i, j)]))
        else:
            tried, size = positive(extra)
        found = [self._tested(arms[[i, j]], case) for i, j in tried]
        if separable and any(one is not None and one[0].extra > 0 for one in found):
            others = [pair for pair in positive(extra)[0] if pair not in tried]
            found += [self._tested(arms[[i, j]], "other") for i, j in others]
        noise = self._ledger.noise.allowed(4)
        return _kept(found), len(sets), False, max(0.0, size, noise)

    def _tested(self, arms: IndexArray, case: str) -> tuple[ArmGroup, bool] | None:
        """The group, and whether it changes a verdict; None if it is no evidence."""
        measured = self._measured(arms)
        if measured is None:
            return None
        group, interacts, adds_more = measured
        ledger, changed = self._ledger, False
        if not ledger.looks_violated("submodular", interacts):
            return None
        if _needs_separable(case):
            better = self._better(arms, together=group.extra > 0)
            if better is None or not ledger.looks_violated("separable", better):
                return None
            changed = ledger.add_better(better)  # the first one
            if ledger.tallies["additive"].kind == "declared":
                ledger.add({"additive": interacts})
        if group.extra > 0 and ledger.looks_violated("submodular", adds_more):
            changed = changed or not ledger.tallies["submodular"].n_violated
            ledger.add({"submodular": adds_more})
        elif not _needs_separable(case):
            return None
        return group, changed

    def _measured(self, arms: IndexArray) -> tuple[ArmGroup, Probe, Probe] | None:
        """The group, a probe that its arms interact, and one that the last arm adds more to it.

        None if the budget or an answer is missing. The evaluations are new ones, because noise
        helped to choose the group.
        """
        if len(arms) > self.k or self._left() < _RESERVE // 4:
            return None
        rest, last, nothing = arms[:-1], arms[-1:], arms[:0]
        sets = [arms, rest, last, nothing, *(arms[[j]] for j in range(len(rest)))]
        means = [self._theta[one] for one in sets]
        (values,) = self._ledger.evaluate.answer([singles(sets, means)])
        if np.isnan(values).any():
            return None
        # What the last arm adds to the others, minus what it adds to the empty set.
        extra = float((values[0] - values[1]) - (values[2] - values[3]))

        def compared(order: list[int], excess: float, adds: str) -> Probe | None:
            shown = [sets[j] for j in order], [means[j] for j in order], values[order]
            return probe(*shown, excess, f"an arm adds {adds} to a set than to a part of it")

        interacts = compared([0, 1, 2, 3], abs(extra), "another value")
        adds_more = compared([2, 3, 0, 1], extra, "more")
        if interacts is None or adds_more is None:
            return None
        alone = (*values[4:].tolist(), float(values[2]))
        names, at = tuple(arms.tolist()), tuple(means[0].tolist())
        return ArmGroup(names, at, float(values[0]), alone, extra), interacts, adds_more

    def _better(self, group: IndexArray, *, together: bool) -> Probe | None:
        """A set that is better than that of the k arms worth most alone, because of the group."""
        if not together:
            # Arms that are bad together matter where both are picked, at the highest means.
            return self._rival(group, 1.0, together=False)
        found = [self._rival(group, share * self._theta[group], together=True) for share in _LOWER]
        return max(filter(None, found), key=lambda one: one.excess, default=None)

    def _rival(
        self, group: IndexArray, means: FloatArray | float, *, together: bool
    ) -> Probe | None:
        """The k arms worth most alone, and a better set with the group, or with an arm less of it.

        ``means`` are those of the arms of the group. None if the budget or an answer is missing.
        """
        if self._left() < len(group) + 4 * self.k:
            return None
        theta, alone = self._theta.copy(), self._alone.copy()
        theta[group] = means
        ask = batch([np.array([arm]) for arm in group], theta, split=True)
        (alone[group],) = self._ledger.evaluate.answer([ask])
        ranked = np.argsort(-alone, kind="stable").astype(np.intp)
        top, others = ranked[: self.k], ranked[~np.isin(ranked, group)]
        if together:
            rivals = [np.append(group, others[: self.k - len(group)])]
        else:
            spare = others[~np.isin(others, top)][:1]
            rivals = [np.append(top[top != arm], spare) for arm in group if arm in top]
        (values,) = self._ledger.evaluate.answer([batch([top, *rivals], theta, split=True)])
        if not rivals:
            return None
        best = int(np.argmax(values[1:]))
        both, pair = [top, rivals[best]], [float(values[0]), float(values[1 + best])]
        what = (
            f"another set is better than the {self.k} arms that are worth most alone, because some "
            f"arms interact"
        )
        # Noise also decides which arms seem to be worth most alone: two more values.
        excess = pair[1] - pair[0]
        return probe(both, [theta[one] for one in both], pair, excess, what, n_noisy=4)

    def _values(self, sets: Sequence[IndexArray]) -> FloatArray:
        """The values of sets at the theta of the search."""
        found = []
        for start in range(0, len(sets), _CHUNK):
            ask = batch(sets[start : start + _CHUNK], self._theta, split=True)
            found += self._ledger.evaluate.answer([ask])
        values = np.concatenate(found)
        if np.isnan(values).any():
            raise Unanswered
        return values

    def _left(self) -> int:
        return self._most - self._ledger.evaluate.n_evaluated


def _needs_separable(case: str) -> bool:
    """Whether the oracle of a case relies on a separable reward."""
    return case.startswith(("separable", "additive"))


def _kept(found: list[tuple[ArmGroup, bool] | None]) -> list[tuple[ArmGroup, bool]]:
    """The groups that are evidence, those that interact most first."""
    groups = [one for one in found if one is not None]
    return sorted(groups, key=lambda one: -abs(one[0].extra))
