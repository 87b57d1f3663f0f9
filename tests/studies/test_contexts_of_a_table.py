"""Columns of one's own table as contexts: they are read, and the policy learns from them."""

import json
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

import commands
from superarm.beliefs import LinearBelief, LogisticBelief
from superarm.cli import app
from superarm.features import Encoder
from superarm.studies.cell import Cell
from superarm.studies.cells.knowing import Known
from superarm.studies.cells.table import prepare, run
from superarm.studies.own_table import TableError, read
from superarm.studies.own_table.features_file import read_contexts

DAYS, NAMES = ("Mon", "Tue"), [f"arm {arm}" for arm in range(6)]


def lines(n_rows=60):
    """Six arms, of which three do well on Mondays and three on Tuesdays; some cells are missing."""
    rng = np.random.default_rng(0)
    said = ["day,note," + ",".join(NAMES)]
    for row in range(n_rows):
        means = np.where(np.arange(6) % 2 == row % 2, 0.9, 0.1)
        cells = (rng.random(6) < means).astype(int)
        note = "NA" if row == 7 else f"{row / 4:g}"
        said.append(f"{DAYS[row % 2]},{note}," + ",".join(map(str, cells)))
    return said


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("\n".join(lines()) + "\n")
    return path


def test_columns_of_a_context_are_no_arms(table):
    found = read(table, context=["day,note"])
    assert found.names == tuple(NAMES)
    assert found.skipped == ()
    assert list(found.contexts) == ["day", "note"]
    encoder, contexts, _ = read_contexts(found)
    assert encoder.names == ("day = Mon", "day = Tue", "note", "note is missing")
    assert contexts.shape == (60, 4)
    np.testing.assert_array_equal(contexts[:3, 0], [1, 0, 1])
    assert contexts[7, 2:].tolist() == [0, 1]  # "NA" is missing, as in the other columns


def test_rows_without_an_outcome_have_no_context(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("day;price;ham;egg\na;1,5;1;0\nb;2;;\nc;2,5;0;1\n")
    found = read(path, context=["1-2"])
    assert found.n_empty == 1
    assert found.contexts == {"day": ["a", "c"], "price": ["1,5", "2,5"]}
    encoder, contexts, _ = read_contexts(found)
    assert encoder.names[-1] == "price"  # with a decimal comma
    np.testing.assert_allclose(contexts[:, -1], [-1, 1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"context": ["month"]}, "--context must be the name of a column or its number, .*'month'"),
        ({"context": ["day"], "skip": ["1"]}, "--skip and --context must be different.*'day'"),
        ({"context": ["2-9"]}, "number, from 1 to 8, got '2-9'"),
        ({"skip": ["note"]}, "'day'.*use it with --context day. .*leave it out with --skip day"),
    ],
)
def test_bad_requests_say_what_to_do(table, options, message):
    with pytest.raises(TableError, match=message):
        read(table, **options)


