"""Every property, with the same number of probes each."""

from __future__ import annotations

from typing import NamedTuple

from superarm.advice import probes as required
from superarm.advice import settings, sub_problems
from superarm.advice import shape_probes as shape
from superarm.advice.asking import Probe, ProbeOnce, run_block
from superarm.advice.follow_up import GreedySets, search_within, why_swaps_help
from superarm.advice.group_search import InteractionSearch
from superarm.advice.ledger import Ledger
from superarm.advice.random_inputs import RandomInputs

PILOT = 15  # evaluations that find out how large values usually are
_PROBES_PER_CHECK = 40  # and one sub-problem
_AFTER = 25  # evaluations per probe, at most, that search for arms that interact
_BLOCK = 16  # probes that run at the same time on an executor


class Check(NamedTuple):
    """A property, its probe, and the evaluations per probe."""

    name: str
    probe: ProbeOnce
    evaluations: int
    share: float = 1.0  # of the number of probes that was asked for

    def n_probes(self, probes: int) -> int:
        """How many probes it gets."""
        return max(1, round(self.share * probes))


def checks(
    n_arms: int,
    k: int,
    lipschitz: required.Lipschitz,
    bounded: required.Bounded,
    separable: shape.Separable,
) -> list[Check]:
    """The table of properties, in the order of the report."""
    greedy = GreedySets()
    return [
        # First, so that the others know the noise.
        Check("deterministic", required.repeat, 4),
        Check("batch = single", required.batch_equals_single, 6),
        Check("mean-only", required.mean_only, 2),
        Check("order", required.order, 2),
        Check("lipschitz", lipschitz, 2),
        Check("bounded", bounded, 1),
        Check("monotone", shape.rising_alone, 2),
        Check("zero_is_absent", shape.zero_is_absent, 2),
        Check("additive", shape.additive, 6),
        Check("concave", shape.concave, 3),
        Check("diminishing", shape.diminishing, 4),
        Check("monotone in theta", shape.rising_in_means, 2),
        Check("monotone in S", shape.rising_in_set, 2),
        Check("submodular", shape.submodular, 4),
        Check("separable", separable, separable.n_evaluations(n_arms, k), 0.25),
        Check("greedy", greedy, greedy.n_evaluations(n_arms, k), 0.01),
    ]


def most_evaluations(table: list[Check], probes: int, n_arms: int, k: int) -> int:
    """How many evaluations all of it takes."""
    probed = sum(check.n_probes(probes) * check.evaluations for check in table)
    checked = _n_checks(probes, n_arms, k) * sub_problems.size(n_arms, k)[2]
    return PILOT + probed + checked + _AFTER * probes


def _n_checks(probes: int, n_arms: int, k: int) -> int:
    if k in (1, n_arms):
        return 0  # there is nothing to choose
    return min(settings.N_CHECKS, max(1, probes // _PROBES_PER_CHECK))


def probe_all(
    table: list[Check], ledger: Ledger, draw: RandomInputs, probes: int, *, parallel: bool
) -> None:
    """Probe every property."""
    ledger.pilot(draw, PILOT)
    size = _BLOCK if parallel else 1
    for check in table:
        ledger.watch.about = check.name
        left = check.n_probes(probes)
        while left:
            block = [check.probe(draw) for _ in range(min(size, left))]
            left -= len(block)
            for found in run_block(ledger.evaluate, block):
                ledger.add({check.name: found if isinstance(found, Probe) else None})


def check_all(
    ledger: Ledger, checks: sub_problems.SubChecks, search: InteractionSearch, probes: int
) -> None:
    """Compare oracles with all sets of sub-problems, unless noise decides which set is best.

    Then search for arms that interact.
    """
    if not ledger.noisy:
        ledger.watch.about = "all sets of sub-problems"
        checks.run(_n_checks(probes, ledger.evaluate.n_arms, checks.whole_k))
        ledger.add_better(checks.better)
    before = ledger.evaluate.n_evaluated
    why_swaps_help(ledger, _AFTER * probes)
    search_within(ledger, search, _AFTER * probes - (ledger.evaluate.n_evaluated - before))
