"""The page on capacity computes from what the benchmarks of the service and the edge recorded."""

import json
import statistics

import pytest

import capacity_page
import edge_tables
from capacity_page import CORES, USE, Way

LOAD = json.loads((capacity_page.HERE / "load.json").read_text())


def test_the_page_is_what_was_measured():
    text = capacity_page.PAGE.read_text()
    assert capacity_page.page(text) == text


def test_a_decision_and_its_outcomes_are_two_requests():
    """By hand, for requests one by one on SQLite and `BetaBelief`."""
    rounds = [row["single"] for row in LOAD["sqlite"]["rounds"]]
    way = capacity_page.ways()[0]
    assert (way.name, way.belief, way.database) == ("one by one", "`beta`", "SQLite")
    assert way.server_s == pytest.approx(statistics.median(row["cpu_ms"] for row in rounds) / 500)
    assert way.bandit_per_s == statistics.median(row["per_s"] for row in rounds) / 2
    assert way.cores(1e4) == (pytest.approx(1e4 * way.server_s), 0)


def test_only_postgresql_and_the_edge_have_other_machines():
    for way in capacity_page.ways():
        assert (way.other_s > 0) == (way.database == "PostgreSQL" or way.name == "at the edge")


def test_machines_are_whole_and_never_busier_than_planned():
    way = Way("", "", "", server_s=1e-3, other_s=1e-5, bandit_per_s=3000, n_bytes=0)
    servers, others, bandits = way.machines(1e4)  # 10 cores, and a tenth of one
    assert (servers, others, bandits) == (2, 1, 4)
    assert 10 <= servers * CORES * USE < 10 + CORES * USE


def test_the_edge_has_the_cores_of_its_own_page():
    of_edge = [way for way in capacity_page.ways() if way.name == "at the edge"]
    assert len(of_edge) == 2
    for way in of_edge:
        server, client = way.cores(1e6)
        assert f"{client:,.1f} + {server:,.1f}" in edge_tables.speed()
