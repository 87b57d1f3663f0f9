"""``superarm inspect``."""

import json
import re
import sys

import pytest

from commands import run

SHOP = """
import numpy as np
import superarm as sa
from corner_prices import STEEPNESS

def worth(arms, means):
    return float(np.tanh(STEEPNESS * means.sum()))

steep = sa.BlackBox(worth, n_arms=20, lipschitz=1.0, upper=1.0)
number = 7

def make():
    return sa.BlackBox(worth, n_arms=20, lipschitz=1.2, upper=1.0)

def needs(more):
    return more
"""


@pytest.fixture
def shop(tmp_path, monkeypatch):
    (tmp_path / "corner_shop.py").write_text(SHOP)
    (tmp_path / "corner_prices.py").write_text("STEEPNESS = 1.2")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    yield tmp_path / "corner_shop.py"
    for name in ("corner_shop", "corner_prices"):
        sys.modules.pop(name, None)


def test_inspect_prints_what_it_found_and_fails_on_an_error(shop):
    result = run("inspect", f"{shop}:steep", "--probes", "80", "--k", "3")
    assert result.exit_code == 1, result.output
    for words in (
        "lipschitz",
        "ERROR",
        "separable",
        "holds",
        "Fix first: lipschitz",
        "Recommended: Singletons",
    ):
        assert words in result.output
    assert "evaluations of" in result.output  # said before the first


@pytest.mark.parametrize("where", ["corner_shop", "corner_shop.py"])
def test_inspect_takes_modules_and_paths_rewards_and_their_makers(shop, where):
    result = run("inspect", f"{where}:make", "--probes", "40", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["ok"]
    assert found["n_arms"] == 20
    assert {row["name"]: row["verdict"] for row in found["rows"]}["lipschitz"] == "ok"


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("corner_shop.py", "expected MODULE:REWARD"),
        ("corner_shop.py:nothing", "has no attribute 'nothing'; its rewards are steep"),
        ("nowhere.py:reward", "could not be imported"),
        ("no_such_module:reward", "could not be imported"),
        ("corner_shop.py:number", "must be a reward"),
        ("corner_shop.py:needs", "without arguments"),
        ("corner_shop.py:needs", "wrap it: reward = superarm.BlackBox(needs, n_arms=..."),
        ("corner_shop.py:make --k 21", "k must be between"),
    ],
)
def test_inspect_refuses_what_it_cannot_load(shop, target, message):
    result = run("inspect", *target.split())
    assert result.exit_code == 2
    assert message in re.sub(r"[\s│]+", " ", result.output)
    assert "evaluations of" not in result.output  # refused before anything is announced


def test_inspect_keeps_to_a_budget_and_says_the_cost_first(shop, monkeypatch):
    """Processes are replaced by threads, which start faster and give the same results."""
    from concurrent.futures import ThreadPoolExecutor

    monkeypatch.setattr(
        "superarm.reporting.jobs.processes",
        ThreadPoolExecutor,
    )
    results = [
        run("inspect", "corner_shop.py:make", "--budget", "150", "--workers", workers)
        for workers in ("1", "2")
    ]
    for result in results:
        assert result.exit_code == 0, result.output
        assert "Making at most 150 evaluations of corner_shop.py:make" in result.stderr
        assert "The first took" in result.stderr
        assert "not probed: monotone" in result.stdout
    one, other = (re.sub(r"[\d.]+ (ns|µs|ms|s)\b", "", result.stdout) for result in results)
    assert one == other


def test_inspect_says_that_workers_copy_a_generator(shop, monkeypatch):
    from concurrent.futures import ThreadPoolExecutor

    monkeypatch.setattr(
        "superarm.reporting.jobs.processes",
        ThreadPoolExecutor,
    )
    noisy = "rng = np.random.default_rng(0)\ndraws = np.random.RandomState(0)"
    shop.write_text(f"{SHOP}\n{noisy}\n")
    for target in ("corner_shop.py:make", "corner_shop:make"):
        result = run("inspect", target, "--budget", "20", "--workers", "2")
        assert "Note: every worker starts with a copy of rng, draws, so that" in result.stderr
        alone = run("inspect", target, "--budget", "20")
        assert "Note:" not in alone.stderr
