"""From what probing showed to an oracle: a few rules, in one place."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from superarm.advice.result import Property, shown_s
from superarm.core import Oracle
from superarm.oracles import (
    Exhaustive,
    Greedy,
    LazyGreedy,
    LazySingletons,
    LocalSearch,
    Singletons,
    TopK,
)

# What is recommended, for which kind of reward: the only place that names oracles.
CHOICES: dict[str, Callable[[], Oracle]] = {
    "additive": TopK,
    "separable": LazySingletons,
    "submodular": LazyGreedy,
    "small": Exhaustive,
    "other": LocalSearch,
    "separable, unreliable": Singletons,
    "other, unreliable": Greedy,
}

# An oracle that remembers answers needs these; one that does not can do without.
_RELIED_ON = (
    "answers",
    "deterministic",
    "batch = single",
    "mean-only",
    "lipschitz",
    "zero_is_absent",
)
_DECLARE = {
    "monotone": "each single arm is worth no less when its mean rises",
    "zero_is_absent": "an arm of mean 0 is as good as absent",
    "concave": "each single arm is worth a concave function of its mean",
    "diminishing": "raising a mean adds less where means are higher, and never takes away",
}


@dataclass(frozen=True)
class Recommendation:
    """Which oracle, and why.

    Attributes
    ----------
    oracle
        The name of its class.
    case
        Which rule chose it, a key of ``CHOICES``.
    why
        The reason, in a sentence.
    evaluations
        How many evaluations a round costs at most, after the first.
    cost
        The same in words, with the time that they take.
    fix_first
        What the reward should no longer do or declare.
    suggestions
        What could be declared besides, or declared better.
    """

    oracle: str
    case: str
    why: str
    evaluations: int
    cost: str
    fix_first: tuple[str, ...]
    suggestions: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f"Fix first: {line}." for line in self.fix_first]
        lines.append(f"Recommended: {self.oracle}, since {self.why}. A round costs {self.cost}.")
        return "\n".join(lines + [f"Consider: {line}." for line in self.suggestions])


def recommend(
    rows: dict[str, Property],
    *,
    n_arms: int,
    k: int,
    evaluation_s: float | None,
    used: float,
    loss: float,
) -> Recommendation:
    """Choose by the rules.

    Parameters
    ----------
    rows
        What probing showed, by name.
    n_arms, k
        The size of the problem.
    evaluation_s
        Seconds of an evaluation, if known.
    used
        The steepest slope seen, as a share of the declared B.
    loss
        What Oracle+ lost against a swap on average, as a share.
    """
    case, why = _case(rows, n_arms, k)
    oracle = type(CHOICES[case]()).__name__
    evaluations = _most_evaluations(oracle, n_arms, k)
    took = None if evaluation_s is None else evaluations * evaluation_s
    cost = f"{evaluations:,} evaluations ({shown_s(took)})"
    if oracle == "TopK":
        cost = "no evaluations at all"
    elif oracle in ("LazySingletons", "LazyGreedy"):
        cost = f"at most {cost}, and far fewer once answers are remembered (superarm plan measures how many)"
    elif oracle == "LocalSearch":
        cost = f"about {cost}, more where it swaps"
    fix_first = tuple(f"{row.name}: {_fix(row)}" for row in rows.values() if row.is_error)
    return Recommendation(
        oracle, case, why, evaluations, cost, fix_first, tuple(_suggestions(rows, used, case, loss))
    )


def _case(rows: dict[str, Property], n_arms: int, k: int) -> tuple[str, str]:
    separable = rows["separable"].holds or k == n_arms
    unreliable = [name for name in _RELIED_ON if rows[name].is_error]
    if unreliable:
        why = f"remembered answers prove nothing while this is violated: {', '.join(unreliable)}"
        return ("separable, unreliable" if separable else "other, unreliable"), why
    if rows["additive"].holds and rows["additive"].kind == "declared":
        return (
            "additive",
            "the reward is additive, as it declares, so the arms worth most alone are the best set",
        )
    if k == n_arms:
        return "separable", "every arm is picked anyway"
    if separable:
        return (
            "separable",
            "no swap improved the set of the arms worth most alone, and the declared B held",
        )
    swaps = f"a swap improved the set of the arms worth most alone in {_share(rows['separable'])} of the probes"
    if math.comb(n_arms, k) <= n_arms * k:
        return "small", f"{swaps}, and there are few enough sets to evaluate all of them"
    if rows["submodular"].holds:
        return "submodular", f"{swaps}, and the reward is submodular in all probes"
    return "other", f"{swaps}, and the reward is not submodular"


def _most_evaluations(oracle: str, n_arms: int, k: int) -> int:
    return {
        "Exhaustive": math.comb(n_arms, k),
        "TopK": 0,
        "Greedy": k * n_arms - k * (k - 1) // 2,
        "LazyGreedy": k * n_arms - k * (k - 1) // 2,
        "LocalSearch": k * (n_arms - k) + 1,
    }.get(oracle, n_arms)


def _fix(row: Property) -> str:
    return {
        "answers": "every subset of the arms, the empty one too, needs a finite number",
        "deterministic": "the same question must have the same answer; fix the seed, or average",
        "batch = single": "a batch must give what single calls give; for single precision set tolerance to 1e-5",
        "mean-only": "a set's value may depend on the means of its own arms only",
        "order": "sort the arms, or treat them alike",
        "lipschitz": f"declare a larger B; {row.note}",
        "bounded": "declare a larger upper, over subsets of every size, or keep values from falling below 0",
    }.get(row.name, "do not declare it")


def _suggestions(rows: dict[str, Property], used: float, case: str, loss: float) -> list[str]:
    if not (rows["answers"].holds and rows["deterministic"].holds):
        return []  # noise and gaps hide what holds
    lines = [
        f"declare {name} ({meaning}): it held in all {rows[name].n_probes} probes, and saves evaluations"
        for name, meaning in _DECLARE.items()
        if rows[name].kind == "undeclared" and rows[name].holds
    ]
    if rows["additive"].holds and rows["additive"].kind == "undeclared":
        lines.append(
            f"LinearReward, or declaring additive: it held in all {rows['additive'].n_probes} probes"
        )
    if rows["lipschitz"].holds and used < 0.5:
        lines.append(
            f"a smaller lipschitz, perhaps one for each arm: the steepest slope seen is {used:.2f} of what is "
            "declared; probes can miss steeper ones, so lower it only as far as you can argue for"
        )
    if case in ("submodular", "other"):
        lines.append(
            f"LazySingletons where an evaluation is dear: it costs at most n_arms, usually a few; the arms worth most "
            f"alone were {loss:.2%} worse on average than with the best swap tried"
        )
    return lines


def _share(row: Property) -> str:
    return f"{row.n_violated / max(row.n_probes, 1):.0%}"
