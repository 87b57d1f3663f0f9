"""The page about the edge quotes what its benchmark has recorded."""

import json
from pathlib import Path

import numpy as np

import edge

DOCS = Path(__file__).parents[2] / "docs"


def test_figures_are_the_recorded_ones():
    page = (DOCS / "edge.md").read_text()
    found = json.loads((DOCS / "edge.json").read_text())
    assert edge.regret_table(found["regret"]) in page
    assert edge.sentence(found["regret"]) in page
    assert edge.capacity_table(found["speed"]) in page
    assert (found["regret"]["rounds"], found["regret"]["runs"]) == (20_000, 12)
    assert set(found["regret"]["faults"].values()) == {0.1}


def test_batches_of_a_faulty_line_count_once_late_or_never(monkeypatch):
    """One in three meets each fault, so of 300 batches 100 are lost, give or take 5 deviations."""
    monkeypatch.setattr(edge, "LOST", 1 / 3)
    monkeypatch.setattr(edge, "LATE", 1 / 3)
    monkeypatch.setattr(edge, "TWICE", 1 / 3)
    home = edge.Home()
    line = edge.Line(home, np.random.default_rng(0))
    one = np.ones_like(home.counts)
    for id in range(300):
        line.send(0, id, one)
    assert abs(home.counts[0, 0, 0] - 1 - 200) <= 5 * (300 * 2 / 9) ** 0.5 + 1


def test_nothing_is_lost_on_a_good_line(monkeypatch):
    monkeypatch.setattr(edge, "N_ROUNDS", 60)
    homes = []
    monkeypatch.setattr(edge, "Home", lambda made=edge.Home: homes.append(made()) or homes[-1])
    stale, fresh = (edge.regret("uniform", interval) for interval in (20, 1))
    told = [home.counts.sum(axis=0) - 2 for home in homes]
    assert (told[0].sum(axis=1) == 60 * edge.K).all()  # every client syncs after each decision
    assert (told[1].sum(axis=1) == 60 * edge.K).all()
    assert stale.mean() > fresh.mean() > 0
