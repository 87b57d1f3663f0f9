"""The benchmark of learning plays what it says, and its recorded runs can be played again."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import learning
import learning_parts
import superarm as sa
from learning_latest import LATEST
from learning_problems import Problem, coins, gap_closed, network, table

RECORDED = Path(__file__).parents[2] / "docs" / "learning.json"
SMALL = {
    "coins": Problem("", coins(lambda rng: rng.random(20)), 3, 40),
    "table": Problem("", table(lambda rng: rng.random((40, 12))), 2, 40),
}


def test_every_part_is_played_and_shown(monkeypatch, tmp_path, capsys):
    for module in (learning, learning_parts):
        monkeypatch.setattr(module, "ProcessPoolExecutor", ThreadPoolExecutor)
    monkeypatch.setattr(learning, "PROBLEMS", SMALL)
    for name in ("LATEST", "BEFORE"):
        monkeypatch.setattr(learning, name, SMALL)
    monkeypatch.setattr(learning, "MEASURED", ("table",))
    small = (lambda rng: sa.linear_instance(30, 3, 0.2, rng=rng), 40)
    monkeypatch.setattr(learning, "PAPER", {"linear": small, "network": small})
    monkeypatch.setattr(learning_parts, "QUICK_SIZES", (50,))
    out = tmp_path / "learning.json"
    learning.main(["--quick", "--workers", "1", "--out", str(out)])
    found = json.loads(out.read_text())
    assert tuple(found) == learning.PARTS
    assert len(found["table"]) == 2 * learning.QUICK_RUNS
    # What is evaluated does not know that values are sums.
    assert all(row["evaluations"] > 0 for row in found["paper"])
    assert "thompson is" in capsys.readouterr().out.replace("\n", " ")


def test_a_gap_is_0_for_random_sets_and_100_for_the_best_set():
    """Random sets over 2,000 rounds, within 5 standard errors, which are below 2 points."""
    environment, reward = coins(lambda rng: rng.random(20))(np.random.default_rng(0))
    problem, rng = Problem("", None, 3, 2000), np.random.default_rng(1)
    trace = sa.simulate(sa.random_sets(reward, 3), environment, horizon=2000, rng=rng)
    assert abs(gap_closed(problem, environment, reward, trace, 0)) < 10
    best = sa.Policy(Known(environment.mu), sa.TopK(), reward, 3)
    trace = sa.simulate(best, environment, horizon=5, rng=rng)
    assert gap_closed(problem, environment, reward, trace, 0) == pytest.approx(100)


def test_the_best_set_of_a_network_is_that_of_the_instance():
    instance, reward = network(np.random.default_rng(0))
    policy = sa.Policy(Known(instance.environment.mu), sa.Singletons(), reward, 5)
    trace = sa.simulate(policy, instance, horizon=1, rng=np.random.default_rng(0))
    problem = Problem("", None, 5, 1)
    assert gap_closed(problem, instance, reward, trace, 0) == pytest.approx(100)


@pytest.mark.parametrize("name", ["websites", "exams"])
def test_a_recorded_run_that_is_played_again_is_the_same(name):
    recorded = json.loads(RECORDED.read_text())["table"]
    row = next(row for row in recorded if row["problem"] == name and row["run"] == 0)
    again = learning.play("table", name, 0, None)["found"]
    for label, (gap, _) in row["found"].items():
        assert again[label][0] == pytest.approx(gap, abs=1e-6)


def test_all_problems_are_recorded():
    recorded = json.loads(RECORDED.read_text())
    assert {row["problem"] for row in recorded["table"]} == {*LATEST}
    assert {row["problem"] for row in recorded["before"]} == {*learning.BEFORE}


class Known(sa.BetaBelief):
    """Samples are the true means."""

    def __init__(self, mu):
        super().__init__(len(mu))
        self.mu = mu

    def sample(self, *, rng):
        return self.mu.copy()

    def sample_top(self, k, *, rng):
        arms = np.sort(np.argsort(-self.mu)[:k])
        return arms, self.mu[arms]
