"""No decision and no recorded row differs from those recorded before the redesign."""

import json

import pytest

import unchanged
from unchanged_studies import STUDIES

EXPECTED = json.loads(unchanged.RECORDED.read_text())
GROUPS = {**unchanged.GROUPS, **STUDIES}


def is_played(case):
    """Whether a recorded case is played: a few slow ones stand for the others of their kind."""
    return not case.endswith(f"/ {unchanged.SLOW}") or f"/ {unchanged.ITS_REWARD} /" in case


@pytest.mark.parametrize("name", GROUPS)
def test_every_digest_is_as_recorded(name):
    found = {case: unchanged.or_refusal(run) for case, run in GROUPS[name]()}
    assert found == {case: digest for case, digest in EXPECTED[name].items() if is_played(case)}
