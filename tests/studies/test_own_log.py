"""``superarm run`` on a log of shown items: the honest method, and the right command."""

import csv
import json
import re
import sqlite3
import sys
import textwrap
from contextlib import closing
from dataclasses import asdict

import numpy as np
import pytest
import scipy.stats

from commands import run
from superarm.studies import own_log, own_table
from superarm.studies.own_log.analysis import analyse, luck_of_rates

N_ROUNDS, N_ITEMS, K = 300, 8, 2
MEANS = np.linspace(0.02, 0.98, N_ITEMS)


def rows_of(*, every=False):
    rng = np.random.default_rng(2)
    for number in range(N_ROUNDS):
        shown = range(N_ITEMS) if every else rng.choice(N_ITEMS, K, replace=False)
        for place, item in enumerate(shown, start=1):
            click = int(rng.random() < MEANS[item] / place**0.5)
            yield number, f"item {item}", place, click, K / N_ITEMS


HEAD = ("request_id", "item_id", "position", "click", "propensity")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logs")
    for name, every in (("log", False), ("whole", True)):
        with (folder / f"{name}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(HEAD)
            writer.writerows(rows_of(every=every))
    (folder / "log.parquet").unlink(missing_ok=True)
    import duckdb  # here: a module that keeps it makes it complain at the end of the process

    rows = duckdb.read_csv(str(folder / "log.csv"))
    rows.write_parquet(str(folder / "log.parquet"))
    with duckdb.connect(str(folder / "duck.db")) as database:
        database.execute(f"CREATE TABLE shown AS FROM '{folder}/log.parquet'")
    with sqlite3.connect(folder / "shop.db") as database:
        database.execute('CREATE TABLE "shown items" (request_id, item_id, position, click, p)')
        many = 'INSERT INTO "shown items" VALUES (?, ?, ?, ?, ?)'
        database.executemany(many, rows_of())
    database.close()
    return folder


def asked(path, out, *more):
    columns = ("--item", "item_id", "--outcome", "click", "--round", "request_id")
    return run("run", path, "--k", K, *columns, *more, "--out", out)


def test_a_log_without_options_is_answered_with_the_right_command(folder, tmp_path):
    refused = run("run", folder / "log.csv", "--k", K, "--out", tmp_path)
    assert refused.exit_code == 2
    assert "looks like a log with one row per shown item" in refused.output
    wanted = "--item item_id --outcome click --round request_id --position position --propensity"
    assert wanted in " ".join(refused.output.split())
    assert not list(tmp_path.iterdir())


def test_without_propensities_a_log_only_starts_a_policy(folder, tmp_path):
    """The first item is one of the best two: for another seed, not with a probability of 0.001.

    Each item has about 75 rounds, so that the click rate of the third best is 4 errors below.
    """
    done = asked(folder / "log.csv", tmp_path, "--position", "position")
    assert done.exit_code == 0, done.output
    said = " ".join(done.output.split())
    assert "what other sets would have earned cannot be told from this log" in said
    assert "PositionBiasedBelief" in said
    assert "no outcome" not in said
    numbers = json.loads((tmp_path / "numbers.json").read_text())
    assert (numbers["method"], numbers["valued"]) == ("warm start", [])
    assert sum(one["shown"] for one in numbers["items"]) == K * N_ROUNDS
    assert numbers["items"][0]["item"] in {"item 7", "item 6"}
    assert [one["place"] for one in numbers["places"]] == [1, 2]
    page = (tmp_path / "report.html").read_text()
    assert "what a log of shown items can say" in page
    assert len((tmp_path / "items.csv").read_text().splitlines()) == 1 + N_ITEMS


@pytest.mark.parametrize("name", ["log.csv", "log.parquet"])
def test_with_propensities_other_sets_are_valued(folder, tmp_path, name):
    """Over 60 other seeds, the gap of the intervals is 4.2 of its standard deviations above 0.

    So the error rate is below 1e-4. The two values of random sets differ by less than 1%.
    """
    done = asked(folder / name, tmp_path, "--propensity", "propensity")
    assert done.exit_code == 0, done.output
    numbers = json.loads((tmp_path / "numbers.json").read_text())
    logged, random, best = numbers["valued"]
    assert numbers["method"] == "estimates"
    # Sets are random in this log, so the first two are the same thing.
    assert logged["value"] == pytest.approx(random["value"], rel=0.2)
    assert best["low"] > random["high"]


@pytest.mark.usefixtures("pictures_unwritten")
def test_a_log_of_every_item_is_replayed(folder, tmp_path):
    more = ("--runs", "2", "--policy", "thompson", "--workers", "1", "--horizon", "100")
    done = asked(folder / "whole.csv", tmp_path, *more)
    assert done.exit_code == 0, done.output
    assert "so it is a table" in " ".join(done.output.split())
    assert len((tmp_path / "table.csv").read_text().splitlines()) == 1 + N_ROUNDS
    assert (tmp_path / "runs.csv").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--item", "item_id"), "is read as a log, which needs"),
        (
            ("--item", "what", "--outcome", "click", "--round", "request_id"),
            "columns must be among request_id, item_id, position, click, propensity, got 'what'",
        ),
        (
            ("--item", "item_id", "--outcome", "request_id", "--round", "position"),
            "must have numbers from 0 to 1",
        ),
    ],
)
def test_wrong_columns_are_answered(folder, tmp_path, options, message):
    refused = run("run", folder / "log.csv", "--k", K, *options, "--out", tmp_path)
    assert refused.exit_code == 2
    assert message in " ".join(refused.output.split())