def test_a_context_must_differ_between_rows(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("shop,ham,egg\nours,1,0\nours,0,1\n")
    with pytest.raises(TableError, match="got 'shop' with the same value in all rows; leave"):
        read_contexts(read(path, context=["shop"]))


def test_two_contexts_of_one_name_are_refused(tmp_path):
    """The first of them was left out without a word."""
    path = tmp_path / "table.csv"
    path.write_text("day,day,ham,egg\n1,Mon,1,0\n2,Tue,0,1\n")
    with pytest.raises(TableError, match="'day' is there twice, in columns 1 and 2; every context"):
        read(path, context=["1-2"])
    assert read(path, skip=["1"], context=["2"]).contexts == {"day": ["Mon", "Tue"]}


def test_an_infinite_number_is_refused(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("heat,ham,egg\n1,1,0\n-inf,0,1\n")
    with pytest.raises(TableError, match=r"'heat' must have a finite number.* leave a cell empty"):
        read_contexts(read(path, context=["heat"]))


def test_codes_with_underscores_are_categories(tmp_path):
    """Python reads 2024_01 as the number 202401."""
    path = tmp_path / "table.csv"
    path.write_text("month,ham,egg\n2024_01,1,0\n2024_01,0,1\n2024_02,0,1\n2024_02,1,1\n")
    encoder, _, _ = read_contexts(read(path, context=["month"]))
    assert encoder.names == ("month = 2024_01", "month = 2024_02")


@pytest.mark.usefixtures("pictures_unwritten")
def test_the_report_names_doubtful_columns(table, tmp_path):
    table.write_text(table.read_text("utf-8").replace("Mon,0", "Mon,nought", 1), "utf-8")
    given = ("--context", "day,note", "--policy", "cts", "--runs", "2", "--workers", "1")
    done = commands.run("run", table, "--k", 2, *given, "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    doubt = "note is read as categories, because 'nought' is no number"
    assert doubt in " ".join(done.output.split())
    assert doubt in (tmp_path / "out" / "report.html").read_text("utf-8").replace("&#39;", "'")


@pytest.mark.usefixtures("pictures_unwritten")
@pytest.mark.parametrize("with_features", [False, True])
def test_the_command_says_what_contexts_add(table, tmp_path, with_features):
    known = tmp_path / "arms.csv"
    known.write_text("arm,side\n" + "".join(f"{name},s{a % 2}\n" for a, name in enumerate(NAMES)))
    more = ["--features", known] if with_features else []
    out = tmp_path / "a b"
    options = ["--k", 2, "--runs", 3, "--context", "day", "--skip", 2, "--policy", "random"]
    arguments = ["run", table, *options, *more, "--workers", 1, "--out", out]
    done = CliRunner().invoke(app, [str(one) for one in arguments])
    assert done.exit_code == 0, done.output
    less = "features" if with_features else "thompson"
    assert f"per round to {less}, " in " ".join(done.output.split())
    numbers = json.loads((out / "numbers.json").read_text())
    assert numbers["settings"]["context"] == ["day"]
    found = {row["policy"]: row["reward"][0] for row in numbers["policies"]}
    assert found["contexts"] - found[less] == pytest.approx(numbers["contexts_add"]["reward"][0])
    assert numbers["contexts_add"]["to"] == less
    # A set without contexts gets 1 per round, the best of each day 1.8.
    assert found["contexts"] > found["thompson"] + 0.3
    page = (out / "report.html").read_text()
    assert "Contexts add" in page
    assert "--context day" in page or with_features
    bandit = json.loads((out / "bandit.json").read_text())
    assert bandit["belief"]["context"] == 2
    assert ("features" in bandit) == with_features
    # The program of the next steps runs as it is printed.
    program = done.output.split("learn from what happens:\n")[1].split("Or decide")[0]
    variables = {}
    exec("\n".join(line[4:] for line in program.splitlines()), variables)
    assert len(variables["decision"].arms) == 2
    assert variables["encoder"] == Encoder.load(json.loads((out / "context.json").read_text()))


def test_wide_tables_and_measured_ones_have_the_linear_model():
    cells = np.zeros((20, 3), np.uint8)
    cells[::2, 0] = 1
    wide, narrow = np.ones((20, 100)), np.ones((20, 3))

    def model(cells, contexts):
        return replace(prepare(cells, "abc", 1, 20, "given"), known=Known(contexts=contexts)).model

    assert model(cells, narrow) is LogisticBelief
    assert model(cells, wide) is LinearBelief
    assert model(cells / 2.0, narrow) is LinearBelief


def test_workers_map_the_contexts(tmp_path):
    rng = np.random.default_rng(0)
    cells = rng.integers(2, size=(20, 3)).astype(np.uint8)
    problem = prepare(cells, "abc", 1, 20, "shuffled")
    problem = replace(problem, known=Known(contexts=rng.normal(size=(20, 2))))
    problem.save(tmp_path)
    settings = {"folder": str(tmp_path), "k": 1, "horizon": 20, "order": "shuffled"}
    cell = Cell("table", {**settings, "policy": "contexts"}, seed=0, run=0)
    assert sum(run(cell).row["n_shown"]) == 20


@pytest.mark.usefixtures("pictures_unwritten")
def test_what_contexts_add_is_not_called_luck(tmp_path):
    """Arms that are alike on average, but not on one day, were said to be a matter of luck."""
    rng, path = np.random.default_rng(5), tmp_path / "table.csv"
    cells = (rng.random((200, 6)) < 0.3).astype(int)
    cells[::2, :3] = cells[1::2, 3:] = 1
    rows = [f"{DAYS[row % 2]}," + ",".join(map(str, line)) for row, line in enumerate(cells)]
    path.write_text("\n".join(["day," + ",".join(NAMES), *rows]) + "\n")
    given = ("--context", "day", "--policy", "thompson", "--runs", "3", "--workers", "1")
    done = commands.run("run", path, "--k", 2, *given, "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    said = " ".join(done.output.split())
    assert "The gap may be luck" in said  # that of the best fixed set
    assert "contexts wins: in paired runs it is ahead of thompson." in said
    assert "Collect more rows" not in said


@pytest.mark.usefixtures("pictures_unwritten")
@pytest.mark.parametrize(("cell", "note"), [("0,5", 0.5), ("n/a", None)])
def test_the_printed_program_reads_decimal_commas_and_missing_cells(table, tmp_path, cell, note):
    """It failed: an encoder reads numbers with a point, and what is missing as None."""
    head, first, *rest = lines()
    cells = [" Mon ", cell, *first.split(",")[2:]]
    rows = [line.replace(",", ";").replace(".", ",") for line in (head, *rest)]
    table.write_text("\n".join([rows[0], ";".join(cells), *rows[1:]]) + "\n", "utf-8")
    given = ("--context", "day,note", "--policy", "random", "--runs", "3", "--workers", "1")
    done = commands.run("run", table, "--k", 2, *given, "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    program = done.output.split("learn from what happens:\n")[1].split("Or decide")[0]
    variables = {}
    exec("\n".join(line[4:] for line in program.splitlines()), variables)
    (expected,) = variables["encoder"].transform([{"day": "Mon", "note": note}])
    np.testing.assert_array_equal(variables["context"], expected)
