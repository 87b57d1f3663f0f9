"""What a reward should change or could declare, in sentences."""

from __future__ import annotations

from superarm.advice.results import Property

_BEARABLE = 0.1  # of a value: a cheaper oracle that loses more is not suggested
_FEW = 8  # arms of a call that fits in a line
_STEEP = 0.5  # of the declared B: below it, a smaller B is suggested
_DECLARE = {
    "monotone": "each single arm is worth no less when its mean rises",
    "zero_is_absent": "an arm of mean 0 is worth as much as an absent one",
    "concave": "each single arm is worth a concave function of its mean",
    "diminishing": "raising a mean adds less where means are higher, and never lowers the value",
}


def fix(row: Property) -> str:
    """What to do about a violation."""
    return {
        "answers": _fix_failures(row),
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


def _fix_failures(row: Property) -> str:
    if not row.nearly_always or row.witness is None:
        if row.note and not row.note.startswith("0 "):  # some were answered when repeated
            return (
                f"calls fail at random ({row.note}). BlackBox(retries=3) repeats them; then "
                f"inspect again, because failed probes say nothing"
            )
        every = "" if row.note else ". If calls fail at random, BlackBox(retries=3) repeats them"
        return f"every subset of the arms, even the empty one, needs a finite number{every}"
    arms, means = row.witness.sets[0], row.witness.means[0]
    call = "with the arms and means of the witness"
    if len(arms) <= _FEW:
        call = f"as reward({list(arms)}, {[round(mean, 3) for mean in means]})"
    return (
        f"a reward gets the arms of a set and their means, two arrays of equal length, and returns "
        f"one number. Call it {call} to see where it fails"
    )


def suggestions(
    rows: dict[str, Property], used: float, case: str, loss: float, plain: str | None
) -> list[str]:
    """What the reward could declare, and other oracles.

    ``plain`` is the oracle that makes one evaluation per set, if one for noise is recommended.
    """
    if plain is not None:
        return [
            f"superarm.{plain} if one answer per set has to do: it certifies nothing, and decides "
            f"by noise between sets that are about as good"
        ]
    if rows["answers"].n_violated or rows["deterministic"].n_violated:
        return []  # noise and failures hide what holds
    if used == 0.0 and rows["lipschitz"].n_probes:
        # Every declaration about means holds trivially, so that none is worth a suggestion.
        return [_nothing_learned(rows["lipschitz"]), *_cheaper(case, loss)]
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
    if case not in ("submodular", "other") or loss > _BEARABLE:
        return []
    return [
        f"LazySingletons if an evaluation is expensive: it makes at most n_arms evaluations "
        f"per round, usually a few; the arms worth most alone were {loss:.2%} worse on average "
        f"than with the best swap tried"
    ]


def _nothing_learned(row: Property) -> str:
    what = "that nothing" if row.holds else "whether anything"
    return (
        f"{what} here is learned from outcomes: no value changed with the means in "
        f"{row.n_probes} probes. One search for the best set (Greedy, LocalSearch) is enough, and "
        f"values kept by set (functools.cache on the arms) make every later round free. For plain "
        f"set optimisation, Optuna, Ax or BoFire may be the better tool"
    )
