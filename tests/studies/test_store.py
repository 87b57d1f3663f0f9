"""A folder never mixes two sets of settings, and a file in it is whole or not there."""

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from superarm.reporting.files import write
from superarm.studies import Recorded, RequestError, Store
from superarm.studies.store import joined
from tiny_cells import TINY


def test_writes_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "a" / "file"
    write(path, "old")
    monkeypatch.setattr(os, "fsync", lambda handle: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        write(path, "new")
    assert path.read_text() == "old"
    assert list(path.parent.iterdir()) == [path]


def test_other_settings_are_refused_and_nothing_changes(tmp_path):
    store = Store(tmp_path)
    store.open({"quick": True, "seed": 0}, {"fig1": TINY})
    before = (tmp_path / "manifest.json").read_bytes()
    store.open({"quick": True, "seed": 0}, {"fig1": TINY})
    with pytest.raises(ValueError, match="holds rows with seed = 0, not 1; choose another folder"):
        store.open({"quick": True, "seed": 1}, {"fig2": TINY})
    assert (tmp_path / "manifest.json").read_bytes() == before


def test_another_sweep_is_refused(tmp_path):
    store = Store(tmp_path)
    store.open({}, {"fig1": TINY})
    store.open({}, {"fig1": TINY, "fig2": TINY[1:]})
    with pytest.raises(ValueError, match="another sweep of fig1"):
        store.open({}, {"fig1": TINY[1:]})
    assert set(store.manifest()["sweeps"]) == {"fig1", "fig2"}


def test_two_commands_on_one_folder_keep_both_sweeps(tmp_path):
    with ThreadPoolExecutor(8) as executor:
        list(executor.map(lambda name: Store(tmp_path).open({}, {name: TINY}), map(str, range(20))))
    assert len(Store(tmp_path).manifest()["sweeps"]) == 20


def test_what_a_killed_write_left_behind_does_not_matter(tmp_path):
    (tmp_path / ".abc.tmp").write_text("half")
    Store(tmp_path).open({}, {"table1": TINY})
    assert Store(tmp_path).manifest()["sweeps"].keys() == {"table1"}


def test_a_folder_of_other_things_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("my only copy")
    with pytest.raises(ValueError, match="holds other files and no manifest"):
        Store(tmp_path).open({}, {})
    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith(".")] == [
        "thesis.tex"
    ]


def test_a_missing_cell_says_so(tmp_path):
    with pytest.raises(ValueError, match="the study did not finish"):
        Store(tmp_path)[TINY[0].key]


def test_a_broken_manifest_says_so(tmp_path):
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(ValueError, match="is not JSON"):
        Store(tmp_path).manifest()


def test_round_trip(tmp_path):
    store, what = Store(tmp_path), Recorded({"x": [0.1, 1 / 3]}, {"seconds": 2.5})
    store[TINY[0].key] = what
    assert store[TINY[0].key] == what


def test_a_cell_that_is_recorded_again_is_read_again(tmp_path):
    """Runs that are played together are all recorded again if one of them is missing."""
    store = Store(tmp_path)
    for row in ({"x": 1}, {"x": 2}):
        store[TINY[0].key] = Recorded(row, {})
        assert store[TINY[0].key].row == row


def test_folders_of_several_machines_and_engines_are_joined(tmp_path):
    one, other = Store(tmp_path / "one"), Store(tmp_path / "other")
    one.open({"seed": 0, "engine": "process"}, {"fig1": TINY[:2]})
    other.open({"seed": 0, "engine": "torch", "device": "H"}, {"fig1": TINY[:2], "fig2": TINY[2:4]})
    one[TINY[0].key] = Recorded({"x": 1}, {})
    for cell in TINY[:3]:
        other[cell.key] = Recorded({"x": 2}, {})
    manifest, store = joined([one.folder, other.folder])
    assert manifest["engines"] == [{"engine": "process"}, {"engine": "torch", "device": "H"}]
    assert set(manifest["sweeps"]) == {"fig1", "fig2"}
    assert [cell.key in store for cell in TINY[:4]] == [True, True, True, False]
    assert [store[cell.key].row["x"] for cell in TINY[:3]] == [1, 2, 2]
    with pytest.raises(RequestError, match="the study did not finish"):
        store[TINY[3].key]
    with pytest.raises(TypeError, match="read only"):
        store[TINY[3].key] = Recorded({}, {})


def test_folders_of_other_settings_are_not_joined(tmp_path):
    Store(tmp_path / "one").open({"seed": 0}, {"fig1": TINY})
    Store(tmp_path / "other").open({"seed": 1}, {"fig1": TINY})
    with pytest.raises(RequestError, match="must have been recorded with"):
        joined([tmp_path / "one", tmp_path / "other"])


def test_the_first_folder_says_which_cells_an_experiment_has(tmp_path):
    one, other = Store(tmp_path / "one"), Store(tmp_path / "other")
    one.open({"seed": 0}, {"fig1": TINY[:3]})
    other.open({"seed": 0}, {"fig1": TINY[:4]})
    for cell in TINY[:4]:
        other[cell.key] = Recorded({"x": 2}, {})
    manifest, store = joined([one.folder, other.folder])
    assert manifest["sweeps"] == one.manifest()["sweeps"]
    assert all(cell.key in store for cell in TINY[:3])
