"""No decision and no recorded row differs from what the package gave before it was laid out in rooms."""

import json

import pytest

import unchanged
from unchanged_studies import STUDIES

EXPECTED = json.loads(unchanged.RECORDED.read_text())
GROUPS = {**unchanged.GROUPS, **STUDIES}


@pytest.mark.parametrize("name", GROUPS)
def test_every_digest_is_as_recorded(name):
    found = {case: unchanged.or_refusal(run) for case, run in GROUPS[name]()}
    assert found == EXPECTED[name]