@pytest.mark.parametrize("name", ["log.csv", "whole.csv"])
def test_unknown_policies_are_refused_before_anything_is_written(folder, tmp_path, name):
    """The policies of a log that is no table are not played, but an unknown one is a mistake."""
    refused = asked(folder / name, tmp_path, "--policy", "best")
    assert refused.exit_code == 2
    assert "--policy must be one of thompson, " in refused.output
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["", "\n\n"])
def test_an_empty_log_is_answered(tmp_path, text):
    (tmp_path / "empty.csv").write_text(text)
    columns = ("--item", "item_id", "--outcome", "click", "--round", "request_id")
    refused = run("run", tmp_path / "empty.csv", "--k", 1, *columns)
    assert refused.exit_code == 2
    assert "the log is empty; expected a line of names" in " ".join(refused.output.split())


@pytest.mark.parametrize("k", [N_ITEMS, N_ITEMS + 1])
def test_a_set_of_all_items_is_refused(folder, tmp_path, k):
    columns = ("--item", "item_id", "--outcome", "click", "--round", "request_id")
    refused = run("run", folder / "log.csv", "--k", k, *columns, "--out", tmp_path)
    assert refused.exit_code == 2
    assert f"--k must be between 1 and 7, got {k}: the log has 8 items" in refused.output
    assert not list(tmp_path.iterdir())


QUERIES = {
    "shop.db": 'SELECT request_id, item_id, click, p AS propensity FROM "shown items"',
    "duck.db": "SELECT * FROM shown",
    "log.csv": "SELECT * FROM log",
}


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_finds_the_rows_of_a_log(folder, tmp_path, name):
    query = QUERIES[name]
    if name == "duck.db":
        query = tmp_path / "query.sql"
        query.write_text(f"{QUERIES[name]};\n")
    done = asked(folder / name, tmp_path, "--sql", query, "--propensity", "propensity")
    assert done.exit_code == 0, done.output
    found = json.loads((tmp_path / "numbers.json").read_text())
    assert found["settings"]["sql"] == QUERIES[name]
    columns = own_log.Columns("item_id", "click", ("request_id",), propensity="propensity")
    expected = asdict(analyse(own_log.read(own_log.Source(folder / "log.csv"), columns), K, seed=0))
    assert (found["items"], found["valued"]) == (expected["items"], expected["valued"])
    # What the report proposes to do next reads the same rows.
    assert (
        f"superarm run {folder.as_posix()}/{name} --sql" in (tmp_path / "report.html").read_text()
    )


def test_a_database_without_a_query_is_answered_with_the_right_command(folder, tmp_path):
    for name, table in (("shop.db", '"shown items"'), ("duck.db", '"shown"')):
        refused = run("run", folder / name, "--k", K, "--out", tmp_path)
        said = " ".join(refused.output.split())
        assert refused.exit_code == 2
        assert f"its tables are {table}" in said
        assert f"--sql 'SELECT * FROM {table}' --k 2 --item item_id --outcome click" in said


