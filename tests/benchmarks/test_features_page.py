"""The page about features quotes what the benchmarks have recorded."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import contextual_peers
import features
import features_tables
from superarm.environments.datasets import Dataset

DOCS = Path(__file__).parents[2] / "docs"
RECORDED = json.loads((DOCS / "logistic.json").read_text())
PAGE = (DOCS / "features.md").read_text()


@pytest.mark.parametrize(
    ("words", "row"),
    [
        ("|random sets||", "random"),
        ("|`cts`||", "cts"),
        ("|`thompson`||", "thompson"),
        ("|`LogisticBelief`|features|", "features"),
        ("|`LogisticBelief`|context|", "context"),
        ("|`LogisticBelief`|both|", "both, hybrid"),
        (
            "|`LogisticBelief`|both, with the features of other products|",
            "shuffled features and context",
        ),
        ("|`LinearBelief`|both|", "both, linear"),
    ],
)
def test_values_of_the_shop(words, row):
    [quoted] = re.findall(rf"{re.escape(words)}(\d+)\|", PAGE)
    assert int(quoted) == round(RECORDED["shop"][row]["mean"])


def test_what_intervals_hold():
    low, high = re.search(r"90% intervals hold (\d+)% to (\d+)%", PAGE).groups()
    assert int(low) == round(100 * min(row["mass_low"] for row in RECORDED["simulation"]))
    assert int(high) == round(100 * max(row["mass_high"] for row in RECORDED["simulation"]))


def test_gaps_closed_on_real_tables():
    found = json.loads((DOCS / "features.json").read_text())
    assert features.markdown(found) in PAGE
    assert features.of_random(found) in PAGE
    assert found.keys() >= {"yeast", "flights, late", "digits", "ta-feng"}
    for name in (name for name in features.TITLES if name in found):
        assert all(len(row["gaps"]) >= 20 for row in found[name].values())
    for name in features.WITH_RANDOM:
        rows = found[name]
        of_random = [len(rows[one]["gaps"]) for one in rows if one.startswith("random")]
        assert len(rows["neither"]["gaps"]) >= max(of_random)
        assert all(f"|{n}|" in features.of_random(found) for n in of_random)


def test_a_case_study_is_played_and_resumed(tmp_path, monkeypatch, capsys):
    rng = np.random.default_rng(0)
    data = Dataset(
        rng.integers(2, size=(30, 5)).astype(np.uint8),
        tuple("abcde"),
        "",
        features=rng.normal(size=(5, 2)),
        contexts=rng.normal(size=(30, 2)),
    )
    monkeypatch.setattr(features, "CASES", {"small": lambda: features.Case(data, 2)})
    out, found = tmp_path / "found.json", {}
    features.record(found, "small", 2, None, out)
    policies = ["thompson", "neither", "features", "contexts"]
    policies += ["random features", "random contexts", "both"]
    assert list(found["small"]) == policies
    assert all(len(row["gaps"]) == 2 for row in found["small"].values())
    written = json.loads(out.read_text())
    features.record(written, "small", 3, "both", out)
    assert written["small"]["both"]["gaps"][:2] == found["small"]["both"]["gaps"]
    assert len(json.loads(out.read_text())["small"]["both"]["gaps"]) == 3
    assert "both" in capsys.readouterr().out


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
