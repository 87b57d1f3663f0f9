"""Second looks, where a verdict would be relied on: few evaluations in the place that matters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from superarm.advice import settings
from superarm.advice.asking import Asking, Findings, batch, probe, singles
from superarm.advice.group_search import InteractionSearch
from superarm.advice.ledger import Ledger
from superarm.advice.random_inputs import RandomInputs
from superarm.advice.rules import case_of, facts_of
from superarm.core.arguments import FloatArray, IndexArray

_MOST_ARMS = 100  # of a greedy set that is tried, for which greedy is cheap
_RIVALS = 4  # other arms that are tried in each place
# The cases in which arms that interact would change the oracle or its start.
_SEARCHED = (
    "additive",
    "separable",
    "submodular",
    "other",
    "separable, noisy",
    "submodular, noisy",
    "other, noisy",
    "separable, unreliable",
)
_COST = 6  # evaluations of `why_swaps_help`, at most


def why_swaps_help(ledger: Ledger, left: int) -> None:
    """Look at the swap that improved the set of the arms worth most alone.

    A swap of x for y helps because x overlaps with the others, because x spoils them, or because y
    helps them. The first leaves the reward submodular. The others do not, and random probes of few
    arms rarely have such an x or y. Only violations count: the question was not drawn, but chosen.
    """
    worst = ledger.tallies["separable"].worst
    if worst is None or left < _COST:
        return
    (top, swapped), means = worst.sets, worst.means
    rest = np.intersect1d(top, swapped)
    if len(rest) != len(top) - 1:
        return
    x, y = np.setdiff1d(top, rest), np.setdiff1d(swapped, rest)
    theta = np.zeros(ledger.evaluate.n_arms)
    for arms, row in zip((top, swapped), means, strict=True):
        theta[arms] = row
    sets = [rest, rest[:0], x, y, top, swapped]
    # With noise, the two sets are evaluated again: noise helped to choose them.
    asked = sets if ledger.noisy else sets[:4]
    (values,) = ledger.evaluate.answer([singles(asked, [theta[arms] for arms in asked])])
    known = np.append(values, worst.values)[: len(sets)]
    for alone, whole in ((2, 4), (3, 5)):
        _add(ledger, sets, theta, known, alone, whole)


def _add(
    ledger: Ledger,
    sets: list[IndexArray],
    theta: FloatArray,
    values: FloatArray,
    i: int,
    whole: int,
) -> None:
    """What an arm adds to the rest, and to nothing. The rest and nothing are the first two sets."""
    order = [i, 1, whole, 0]
    four, at = [sets[j] for j in order], [theta[sets[j]] for j in order]
    of = values[order]
    adds = of[2] - of[3]
    more = "an arm adds more to a set than to a part of it"
    lower = probe(four[:1:-1], at[:1:-1], of[:1:-1], -adds, "one more arm lowers the value")
    found: Findings = {
        "submodular": probe(four, at, of, adds - (of[0] - of[1]), more),
        "monotone in S": lower,
    }
    for name, one in found.items():
        if one is not None and ledger.looks_violated(name, one):
            ledger.add({name: one})


def search_within(ledger: Ledger, search: InteractionSearch, left: int) -> bool:
    """Search for arms that interact, unless all sets are evaluated anyway.

    Whether the verdicts have changed.
    """
    n_arms, k = ledger.evaluate.n_arms, search.k
    case = case_of(facts_of(ledger.rows(), n_arms, k), n_arms, k)
    return case in _SEARCHED and search.run(case, left)


@dataclass(frozen=True)
class GreedySets:
    """Whether a swap improves a set that is built greedily by more than `settings.LOSES`.

    Probes of submodularity can miss an arm that spoils the others. If greedy picks it, a swap shows
    it.
    """

    def n_arms(self, n_arms: int, k: int) -> int:
        """How many of the arms take part."""
        return min(n_arms, max(_MOST_ARMS, 2 * k))

    def n_evaluations(self, n_arms: int, k: int) -> int:
        """How many evaluations a probe needs."""
        n = self.n_arms(n_arms, k)
        return k * n - k * (k - 1) // 2 + k * min(_RIVALS, n - k)

    def __call__(self, draw: RandomInputs) -> Asking:
        """One theta."""
        arms = draw.arms(self.n_arms(draw.n_arms, draw.k))
        theta = np.zeros(draw.n_arms)
        theta[arms] = draw.inner_means(len(arms))
        chosen, rivals, value = arms[:0], arms[:0], 0.0
        for _ in range(draw.k):
            others = arms[~np.isin(arms, chosen)]
            values = yield batch([np.append(chosen, arm) for arm in others], theta, split=True)
            if np.isnan(values).any():
                return None
            ranked = np.argsort(-values, kind="stable")
            value, rivals = float(values[ranked[0]]), others[ranked[1 : 1 + _RIVALS]]
            chosen = np.append(chosen, others[ranked[0]])
        swaps = [np.append(np.delete(chosen, j), arm) for j in range(draw.k) for arm in rivals]
        if not swaps:
            return None
        values = yield batch(swaps, theta, split=True)
        if np.isnan(values).any():
            return None
        best = int(np.argmax(values))
        pair, sets = [value, float(values[best])], [chosen, swaps[best]]
        excess = pair[1] - pair[0] - settings.LOSES * abs(pair[1])
        what = f"a swap improves a greedy set by more than {settings.LOSES:.0%}"
        return probe(sets, [theta[one] for one in sets], pair, excess, what, n_noisy=4)
