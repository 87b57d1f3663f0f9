import json
import re
import sys

import pytest
from typer.testing import CliRunner

from superarm import __version__
from superarm.cli import app
from superarm.experiments import demo


def run(*arguments):
    return CliRunner().invoke(
        app, list(arguments), env={"COLUMNS": "120", "NO_COLOR": "1", "TERM": "dumb"}
    )


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    out = tmp_path_factory.mktemp("demo")
    return out, run("demo", "--runs", "2", "--horizon", "30", "--workers", "1", "--out", str(out))


def test_demo_prints_a_row_for_every_policy_and_saves_a_picture(small):
    out, result = small
    assert result.exit_code == 0, result.output
    for problem in demo.PROBLEMS:
        assert f"{problem.title}: 30 rounds, 2 runs" in result.output
        for policy in problem.policies:
            assert policy in result.output
    picture = out / "regret.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "regret.png" in result.output


def test_demo_is_the_same_for_any_number_of_workers(small, tmp_path):
    def numbers(output):
        rows = re.findall(r"^│ (.+?) +│ +(\S+) │ +(\S+) │ +(\S+) │ +(\S+) │", output, re.MULTILINE)
        assert len(rows) == sum(len(problem.policies) for problem in demo.PROBLEMS)
        return rows

    again = run("demo", "--runs", "2", "--horizon", "30", "--workers", "2", "--out", str(tmp_path))
    assert again.exit_code == 0, again.output
    assert numbers(again.output) == numbers(small[1].output)


def test_help_explains_itself():
    result = run("demo", "--help")
    assert result.exit_code == 0
    for word in ("--runs", "--horizon", "--seed", "--workers", "--out", "regret", "GT+QTS"):
        assert word in result.output


def test_version():
    assert run("--version").output.strip() == f"superarm {__version__}"


@pytest.mark.parametrize(
    "arguments", [("demo", "--runs", "1"), ("demo", "--horizon", "0"), ("nonsense",)]
)
def test_bad_arguments_are_answered_with_usage(arguments):
    result = run(*arguments)
    assert result.exit_code == 2
    assert "Usage" in result.output


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
    result = run("inspect", f"{shop}:steep", "--probes", "40", "--k", "3")
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
        ("corner_shop.py:nothing", "has no attribute"),
        ("nowhere.py:reward", "could not be imported"),
        ("no_such_module:reward", "could not be imported"),
        ("corner_shop.py:number", "must be a reward"),
        ("corner_shop.py:needs", "without arguments"),
        ("corner_shop.py:make --k 21", "k must be between"),
    ],
)
def test_inspect_refuses_what_it_cannot_load(shop, target, message):
    result = run("inspect", *target.split())
    assert result.exit_code == 2
    assert message in re.sub(r"[\s│]+", " ", result.output)


def test_plan_prints_costs_and_break_evens():
    result = run("plan", "--m", "30", "--k", "3", "--cost", "0.01", "--horizon", "100")
    assert result.exit_code == 0, result.output
    for words in ("LazySingletons", "exact", "measured", "Row is faster than column"):
        assert words in result.output


def test_plan_prints_json():
    result = run("plan", "--m", "30", "--k", "3", "--cost", "0.01", "--horizon", "100", "--json")
    found = json.loads(result.stdout)
    assert {row["oracle"]: row["evaluations"] for row in found["rows"]}["Singletons"] == 30


def test_plan_refuses_a_set_larger_than_all_arms():
    result = run("plan", "--m", "3", "--k", "4", "--cost", "1", "--horizon", "1")
    assert result.exit_code == 2
    assert "k must be between" in result.output