def test_tables_may_be_called_like_words_of_sql_and_stand_in_schemas(tmp_path):
    import duckdb

    columns = "(item INT, click INT, round INT)"
    with closing(sqlite3.connect(tmp_path / "shop.db")) as shop:
        shop.execute(f'CREATE TABLE "order" {columns}')
    with duckdb.connect(tmp_path / "duck.db") as duck:
        duck.execute(f'CREATE SCHEMA web; CREATE TABLE web."order" {columns}')
    for name, table in (("shop.db", '"order"'), ("duck.db", '"web"."order"')):
        refused = run("run", tmp_path / name, "--k", 1, "--out", tmp_path / "out")
        said = " ".join(refused.output.split())
        assert f"--sql 'SELECT * FROM {table}' --k 1 --item item --outcome click" in said


@pytest.mark.parametrize(
    ("name", "query", "message"),
    [
        ("shop.db", "SELECT unknown", "is refused by SQLite: no such column: unknown"),
        ("shop.db", 'DELETE FROM "shown items"', "attempt to write a readonly database"),
        ("duck.db", "SELECT unknown", "is refused by DuckDB"),
        ("duck.db", "nowhere.sql", "must be a query, or a file with one"),
        ("duck.db", "SELECT 1 AS a", "is read as a log, which needs the columns"),
    ],
)
def test_wrong_queries_are_answered(folder, tmp_path, name, query, message):
    options = () if " AS " in query else ("--item", "a", "--outcome", "b", "--round", "c")
    refused = run("run", folder / name, "--k", K, "--sql", query, *options, "--out", tmp_path)
    assert refused.exit_code == 2
    assert message in " ".join(refused.output.split())


def test_items_of_a_whole_log_may_be_called_like_outcomes(tmp_path, monkeypatch):
    rows = [f"{day},{item},{int(day % 3 == item)}" for day in range(20) for item in (0, 1)]
    (tmp_path / "log.csv").write_text("\n".join(["request_id,item_id,click", *rows]))
    played = []
    monkeypatch.setattr(own_table, "run_table", lambda table, *_, **__: played.append(table))
    columns = own_log.Columns("item_id", "click", ("request_id",))
    own_log.run(own_log.Source(tmp_path / "log.csv"), columns, k=1, folder=tmp_path / "out")
    assert played[0].names == ("0", "1")
    np.testing.assert_array_equal(played[0].cells[:3], [[1, 0], [0, 1], [0, 0]])
    assert (tmp_path / "out" / "table.csv").read_text().startswith("0,1\n")


@pytest.mark.parametrize("valued", [False, True])
def test_rows_without_an_outcome_are_said(folder, tmp_path, valued):
    query = "SELECT * EXCLUDE click, nullif(click, 0) AS click FROM shown"
    options = ("--propensity", "propensity") if valued else ()
    done = asked(folder / "duck.db", tmp_path, "--sql", query, *options)
    assert done.exit_code == 0, done.output
    clicks = np.array([row[3] for row in rows_of()]).reshape(N_ROUNDS, K)
    n_missing, n_incomplete = (clicks == 0).sum(), (clicks == 0).any(axis=1).sum()
    said, page = " ".join(done.output.split()), (tmp_path / "report.html").read_text()
    for text in (said, page):
        assert f"{n_missing} of {N_ROUNDS * K} rows have no outcome" in text
        assert (f"leave out the {n_incomplete} rounds with such a row" in text) == valued
    numbers = json.loads((tmp_path / "numbers.json").read_text())
    assert (numbers["n_missing"], numbers["n_incomplete"]) == (n_missing, n_incomplete)


def test_outcomes_far_below_1_are_said_in_the_report(folder, tmp_path):
    """And by no warning of Python, which would be an error here."""
    query = "SELECT * EXCLUDE click, 0.01 * click AS click FROM shown"
    done = asked(folder / "duck.db", tmp_path, "--sql", query)
    assert done.exit_code == 0, done.output
    for text in (" ".join(done.output.split()), (tmp_path / "report.html").read_text()):
        assert "Warning: Outcomes that are not 0 are about 0.01" in text


