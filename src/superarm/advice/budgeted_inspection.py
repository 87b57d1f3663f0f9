"""A budget of evaluations, spent where it can still change the recommended oracle."""

from __future__ import annotations

from dataclasses import dataclass

from superarm.advice import settings
from superarm.advice import shape_probes as shape
from superarm.advice.asking import AskingMany, Probe, ProbeOnce, run_block
from superarm.advice.combined_probes import Combined, Required, alone, interactions
from superarm.advice.evidence import n_clean
from superarm.advice.follow_up import GreedySets, search_within, why_swaps_help
from superarm.advice.group_search import InteractionSearch
from superarm.advice.ledger import Ledger
from superarm.advice.probes import repeat_once
from superarm.advice.random_inputs import RandomInputs
from superarm.advice.rules import CHOICES, case_of, facts_of, open_properties
from superarm.advice.sub_problems import SubChecks

_PILOT = 4  # evaluations that find out how large values usually are
_NOISY_PILOT = 12  # the same where there is noise, made twice
_MOST_TIMES = 2  # times the probes that it takes without noise and failures
_SCREEN = 0.1  # of the budget, for the first probes of what is required


@dataclass
class ProbeGroup:
    """Properties that one probe is about, the probe, and the evaluations per probe."""

    names: tuple[str, ...]
    probe: Combined
    evaluations: int
    label: str = ""
    n_probes: int = 0


def groups(
    n_arms: int, k: int, claims: set[str], required: Required, separable: shape.Separable
) -> list[ProbeGroup]:
    """What can decide between oracles, in the order in which it is probed."""
    found = []
    if "additive" in claims:
        found.append(ProbeGroup(("additive",), _one("additive", shape.additive), 6))
    if 1 < k < n_arms:
        cost = separable.n_evaluations(n_arms, k)
        found.append(ProbeGroup(("separable",), _one("separable", separable), cost))
    found.append(ProbeGroup(("submodular", "monotone in S"), interactions, 4))
    absent = ("zero_is_absent",) if required.zero_is_absent else ()
    cost = required.n_evaluations(n_arms)
    found.append(ProbeGroup((*required.names, *absent), required, cost, "required, declared"))
    rising = tuple(name for name in ("monotone", "concave") if name in claims)
    if rising:
        found.append(ProbeGroup(rising, alone, 3))
    if "diminishing" in claims:
        found.append(ProbeGroup(("diminishing",), _one("diminishing", shape.diminishing), 4))
    return found


