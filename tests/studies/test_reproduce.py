"""Rows are the same for any workers and after any interruption; nothing mixes, nothing is lost."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from click.testing import CliRunner
from superarm.experiments import catalogue, engine, reproduce
from superarm.experiments.catalogue import Scale
from superarm.experiments.cell import Cell, Recorded
from superarm.experiments.play import checkpoints, make_policy
from superarm.experiments.store import Store

import superarm as sa
from superarm.cli import app

PROBLEMS = (
    {"family": "linear", "n_arms": 20, "k": 2, "gap": 0.2},
    {"family": "network", "n_arms": 12, "k": 2, "gap": 0.05},
)
POLICIES = (
    {"name": "cts"},
    {"name": "random"},
    {"name": "gt_qts", "delta": 0.2, "p": "K/m", "n_tests": 10},
    {"name": "gt_qts", "delta": 0.2, "p": 0.5, "n_tests": 10},
)
TINY = [
    Cell(
        "play",
        {"problem": problem, "policy": policy, "horizon": 30, "label": policy["name"]},
        seed=3,
        run=run,
    )
    for run in range(2)
    for problem in PROBLEMS
    for policy in POLICIES
]


def rows(store, cells=TINY):
    """The bytes of the rows, without the times."""
    return [json.dumps(store.get(cell).row, sort_keys=True) for cell in cells]


def recorded(folder, **options):
    store = Store(folder)
    engine.run_cells(TINY, store, **options)
    return store


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    return recorded(tmp_path_factory.mktemp("alone"))


def test_two_workers_give_the_same_rows(alone, tmp_path):
    calls = []
    store = recorded(tmp_path, start=engine.processes(2), progress=calls.append)
    assert rows(store) == rows(alone)
    assert sorted(cell.key for cell in calls) == sorted(cell.key for cell in TINY)


def test_a_dask_cluster_gives_the_same_rows(alone, tmp_path):
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        scheduler_port=0,
        dashboard_address=None,
    ) as cluster:
        store = recorded(tmp_path, start=engine.dask_workers(cluster.scheduler_address))
    assert rows(store) == rows(alone)


def test_a_dying_dask_worker_loses_no_finished_cell(alone, tmp_path):
    from distributed import LocalCluster

    killed = []
    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        scheduler_port=0,
        dashboard_address=None,
    ) as cluster:

        def kill_one_worker(cell):
            if not killed:
                killed.append(next(iter(cluster.workers.values())).pid)
                os.kill(killed[0], signal.SIGKILL)

        start = engine.dask_workers(cluster.scheduler_address)
        store = recorded(tmp_path, start=start, progress=kill_one_worker)
    assert len(killed) == 1
    assert rows(store) == rows(alone)


def test_a_dying_worker_loses_no_finished_cell(alone, tmp_path):
    started = []

    def start():
        started.append(ProcessPoolExecutor(2, mp_context=get_context("spawn")))
        return started[-1]

    killed = []

    def kill_one_worker(cell):
        if not killed:
            killed.append(next(iter(started[0]._processes)))
            os.kill(killed[0], signal.SIGKILL)

    store = recorded(tmp_path, start=start, progress=kill_one_worker)
    assert len(started) == 2
    assert rows(store) == rows(alone)


def test_workers_that_always_die_end_it(tmp_path):
    def start():
        executor = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
        executor.submit(os._exit, 1)
        return executor

    with pytest.raises(RuntimeError, match="workers died 3 times in a row with 16 cells to go"):
        recorded(tmp_path, start=start)


def test_a_failing_cell_is_reported_and_the_finished_ones_kept(tmp_path):
    store = Store(tmp_path)
    with pytest.raises(
        ValueError, match="no experiment has a runner for cells of the kind 'nonsense'"
    ):
        engine.run_cells([TINY[0], Cell("nonsense", {}, 0, 0)], store)
    assert store.has(TINY[0])


def test_a_failing_cell_lets_the_others_under_way_finish(tmp_path, monkeypatch):
    begun = threading.Barrier(4, timeout=30)

    def one_fails(cell):
        begun.wait()
        if cell.run == 0:
            raise ZeroDivisionError("a bug")
        time.sleep(0.3)
        return Recorded({}, {})

    monkeypatch.setattr(engine, "run_cell", one_fails)
    store, cells = Store(tmp_path), [Cell("play", {}, 0, run) for run in range(4)]
    with pytest.raises(ZeroDivisionError, match="a bug"):
        engine.run_cells(cells, store, start=lambda: ThreadPoolExecutor(4))
    assert [store.has(cell) for cell in cells] == [False, True, True, True]


def test_what_is_recorded_is_not_run_again(alone, monkeypatch):
    monkeypatch.setattr(engine, "run_cell", lambda cell: pytest.fail("ran again"))
    engine.run_cells(TINY, alone)


def test_policies_of_a_run_meet_the_same_instance(alone):
    gaps = {(cell.run, cell.settings["problem"]["family"]): set() for cell in TINY}
    for cell in TINY:
        gaps[cell.run, cell.settings["problem"]["family"]].add(alone.get(cell).row["gap"])
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
    monkeypatch.setattr("superarm.experiments.cell.__version__", "99")
    assert cell.key != before


def test_checkpoints_end_at_the_horizon():
    for horizon in (1, 2, 30, 10_000):
        at = checkpoints(horizon)
        assert at[0] == 1
        assert at[-1] == horizon
        assert (at[1:] > at[:-1]).all()


def test_non_separable_rounds_are_counted():
    """A linear theta is separable when its k-th and (k+1)-th largest differ by more than the instance's gap."""
    problem = {"family": "linear", "n_arms": 4, "k": 2, "gap": 0.2}
    cell = Cell(
        "play",
        {"problem": problem, "policy": {"name": "cts"}, "horizon": 200, "label": "CTS"},
        seed=3,
        run=0,
    )
    seeds = [np.random.SeedSequence(3, spawn_key=(0, i)) for i in range(3)]
    it = sa.linear_instance(4, 2, 0.2, rng=np.random.default_rng(seeds[0]))
    policy = sa.cts(it.reward, 2)
    rng, world = np.random.default_rng(seeds[1]), np.random.default_rng(seeds[2])
    count = 0
    for _ in range(200):
        state = rng.bit_generator.state
        theta = np.sort(policy.belief.sample(rng=rng))
        rng.bit_generator.state = state
        count += theta[-2] - theta[-3] <= it.gap
        arms = policy.ask(rng=rng)
        policy.tell(arms, it.pull(arms, rng=world), rng=rng)
    assert 20 < count < 180
    assert catalogue.run_cell(cell).row["non_separable"][-1] == count