def test_a_log_without_a_known_round_is_described_and_not_valued(tmp_path):
    rows = ["request_id,item_id,click,propensity", "1,a,1,0.5", "1,b,,0.5", "2,b,1,0.5", "2,c,,0.5"]
    (tmp_path / "log.csv").write_text("\n".join(rows))
    columns = ("--item", "item_id", "--outcome", "click", "--round", "request_id")
    options = (*columns, "--propensity", "propensity", "--out", tmp_path / "out")
    done = run("run", tmp_path / "log.csv", "--k", 1, *options)
    assert done.exit_code == 0, done.output
    assert "a log must have a round with all its outcomes" in " ".join(done.output.split())


def test_a_log_of_many_columns_whose_rounds_are_row_numbers(tmp_path):
    """pandas writes row numbers in a column without a name."""
    features = [f"f{j}" for j in range(90)]
    rows = [",".join(["", "item_id", "click", *features])]
    rows += [",".join([str(t), "ab"[t % 2], str(t % 3 % 2), *["0"] * 90]) for t in range(40)]
    (tmp_path / "log.csv").write_text("\n".join(rows))
    refused = run("run", tmp_path / "log.csv", "--k", 1, "--item", "item_id", "--out", tmp_path)
    said = " ".join(refused.output.split())
    assert "f16, ...); try" in said
    assert "f17" not in said
    columns = ("--item", "item_id", "--outcome", "click", "--round", "")
    done = run("run", tmp_path / "log.csv", "--k", 1, *columns, "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert "--item item_id --outcome click --round ''" in " ".join(done.output.split())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("day,item,click\n1,a,1\n1,b\n", "line 3: expected 3 cells.*but keep its separator"),
        ("day,item,click\n1,a,1\n1,b,0,1\n", "line 3: expected 3 cells.*put quotation marks"),
        ("day,item,click,click\n1,a,1,1\n", "'click' is there more than once, in columns 3 and 4"),
        ('day,item,click\n1,"a,1\n' + "b" * 200_000, "line 3.*is a quotation mark not closed"),
        ('day,item,"click\n' + "b" * 200_000, "line 1 or 2: field larger.*not closed"),
    ],
)
def test_files_that_are_no_log_are_refused_with_the_line(tmp_path, content, message):
    (tmp_path / "log.csv").write_text(content)
    columns = ("--item", "item", "--outcome", "click", "--round", "day")
    refused = run("run", tmp_path / "log.csv", "--k", 1, *columns, "--out", tmp_path / "out")
    assert refused.exit_code == 2
    assert re.search(message, " ".join(refused.output.split())), refused.output


def test_without_jinja2_the_numbers_are_written(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(own_log.study, "lacks", lambda *modules: list(modules))
    done = asked(folder / "log.csv", tmp_path)
    assert done.exit_code == 0, done.output
    assert "no page: it needs pip install jinja2" in done.output
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "bandit.json",
        "items.csv",
        "numbers.json",
    ]


@pytest.mark.parametrize(("name", "whole"), [("items.csv", False), ("table.csv", True)])
def test_a_log_is_not_overwritten(folder, tmp_path, name, whole):
    """It was, if it was called like a file of the results and lay where they went."""
    log = tmp_path / name
    log.write_bytes((folder / ("whole.csv" if whole else "log.csv")).read_bytes())
    before = log.read_bytes()
    refused = asked(log, tmp_path)
    assert refused.exit_code == 2
    assert f"its file {name} is read, and would be" in " ".join(refused.output.split())
    assert log.read_bytes() == before
    assert list(tmp_path.iterdir()) == [log]


def printed_program(done):
    assert done.exit_code == 0, done.output
    program = re.search(r"in Python:\n(.*)Or a bandit", done.output, re.DOTALL)[1]
    found = {}
    exec(textwrap.dedent(program), found)
    return found


