"""From what the probes showed to an oracle: a few rules, in one place."""

from __future__ import annotations

import math
from dataclasses import dataclass

from superarm.advice.oracle_costs import ORACLE_COSTS
from superarm.advice.results import Property
from superarm.advice.text import shown_s

# Which oracle is recommended for which kind of reward.
CHOICES: dict[str, str] = {
    "additive": "TopK",
    "separable": "LazySingletons",
    "submodular": "LazyGreedy",
    "small": "Exhaustive",
    "other": "LocalSearch",
    "separable, unreliable": "Singletons",
    "other, unreliable": "Greedy",
}

# An oracle that remembers answers needs these properties.
_RELIED_ON = (
    "answers",
    "deterministic",
    "batch = single",
    "mean-only",
    "lipschitz",
    "zero_is_absent",
)
_STEEP = 0.5  # of the declared B: below it, a smaller B is suggested
_DECLARE = {
    "monotone": "each single arm is worth no less when its mean rises",
    "zero_is_absent": "an arm of mean 0 is worth as much as an absent one",
    "concave": "each single arm is worth a concave function of its mean",
    "diminishing": "raising a mean adds less where means are higher, and never lowers the value",
}


@dataclass(frozen=True)
class Recommendation:
    """Which oracle suits a reward, and why.

    Printing it gives all of it in sentences.

    Attributes
    ----------
    oracle
        The name of its class.
    case
        The rule that chose it, a key of ``CHOICES``.
    why
        The reason, in a sentence.
    evaluations
        How many evaluations it makes per round at most, after the first round.
    cost
        The same in words, with the time that the evaluations take.
    fix_first
        What the reward should no longer do or declare.
    suggestions
        What else the reward could declare, or declare better.
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
        lines.append(f"Recommended: {self.oracle}, since {self.why}.")
        lines.append(f"Cost per round: {self.cost}.")
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
        What the probes showed, by name.
    n_arms, k
        The size of the problem.
    evaluation_s
        Seconds per evaluation, if known.
    used
        The steepest slope seen, as a share of the declared B.
    loss
        What Oracle+ lost against a swap on average, as a share.
    """
    case, why = _case(rows, n_arms, k)
    oracle = CHOICES[case]
    evaluations = ORACLE_COSTS[oracle].most(n_arms, k)
    took = None if evaluation_s is None else evaluations * evaluation_s
    return Recommendation(
        oracle=oracle,
        case=case,
        why=why,
        evaluations=evaluations,
        cost=_cost(oracle, evaluations, took),
        fix_first=tuple(f"{row.name}: {_fix(row)}" for row in rows.values() if row.is_error),
        suggestions=tuple(_suggestions(rows, used, case, loss)),
    )


def _cost(oracle: str, evaluations: int, took_s: float | None) -> str:
    if evaluations == 0:
        return "no evaluations"
    cost = f"{evaluations:,} evaluations ({shown_s(took_s)})"
    if oracle == "LocalSearch":
        return f"about {cost}, and more where it swaps"
    if ORACLE_COSTS[oracle].exact:
        return cost
    return f"at most {cost}, and far fewer with remembered answers (superarm plan measures them)"


def _case(rows: dict[str, Property], n_arms: int, k: int) -> tuple[str, str]:
    """The rule that applies, and why."""
    separable = rows["separable"].holds or k == n_arms
    # The order of the rules is their priority.
    unreliable = [name for name in _RELIED_ON if rows[name].is_error]
    # First: every later rule relies on remembered answers or on what the reward declares.
    if unreliable:
        why = f"remembered answers prove nothing while this is violated: {', '.join(unreliable)}"
        return ("separable, unreliable" if separable else "other, unreliable"), why
    if rows["additive"].holds and rows["additive"].kind == "declared":
        why = "the reward is additive, as it declares: the arms worth most alone are the best set"
        return "additive", why
    if k == n_arms:
        return "separable", "every arm is picked anyway"
    if separable:
        why = "no swap improved the set of the arms worth most alone, and the declared B held"
        return "separable", why
    share = rows["separable"].n_violated / max(rows["separable"].n_probes, 1)
    swaps = f"a swap improved the set of the arms worth most alone in {share:.0%} of the probes"
    # Evaluating all sets is cheaper than greedy, which needs about n_arms k evaluations.
    if math.comb(n_arms, k) <= n_arms * k:
        return "small", f"{swaps}, and there are few enough sets to evaluate all of them"
    if rows["submodular"].holds:
        return "submodular", f"{swaps}, and the reward is submodular in all probes"
    return "other", f"{swaps}, and the reward is not submodular"


def _fix(row: Property) -> str:
    return {
        "answers": "every subset of the arms, even the empty one, needs a finite number",
        "deterministic": "the same set at the same means must have the same value; "
        "fix the seed, or average",
        "batch = single": "a batch must give what single calls give; "
        "for single precision set tolerance to 1e-5",
        "mean-only": "the value of a set may depend on the means of its own arms only",
        "order": "sort the arms, or treat them alike",
        "lipschitz": f"declare a larger B; {row.note}",
        "bounded": "declare a larger upper, over subsets of every size, "
        "or keep values from falling below 0",
    }.get(row.name, "do not declare it")


def _suggestions(rows: dict[str, Property], used: float, case: str, loss: float) -> list[str]:
    if not (rows["answers"].holds and rows["deterministic"].holds):
        return []  # noise and failures hide what holds
    lines = [
        f"declare {name} ({meaning}): it held in all {rows[name].n_probes} probes, "
        f"and saves evaluations"
        for name, meaning in _DECLARE.items()
        if rows[name].kind == "undeclared" and rows[name].holds
    ]
    if rows["additive"].holds and rows["additive"].kind == "undeclared":
        n_probes = rows["additive"].n_probes
        lines.append(f"LinearReward, or declaring additive: it held in all {n_probes} probes")
    # A B that is too large is correct but costs evaluations: lazy oracles certify less with it.
    if rows["lipschitz"].holds and used < _STEEP:
        lines.append(
            f"a smaller lipschitz, perhaps one per arm: the steepest slope seen is {used:.2f} of "
            f"what is declared; probes can miss steeper ones, so lower it only as far as you can "
            f"prove"
        )
    if case in ("submodular", "other"):
        lines.append(
            f"LazySingletons if an evaluation is expensive: it makes at most n_arms evaluations "
            f"per round, usually a few; the arms worth most alone were {loss:.2%} worse on average "
            f"than with the best swap tried"
        )
    return lines
