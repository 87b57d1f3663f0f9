"""Runs over a table: their numbers are those of the table, and the report says what they mean."""

import json

import numpy as np
import pytest

import superarm as sa
from dishes import NAMES, cells
from superarm.catalog import POLICIES
from superarm.environments import ReplayEnvironment
from superarm.reporting.figures import Look, look, render
from superarm.studies import own_table
from superarm.studies.cells import table as table_cell
from superarm.studies.cells.table import part_of, prepare
from superarm.studies.own_table import report
from superarm.studies.own_table.analysis import analyse, numbers, results_of
from superarm.studies.own_table.learnable import estimate
from superarm.studies.own_table.study import play_all


def played(problem, policy, number, *, seed):
    """The row of one run."""
    row = table_cell.play(problem, policy, number, seed=seed)
    return {"policy": policy, "run": number, **row}


@pytest.mark.parametrize("order", ["given", "shuffled"])
def test_a_run_played_in_pieces_is_the_one_that_replicate_plays(order, monkeypatch):
    """The totals are those of the trace, computed row by row."""
    monkeypatch.setattr(table_cell, "_ROUNDS_AT_ONCE", 7)
    table, k = cells(), 2
    problem = prepare(table, NAMES, k, 120, order)

    def make(rng):
        world = ReplayEnvironment(table, names=NAMES, order=order)
        return sa.cts(sa.LinearReward(5), k, oracle=sa.TopK()), world

    traces = sa.replicate(make, n_runs=2, horizon=120, seed=9)
    means = np.nanmean(table, axis=0)
    for number, trace in enumerate(traces):
        row = played(problem, "cts", number, seed=9)
        filled = np.where(np.isnan(trace.outcomes), means[trace.arms], trace.outcomes).sum(axis=1)
        at = np.array(row["checkpoints"])
        np.testing.assert_allclose(row["reward"], np.cumsum(filled)[at - 1])
        np.testing.assert_array_equal(row["n_shown"], np.bincount(trace.arms.ravel(), minlength=5))
        assert row["best"][-1] == pytest.approx(120 * problem.environment.best_fixed(k))
        assert row["random"][-1] == pytest.approx(120 * problem.environment.random_set(k))
        [result] = results_of([row])
        np.testing.assert_array_equal(result.shown, np.array(row["n_shown"]) / 120)
        assert result.closed == pytest.approx(
            problem.environment.gap_closed(trace.arms, trace.outcomes)
        )


def test_in_given_order_only_the_rows_that_are_played_count():
    table = np.repeat(
        [[1.0, 0, 0], [0, 0, 1]], 50, axis=0
    )  # the third arm is the best, in rows that are not played
    problem = prepare(table, "abc", 1, 60, "given")
    assert problem.environment.n_rounds == 60
    assert problem.environment.best_arms(1).tolist() == [0]
    shuffled = prepare(table[20:], "abc", 1, 60, "shuffled")
    assert shuffled.environment.n_rounds == 80
    assert shuffled.environment.best_arms(1).tolist() == [2]


def test_part_of_a_shuffled_table_is_judged_in_the_rows_that_were_played():
    problem = prepare(cells(), NAMES, 2, 30, "shuffled")
    runs = [played(problem, policy, 3, seed=0) for policy in ("cts", "random")]
    assert runs[0]["best"] == runs[1]["best"]
    assert runs[0]["random"] == runs[1]["random"]
    assert runs[0]["best"][-1] != played(problem, "cts", 4, seed=0)["best"][-1]


def test_few_rounds_close_a_gap_that_is_that_of_the_table():
    """In one or two rows the best fixed set may well do worse than the random baseline."""
    problem = prepare(cells(), NAMES, 2, 2, "shuffled")
    [result] = play_all(problem, ["random"], runs=400).results
    assert any(result.best[:, -1] < result.random[:, -1])
    closed = result.closed
    # Four standard errors: once in 10,000 seeds.
    assert abs(np.mean(closed)) < 4 * np.std(closed, ddof=1) / 20


@pytest.mark.parametrize("policy", own_table.POLICIES)
def test_every_named_policy_plays(policy):
    problem = prepare(cells(), NAMES, 2, 40, "given")
    row = played(problem, policy, 0, seed=0)
    assert sum(row["n_shown"]) == 80


def test_every_policy_has_a_look_of_its_own():
    looks = [look(POLICIES[name].label) for name in own_table.POLICIES]
    problem = prepare(cells(), NAMES, 2, 40, "given")
    known = [part_of(name, problem) for name in ("contexts", "features")]
    looks += [Look(part.colour, part.dash) for part in known]
    assert len(set(looks)) == len(looks)


def test_where_all_arms_are_alike_there_is_no_gap_to_close():
    problem = prepare(np.ones((20, 3)), "abc", 1, 20, "given")
    found = play_all(problem, ["cts", "random"], runs=2)
    assert all(result.gap_closed is None for result in found.results)
    settings = {"table": "t.csv", "n_rows": 20, "skipped": [], "seed": 0}
    text = report.html(found, settings, render(lambda figure: report.draw(figure, found)))
    assert "nothing to learn" in text
    assert "nan" not in text
    json.dumps(numbers(found, settings), allow_nan=False)


def test_policies_that_are_not_distinguished_are_found():
    """By hand: over its pairs b loses 10 in each of three runs, and c wins some and loses some."""
    known = {"checkpoints": [5], "best": [0.0], "random": [0.0], "n_shown": [0, 0], "gap": 1.0}
    rewards = {"a": [50.0, 70.0, 90.0], "b": [40.0, 60.0, 80.5], "c": [55.0, 60.0, 90.0]}
    rows = [
        {"policy": policy, "run": run, "reward": [reward], **known}
        for policy, got in rewards.items()
        for run, reward in enumerate(got)
    ]
    table = np.eye(5, 2)
    problem, learnable = prepare(table, "xy", 1, 5, "given"), estimate(table, 1, seed=0)
    assert analyse(problem, rows, learnable).as_good == ["c"]


def test_the_report_names_policies_that_are_not_distinguished():
    problem = prepare(cells(40), NAMES, 2, 40, "given")
    found = play_all(problem, ["cts", "single-seed", "random"], runs=3)
    text = report.html(found, {"table": "t", "n_rows": 40, "skipped": [], "seed": 0}, "")
    assert found.as_good
    assert f"do not distinguish it from {', '.join(found.as_good)}." in text


def test_only_the_best_arms_of_many_are_on_the_page():
    problem = prepare(
        np.random.default_rng(0).random((20, 80)), [f"arm {i}" for i in range(80)], 3, 20, "given"
    )
    found = play_all(problem, ["random"], runs=2)
    text = report.html(found, {"table": "t", "n_rows": 99, "skipped": ["day"], "seed": 0}, "")
    assert "The 50 best of 80 arms" in text
    assert "no arms, and were left out: day." in text
    assert "the first 20 rows" in text
