"""Policies and problems from outside: `superarm compare --with my_module:contestant`."""

import importlib
import re
import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import superarm as sa
from superarm.catalog import Task
from superarm.cli import app
from superarm.reporting.jobs import processes
from superarm.studies import Cell, RequestError, Scale, Store
from superarm.studies.cell import recorded_rows
from superarm.studies.cells.compare import run as play
from superarm.studies.cells.outside import make_policy
from superarm.studies.cells.problems import draw
from superarm.studies.code import outside_digest
from superarm.studies.comparison import contestants, report, study
from superarm.studies.run import record, run_cells

PAGE = Path(__file__).parents[2] / "docs" / "comparison.md"
TINY = Scale("tiny")
NAMES = ["my_module:shared_seed", "my_module:two_of_nine"]


@pytest.fixture
def module(tmp_path, monkeypatch):
    """The module of the docs, in the current folder, and a module that it imports."""
    (example,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len([line for line in example.splitlines() if line.strip()]) <= 10
    path = tmp_path / "my_module.py"
    path.write_text("from my_settings import PRIOR\n" + example)
    (tmp_path / "my_settings.py").write_text("PRIOR = (1, 1)\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    importlib.invalidate_caches()
    yield path
    for name in ("my_module", "my_settings"):
        sys.modules.pop(name, None)


def outside(cells):
    """The cells of the problem from outside, and the policy from outside on the linear problem."""
    return [
        cell
        for cell in cells
        if cell.settings["on"] == NAMES[1]
        or (cell.settings["on"] == "linear" and cell.settings.get("policy") == NAMES[0])
    ]


def test_the_example_of_the_docs_plays(module):
    found = contestants(NAMES)
    policy, problem = found
    assert (policy.label, policy.horizon) == ("shared seed", None)
    assert (problem.label, problem.horizon) == ("two of nine", 500)
    assert problem.sentence == "The best two of nine arms."
    cells = outside(study.cells(TINY, found))
    # Every policy plays the problem, and the policy from outside plays there, too.
    played = {cell.settings["policy"] for cell in cells if cell.kind == "compare"}
    assert {NAMES[0], "thompson", "cts"} < played
    store = {}
    list(run_cells(cells, store))
    numbers = study.analyse(
        recorded_rows([c for c in cells if c.settings["on"] != "linear"], store)[0]
    )
    mine = numbers["problems"][NAMES[1]]
    assert (mine["n_arms"], mine["k"]) == (9, 2)
    assert mine["floors"]["bayes"] is None
    assert mine["floors"]["asymptotic"] > 0
    assert len(mine["policies"][NAMES[0]]["regret"]) == study.N_QUICK_RUNS


def test_workers_find_the_module_and_give_the_same_rows(module):
    cells = outside(study.cells(TINY, contestants(NAMES)))
    cells = [cell for cell in cells if cell.settings.get("policy") == NAMES[0]]
    here, there = {}, {}
    list(run_cells(cells, here))
    list(run_cells(cells, there, start=partial(processes, 1)))
    assert [here[cell.key].row for cell in cells] == [there[cell.key].row for cell in cells]


def test_a_policy_may_leave_a_problem_out(module):
    module.write_text("def policy(task):\n    return None\n")
    (found,) = contestants(["my_module:policy"])
    cell = next(c for c in study.cells(TINY, [found]) if c.settings.get("policy") == found.name)
    assert play(cell).row == {}


def test_a_table_is_a_problem(module):
    module.write_text(
        "import numpy as np\nfrom superarm.environments import ReplayEnvironment\n"
        "def table(rng, horizon=20):\n"
        "    return ReplayEnvironment(rng.random((horizon, 5)) < 0.5, order='shuffled'), 2\n"
    )
    (found,) = contestants(["my_module:table"])
    cells = [cell for cell in study.cells(TINY, [found]) if cell.settings["on"] == found.name]
    row = next(play(cell).row for cell in cells if cell.settings.get("policy") == "cts")
    assert row["n_arms"] == 5
    assert row["evaluations"] == 0


def test_a_table_that_runs_share_starts_at_its_first_row_in_each(module):
    module.write_text(
        "import numpy as np\nfrom superarm.environments import ReplayEnvironment\n"
        "TABLE = ReplayEnvironment(np.random.default_rng(0).random((6, 5)) < 0.5)\n"
        "def table(rng, horizon=5): return TABLE, 2\n"
    )
    (found,) = contestants(["my_module:table"])
    cells = [cell for cell in study.cells(TINY, [found]) if cell.settings["on"] == found.name]
    (cell,) = [cell for cell in cells if cell.settings.get("policy") == "cts" and cell.run == 0]
    assert play(cell).row == play(cell).row


def test_the_random_baseline_of_a_weighted_sum_is_that_of_its_reward(module):
    """The standard error over a thousand random sets is 0.03; half of the value is above 0.5."""
    module.write_text(
        "import superarm as sa\nfrom superarm.simulation import Instance\n"
        "def doubled(rng, horizon=9):\n"
        "    it = sa.linear_instance(9, 2, 0.2, rng=rng)\n"
        "    twice = sa.LinearReward(9, weights=[2] * 9)\n"
        "    best, gap = 2 * it.best_value, 2 * it.gap\n"
        "    return Instance(it.environment, twice, 2, it.best_arms, best, gap)\n"
    )
    settings = {"family": "outside", "from": "my_module:doubled", "horizon": 9}
    drawn = draw(settings, rng=np.random.default_rng(0), baseline_rng=np.random.default_rng(1))
    expected = 4 * drawn.environment.mu.mean()
    assert expected > 1
    assert drawn.random == pytest.approx(expected, abs=0.15)
    assert drawn.coins is None  # floors are those of the plain sum


def test_only_what_changed_is_played_again(module):
    def keys():
        sys.modules.pop("my_module", None)
        cells = study.cells(TINY, contestants(NAMES))
        return {cell.key for cell in cells}, {cell.key for cell in outside(cells)}

    before, mine = keys()
    assert keys() == (before, mine)
    # A change of the module, or of a module that it imports, changes the cells of contestants only.
    for path in (module, module.with_name("my_settings.py")):
        path.write_text(path.read_text() + "# changed\n")
        after, mine_after = keys()
        assert not mine & mine_after
        package = {cell.key for cell in study.cells(TINY)}
        assert package <= before & after
        before, mine = after, mine_after


def test_a_module_that_is_not_imported_does_not_count(module):
    contestants(NAMES)  # looks in the current folder from now on
    before = outside_digest("my_module")
    module.with_name("other.py").write_text("x = 1\n")
    assert outside_digest("my_module") == before
    with pytest.raises(ImportError, match="no Python file"):
        outside_digest("not_there")


@pytest.mark.parametrize(
    ("source", "name", "why"),
    [
        ("", "my_module", "expected MODULE:FUNCTION, as in my_module:contestant, got 'my_module'"),
        ("", "nowhere:f", "nowhere:f can't be imported: ModuleNotFoundError"),
        ("", "my_module:f", "my_module:f can't be imported: AttributeError"),
        ("1 / 0", "my_module:f", "my_module:f can't be imported: ZeroDivisionError"),
        ("f = 3", "my_module:f", "must be a function, def policy(task), which returns a"),
        ("def f(reward): ...", "my_module:f", "my_module:f must be def policy(task), which ret"),
        ("def f(rng, horizon): ...", "my_module:f", "got my_module:f(rng, horizon)"),
    ],
)
def test_errors_say_what_was_expected(module, source, name, why):
    module.write_text(source + "\n")
    with pytest.raises(RequestError, match=re.escape(why)):
        contestants([name])
    answer = CliRunner().invoke(app, ["compare", "--quick", "--with", name, "--out", "out"])
    assert answer.exit_code == 2
    assert not Path("out").exists()


def test_functions_that_return_something_else_are_refused(module):
    module.write_text("def policy(task): return 3\ndef problem(rng, horizon=9): return 4\n")
    task = Task(sa.LinearReward(5), 2, 10, delta=0.25)
    with pytest.raises(TypeError, match=r"must return a superarm\.Policy, or None .* got 3"):
        make_policy("my_module:policy", task)
    settings = {"family": "outside", "from": "my_module:problem", "horizon": 9}
    cell = Cell("compare", {"problem": settings, "policy": "cts", "task": {"delta": 0.25}}, 0, 0)
    with pytest.raises(TypeError, match="must return an Instance, or a ReplayEnvironment and k"):
        play(cell)


@pytest.mark.parametrize(
    ("source", "name", "why"),
    [
        ("def policy(task): return 3", "policy", "my_module:policy failed in a rehearsal of 3"),
        ("def policy(task): return task.rewards", "policy", "'rewards' \\(.*my_module.py, line 1"),
        ("def problem(rng, horizon=9): return 4", "problem", "an Instance, or a Replay.* got 4"),
    ],
)
def test_a_contestant_that_fails_is_refused_before_anything_is_played(module, source, name, why):
    module.write_text(source + "\n")
    with pytest.raises(RequestError, match=why):
        study.compare(TINY, Path("out"), others=contestants([f"my_module:{name}"]), workers=1)
    assert not Path("out").exists()


def test_functions_of_one_name_are_told_apart(module, monkeypatch):
    for name in ("one_module", "two_module"):
        module.with_name(f"{name}.py").write_text("def policy(task): return None\n")
    module.write_text("def CTS(task): return None\ndef mine(task): return None\n")
    names = ["one_module:policy", "two_module:policy", "my_module:CTS", "my_module:mine"]
    store = Store(Path("out"))
    store.open(study.manifest_of(TINY), {study.NAME: study.cells(TINY)})
    store.note(outside=[asdict(one) for one in contestants(names)])
    monkeypatch.setattr(study, "recorded_rows", lambda cells, store: ([], []))
    labels = [one["label"] for one in study.results(store)["outside"]]
    assert labels == [*names[:3], "mine"]


@pytest.mark.usefixtures("pictures_unwritten")
def test_the_page_names_contestants_and_is_made_again_without_the_module(module, monkeypatch):
    """With the cells that the page needs instead of a whole comparison, and without workers."""
    all_cells = study.cells
    problems = ("linear", "network", "turning", NAMES[1])
    policies = (None, "cts", "random", "exp3", "discounted", "sliding", NAMES[0])

    def few(scale, others=()):
        cells = [cell for cell in all_cells(scale, others) if cell.settings["on"] in problems]
        return [cell for cell in cells if cell.settings.get("policy") in policies]

    monkeypatch.setattr(study, "cells", few)
    monkeypatch.setattr(study, "record", lambda cells, store, **_: record(cells, store))
    folder = Path("out")
    study.compare(TINY, folder, others=contestants(NAMES), workers=1)
    module.unlink()
    sys.modules.pop("my_module")
    text = (folder / "comparison.md").read_text()
    study.rebuild(folder)
    assert (folder / "comparison.md").read_text() == text
    found = study.results(Store(folder))
    assert "|shared seed|`my_module:shared_seed`|" in text
    assert "|two of nine|The best two of nine arms.|9|2|" in text
    assert report.names(found)[0] == NAMES[0]
    # Without contestants the same folder goes on, and its page has none.
    study.compare(TINY, folder, workers=1)
    assert "two of nine|" not in (folder / "comparison.md").read_text()
    assert np.isfinite(report.floor_of(found["problems"]["linear"]))
