"""Every policy on every problem, over paired runs; the page is made of the results."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import superarm as sa
from superarm import theory
from superarm.catalog import POLICIES, Task, policies
from superarm.cli import app
from superarm.studies import Cell, RequestError, Scale, Store
from superarm.studies.cells.compare import KNOWING
from superarm.studies.cells.compare import run as play
from superarm.studies.cells.measured_arms import MeasuredArms
from superarm.studies.cells.problems import draw
from superarm.studies.comparison import report, study
from superarm.studies.comparison.problems import COMPARED, GROUP_TESTING, N_TESTS, PROBLEMS
from superarm.studies.comparison.report import RANDOM, shown
from superarm.studies.run import record
from superarm.theory.bayes_floor import best_set_value, mean_of

DOCS = Path(__file__).parents[2] / "docs"
TINY = Scale("tiny")
ENVIRONMENT = {"COLUMNS": "150", "NO_COLOR": "1", "TERM": "dumb"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("comparison")
    sweeps, store = {"comparison": study.cells(TINY)}, Store(out)
    store.open(study.manifest_of(TINY), sweeps)
    record(sweeps, store)
    return out


@pytest.fixture(scope="module")
def found(folder):
    return study.results(Store(folder))


def test_every_policy_plays_every_problem_that_it_can(found):
    assert list(found["problems"]) == list(PROBLEMS)
    for name, problem in found["problems"].items():
        without = {"linear": set(), "network": {"escb"}}.get(name, set(GROUP_TESTING))
        knows = {"shop": {"features", "contexts"}, "yeast": {"contexts"}}.get(name, set())
        assert set(problem["policies"]) == (set(COMPARED) - without) | knows
        for one in problem["policies"].values():
            assert len(one["regret"]) == study.N_QUICK_RUNS


def test_the_default_of_the_library_comes_first(found):
    assert COMPARED[:4] == ("thompson", "cts", "single-seed", "epsilon-greedy")
    assert report.names(found)[0] == "thompson"


def test_runs_are_paired(found):
    """All policies of a run meet the same instance, so the random baseline is the same for all."""
    for problem in found["problems"].values():
        chances = [one["chance"] for one in problem["policies"].values()]
        assert all(chance == chances[0] for chance in chances)
    assert len(set(found["problems"]["linear"]["policies"][RANDOM]["chance"])) == study.N_QUICK_RUNS


@pytest.mark.parametrize("name", PROBLEMS)
def test_chance_and_best_are_what_they_say(name):
    """No set is above the best fixed set, and 400 random sets have the mean that is stated.

    Where a table is replayed, a fixed set over all rows is worth the sum of its means. The mean
    over 400 sets is within 5 standard errors (6e-7).
    """
    settings = PROBLEMS[name].sized(TINY)
    rng = np.random.default_rng(0)
    world = draw(settings, rng=rng, baseline_rng=np.random.default_rng(1))
    means = getattr(world.environment, "mu", None)
    means = world.environment.means if means is None else means
    assert world.coins is None or np.array_equal(world.coins, means)
    sets = [np.sort(rng.choice(world.reward.n_arms, world.k, replace=False)) for _ in range(400)]
    values = np.array([world.reward(arms, means[arms]) for arms in sets])
    # On the network what is stated is an estimate itself, of 1,000 sets.
    error = values.std() * np.sqrt(1 / 400 + 1 / 1000)
    assert abs(values.mean() - world.random) < 5 * error
    assert values.max() <= world.best + 1e-9


def test_who_forgets_has_the_memory_of_the_rule():
    """By hand, for 10,000 rounds: 1 - 0.01 / 4, and twice the root of 10,000 ln(10,000)."""
    task = Task(sa.LinearReward(5), 2, 10_000, delta=0.25)
    assert policies.discount(task) == 0.9975
    assert policies.window(task) == 607
    assert POLICIES["discounted"].make(task).belief.discount == 0.9975
    assert POLICIES["sliding"].make(task).belief.window == 607
    once = Task(sa.LinearReward(5), 2, 1, delta=0.25)
    assert (policies.discount(once), policies.window(once)) == (0.75, 1)


def test_a_cell_is_the_same_every_time(found):
    name = "single-seed"
    settings = {"policy": name, "task": {"delta": 0.25, "n_tests": N_TESTS}}
    cell = Cell("compare", {"problem": PROBLEMS["yeast"].sized(TINY), **settings}, 0, 1)
    assert play(cell).row["regret"] == found["problems"]["yeast"]["policies"][name]["regret"][1]


@pytest.mark.parametrize("name", [name for name, one in PROBLEMS.items() if "law" in one.settings])
def test_drawn_arms_have_their_law(name):
    """4,000 means: the average is within 4.5 standard errors (once in 150,000 seeds per law)."""
    law = PROBLEMS[name].settings["law"]
    settings = {**PROBLEMS[name].settings, "n_arms": 4000}
    it = draw(settings, rng=np.random.default_rng(3), baseline_rng=np.random.default_rng(1))
    mu = it.environment.mu
    assert abs(mu.mean() - mean_of(law)) < 4.5 * mu.std() / 4000**0.5
    if len(law[0]) == 2:
        assert set(mu) == {mean for _, mean in law}


def test_measured_arms_have_their_mean_and_variance():
    """20,000 outcomes; 4.5 standard errors of mean and variance, once in 75,000 seeds."""
    arms = MeasuredArms(np.array([0.2, 0.5]), 10)
    rng = np.random.default_rng(0)
    outcomes = np.array([arms.pull([0, 1], rng=rng) for _ in range(20_000)])
    variance = arms.mu * (1 - arms.mu) / 11
    assert (np.abs(outcomes.mean(axis=0) - arms.mu) < 4.5 * (variance / 20_000) ** 0.5).all()
    assert outcomes.var(axis=0) == pytest.approx(variance, rel=0.05)


def test_floors_are_where_they_can_be_computed(found):
    floors = {name: one["floors"] for name, one in found["problems"].items()}
    assert {name for name, one in floors.items() if one["bayes"] is not None} == {
        "clicks",
        "products",
        "stars",
        "ties",
        "high",
    }
    assert {name for name, one in floors.items() if one["first_failure"] is not None} == {"linear"}
    settings = PROBLEMS["clicks"].sized(TINY)
    size = [settings[name] for name in ("n_arms", "k", "horizon")]
    law = settings["law"]
    chance = size[2] * (best_set_value(law, *size[:2]) - size[1] * mean_of(law))
    by_hand = theory.bayes_regret_floor(law, *size) / chance
    assert floors["clicks"]["bayes"] == pytest.approx(by_hand)
    assert 0 < by_hand <= 1  # the random baseline is a policy, too


def test_the_floor_is_that_of_the_instances_that_are_played(found):
    problem = PROBLEMS["linear"].sized(TINY)
    each = []
    for run in range(study.N_QUICK_RUNS):
        rng = np.random.default_rng(np.random.SeedSequence(0, spawn_key=(run, 0)))
        it = sa.linear_instance(problem["n_arms"], problem["k"], problem["gap"], rng=rng)
        each.append(theory.first_failure_regret(it.mu, it.k))
    linear = found["problems"]["linear"]
    assert linear["floors"]["first_failure"] == report.floor_of(linear) == np.mean(each)
    row = next(row for row in report.multiples(found).rows if row[0] == "CTS")
    regret = np.mean(linear["policies"]["cts"]["regret"])
    assert row[1] == f"{regret / np.mean(each):.2f}"


def test_the_command_makes_the_page(folder, found):
    answer = CliRunner().invoke(app, ["compare", "--from", str(folder)], env=ENVIRONMENT)
    assert answer.exit_code == 0, answer.output
    text = (folder / "comparison.md").read_text(encoding="utf-8")
    assert (
        text
        == report.render(found)
        == report.render(json.loads((folder / "comparison.json").read_text()))
    )
    assert "--quick`): this shows" in text
    assert (folder / "comparison.svg").read_text().startswith("<?xml")
    for name in (*COMPARED, *KNOWING):
        assert f"|{shown(found, name)}|" in text
        assert shown(found, name) in answer.output
    for problem in PROBLEMS.values():
        assert f"|{problem.title}|" in text
        assert problem.title in answer.output


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
        study.results(Store(tmp_path))


def test_the_page_in_the_docs_is_made_of_its_results():
    recorded = json.loads((DOCS / "comparison.json").read_text(encoding="utf-8"))
    assert not recorded["quick"]
    assert (DOCS / "comparison.md").read_text(encoding="utf-8") == report.render(recorded)
    for problem in recorded["problems"].values():
        assert {len(one["regret"]) for one in problem["policies"].values()} == {study.N_RUNS}


def test_what_the_page_says_about_floors_holds():
    """No policy is below a Bayes floor beyond its noise, and C ln T is above good policies.

    4.5 standard errors: a policy at the floor would fail once in 300,000 recordings.
    """
    recorded = json.loads((DOCS / "comparison.json").read_text(encoding="utf-8"))
    for problem in recorded["problems"].values():
        floors, policies = problem["floors"], problem["policies"].values()
        if floors["bayes"] is not None:
            for one in policies:
                above = np.array(one["regret"]) - floors["bayes"] * np.array(one["chance"])
                assert above.mean() > -4.5 * above.std(ddof=1) / len(above) ** 0.5
        if report.floor_of(problem) is not None:
            assert floors["asymptotic"] > min(np.mean(one["regret"]) for one in policies)
