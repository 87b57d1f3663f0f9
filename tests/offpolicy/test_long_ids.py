"""Ids of more than 53 bits stay different, or are refused with what to do."""

import numpy as np
import pytest

import superarm as sa
from superarm.offpolicy import ShownLog
from superarm.offpolicy.parquet import ParquetLog

FIRST = 2**53  # FIRST and FIRST + 1 are the same float
COLUMNS = {"item": "item", "outcome": "click", "round": "request"}


def duck(kind, start=FIRST):
    """A query of DuckDB with two items of neighbouring ids, and rounds of such ids."""
    import duckdb  # here: a module that keeps it makes it complain at the end of the process

    rows = ", ".join(f"({start + n // 2}, {start + n % 2}, {n % 2})" for n in range(8))
    return duckdb.sql(
        f"SELECT request::{kind} AS request, item::{kind} AS item, click::{kind} AS click "
        f"FROM (VALUES {rows}) t(request, item, click)"
    )


@pytest.mark.parametrize("kind", ["BIGINT", "UBIGINT", "HUGEINT", "DECIMAL(18,0)", "DECIMAL(38,0)"])
def test_wide_whole_numbers_stay_whole(kind):
    log = ShownLog.of(duck(kind), **COLUMNS)
    assert log.names == (FIRST, FIRST + 1)
    assert (log.n_rounds, log.counts()[0].tolist()) == (4, [0.0, 4.0])


@pytest.mark.parametrize("kind", ["HUGEINT", "UHUGEINT", "VARCHAR", "DECIMAL(38,0)"])
def test_wider_numbers_become_texts(kind):
    log = ShownLog.of(duck(kind, 2**64), **COLUMNS)
    assert log.names == (str(2**64), str(2**64 + 1))
    assert log.n_rounds == 4


def test_wide_fractions_are_texts_too():
    assert ShownLog.of(duck("DECIMAL(30,2)"), **COLUMNS).names == (f"{FIRST}.00", f"{FIRST + 1}.00")


@pytest.mark.parametrize(
    ("dtype", "first"), [("float64", FIRST), ("float32", 2**24), ("float64", -(2**60))]
)
@pytest.mark.parametrize("column", ["item", "request"])
def test_floats_that_may_have_been_different_ids_are_refused(dtype, first, column):
    table = {
        "request": np.repeat(np.arange(4), 2),
        "item": np.tile([1, 2], 4),
        "click": np.tile([0.0, 1.0], 4),
    }
    table[column] = np.asarray(table[column] + first, dtype)
    with pytest.raises(ValueError, match=rf"{column}.* CAST\({column} AS VARCHAR\)"):
        ShownLog.of(table, **COLUMNS)


def test_floats_of_few_digits_are_names_as_before():
    table = {"request": [1.0, 1.0], "item": [7.0, 8.0], "click": [0, 1]}
    assert ShownLog.of(table, **COLUMNS).names == (7.0, 8.0)


@pytest.mark.parametrize("kind", ["HUGEINT", "DOUBLE", "FLOAT"])
def test_a_file_that_has_floats_for_long_ids_is_refused(kind, tmp_path):
    """DuckDB writes numbers of 128 bits as floats."""
    path = str(tmp_path / "log.parquet")
    duck(kind).to_parquet(path)
    with pytest.raises(ValueError, match=r"CAST\(item AS VARCHAR\)"):
        ParquetLog(path, **COLUMNS)
    duck("BIGINT").to_parquet(path)
    assert ParquetLog(path, **COLUMNS).counts() == {FIRST: (0.0, 4), FIRST + 1: (4.0, 4)}


def test_sums_are_outcomes(tmp_path):
    """SUM of DuckDB is of 128 bits."""
    import duckdb

    rows = duckdb.sql("SELECT n // 2 AS request, n % 2 AS item, sum(n % 2) AS click "
                      "FROM range(6) t(n) GROUP BY ALL ORDER BY ALL")  # fmt: skip
    log = ShownLog.of(rows, **COLUMNS)
    assert log.counts()[0].tolist() == [0.0, 3.0]
    session = sa.Session.from_log(log, k=1, seed=0)
    assert session.names == (0, 1)
