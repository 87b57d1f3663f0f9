"""The page about the edge quotes what its benchmark has recorded, and the simulation is right."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import edge_simulation
from edge_problems import PROBLEMS, Tables
from edge_simulation import Setting, play

DOCS = Path(__file__).parents[2] / "docs"


def test_figures_are_the_recorded_ones():
    spec = importlib.util.spec_from_file_location("edge_tables", DOCS / "edge_tables.py")
    tables = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tables)
    text = tables.PAGE.read_text()
    assert tables.page(text) == text
    found = tables.read()["regret"]
    assert set(found["faults"].values()) == {0.1}
    assert {row["setting"]["every_s"] for row in found["rows"]} == {60.0}


def test_batches_of_a_faulty_line_count_once_late_or_never(monkeypatch):
    """One in three meets each fault, so of 300 batches 100 are lost, give or take 5 deviations."""
    for name in ("LOST", "LATE", "TWICE"):
        monkeypatch.setattr(edge_simulation, name, 1 / 3)
    problem = Tables(np.ones((1, 4)), 2, np.zeros((1, 1), int))
    home = edge_simulation.Home(edge_simulation.Counts(problem))
    line = edge_simulation.Line(home, np.random.default_rng(0))
    client = edge_simulation.EdgeClient(home.snapshot(), None)
    for _ in range(300):
        client.tell(np.array([[0, 1]]), np.ones((1, 2)))
        line.send(client)
    assert abs(home.n_known - 200) <= 5 * (300 * 2 / 9) ** 0.5 + 1
    assert home.belief.counts[0, 0, 0] - 1 == home.n_known


@pytest.fixture
def homes(monkeypatch):
    made = []
    kind = edge_simulation.Home
    monkeypatch.setattr(
        edge_simulation, "Home", lambda belief: made.append(kind(belief)) or made[-1]
    )
    return made


@pytest.mark.parametrize("belief", ["beta", "learned_beta"])
def test_nothing_is_lost_on_a_good_line(homes, belief):
    problem = PROBLEMS["uniform"](range(2), None)
    problem.horizon = 60
    setting = Setting(rate=10, n_clients=3, share=0.5, least_s=0.2)
    found = play(problem, setting, belief)
    # All but what the clients had not sent at the end.
    assert 50 <= homes[0].n_known <= 60
    if belief == "beta":
        assert homes[0].belief.counts[:, 0].sum() == 2 * 200 + 5 * homes[0].n_known
    assert found.syncs >= 5
    assert (found.regret > 0).all()


def test_one_client_is_never_stale():
    problem = PROBLEMS["low rate"](range(3), None)
    problem.horizon = 80
    fresh = play(problem, Setting(0), seed=1).regret
    for share in (None, 0.1):
        assert (play(problem, Setting(7, 1, share), seed=1).regret == fresh).all()


def test_network_problems_are_those_of_the_library():
    problem = PROBLEMS["network"](range(1), None)
    instance = edge_problems_instance()
    rng = np.random.default_rng(0)
    theta = rng.random((1, 1000))
    alone = [instance.reward([arm], theta[0, [arm]]) for arm in range(1000)]
    assert set(problem.best(theta)[0]) == set(np.argsort(alone)[-5:])
    arms = problem.best(theta)
    _, regret = problem.pull(0, arms)
    value = instance.reward(np.sort(arms[0]), instance.mu[np.sort(arms[0])])
    assert regret[0] == pytest.approx(instance.best_value - value)


def edge_problems_instance():
    from superarm.simulation import network_instance

    return network_instance(1000, 5, 0.2, rng=np.random.default_rng(0))
