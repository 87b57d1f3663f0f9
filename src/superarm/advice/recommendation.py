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
    "undecided": "LocalSearch",
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
# Up to this many sets, all are evaluated unless a cheaper oracle promises as much.
_FEW_SETS = 2000
# What the choice of an oracle depends on.
_DECISIVE = ("separable", "submodular")
_NOISY = "superarm.oracles.NoisySingletons if you know a bound on the noise: it certifies its sets"
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
    undecided
        The properties that the choice depends on and that had too few probes. With more probes,
        another oracle may be recommended.
    """

    oracle: str
    case: str
    why: str
    evaluations: int
    cost: str
    fix_first: tuple[str, ...]
    suggestions: tuple[str, ...]
    undecided: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"Fix first: {line}." for line in self.fix_first]
        lines.append(f"Recommended: {self.oracle}, since {self.why}.")
        if self.undecided:
            names = " and ".join(self.undecided)
            lines.append(f"Not certain: {names} undecided. More probes may change the advice.")
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
        undecided=tuple(_undecided(rows, case)),
    )


def _undecided(rows: dict[str, Property], case: str) -> list[str]:
    """What more probes may show, and would change the choice."""
    if case in ("additive", "separable", "small"):
        return []  # declared, decided, or exact anyway
    names = [name for name in _DECISIVE if rows[name].undecided]
    # Without separability it is submodularity that decides, except among unreliable rewards.
    return names[:1] if case == "other, unreliable" else names


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
    if rows["deterministic"].n_violated and not unreliable:
        unreliable = ["deterministic"]  # noise that the reward declares is no error
    # First: every later rule relies on remembered answers or on what the reward declares.
    if unreliable:
        why = f"remembered answers prove nothing while this is violated: {', '.join(unreliable)}"
        return ("separable, unreliable" if separable else "other, unreliable"), why
    # Declared, and not violated: a declaration is trusted even after few probes.
    if rows["additive"].kind == "declared" and not rows["additive"].is_error:
        why = "the reward is additive, as it declares: the arms worth most alone are the best set"
        return "additive", why
    if k == n_arms:
        return "separable", "every arm is picked anyway"
    if separable:
        why = "no swap improved the set of the arms worth most alone, and the declared B held"
        return "separable", why
    swaps = _swaps(rows["separable"])
    n_sets = math.comb(n_arms, k)
    # Evaluating all sets is cheaper than greedy, which needs about n_arms k evaluations.
    if n_sets <= n_arms * k:
        return "small", f"{swaps}, and there are few enough sets to evaluate all of them"
    if rows["submodular"].holds:
        return "submodular", f"{swaps}, and the reward is submodular in all probes"
    if n_sets <= _FEW_SETS:
        return "small", f"{swaps}, and {n_sets:,} sets are few enough to evaluate all of them"
    if rows["separable"].undecided:
        return "undecided", f"{swaps}, and LocalSearch relies on no property of the reward"
    submodular = "undecided" if rows["submodular"].undecided else "violated"
    return "other", f"{swaps}, and that the reward is submodular is {submodular}"


def _swaps(row: Property) -> str:
    if row.undecided:
        return (
            f"it is undecided whether swaps improve the set of the arms worth most alone "
            f"(none did in {row.n_probes} of the 19 probes it takes)"
        )
    share = row.n_violated / max(row.n_probes, 1)
    return f"a swap improved the set of the arms worth most alone in {share:.0%} of the probes"


def _fix(row: Property) -> str:
    return {
        "answers": "every subset of the arms, even the empty one, needs a finite number",
        "deterministic": "the same set at the same means must have the same value; "
        "fix the seed, average, or declare noisy",
        "batch = single": "a batch must give what single calls give; "
        "for single precision set tolerance to 1e-5",
        "mean-only": "the value of a set may depend on the means of its own arms only",
        "order": "sort the arms, or treat them alike",
        "lipschitz": f"declare a larger B; {row.note}",
        "bounded": "declare a larger upper, over subsets of every size, "
        "or keep values from falling below 0",
    }.get(row.name, "do not declare it")


def _suggestions(rows: dict[str, Property], used: float, case: str, loss: float) -> list[str]:
    if rows["answers"].n_violated or rows["deterministic"].n_violated:
        # Noise and failures hide what holds. Undeclared noise is to be fixed first.
        errs = rows["answers"].n_violated or rows["deterministic"].is_error
        return [_NOISY] if case == "separable, unreliable" and not errs else []
    if used == 0.0 and rows["lipschitz"].n_probes:
        # Every declaration about means holds trivially, so that none is worth a suggestion.
        return [_nothing_learned(rows["lipschitz"].n_probes), *_cheaper(case, loss)]
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
    return lines + _cheaper(case, loss)


def _cheaper(case: str, loss: float) -> list[str]:
    if case == "small":
        return ["LocalSearch if evaluating all sets takes too long; it may miss the best set"]
    if case not in ("submodular", "other"):
        return []
    return [
        f"LazySingletons if an evaluation is expensive: it makes at most n_arms evaluations "
        f"per round, usually a few; the arms worth most alone were {loss:.2%} worse on average "
        f"than with the best swap tried"
    ]


def _nothing_learned(n_probes: int) -> str:
    return (
        f"that nothing here is learned from outcomes: no value changed with the means in "
        f"{n_probes} probes, so one search for the best set (Greedy, LocalSearch) does; for plain "
        f"set optimisation, Optuna, Ax or BoFire may be the better tool"
    )
