"""The comparison: every policy on every problem, paired, made by one command; its page is made of its results."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from superarm.experiments.catalogue import RequestError, Scale
from superarm.experiments.cell import Cell
from superarm.experiments.comparison import compare, contestants, page
from superarm.experiments.comparison.cells import compare as play
from superarm.experiments.comparison.contestants import CHANCE, CONTESTANTS, Task
from superarm.experiments.comparison.problems import PROBLEMS, draw
from superarm.experiments.store import Store

import superarm as sa
from superarm.cli import app

DOCS = Path(__file__).parents[2] / "docs"
ENVIRONMENT = {"COLUMNS": "150", "NO_COLOR": "1", "TERM": "dumb"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("comparison")
    compare.run(Scale(quick=True), Store(out))
    return out


@pytest.fixture(scope="module")
def found(folder):
    return compare.results(Store(folder))


def test_every_policy_plays_every_problem_that_it_can(found):
    assert list(found["problems"]) == list(PROBLEMS)
    for name, problem in found["problems"].items():
        without = {"ESCB"} if name == "network" else set()
        assert set(problem["policies"]) == set(CONTESTANTS) - without
        for one in problem["policies"].values():
            assert len(one["regret"]) == compare.N_QUICK_RUNS


def test_runs_are_paired(found):
    """All policies of a run meet the same world, so chance is worth the same to all; and runs are different worlds."""
    for problem in found["problems"].values():
        chances = [one["chance"] for one in problem["policies"].values()]
        assert all(chance == chances[0] for chance in chances)
    assert (
        len(set(found["problems"]["linear"]["policies"][CHANCE]["chance"])) == compare.N_QUICK_RUNS
    )


@pytest.mark.parametrize("name", PROBLEMS)
def test_chance_and_best_are_what_they_say(name):
    """The best fixed set has no regret; chance's mean regret over 400 draws of a set is near what is stated.

    Where a table is replayed the world's values do not depend on a generator but for the order, and a fixed set of
    arms over all rows is worth the sum of its means; the mean over 400 sets is within 5 standard errors (6e-7).
    """
    settings = PROBLEMS[name].sized(True)
    rng = np.random.default_rng(0)
    world = draw(settings, rng=rng, chance_rng=np.random.default_rng(1))
    means = getattr(world.environment, "mu", None)
    means = world.environment.means if means is None else means
    sets = [np.sort(rng.choice(world.reward.n_arms, world.k, replace=False)) for _ in range(400)]
    values = np.array([world.reward(arms, means[arms]) for arms in sets])
    # On the network what is stated is an estimate itself, of 1,000 sets.
    error = values.std() * np.sqrt(1 / 400 + 1 / 1000)
    assert abs(values.mean() - world.chance) < 5 * error
    assert values.max() <= world.best + 1e-9


def test_who_forgets_has_the_memory_of_the_rule():
    """By hand, for 10,000 rounds: 1 - 0.01 / 4, and twice the root of 10,000 ln(10,000) = 92,103."""
    task = Task(sa.LinearReward(5), 2, 10_000, delta=0.25)
    assert contestants.discount(task) == 0.9975
    assert contestants.window(task) == 607
    assert CONTESTANTS["CTS, discounted"].make(task).belief.discount == 0.9975
    assert CONTESTANTS["CTS, sliding"].make(task).belief.window == 607
    once = Task(sa.LinearReward(5), 2, 1, delta=0.25)
    assert (contestants.discount(once), contestants.window(once)) == (0.75, 1)


def test_a_cell_is_the_same_every_time(found):
    label = "CTS, single seed"
    cell = Cell(
        "compare", {"problem": PROBLEMS["yeast"].sized(True), "delta": 0.25, "label": label}, 0, 1
    )
    assert play(cell).row["regret"] == found["problems"]["yeast"]["policies"][label]["regret"][1]


def test_the_command_makes_the_page(folder, found):
    answer = CliRunner().invoke(app, ["compare", "--from", str(folder)], env=ENVIRONMENT)
    assert answer.exit_code == 0, answer.output
    text = (folder / "comparison.md").read_text(encoding="utf-8")
    assert (
        text
        == page.render(found)
        == page.render(json.loads((folder / "comparison.json").read_text()))
    )
    assert "--quick`): this shows" in text
    assert (folder / "comparison.png").read_bytes().startswith(b"\x89PNG")
    for label in CONTESTANTS:
        assert f"| {label} |" in text
        assert label in answer.output
    for problem in PROBLEMS.values():
        assert f"## {problem.title}" in text


@pytest.mark.parametrize(
    "arguments", [["--from", "nowhere"], ["--from", ".", "--quick"], ["--runs", "1"]]
)
def test_the_command_refuses(arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answer = CliRunner().invoke(app, ["compare", *arguments], env=ENVIRONMENT)
    assert answer.exit_code == 2
    assert not list(tmp_path.rglob("*.*"))


def test_a_folder_of_something_else_is_refused(tmp_path):
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(RequestError, match="no comparison"):
        compare.results(Store(tmp_path))


def test_the_page_in_the_docs_is_made_of_its_results():
    recorded = json.loads((DOCS / "comparison.json").read_text(encoding="utf-8"))
    assert not recorded["quick"]
    assert (DOCS / "comparison.md").read_text(encoding="utf-8") == page.render(recorded)
    for problem in recorded["problems"].values():
        assert {len(one["regret"]) for one in problem["policies"].values()} == {compare.N_RUNS}