@pytest.mark.parametrize("calls", ["single", "by size", "batch"])
def test_the_way_of_calling_changes_no_decision(calls):
    it = sa.network_instance(30, 3, 0.1, rng=np.random.default_rng(0))
    for spec in (
        {"name": "cts"},
        {"name": "gt_qts", "delta": 0.1, "n_tests": 40, "decoder": "centred"},
    ):
        policies = make_policy(spec, it, calls=calls), make_policy(spec, it)
        ours, plain = (
            sa.simulate(policy, it, horizon=20, rng=np.random.default_rng(1)) for policy in policies
        )
        np.testing.assert_array_equal(ours.arms, plain.arms)
        np.testing.assert_array_equal(ours.evaluations, plain.evaluations)


def test_unknown_ways_of_calling_are_refused():
    it = sa.linear_instance(5, 2, 0.1, rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match="calls must be"):
        make_policy({"name": "cts"}, it, calls="by pigeon")


def test_options_that_a_policy_does_not_have_are_refused():
    with pytest.raises(TypeError, match="prior"):
        make_policy(
            {"name": "cts", "prior": 1}, sa.linear_instance(5, 2, 0.1, rng=np.random.default_rng(0))
        )


def test_unknown_policies_are_refused():
    with pytest.raises(ValueError, match=r"policy must be one of random, cts, .*, got 'best'"):
        make_policy({"name": "best"}, sa.linear_instance(5, 2, 0.1, rng=np.random.default_rng(0)))