def probe_within(
    budget: int,
    table: list[ProbeGroup],
    ledger: Ledger,
    checks: SubChecks,
    search: InteractionSearch,
    draw: RandomInputs,
    *,
    noisy: bool,
) -> None:
    """Probe until the recommendation can't change any more, or the budget is used up.

    Then check it on sub-problems and greedy sets, and search for arms that interact. All of these
    may reopen the question.
    """
    if noisy:  # at most half of the budget
        ledger.pilot(draw, max(1, min(_NOISY_PILOT, budget // 4)), twice=budget > 1)
    else:
        ledger.pilot(draw, min(_PILOT, budget))
    separable, looked = ledger.tallies["separable"], False
    while True:
        if separable.n_violated and not looked:
            why_swaps_help(ledger, ledger.left(budget))
            looked = True
        group = _next(table, ledger, ledger.left(budget), draw.k)
        if group is not None:
            _probe_block(group, ledger, draw, budget)
            if group.names == ("separable",) and separable.row.holds:
                _probe_large(ledger, draw, budget)
        elif not (
            _check(ledger, checks, budget)
            or _try_greedy(ledger, draw, budget)
            or search_within(ledger, search, ledger.left(budget))
        ):
            return


def _probe_block(group: ProbeGroup, ledger: Ledger, draw: RandomInputs, budget: int) -> None:
    """Probe the properties of a group a few times at once."""
    ledger.watch.about = group.label or group.names[0]
    n_block = _n_block(group, ledger.left(budget))
    group.n_probes += n_block
    for found in run_block(ledger.evaluate, [group.probe(draw) for _ in range(n_block)]):
        findings = found if isinstance(found, dict) else {}
        ledger.confirm(findings, ledger.left(budget))
        ledger.add(findings)


def _probe_large(ledger: Ledger, draw: RandomInputs, budget: int) -> None:
    """Probe separability with more arms before it is relied on.

    Few arms rarely include two that get in each other's way. Only violations count: the bound on
    the share is about the smaller probes.
    """
    probe = shape.Separable(losses=ledger.separable.losses)
    left = ledger.left(budget)
    n = min(settings.N_LARGE, left // probe.n_evaluations(draw.n_arms, draw.k))
    ledger.watch.about = "separable, with more arms"
    for found in run_block(ledger.evaluate, [probe(draw) for _ in range(n)]):
        if isinstance(found, Probe):
            ledger.confirm({"separable": found}, ledger.left(budget))
            ledger.add_better(found)


def _n_block(group: ProbeGroup, left: int) -> int:
    """How many probes run at once: few at first, because most violations show at once."""
    n = min(settings.BLOCK, group.n_probes, n_clean() - group.n_probes)
    return min(max(1, n), left // group.evaluations)


def _check(ledger: Ledger, checks: SubChecks, budget: int) -> bool:
    """Check sub-problems with what is left; whether they contradict what held."""
    left = ledger.left(budget)
    n = min(settings.N_CHECKS, left // checks.evaluations)
    if n == 0 or ledger.noisy or checks.better is not None or checks.n_arms <= checks.k:
        return False
    ledger.watch.about = "all sets of sub-problems"
    checks.run(n)
    return ledger.add_better(checks.better)


def _try_greedy(ledger: Ledger, draw: RandomInputs, budget: int) -> bool:
    """Try greedy sets with what is left, before they are relied on; whether a swap improves one."""
    n_arms, k, row = draw.n_arms, draw.k, ledger.tallies["greedy"]
    case = case_of(facts_of(ledger.rows(), n_arms, k), n_arms, k)
    trial, left = GreedySets(), ledger.left(budget)
    n = min(settings.N_GREEDY - row.n_probes, left // trial.n_evaluations(n_arms, k))
    if CHOICES[case] not in ("LazyGreedy", "NoisyGreedy") or row.n_unclear:
        return False
    ledger.watch.about = "swaps in greedy sets"
    for _ in range(n):
        (found,) = run_block(ledger.evaluate, [trial(draw)])
        if isinstance(found, Probe):
            ledger.add({"greedy": found})
        if row.n_violated:
            return True
    return False


def _next(table: list[ProbeGroup], ledger: Ledger, left: int, k: int) -> ProbeGroup | None:
    """The group whose probes may change the recommendation; None if there is none, or no budget."""
    if ledger.noise.unknown and left >= _NOISE.evaluations:
        return _NOISE  # no comparison says anything before
    names = open_properties(ledger.rows(), ledger.evaluate.n_arms, k)
    useful = [
        group
        for group in table
        if not set(group.names).isdisjoint(names)
        and group.evaluations <= left
        # Noise or failures may hide everything.
        and group.n_probes < _MOST_TIMES * n_clean()
    ]
    # A few probes of what is required: a reward that fails there makes all other probes useless.
    first = [
        group
        for group in useful
        if "deterministic" in group.names
        and group.n_probes < settings.BLOCK
        and settings.BLOCK * group.evaluations <= _SCREEN * left
    ]
    # Then what the rest of the budget can decide, in the order of the rules; else the cheapest.
    decidable = [
        group for group in useful if (n_clean() - group.n_probes) * group.evaluations <= left
    ]
    cheapest = sorted(useful, key=lambda group: group.evaluations)
    return next(iter([*first, *decidable, *cheapest]), None)


def _one(name: str, probe: ProbeOnce) -> Combined:
    def asking(draw: RandomInputs) -> AskingMany:
        found = yield from probe(draw)
        return {name: found}

    return asking


_NOISE = ProbeGroup(("deterministic",), _one("deterministic", repeat_once), 2)
