"""Estimates from Parquet files are those of the same log in memory."""

import numpy as np
import pandas as pd
import pytest

from superarm.offpolicy import Log, Target, snips
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
    with pytest.raises(ValueError, match="columns must be of request, the item, click, p, got 'x'"):
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
