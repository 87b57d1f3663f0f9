"""Why an oracle is recommended, in a sentence."""

from __future__ import annotations

import math

from superarm.advice.evidence import n_clean
from superarm.advice.results import Property
from superarm.advice.rules import CHOICES, unreliable

# What is certified at the error probability of an oracle for noise.
_CERTIFIES = {
    "NoisySingletons": "that its arms are worth most alone",
    "NoisyGreedy": "each of its steps",
    "NoisyLocalSearch": "that no swap improves its set",
}


def reason(case: str, rows: dict[str, Property], n_arms: int, k: int) -> str:
    """The reason for the oracle of a case, a key of ``CHOICES``."""
    if case.endswith("unreliable"):
        violated = ", ".join(unreliable(rows))
        return f"remembered answers prove nothing while this is violated: {violated}"
    if case.endswith("noisy"):
        shape = {
            "separable, noisy": "no swap improved the set of the arms worth most alone",
            "submodular, noisy": "swaps improve the set of the arms worth most alone",
            "other, noisy": "arms can be worth more together than alone, or spoil others",
            "undecided, noisy": "it is undecided whether the arms worth most alone are best",
        }[case]
        return f"the reward is noisy, and {shape}. It certifies {_CERTIFIES[CHOICES[case]]}"
    if case == "additive":
        return "the reward is additive, as it declares: the arms worth most alone are the best set"
    if case == "separable":
        if k == n_arms:
            return "every arm is picked anyway"
        if k == 1:
            return "the best set of one arm is the arm worth most alone"
        return "no swap improved the set of the arms worth most alone, and the declared B held"
    swaps, n_sets = _swaps(rows["separable"]), math.comb(n_arms, k)
    if case == "submodular":
        return f"{swaps}, and the reward is submodular in all probes"
    if case == "small":
        if n_sets <= n_arms * k:
            return f"{swaps}, and there are few enough sets to evaluate all of them"
        return f"{swaps}, and {n_sets:,} sets are few enough to evaluate all of them"
    if case == "undecided":
        return f"{swaps}, and LocalSearch relies on no property of the reward"
    if rows["submodular"].n_violated:
        return f"{swaps}, and the reward is not submodular"
    if rows["monotone in S"].n_violated:
        return f"{swaps}, and one more arm can lower the value"
    if rows["greedy"].n_violated:
        return f"{swaps}, and other swaps improved sets that are built greedily"
    return f"{swaps}, and it is undecided whether the reward is submodular"


def _swaps(row: Property) -> str:
    if row.undecided:
        return (
            f"it is undecided whether swaps improve the set of the arms worth most alone "
            f"(none did in {row.n_probes} of the {n_clean()} probes it takes)"
        )
    share = row.n_violated / max(row.n_probes, 1)
    return f"a swap improved the set of the arms worth most alone in {share:.0%} of the probes"
