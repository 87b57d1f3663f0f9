"""Estimates from Parquet files are those of the same log in memory."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from superarm.offpolicy import Log, Target, parts, snips
from superarm.offpolicy.parquet import ParquetLog, estimate_of

COLUMNS = {"item": "the item", "outcome": "click", "round": "request", "propensity": "p"}
NAMES = [f"i{number}" for number in range(8)]
TARGET = {"i7": 1.0, "i6": 0.5, "i5": 0.5}


@pytest.fixture(scope="module")
def logged(tmp_path_factory):
    """A log in memory, and the same in two files that share no round."""
    rng = np.random.default_rng(1)
    n_rounds, k = 2000, 3
    arms = np.array([rng.choice(8, k, replace=False) for _ in range(n_rounds)])
    outcomes = (rng.random(arms.shape) < 0.1 * arms).astype(float)
    chances = np.full(arms.shape, k / 8)
    frame = pd.DataFrame(
        {
            "request": np.repeat(np.arange(n_rounds), k),
            "the item": [NAMES[arm] for arm in arms.ravel()],
            "click": outcomes.ravel().astype(int),
            "p": chances.ravel(),
        }
    )
    folder = tmp_path_factory.mktemp("parquet")
    frame.to_pickle(folder.with_suffix(".frame"))
    import duckdb  # here: a module that keeps it makes it complain at the end of the process

    with duckdb.connect() as connection:
        for part, rows in enumerate((frame.request < 700, frame.request >= 700)):
            made = connection.from_df(frame[rows])
            made.write_parquet(str(folder / f"part-{part}.parquet"))
    return Log(arms, outcomes, chances, n_arms=8, names=NAMES), folder


def in_memory(log):
    chances = np.array([TARGET.get(name, 0.0) for name in NAMES])
    return snips(log, Target(chances))


def assert_same(found, wanted):
    for name in ("value", "std_error", "low", "high", "n", "effective_n", "mean_weight"):
        assert getattr(found, name) == pytest.approx(getattr(wanted, name), rel=1e-12), name
    for name in ("largest_share", "mean_weight_error"):
        assert getattr(found, name) == pytest.approx(getattr(wanted, name), rel=1e-9), name
    assert found.warning == wanted.warning


def test_all_files_at_once(logged):
    log, folder = logged
    found = ParquetLog(folder / "*.parquet", **COLUMNS).snips(TARGET)
    assert_same(found, in_memory(log))


def test_file_by_file_and_added(logged):
    """As on several machines: each adds up its own files, around the value of all."""
    log, folder = logged
    parts = [ParquetLog(file, **COLUMNS) for file in sorted(folder.iterdir())]
    first = parts[0].sums(TARGET) + parts[1].sums(TARGET)
    second = parts[0].sums(TARGET, first) + parts[1].sums(TARGET, first)
    assert_same(estimate_of(second, sum(TARGET.values())), in_memory(log))


def test_counts(logged):
    log, folder = logged
    counts = ParquetLog(folder / "*.parquet", **COLUMNS).counts()
    for number, name in enumerate(NAMES):
        here = log.arms == number
        assert counts[name] == (log.outcomes[here].sum(), here.sum())


def test_what_does_not_fit_is_refused(logged):
    folder = logged[1]
    with pytest.raises(
        ValueError, match="columns must be among request, the item, click, p, got 'x'"
    ):
        ParquetLog(folder / "*.parquet", **{**COLUMNS, "round": "x"})
    log = ParquetLog(folder / "*.parquet", **COLUMNS)
    with pytest.raises(ValueError, match="picks nothing of what was logged"):
        log.snips({"nobody": 1.0})
    # As in memory: a part of the target was never logged.
    with pytest.raises(ValueError, match="what was never logged for 33%"):
        log.snips({"i1": 1.0, "i2": 1.0, "nobody": 1.0})
    with pytest.raises(ValueError, match="probabilities"):
        log.snips({"i1": 2.0})
    without = {name: value for name, value in COLUMNS.items() if name != "propensity"}
    with pytest.raises(ValueError, match="propensity="):
        ParquetLog(folder / "*.parquet", **without).snips(TARGET)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("click", None, "1 rows without one"),
        ("click", 2, "1 outside"),
        ("p", 0.0, "1 rows with others"),
        ("p", None, "1 rows with others"),
    ],
)
def test_bad_rows_are_refused_and_not_left_out(logged, tmp_path, column, value, message):
    import duckdb

    with duckdb.connect() as connection:
        frame = connection.read_parquet(str(logged[1] / "part-0.parquet")).df()
        frame[column] = frame[column].astype(object)
        frame.loc[3, column] = value
        frame[column] = frame[column].astype(float)
        connection.from_df(frame).write_parquet(str(tmp_path / "bad.parquet"))
    with pytest.raises(ValueError, match=message):
        ParquetLog(tmp_path / "bad.parquet", **COLUMNS).snips(TARGET)


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(parts, "ROWS_PER_PART", 1000)


def shuffled(frame):
    return frame.sample(frac=1, random_state=np.random.RandomState(3))


def by_user(frame):
    day = pd.Timestamp("2026-03-29", tz="Europe/Berlin") + pd.to_timedelta(frame.request // 30, "D")
    return frame.assign(day=day, user=frame.request % 30)


ROUNDS = {
    "numbers": (lambda frame: frame, "request", True),
    "times and users": (by_user, ("day", "user"), True),
    "no order": (shuffled, "request", False),
}


@pytest.mark.parametrize("kind", ROUNDS)
def test_rounds_in_any_order_may_cross_files(logged, tmp_path, small_parts, kind):
    """Parts are ranges of rounds, so that every round is in one, wherever its rows are."""
    import duckdb

    make, round, in_order = ROUNDS[kind]
    frame = make(pd.read_pickle(logged[1].with_suffix(".frame")))
    with duckdb.connect() as connection:
        for number, rows in enumerate(np.array_split(np.arange(len(frame)), [1000, 3001])):
            made = connection.from_df(frame.iloc[rows])  # 1000 and 3001 are inside of a round
            made.write_parquet(str(tmp_path / f"{number}.parquet"), row_group_size=2048)
    log = ParquetLog(tmp_path / "*.parquet", **{**COLUMNS, "round": round})
    assert_same(log.snips(TARGET), in_memory(logged[0]))
    assert (len(log.parts) > 1) == in_order
    assert sum(n for _, n in log.counts().values()) == len(frame)
    if in_order:
        # No part reads all files.
        assert max(len(part.files) for part in log.parts) < 3
    if kind == "numbers":  # parts that lack rows are noticed
        less = ParquetLog(tmp_path / "*.parquet", **COLUMNS)
        less.parts = [replace(part, files=part.files[-1:]) for part in log.parts]
        assert_same(less.snips(TARGET), in_memory(logged[0]))
        assert len(less.parts) == 1


def test_rows_without_a_round_are_refused(logged, tmp_path):
    import duckdb

    query = "SELECT * REPLACE (CASE WHEN request > 5 THEN request END AS request) FROM log"
    with duckdb.connect() as connection:
        rows = connection.read_parquet(str(logged[1] / "part-0.parquet")).query("log", query)
        rows.write_parquet(str(tmp_path / "holes.parquet"))
    with pytest.raises(ValueError, match="in every row, got 18 rows without"):
        ParquetLog(tmp_path / "holes.parquet", **COLUMNS).snips(TARGET)
    rest = ParquetLog(tmp_path / "holes.parquet", **COLUMNS, where="request > 5")
    assert rest.snips(TARGET).n == 694


def test_the_parts_on_a_dask_cluster(logged, small_parts):
    """The same code elsewhere, up to the order of additions."""
    from distributed import Client, LocalCluster

    log, folder = logged
    cluster = {"n_workers": 1, "threads_per_worker": 2, "dashboard_address": None}
    with LocalCluster(processes=False, **cluster) as local, Client(local) as client:
        found = ParquetLog(folder / "*.parquet", **COLUMNS)
        executor = client.get_executor()
        estimate = found.snips(TARGET, executor=executor)
        counts = found.counts(executor=executor)
    alone = ParquetLog(folder / "*.parquet", **COLUMNS)
    assert_same(estimate, alone.snips(TARGET))
    assert counts == alone.counts()
    assert_same(estimate, in_memory(log))