class TestStore:
    def test_writes_whole_or_not_at_all(self, tmp_path, monkeypatch):
        store = Store(tmp_path)
        store.write("a/file", "old")
        monkeypatch.setattr(os, "fsync", lambda handle: (_ for _ in ()).throw(OSError("disk full")))
        with pytest.raises(OSError, match="disk full"):
            store.write("a/file", "new")
        assert (tmp_path / "a" / "file").read_text() == "old"
        assert [path.name for path in (tmp_path / "a").iterdir()] == ["file"]

    def test_other_settings_are_refused_and_nothing_changes(self, tmp_path):
        store = Store(tmp_path)
        store.open({"quick": True, "seed": 0}, {"fig1": TINY})
        before = (tmp_path / "manifest.json").read_bytes()
        store.open({"quick": True, "seed": 0}, {"fig1": TINY})
        with pytest.raises(
            ValueError, match="holds a reproduction with seed = 0, not 1; choose another folder"
        ):
            store.open({"quick": True, "seed": 1}, {"fig2": TINY})
        assert (tmp_path / "manifest.json").read_bytes() == before

    def test_another_sweep_is_refused(self, tmp_path):
        store = Store(tmp_path)
        store.open({}, {"fig1": TINY})
        store.open({}, {"fig1": TINY, "fig2": TINY[1:]})
        with pytest.raises(ValueError, match="another sweep of fig1"):
            store.open({}, {"fig1": TINY[1:]})
        assert set(store.manifest()["sweeps"]) == {"fig1", "fig2"}

    def test_two_commands_on_one_folder_keep_both_sweeps(self, tmp_path):
        with ThreadPoolExecutor(8) as executor:
            list(
                executor.map(
                    lambda name: Store(tmp_path).open({}, {name: TINY}), map(str, range(20))
                )
            )
        assert len(Store(tmp_path).manifest()["sweeps"]) == 20

    def test_what_a_killed_write_left_behind_does_not_matter(self, tmp_path):
        (tmp_path / ".abc.tmp").write_text("half")
        Store(tmp_path).open({}, {})

    def test_a_folder_of_other_things_is_left_alone(self, tmp_path):
        (tmp_path / "thesis.tex").write_text("my only copy")
        with pytest.raises(ValueError, match="holds other files and no manifest"):
            Store(tmp_path).open({}, {})
        assert [path.name for path in tmp_path.iterdir() if not path.name.startswith(".")] == [
            "thesis.tex"
        ]

    def test_a_missing_cell_says_so(self, tmp_path):
        with pytest.raises(ValueError, match="the reproduction did not finish"):
            Store(tmp_path).get(TINY[0])

    def test_a_broken_manifest_says_so(self, tmp_path):
        (tmp_path / "manifest.json").write_text("{")
        with pytest.raises(ValueError, match="is not JSON"):
            Store(tmp_path).manifest()

    def test_round_trip(self, tmp_path):
        store, what = Store(tmp_path), Recorded({"x": [0.1, 1 / 3]}, {"seconds": 2.5})
        store.put(TINY[0], what)
        assert store.get(TINY[0]) == what


def command(*arguments):
    return [sys.executable, "-m", "superarm", "reproduce", *map(str, arguments)]


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """The whole command once, at quick sizes."""
    out = tmp_path_factory.mktemp("reproduction") / "out"
    done = subprocess.run(
        command("all", "--quick", "--runs", 2, "--out", out),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return out, done.stdout


def test_killed_half_way_and_resumed_it_is_the_same(quick, tmp_path):
    out = tmp_path / "out"
    arguments = command("fig1", "fig2c", "--quick", "--runs", 2, "--out", out)
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, start_new_session=True)
    deadline = time.monotonic() + 60
    while len(list(out.glob("cells/*.json"))) < 3 and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    finished = {path: path.stat().st_mtime_ns for path in out.glob("cells/*.json")}
    assert 3 <= len(finished) < 25
    assert not (out / "report.html").exists()
    subprocess.run(arguments, stdout=subprocess.DEVNULL, check=True)
    assert all(path.stat().st_mtime_ns == when for path, when in finished.items())
    for name in ("fig1", "fig2c"):
        assert (out / name / "rows.jsonl").read_bytes() == (
            quick[0] / name / "rows.jsonl"
        ).read_bytes()


def test_everything_is_written(quick):
    out, printed = quick
    for name in catalogue.names():
        for file in ("rows.jsonl", "times.jsonl", "numbers.json", f"{name}.png"):
            assert (out / name / file).stat().st_size > 0
    assert "The paper's claims" in printed
    assert str(out / "report.html") in printed.replace("\n", "")
    claims = json.loads((out / "claims.json").read_text())
    assert len(claims) == 8


def test_the_lazy_oracle_has_the_regret_of_cts_for_a_fraction_of_the_evaluations(quick):
    numbers = json.loads((quick[0] / "beyond" / "numbers.json").read_text())
    for family in ("linear", "network"):
        found = numbers[family]["policies"]
        assert numbers[family]["lazy_is_cts"]
        assert found["CTS, lazy"]["regret"] == found["CTS"]["regret"]
        assert (
            np.mean(found["CTS, lazy"]["evaluations"]) < np.mean(found["CTS"]["evaluations"]) / 50
        )


def test_what_goes_beyond_the_paper_comes_last(quick):
    page = (quick[0] / "report.html").read_text()
    assert page.index('<h2 id="theory">') < page.index('<h2 id="beyond">')


def test_rows_have_no_times_and_times_no_results(quick):
    for name in catalogue.names():
        for line in (quick[0] / name / "rows.jsonl").read_text().splitlines():
            assert not {"ask_s", "seconds"} & set(json.loads(line))
        for line in (quick[0] / name / "times.jsonl").read_text().splitlines():
            assert not {"regret", "losses", "evaluations"} & set(json.loads(line))


