"""The rules from what is known of a reward to an oracle, and what is still open."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from superarm.advice.results import Property

# Which oracle is recommended for which kind of reward.
CHOICES: dict[str, str] = {
    "additive": "TopK",
    "separable": "LazySingletons",
    "submodular": "LazyGreedy",
    "small": "Exhaustive",
    "other": "LocalSearch",
    "undecided": "LocalSearch",
    "separable, noisy": "NoisySingletons",
    "submodular, noisy": "NoisyGreedy",
    "other, noisy": "NoisyLocalSearch",
    "undecided, noisy": "NoisyGreedy",
    "separable, unreliable": "Singletons",
    "other, unreliable": "Greedy",
}

# An oracle that remembers answers needs these properties, where they are required or declared.
RELIED_ON = (
    "answers",
    "deterministic",
    "batch = single",
    "mean-only",
    "lipschitz",
    "zero_is_absent",
    "monotone",
    "concave",
    "diminishing",
)
# All that `Exhaustive` needs, besides values without noise.
_ANSWERS = ("answers", "batch = single")
# Which properties each fact is about.
_ABOUT = {
    "reliable": RELIED_ON,
    "deterministic": ("deterministic",),
    "additive": ("additive",),
    "separable": ("separable",),
    "greedy": ("submodular", "monotone in S"),
    "answers": _ANSWERS,
}
# Which facts an oracle relies on.
_RESTS_ON = {
    "additive": ("additive",),
    "separable": ("reliable", "deterministic", "separable"),
    "submodular": ("reliable", "deterministic", "greedy"),
    "small": (),
    "other": ("reliable", "deterministic"),
    "undecided": ("reliable", "deterministic"),
    "separable, noisy": ("reliable", "separable"),
    "submodular, noisy": ("greedy",),
    "other, noisy": (),
    "undecided, noisy": (),
    "separable, unreliable": ("separable",),
    "other, unreliable": (),
}
# Up to this many sets, all are evaluated unless a cheaper oracle promises as much.
_FEW_SETS = 2000

Verdict: TypeAlias = Literal["holds", "fails", "undecided"]


@dataclass(frozen=True)
class Facts:
    """What the choice of an oracle depends on.

    Attributes
    ----------
    reliable
        Whether the reward is as required and declared, noise apart. Trusted while it is undecided.
    deterministic
        Whether equal questions have equal answers. Trusted as well, unless noise is declared.
    additive
        Whether the reward declares it, and it is true. Trusted as well.
    separable
        Whether the arms worth most alone are the best set.
    greedy
        Whether the reward is submodular, and one more arm lowers no value. Fails also if swaps
        improved greedy sets.
    answers
        Whether the reward answers, and alike in batches, whatever else it declares. Trusted as
        well.
    """

    reliable: Verdict
    deterministic: Verdict
    additive: Verdict
    separable: Verdict
    greedy: Verdict
    answers: Verdict


def facts_of(rows: Mapping[str, Property], n_arms: int, k: int) -> Facts:
    """What the rows of an inspection say."""
    additive: Verdict = "fails"
    if rows["additive"].kind == "declared":
        additive = _verdict([rows["additive"]])
    reliable = _verdict(_relied_on(rows))
    # Declared noise is believed, even if no probe shows it.
    declared = rows["deterministic"].kind == "undeclared"
    deterministic = "fails" if declared else _verdict([rows["deterministic"]])
    # The best single arm is the best set of one, and all arms are the best set of all.
    trivial = k in (1, n_arms)
    separable: Verdict = "holds" if trivial else _verdict([rows["separable"]])
    greedy = _verdict([rows[one] for one in _ABOUT["greedy"]])
    if rows["greedy"].n_violated:
        greedy = "fails"  # for whatever reason
    answers = _verdict([rows[one] for one in _ANSWERS])
    return Facts(reliable, deterministic, additive, separable, greedy, answers)


def case_of(facts: Facts, n_arms: int, k: int) -> str:
    """The rule that applies, a key of ``CHOICES``. The order of the rules is their priority."""
    separable = facts.separable == "holds"
    # First: every later rule relies on remembered answers or on what the reward declares.
    if facts.reliable == "fails":
        if separable:
            return "separable, unreliable"
        is_exact = "fails" not in (facts.answers, facts.deterministic)
        return "small" if is_exact and _is_small(facts, n_arms, k) else "other, unreliable"
    # Declared, and not violated: a declaration is trusted even after few probes.
    if facts.additive != "fails":
        return "additive"
    if facts.deterministic == "fails":
        if separable:
            return "separable, noisy"
        if facts.greedy == "fails":
            return "other, noisy"
        return "undecided, noisy" if facts.separable == "undecided" else "submodular, noisy"
    if separable:
        return "separable"
    if _is_small(facts, n_arms, k):
        return "small"
    if facts.greedy == "holds":
        return "submodular"
    return "undecided" if facts.separable == "undecided" else "other"


def open_properties(rows: Mapping[str, Property], n_arms: int, k: int) -> tuple[str, ...]:
    """The undecided properties whose outcome can still change the oracles that are advised."""
    facts = facts_of(rows, n_arms, k)
    undecided = [name for name in _ABOUT if getattr(facts, name) == "undecided"]
    # Every way in which the undecided facts may turn out.
    either: tuple[Verdict, Verdict] = ("holds", "fails")
    chosen = {}
    for outcome in itertools.product(either, repeat=len(undecided)):
        known: dict[str, Any] = dict(zip(undecided, outcome, strict=True))
        then = replace(facts, **known)
        # A reward whose answers fail is not reliable.
        if then.answers != "fails" or then.reliable == "fails":
            chosen[outcome] = CHOICES[case_of(then, n_arms, k)]
    names: list[str] = []
    for place, fact in enumerate(undecided):
        flipped = (
            (oracle, chosen.get((*outcome[:place], either[1], *outcome[place + 1 :]), oracle))
            for outcome, oracle in chosen.items()
        )
        if any(oracle != other for oracle, other in flipped):
            about = _relied_on(rows) if fact == "reliable" else [rows[n] for n in _ABOUT[fact]]
            names += [row.name for row in about if row.undecided]
    # In the order of the facts that decide most.
    return tuple(sorted(dict.fromkeys(names), key=lambda name: name in RELIED_ON))


def rests_on(rows: Mapping[str, Property], case: str) -> list[Property]:
    """The rows that a choice relies on."""
    found: list[Property] = []
    for fact in _RESTS_ON[case]:
        found += _relied_on(rows) if fact == "reliable" else [rows[n] for n in _ABOUT[fact]]
    return found


def unreliable(rows: Mapping[str, Property]) -> list[str]:
    """What is required or declared, and violated, so that remembered answers prove nothing."""
    return [row.name for row in _relied_on(rows) if row.is_error]


def _is_small(facts: Facts, n_arms: int, k: int) -> bool:
    """Whether evaluating all sets is cheap, or cheap enough where greedy promises nothing."""
    # Greedy needs about n_arms k evaluations.
    most = n_arms * k if facts.greedy == "holds" else max(n_arms * k, _FEW_SETS)
    return math.comb(n_arms, k) <= most


def _relied_on(rows: Mapping[str, Property]) -> list[Property]:
    names = [name for name in RELIED_ON if name != "deterministic"]  # a fact of its own
    return [rows[name] for name in names if rows[name].kind != "undeclared"]


def _verdict(rows: list[Property]) -> Verdict:
    if any(row.n_violated for row in rows):
        return "fails"
    return "holds" if all(row.holds for row in rows) else "undecided"