@pytest.mark.parametrize("separator", [",", ";", "\t", ", ", " ; "])
@pytest.mark.parametrize("above", ["", "\n"])
def test_the_printed_program_reads_the_items_of_the_report(tmp_path, separator, above, monkeypatch):
    """Items such as 007 and NA are texts for the report, and so for the program.

    It needs no more than superarm itself needs. Spaces and empty lines above are left out.
    """
    monkeypatch.setitem(sys.modules, "pandas", None)
    lines = [("day", "item", "click"), *((d, ("007", "NA", "x")[d % 3], d % 2) for d in range(9))]
    text = "\n".join(separator.join(map(str, line)) for line in lines)
    (tmp_path / "log.csv").write_text(above + text)
    columns = ("--item", "item", "--outcome", "click", "--round", "day")
    done = run("run", tmp_path / "log.csv", "--k", 1, *columns, "--out", tmp_path / "out")
    found = printed_program(done)
    arms = json.loads((tmp_path / "out" / "bandit.json").read_text())["arms"]
    assert list(found["session"].names) == arms == ["007", "NA", "x"]


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("log.parquet", None),
        ("log.parquet", "SELECT * FROM log"),
        ("log.csv", "SELECT * FROM log"),
        ("duck.db", "SELECT * FROM shown"),
        ("shop.db", 'SELECT * FROM "shown items"'),
    ],
)
def test_the_printed_program_of_a_query_needs_no_pandas(folder, tmp_path, name, query, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    done = asked(folder / name, tmp_path, *(() if query is None else ("--sql", query)))
    found = printed_program(done)
    items = json.loads((tmp_path / "numbers.json").read_text())["items"]
    log = found["log"]
    rates = {item: log.outcomes[log.arms == arm].mean() for arm, item in enumerate(log.names)}
    assert rates == pytest.approx({one["item"]: one["rate"] for one in items})


@pytest.mark.parametrize("name", ["log.parquet", "shop.db"])
def test_a_query_with_two_columns_of_one_name_is_refused(folder, tmp_path, name):
    """The first of them was used, and the one that the query calculates left out."""
    table = '"shown items"' if name == "shop.db" else "log"
    refused = asked(folder / name, tmp_path, "--sql", f"SELECT *, 0 AS click FROM {table}")
    assert refused.exit_code == 2
    assert "distinct names, got 'click' more than once" in " ".join(refused.output.split())


def test_items_and_places_may_be_of_any_type(folder, tmp_path):
    """Days as items, and ids in place of places, which once took a table of all smaller ids."""
    query = (
        "SELECT request_id, DATE '2026-01-01' + CAST(item_id[6:] AS INT) AS item_id, click, "
        "1000000000000 + request_id AS position FROM shown"
    )
    done = asked(folder / "duck.db", tmp_path, "--sql", query, "--position", "position")
    assert done.exit_code == 0, done.output
    numbers = json.loads((tmp_path / "numbers.json").read_text())
    assert {one["item"] for one in numbers["items"]} == {f"2026-01-0{n}" for n in range(1, 9)}
    assert len(numbers["places"]) == N_ROUNDS


def test_places_that_do_not_matter_are_not_warned_of(folder, tmp_path):
    query = "SELECT * EXCLUDE position, 1 + request_id % 3 AS position FROM shown"
    done = asked(folder / "duck.db", tmp_path, "--sql", query, "--position", "position")
    assert done.exit_code == 0, done.output
    said = " ".join(done.output.split())
    assert "differ by no more than luck explains" in said
    assert "PositionBiasedBelief" not in said
    assert json.loads((tmp_path / "numbers.json").read_text())["places_luck"] > 0.01


def test_luck_of_rates_has_its_error_rate_and_is_pearsons():
    """With another seed, more than 40 of 2,000 fail with a probability below 1e-4."""
    rng, shown = np.random.default_rng(5), np.array([3000, 2000, 500, 250])
    clicks = rng.binomial(shown, 0.08, size=(2000, 4))
    luck = np.array([luck_of_rates(shown, row / shown) for row in clicks])
    assert (luck < 0.01).sum() <= 40
    assert abs(np.mean(luck < 0.5) - 0.5) < 0.05
    table = np.array([clicks[0], shown - clicks[0]])
    assert luck[0] == pytest.approx(scipy.stats.chi2_contingency(table).pvalue)
    assert luck_of_rates(shown, [0.08, 0.06, 0.04, 0.03]) < 1e-3
    assert [luck_of_rates(n, rate) for n, rate in (([], []), ([5], [0.5]), ([5, 5], [0, 0]))] == [
        1
    ] * 3


def test_propensities_of_almost_0_are_reported(folder, tmp_path):
    query = "SELECT *, 1e-300 AS p FROM shown"
    done = asked(folder / "duck.db", tmp_path, "--sql", query, "--propensity", "p")
    assert done.exit_code == 0, done.output
    assert "are these the probabilities of what was logged?" in " ".join(done.output.split())
