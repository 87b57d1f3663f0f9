"""The page about features quotes what the benchmark of `LogisticBelief` has recorded."""

import json
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
RECORDED = json.loads((DOCS / "logistic.json").read_text())
PAGE = (DOCS / "features.md").read_text()


@pytest.mark.parametrize(
    ("words", "row"),
    [
        ("Random sets reach", "random"),
        ("`cts`", "cts"),
        ("`thompson`", "thompson"),
        ("`LogisticBelief` with features", "features"),
        ("with the context", "context"),
        ("with both", "both, hybrid"),
        ("with both but features of other products", "shuffled features and context"),
        ("`LinearBelief` with both", "both, linear"),
    ],
)
def test_values_of_the_shop(words, row):
    [quoted] = re.findall(rf"(?<!`LinearBelief` ){re.escape(words)} (\d+)", PAGE)
    assert int(quoted) == round(RECORDED["shop"][row]["mean"])


def test_what_intervals_hold():
    low, high = re.search(r"90% intervals hold (\d+)% to (\d+)%", PAGE).groups()
    assert int(low) == round(100 * min(row["mass_low"] for row in RECORDED["simulation"]))
    assert int(high) == round(100 * max(row["mass_high"] for row in RECORDED["simulation"]))