def test_the_report_stands_alone_and_says_that_it_is_quick(quick):
    page = (quick[0] / "report.html").read_text()
    assert not re.search(r'(src|href)="(?!data:|#)', page)
    assert page.index("<h2") == page.index('<h2 id="claims">')
    assert "Reduced sizes" in page
    assert page.count("data:image/png;base64,") == len(catalogue.names())
    for verdict in json.loads((quick[0] / "claims.json").read_text()):
        assert verdict["verdict"] in page


def test_the_report_is_rebuilt_without_running_anything(quick, monkeypatch):
    store = Store(quick[0])
    before = {path: path.read_bytes() for path in quick[0].rglob("*") if path.is_file()}
    monkeypatch.setattr(engine, "run_cell", lambda cell: pytest.fail("ran something"))
    result = CliRunner().invoke(app, ["reproduce", "--from", str(quick[0])])
    assert result.exit_code == 0, result.output
    assert {path: path.read_bytes() for path in store.folder.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["fig9"], "experiments must be of fig1, fig2a"),
        (["--from", "nowhere"], "holds no reproduction"),
        (["fig1", "--from", "nowhere"], "it takes no other choices"),
        (["fig1", "--runs", "1"], "--runs"),
    ],
)
def test_bad_requests_are_answered(arguments, says):
    result = CliRunner().invoke(
        app, ["reproduce", *arguments], env={"COLUMNS": "200", "NO_COLOR": "1"}
    )
    assert result.exit_code == 2
    assert says in " ".join(result.output.split())


def test_a_folder_with_other_settings_is_refused(quick):
    arguments = ["reproduce", "fig1", "--quick", "--runs", "3", "--out", str(quick[0])]
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "300", "NO_COLOR": "1"})
    assert result.exit_code == 2
    assert "holds a reproduction with runs = 2, not 3" in " ".join(result.output.split())


def test_running_one_experiment_again_keeps_the_report_of_all(quick):
    arguments = ["reproduce", "fig1", "--quick", "--runs", "2", "--out", str(quick[0])]
    before = (quick[0] / "report.html").read_bytes()
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert (quick[0] / "report.html").read_bytes() == before


def test_an_unfinished_experiment_is_left_out_of_the_report(quick, tmp_path):
    out = tmp_path / "copy"
    shutil.copytree(quick[0], out)
    (out / "report.html").unlink()
    only = {cell.key for cell in catalogue.load("fig2b").sweep(Scale(quick=True, runs=2))}
    (out / "cells" / f"{min(only)}.json").unlink()
    path, claims = reproduce.make_report(Store(out))
    assert 'id="fig2b"' not in path.read_text()
    assert 'id="fig2a"' in path.read_text()
    assert len(claims) == 7


def test_rows_of_another_program_do_not_mix(quick, monkeypatch):
    monkeypatch.setattr(reproduce, "versions", lambda: {**engine.versions(), "code": "another"})
    with pytest.raises(ValueError, match="holds a reproduction with code = "):
        Store(quick[0]).open(reproduce.manifest_of(Scale(quick=True, runs=2)), {})


def test_every_experiment_has_the_papers_sizes():
    """Section 5's figures, as data."""
    full = {name: catalogue.load(name).sweep(Scale()) for name in catalogue.names()}

    def settings(name):
        return [cell.settings for cell in full[name]]

    linear, network = settings("fig2a")[0], settings("fig2b")[0]
    assert linear["problem"] == {"family": "linear", "n_arms": 5000, "k": 5, "gap": 0.25}
    assert linear["horizon"] == 10_000
    assert (
        network["problem"]["n_arms"],
        network["problem"]["n_hidden"],
        network["problem"]["gap"],
    ) == (1000, 20, 0.2)
    assert network["horizon"] == 5_000
    assert (
        {cell.run for cell in full["fig2a"]}
        == {cell.run for cell in full["fig2b"]}
        == set(range(20))
    )
    assert {cell.run for cell in full["fig2c"]} == set(range(10))
    tests = {one["policy"]["n_tests"] for one in settings("fig2c") if "n_tests" in one["policy"]}
    assert min(tests) == 25
    assert max(tests) >= 2500
    assert {200, 310} <= tests
    shared = {cell.key for cell in full["fig1"]} & {cell.key for cell in full["fig2a"]}
    assert len(shared) == 40


def test_costs_are_estimates_for_every_cell():
    order = Cell(
        "play",
        {**TINY[0].settings, "policy": {"name": "gt_qts", "delta": 0.2, "n_tests": "order"}},
        0,
        0,
    )
    every = [
        cell for sweep in reproduce.plan(catalogue.names(), Scale()).values() for cell in sweep
    ]
    for cell in [*every, *TINY, order, Cell("my_kind", {"x": 1}, 0, 0)]:
        assert reproduce.cost(cell) > 0
