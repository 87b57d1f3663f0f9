"""An archive keeps every row to the last bit, and says where the rows come from."""

import lzma
import random
from dataclasses import replace

import pytest

from superarm.studies import Recorded, RequestError
from superarm.studies.archive import pack, unpack
from superarm.studies.machine import Watch, machine
from superarm.studies.run import record
from superarm.studies.store import provenance
from tiny_cells import TINY

TIMED = [
    replace(cell, settings={**cell.settings, "purpose": "time"})
    for cell in TINY
    if cell.settings["label"] == "cts" and cell.run == 0
]


@pytest.fixture(scope="module")
def recorded():
    store = {}
    record({"tiny": TINY, "timed": TIMED}, store)
    return store


def test_rows_come_back_to_the_last_bit(recorded, tmp_path):
    path, found = pack(tmp_path / "a.xz", {"seed": 3}, TINY, recorded), {}
    assert unpack(path, found) == {"seed": 3}
    for cell in TINY:
        assert found[cell.key].row == recorded[cell.key].row
        assert found[cell.key].times["seconds"] == recorded[cell.key].times["seconds"]
        assert found[cell.key].times["machine"] == machine()


def test_only_timed_cells_keep_the_seconds_of_every_round(recorded, tmp_path):
    found = {}
    unpack(pack(tmp_path / "a.xz", {}, [*TINY, *TIMED], recorded), found)
    assert all(found[cell.key] == recorded[cell.key] for cell in TIMED)
    assert all("ask_s" in recorded[cell.key].times for cell in TINY)
    assert not any("ask_s" in found[cell.key].times for cell in TINY)


def test_the_same_cells_give_the_same_bytes(recorded, tmp_path):
    mixed = [*TINY, *TINY]
    random.Random(0).shuffle(mixed)
    one = pack(tmp_path / "one.xz", {}, TINY, recorded)
    other = pack(tmp_path / "other.xz", {}, mixed, recorded)
    assert one.read_bytes() == other.read_bytes()


@pytest.mark.parametrize("content", [b"PK", lzma.compress(b""), lzma.compress(b"[1]\n{}\n")])
def test_other_files_are_refused(content, tmp_path):
    (tmp_path / "a.xz").write_bytes(content)
    with pytest.raises(RequestError, match="is not an archive of recorded rows"):
        unpack(tmp_path / "a.xz", {})


def test_a_manifest_says_which_cells_ran_where(recorded):
    found = provenance({"tiny": TINY, "timed": TIMED, "both": [*TINY, *TIMED]}, recorded)
    together, alone = sorted(found["groups"], key=lambda group: group["timed_alone"])
    assert (together["cells"], alone["cells"], found["cells"]) == (len(TINY), len(TIMED), 18)
    assert alone["timed_alone"]
    assert (together["experiments"], alone["experiments"]) == (["both", "tiny"], ["both", "timed"])
    assert together["machine"] == alone["machine"] == machine()
    assert together["engine"] == "process"


def test_another_machine_and_another_engine_are_groups_of_their_own():
    store = {}
    for place, cell in enumerate(TINY):
        times = {**Watch().times(), "machine": {"processor": f"p{place % 2}"}}
        store[cell.key] = Recorded({"engine": "batch"} if place < 2 else {}, times)
    groups = provenance({"tiny": TINY}, store)["groups"]
    assert [(group["engine"], group["machine"]["processor"]) for group in groups] == [
        ("batch", "p0"),
        ("batch", "p1"),
        ("process", "p0"),
        ("process", "p1"),
    ]
    assert [group["cells"] for group in groups] == [1, 1, 7, 7]


def test_pauses_and_overlaps_do_not_count_as_elapsed_time():
    store, spans = {}, [(0, 10), (5, 12), (6, 8), (100, 101)]
    cells = TINY[: len(spans)]
    for cell, (start, end) in zip(cells, spans, strict=True):
        times = {"started": start, "ended": end, "processor_s": 1.5, "machine": {}}
        store[cell.key] = Recorded({}, times)
    found = provenance({"tiny": cells}, store)
    assert (found["wall_s"], found["processor_s"]) == (13.0, 6.0)


def test_cells_that_ran_together_share_what_passed():
    times = Watch().times(0.25)
    assert 0 <= times["seconds"] <= (times["ended"] - times["started"]) + 0.01
