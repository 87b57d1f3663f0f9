"""No decision and no recorded row differs from the package before it was laid out in rooms.

The digests contain the evaluations per round, and there were no audits when they were recorded. So
everything is played without audits, and then with them: audits cost evaluations, and change no
decision. The same goes for the better bounds that `NoisySingletons` has now: they save evaluations,
and change no certified decision.
"""

import json

import numpy as np
import pytest

import unchanged
from superarm.oracles import _noisy_round, noisy_singletons
from superarm.oracles._lazy.single_arms import Audits
from superarm.oracles._noisy_round import NoisyRound
from unchanged_studies import STUDIES

EXPECTED = json.loads(unchanged.RECORDED.read_text())
GROUPS = {**unchanged.GROUPS, **STUDIES}
LAZY = ("lazy", "local search", "rarely", "epsilon greedy")
# What was played as recorded, by group and case: two tests need it.
_PLAYED = {}


@pytest.mark.parametrize("name", GROUPS)
def test_every_digest_is_as_recorded(name):
    """A few decisions depend on the last bit of a sum, so they have one digest per processor."""
    found = {case: as_recorded(name, case, run)[0] for case, run in GROUPS[name]()}
    expected = {case: EXPECTED[name][case] for case in found}
    different = {
        case: (digest, expected[case])
        for case, digest in found.items()
        if digest not in (expected[case] if isinstance(expected[case], list) else [expected[case]])
    }
    assert not different
    assert found


@pytest.mark.parametrize("name", ["oracles", "budgets", "larger", "sampled", "sessions", "resumed"])
def test_audits_change_no_decision(name):
    """Arms and outcomes are the same, whatever is evaluated besides."""
    lazy = {case: run for case, run in GROUPS[name]() if is_lazy(case)}
    assert lazy
    # Playing changes a case, so that each of the two gets cases of its own.
    audited = {case: played(run)[1] for case, run in lazy.items()}
    again = {case: as_recorded(name, case, run)[1] for case, run in GROUPS[name]() if case in lazy}
    assert audited == again


def test_better_bounds_for_noise_change_no_decision():
    """All sets are certified there, so that every one of them is the best set."""
    noisy = {case: run for case, run in GROUPS["oracles"]() if case.startswith("noisy singletons")}
    assert len(noisy) > 3
    better = {case: played(run)[1] for case, run in noisy.items()}
    again = {
        case: as_recorded("oracles", case, run)[1]
        for case, run in GROUPS["oracles"]()
        if case in noisy
    }
    assert better == again


def is_lazy(case):
    """Whether a lazy oracle decides."""
    return any(case.startswith(part) or f"cts {part}" in case for part in LAZY)


def as_recorded(name, case, run):
    """The digest of a case without what is newer, and that of its decisions alone."""
    if (name, case) not in _PLAYED:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Audits, "are_due", lambda self, per_root: False)
            patch.setattr(_noisy_round, "is_concave", lambda reward: False)
            # The last argument is the number of rounds: None for no bounds of differences.
            patch.setattr(noisy_singletons, "NoisyRound", lambda *now: NoisyRound(*now[:-1], None))
            _PLAYED[name, case] = played(run)
    return _PLAYED[name, case]


def played(run):
    """The digest of a case, and that of its decisions alone; the same if it has no trace."""
    seen = []

    def of_trace(trace, whole=unchanged.of_trace):
        seen.append(unchanged.digest([trace.arms.astype(np.int64), trace.outcomes]))
        return whole(trace)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unchanged, "of_trace", of_trace)
        digest = unchanged.or_refusal(run)
    return digest, seen or digest
