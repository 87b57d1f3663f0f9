"""Rows are the same for any workers and after any interruption; a finished cell is never lost."""

import json
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import pytest

from forked_server import start_forking
from forked_workers import forked
from superarm.reporting.jobs import dask_workers, processes
from superarm.studies import Cell, Recorded, Scale, Store, paper, run
from superarm.studies.code import versions
from tiny_cells import TINY


def rows(store, cells=TINY):
    """The bytes of the rows, without the times."""
    return [json.dumps(store[cell.key].row, sort_keys=True) for cell in cells]


def recorded(folder, **options):
    store = Store(folder)
    return store, list(run.run_cells(TINY, store, **options))


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    return recorded(tmp_path_factory.mktemp("alone"))[0]


def test_two_workers_give_the_same_rows(alone, tmp_path):
    store, calls = recorded(tmp_path, start=partial(processes, 2))
    assert rows(store) == rows(alone)
    assert sorted(cell.key for cell in calls) == sorted(cell.key for cell in TINY)


@pytest.fixture(scope="module")
def cluster():
    """Two dask workers for all tests, forked as `forked` workers: starting them takes seconds."""
    import dask
    from distributed import LocalCluster

    start_forking()
    with (
        dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}),
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            scheduler_port=0,
            dashboard_address=None,
        ) as cluster,
    ):
        yield cluster


def test_a_dask_cluster_gives_the_same_rows(alone, cluster, tmp_path):
    known = partial(versions, "play")
    store, _ = recorded(tmp_path, start=partial(dask_workers, cluster.scheduler_address, known))
    assert rows(store) == rows(alone)


def test_a_dying_dask_worker_loses_no_finished_cell(alone, cluster, tmp_path):
    start = partial(dask_workers, cluster.scheduler_address, partial(versions, "play"))
    store, killed = Store(tmp_path), []
    for _ in run.run_cells(TINY, store, start=start):
        if not killed:
            killed.append(next(iter(cluster.workers.values())).pid)
            os.kill(killed[0], signal.SIGKILL)
    assert len(killed) == 1
    assert rows(store) == rows(alone)


def test_a_dying_worker_loses_no_finished_cell(alone, tmp_path):
    started = []

    def start():
        started.append(forked(2))
        return started[-1]

    store, killed = Store(tmp_path), []
    for _ in run.run_cells(TINY, store, start=start):
        if not killed:
            killed.append(next(iter(started[0]._processes)))
            os.kill(killed[0], signal.SIGKILL)
    assert len(started) == 2
    assert rows(store) == rows(alone)


def test_workers_that_always_die_end_it(tmp_path):
    def start():
        executor = forked(1)
        executor.submit(os._exit, 1)
        return executor

    with pytest.raises(RuntimeError, match="workers died 3 times in a row with 16 cells to go"):
        recorded(tmp_path, start=start)


def test_a_failing_cell_is_reported_and_the_finished_ones_kept(tmp_path):
    store = Store(tmp_path)
    with pytest.raises(ValueError, match="cells of the kind 'nonsense' have no runner"):
        list(run.run_cells([TINY[0], Cell("nonsense", {}, 0, 0)], store))
    assert TINY[0].key in store


def test_a_failing_cell_lets_the_others_under_way_finish(tmp_path, monkeypatch):
    begun = threading.Barrier(4, timeout=30)

    def one_fails(cell):
        begun.wait()
        if cell.run == 0:
            raise ZeroDivisionError("a bug")
        time.sleep(0.3)
        return Recorded({}, {})

    monkeypatch.setattr(run, "run_cell", one_fails)
    store, cells = Store(tmp_path), [Cell("play", {}, 0, run) for run in range(4)]
    with pytest.raises(ZeroDivisionError, match="a bug"):
        list(run.run_cells(cells, store, start=lambda: ThreadPoolExecutor(4)))
    assert [cell.key in store for cell in cells] == [False, True, True, True]


def test_what_is_recorded_is_not_run_again(alone, monkeypatch):
    monkeypatch.setattr(run, "run_cell", lambda cell: pytest.fail("ran again"))
    assert list(run.run_cells(TINY, alone)) == []


def test_policies_of_a_run_meet_the_same_instance(alone):
    gaps = {(cell.run, cell.settings["problem"]["family"]): set() for cell in TINY}
    for cell in TINY:
        gaps[cell.run, cell.settings["problem"]["family"]].add(alone[cell.key].row["gap"])
    assert all(len(found) == 1 for found in gaps.values())
    assert len(set.union(*gaps.values())) == 4


def test_keys_change_with_all_that_matters(monkeypatch):
    cell = TINY[0]
    others = [
        Cell("other", cell.settings, 3, 0),
        Cell("play", {**cell.settings, "horizon": 31}, 3, 0),
        Cell("play", cell.settings, 4, 0),
        Cell("play", cell.settings, 3, 1),
    ]
    assert len({cell.key, *(other.key for other in others)}) == 5
    before = cell.key
    monkeypatch.setattr("superarm.studies.cell.__version__", "99")
    assert replace(cell).key != before  # another object: a cell computes its key once


def test_costs_are_estimates_for_every_cell():
    order = Cell(
        "play",
        {**TINY[0].settings, "policy": {"name": "gt-qts", "delta": 0.2, "n_tests": "order"}},
        0,
        0,
    )
    every = [cell for name in paper.EXPERIMENTS for cell in paper.load(name).cells(Scale())]
    for cell in [*every, *TINY, order, Cell("my_kind", {"x": 1}, 0, 0)]:
        assert run.cost(cell) > 0


def test_the_longest_cells_come_first_and_timed_cells_last_and_alone(monkeypatch):
    called = []
    monkeypatch.setattr(
        run, "run_cells", lambda cells, store, start: called.append((list(cells), start)) or []
    )
    timed = Cell("play", {**TINY[0].settings, "horizon": 10**6, "purpose": "time"}, 3, 0)
    run.record({"some": [*TINY, timed], "others": TINY}, {}, workers=7)
    (first, _), (last, start) = called
    assert sorted(cell.key for cell in first) == sorted(cell.key for cell in TINY)
    assert [run.cost(cell) for cell in first] == sorted(map(run.cost, first), reverse=True)
    assert last == [timed]
    with start() as executor:
        assert executor._max_workers == 1


def test_slow_oracles_are_known_to_be_slow():
    """The cells that take longest at the paper's sizes, by measurement, are estimated to."""
    cells = {
        (cell.settings["problem"]["family"], cell.settings["label"]): cell
        for name in ("fig2c", "beyond")
        for cell in paper.load(name).cells(Scale())
    }
    order = sorted(cells, key=lambda name: run.cost(cells[name]), reverse=True)
    slowest = {("linear", "GT+QTS, p=1/2, 2500 tests"), ("network", "CTS, lazy greedy")}
    assert set(order[:2]) == slowest


def test_cells_say_where_and_when_they_ran(alone):
    before = time.time()
    times = alone[TINY[0].key].times
    assert times["started"] <= times["ended"] <= before
    assert times["seconds"] >= 0
    assert times["processor_s"] > 0
    assert times["machine"]["cores"] >= 1
