"""`superarm reproduce --engine batch`: cells played together, and never mixed with others."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from superarm.cli import app
from superarm.studies import Cell, RequestError, Scale, Store, batched, paper
from superarm.studies.cells.play import run as play
from superarm.studies.paper.reproduction import manifest_of
from superarm.studies.run import record

PROBLEM = {"family": "linear", "n_arms": 20, "k": 2, "gap": 0.2}
POLICIES = (
    {"name": "cts"},
    {"name": "random"},
    {"name": "gt-qts-k-of-m", "delta": 0.2, "n_tests": 10},
    {"name": "gt-centred", "delta": 0.2, "n_tests": 10},
)


def cells(n_runs, policies=POLICIES):
    return [
        Cell(
            "play",
            {"problem": PROBLEM, "policy": policy, "horizon": 30, "label": policy["name"]},
            seed=3,
            run=run,
        )
        for run in range(n_runs)
        for policy in policies
    ]


def rows(store, wanted):
    return [store[cell.key].row for cell in wanted]


def test_rows_have_what_play_records_and_the_same_instances(tmp_path):
    store, wanted = Store(tmp_path), cells(3)
    calls = list(batched.run_together(wanted, store, "batch"))
    assert sorted(cell.key for cell in calls) == sorted(cell.key for cell in wanted)
    for cell in wanted:
        ours, theirs = store[cell.key].row, play(cell).row
        assert ours["engine"] == "batch"
        assert set(ours) - {"engine"} == set(theirs) - {"non_separable"}
        for same in ("checkpoints", "evaluations", "gap", "gap_max"):
            assert ours[same] == theirs[same]
        assert len(ours["regret"]) == len(theirs["regret"])


def test_a_folder_holds_the_same_after_any_order_and_interruption(tmp_path):
    whole, steps = Store(tmp_path / "whole"), Store(tmp_path / "steps")
    list(batched.run_together(cells(4), whole, "batch"))
    list(batched.run_together(cells(2), steps, "batch"))
    list(batched.run_together(cells(4), steps, "batch"))
    assert rows(steps, cells(4)) == rows(whole, cells(4))
    (tmp_path / "steps" / "cells" / f"{cells(4)[5].key}.json").unlink()
    list(batched.run_together(cells(4), steps, "batch"))
    assert rows(steps, cells(4)) == rows(whole, cells(4))


def test_what_is_recorded_is_not_played_again(tmp_path, monkeypatch):
    store = Store(tmp_path)
    list(batched.run_together(cells(2), store, "batch"))
    monkeypatch.setattr(batched, "_simulate", None)
    list(batched.run_together(cells(2), store, "batch"))


def test_engines_don_t_mix(tmp_path):
    store = Store(tmp_path)
    store.open(manifest_of(Scale("quick"), "batch"), {})
    assert json.loads((tmp_path / "manifest.json").read_text())["engine"] == "batch"
    with pytest.raises(RequestError, match="engine = 'batch', not 'process'"):
        store.open(manifest_of(Scale("quick")), {})


def test_only_what_an_engine_can_play_is_played_by_it(tmp_path):
    played = {
        name: [batched.can_play(cell) for cell in cells(1, [{"name": name}])]
        for name in ("cucb", "cts-greedy", "gt-qts-regression")
    }
    assert not np.any(list(played.values()))
    assert all(map(batched.can_play, cells(1)))
    assert not batched.can_play(Cell("rules", {}, 0, 0))
    for name in ("fig1", "beyond", "table1", "theory"):
        with pytest.raises(
            RequestError, match=f"engine batch plays fig2a, fig2b, fig2c, got {name}"
        ):
            paper.reproduce(["fig2a", name], Scale("quick"), tmp_path / "none", engine="batch")
    assert not (tmp_path / "none").exists()
    result = CliRunner().invoke(
        app, ["reproduce", "fig2a", "--engine", "gpu", "--out", str(tmp_path / "none")]
    )
    assert result.exit_code == 2
    assert "engine must be one of process, batch, torch" in " ".join(
        result.output.replace("│", " ").split()
    )


def test_cells_that_can_t_be_played_together_are_run_one_by_one(tmp_path):
    wanted = cells(2, [*POLICIES, {"name": "cucb"}])
    store = Store(tmp_path)
    record({"fig2a": wanted}, store, engine="batch")
    assert ["engine" in row for row in rows(store, wanted)] == [True, True, True, True, False] * 2
