"""No decision and no recorded row differs from the package before it was laid out in rooms.

The digests contain the evaluations per round, and there were no audits when they were recorded. So
everything is played without audits, and then with them: audits cost evaluations, and change no
decision.
"""

import json

import numpy as np
import pytest

import unchanged
from superarm.oracles._lazy.certificates import Audits
from unchanged_studies import STUDIES

EXPECTED = json.loads(unchanged.RECORDED.read_text())
GROUPS = {**unchanged.GROUPS, **STUDIES}


@pytest.mark.parametrize("name", GROUPS)
def test_every_digest_is_as_recorded(name, monkeypatch):
    """A few decisions depend on the last bit of a sum, so they have one digest per processor."""
    monkeypatch.setattr(Audits, "are_due", lambda self, per_root: False)
    found = {case: unchanged.or_refusal(run) for case, run in GROUPS[name]()}
    expected = {case: EXPECTED[name][case] for case in found}
    different = {
        case: (digest, expected[case])
        for case, digest in found.items()
        if digest not in (expected[case] if isinstance(expected[case], list) else [expected[case]])
    }
    assert not different
    assert found


@pytest.mark.parametrize("name", ["oracles", "budgets", "larger", "sampled", "sessions", "resumed"])
def test_audits_change_no_decision(name, monkeypatch):
    """Arms and outcomes are the same, whatever is evaluated besides."""
    monkeypatch.setattr(unchanged, "of_trace", decisions)
    audited = with_audits(name)
    with monkeypatch.context() as without:
        without.setattr(Audits, "are_due", lambda self, per_root: False)
        assert audited == with_audits(name)


def with_audits(name):
    """The digests of the cases in which a lazy oracle decides."""
    lazy = ("lazy", "local search", "rarely", "epsilon greedy")
    return {
        case: unchanged.or_refusal(run)
        for case, run in GROUPS[name]()
        if any(case.startswith(part) or f"cts {part}" in case for part in lazy)
    }


def decisions(trace):
    return unchanged.digest([trace.arms.astype(np.int64), trace.outcomes])
