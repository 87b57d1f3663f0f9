"""The page about features quotes what the benchmarks have recorded."""

import json
import re
from pathlib import Path
from statistics import fmean

import pytest

import contextual_peers
import features_tables

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


@pytest.mark.parametrize(
    ("words", "table", "word"),
    [
        ("Yeast, contexts of the gene", "yeast", "contexts"),
        ("late flights, features of the route", "flights, late", "features"),
    ],
)
def test_gaps_closed_on_real_tables(words, table, word):
    found = json.loads((DOCS / "features.json").read_text())[table]
    quoted = re.search(rf"\|{words}\|(\d+)\|(\d+)\|(\d+)\|", PAGE).groups()
    for number, name in zip(quoted, (word, f"random {word}", f"no {word}"), strict=True):
        assert len(found[name]["gaps"]) == 20
        assert int(number) == round(fmean(found[name]["gaps"]))


def test_the_time_of_a_million_arms():
    rows = json.loads((DOCS / "linear.json").read_text())
    rows = features_tables.curve(rows, 10**6, 50)
    ratios = {row["round"]: row["ratio"] for row in rows}
    after, late = re.search(
        r"takes ([\d.]+) of the time .* and ([\d.]+) after 3,000", PAGE
    ).groups()
    assert (float(after), float(late)) == (round(ratios[1000], 2), round(ratios[3000], 2))


def test_tables_and_picture_are_those_of_the_recorded_numbers():
    assert features_tables.page(PAGE) == PAGE
    assert features_tables.render(features_tables.draw) == features_tables.PICTURE.read_text()


def test_programs_of_contextual_peers_play():
    systems = [one for one in contextual_peers.SYSTEMS if one.package == "superarm"]
    for system in systems:
        found = contextual_peers.shop(system, 0, n_rounds=15)
        assert 0 < found["percent"] < 100


def test_no_decision_of_the_curve_differs():
    rows = json.loads((DOCS / "linear.json").read_text())
    assert sum(row["different"] for row in rows) == 0
    # The bar of the project: a twentieth of a dense round late in a run.
    assert features_tables.curve(rows, 10**6, 50)[-1]["ratio"] < 1 / 20
