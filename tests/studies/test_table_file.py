"""Tables as people write them are read as meant, or refused with line, column and fix."""

import numpy as np
import pytest

from superarm.studies.own_table import csv_file, table_file
from superarm.studies.own_table.table_file import TableError, read

NAN = float("nan")


@pytest.fixture
def written(tmp_path):
    def write(content):
        path = tmp_path / "dishes.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


GOOD = {
    "plain": "ham,egg,tea\n1,0,\n0,0.5,1\n",
    "no newline at the end": "ham,egg,tea\n1,0,\n0,0.5,1",
    "byte order mark": "\ufeffham,egg,tea\n1,0,\n0,0.5,1\n",
    "lines of Windows": "ham,egg,tea\r\n1,0,\r\n0,0.5,1\r\n",
    "semicolons": "ham;egg;tea\n1;0;\n0;0.5;1\n",
    "semicolons and decimal commas": "ham;egg;tea\n1;0;\n0;0,5;1\n",
    "tabs": "ham\tegg\ttea\n1\t0\t\n0\t0.5\t1\n",
    "quoted": '"ham","egg","tea"\n"1","0",""\n"0","0.5","1"\n',
    "spaces": " ham, egg ,tea\n1 , 0, \n 0,0.5,1.0\n",
    "empty lines": "\nham,egg,tea\n\n1,0,\n\n0,0.5,1\n\n\n",
    "missing in words": "ham,egg,tea\n1,0,NA\n0,.5,1e0\n",
    "other words": "ham,egg,tea\n1,0,null\n0,5e-1,1.000\n",
}


@pytest.mark.parametrize("content", GOOD.values(), ids=GOOD)
def test_spellings_of_the_same_table(written, content):
    table = read(written(content))
    assert table.names == ("ham", "egg", "tea")
    np.testing.assert_array_equal(table.cells, [[1, 0, NAN], [0, 0.5, 1]])


def test_names_may_have_separators_quotes_and_line_breaks_in_them(written):
    table = read(written('"ham, boiled","egg ""fresh""","tea\nor not"\n1,0,1\n'))
    assert table.names == ("ham, boiled", 'egg "fresh"', "tea\nor not")
    assert table.cells.shape == (1, 3)


def test_names_may_be_numbers_that_are_no_outcomes(written):
    assert read(written("101,102,103\n1,0,1\n")).names == ("101", "102", "103")


@pytest.mark.parametrize("skip", [["day"], ["1"]])
def test_columns_that_are_no_arms_can_be_left_out(written, skip):
    table = read(written("day,ham,egg\n2024-01-01,1,0\n2024-01-02,,1\n"), skip=skip)
    assert table.names == ("ham", "egg")
    assert table.skipped == ("day",)
    np.testing.assert_array_equal(table.cells, [[1, 0], [NAN, 1]])


def test_a_nameless_column_of_row_numbers_can_be_left_out(written):
    table = read(written(",ham,egg\n0,1,0\n1,0,1\n2,1,1\n"), skip=["1"])
    assert table.names == ("ham", "egg")
    assert table.cells.shape == (3, 2)


@pytest.mark.parametrize(
    ("content", "dtype"),
    [
        ("a,b\n1,0\n0,1\n", np.uint8),
        ("a,b\n1,\n0,1\n", np.float16),
        ("a,b\n1,0\n0.1,1\n", np.float64),
    ],
)
def test_cells_are_kept_in_the_smallest_numbers_that_hold_them(written, content, dtype):
    assert read(written(content)).cells.dtype == dtype


def test_many_strips_make_one_table(written, monkeypatch):
    monkeypatch.setattr(table_file, "_ROWS_AT_ONCE", 7)
    monkeypatch.setattr(csv_file, "_MOST_REMEMBERED", 5)
    rng, told = np.random.default_rng(0), []
    cells = rng.random((100, 3)).round(6)
    cells[:20] = cells[:20] < 0.5  # strips of bytes, of halves and of doubles
    cells[14, 1] = cells[50, 2] = NAN
    lines = [",".join("" if np.isnan(cell) else repr(float(cell)) for cell in row) for row in cells]
    path = written("a,b,c\n" + "\n".join(lines))
    table = read(path, progress=told.append)
    np.testing.assert_array_equal(table.cells, cells)
    assert len(told) == 15
    assert min(told) >= 0
    assert sum(told) == path.stat().st_size


BAD = {
    "an empty file": ("", "dishes.csv is empty; expected a line of names"),
    "only empty lines": ("\n\n", "dishes.csv is empty"),
    "no rows": ("ham,egg\n", "a line of names and no line below it"),
    "one column": (
        "ham\n1\n0\n",
        "line 1: expected the names of at least two arms, got 'ham'; .* for each arm",
    ),
    "a row that is too short": (
        "ham,egg,tea\n1,0,1\n1,0\n",
        r"line 3: expected 3 cells, one for each name in line 1, got 2 "
        r"\('1', '0'; separated by comma\); leave a cell",
    ),
    "a row that is too long": (
        "ham,egg\n1,0\n1,0,1\n",
        "line 3: expected 2 cells.*got 3.*quotation marks around",
    ),
    "text": (
        "ham,egg\n1,0\n1,yes\n",
        r"line 3, column 2 \('egg'\): expected a number from 0 to 1 or an empty cell, "
        r"got 'yes'; write 1 for yes",
    ),
    "a value above 1": (
        "ham,egg\n1,0\n4,0\n",
        r"line 3, column 1 \('ham'\).*got '4'; divide the outcomes by the largest",
    ),
    "a negative value": (
        "ham,egg\n-0.5,0\n",
        "line 2, column 1.*got '-0.5'; rescale .* the worst is 0",
    ),
    "an infinite value": ("ham,egg\n1,inf\n", "got 'inf'; leave the cell empty where"),
    "a line for spreadsheets": (
        "sep=;\nham;egg\n1;0\n",
        "line 1: .* got 'sep=', which is for spreadsheets; delete the line",
    ),
    "another separator": (
        "ham|egg\n1|0\n",
        r"at least two arms, got 'ham\|egg'; .* commas, semicolons or tabs",
    ),
    "a quotation mark at the end": (
        'ham,egg\n1,0\n"1,0\n',
        "line 3: expected 2 cells.*quotation mark not closed",
    ),
    "a percentage": ("ham,egg\n50%,0\n", "got '50%'; write 0.5 for 50%"),
    "digits as in programs": ("ham,egg\n0_1,0\n", "got '0_1'"),
    "dates": (
        "date,ham,egg\n2024-01-01,1,0\n",
        r"column 1 \('date'\).*If the column is no arm.*with --skip date$",
    ),
    "row numbers": (
        "row id,ham,egg\n1,1,0\n2,1,1\n",
        "line 3, column 1.*leave it out with --skip 'row id'$",
    ),
    "a name twice": (
        "ham,egg,ham\n1,0,1\n",
        "line 1: the name 'ham' is there twice, in columns 1 and 3",
    ),
    "a name that is empty": ("ham,,egg\n1,0,1\n", "line 1: column 2 has no name;.*--skip 2"),
    "no line of names": (
        "1,0,0.5\n0,1,1\n",
        "line 1: expected the names of the arms, got outcomes: '1', '0', '0.5'",
    ),
    "no line of names, and outcomes of 0 and 1": (
        "0,1,1\n0,1,1\n",
        "line 1: expected the names of the arms, got outcomes: '0', '1', '1'",
    ),
    "a decimal comma between commas": (
        'ham,egg\n1,"0,5"\n',
        "got '0,5'; write 0.5 for 0,5, or separate the cells with semicolons",
    ),
    "a decimal comma between semicolons": (
        "ham;egg\n1;1,5\n",
        "got '1,5'; divide the outcomes by the largest value that they can have",
    ),
    "lines of old computers": (
        "ham,egg\r1,0\r0,1\r",
        "dishes.csv has lines that end as on old Macintosh.*save the table as CSV",
    ),
    "an empty column": (
        "ham,egg\n1,\n0,NA\n",
        "column 'egg' has no outcome in any line.*--skip egg",
    ),
    "only empty rows": ("ham,egg\n,\n,NA\n", "column 'ham' has no outcome in any line"),
    "a workbook": (b"PK\x03\x04 and so on", "dishes.csv is a workbook.*save the table as CSV"),
    "a binary file": (bytes(range(256)), "dishes.csv is a binary file.*save the table as CSV"),
    "text of another coding": (
        "ham,Käse\n1,0\n".encode("latin-1"),
        "line 1: expected text in UTF-8, got the byte 0xe4",
    ),
    "text of two bytes a letter": ("ham,egg\n1,0\n".encode("utf-16"), "text that is not UTF-8"),
    "a quotation mark that is not closed": (
        'ham,egg\n"1,0\n' + "1,0\n" * 40_000,
        "is a quotation mark not closed",
    ),
    "a long cell": ("ham,egg\n1," + "x" * 100 + "\n", r"got 'x{27}\.\.\.'"),
}


@pytest.mark.parametrize(("content", "message"), BAD.values(), ids=BAD)
def test_bad_files_are_refused_with_a_way_out(written, content, message):
    with pytest.raises(TableError, match=message):
        read(written(content))


def test_lines_are_counted_as_an_editor_counts_them(written):
    with pytest.raises(TableError, match=r"^line 7, column 2"):
        read(written('"ham\nor not",egg\n1,0\n\n\n1,0\n1,2\n'))


def test_a_bad_line_far_down_is_found(written, monkeypatch):
    monkeypatch.setattr(table_file, "_ROWS_AT_ONCE", 10)
    with pytest.raises(TableError, match=r"^line 99, column 2"):
        read(written("a,b\n" + "1,0\n" * 97 + "1,2\n" + "0,1\n" * 50))


@pytest.mark.parametrize("rows_at_once", [2, 50])
def test_rows_without_any_outcome_are_left_out_and_counted(written, monkeypatch, rows_at_once):
    monkeypatch.setattr(table_file, "_ROWS_AT_ONCE", rows_at_once)
    found = read(written("ham,egg,tea\n1,0,\n,NA,\n0,,1\n,,\n,,\n1,1,1\n"))
    np.testing.assert_array_equal(found.cells, [[1, 0, NAN], [0, NAN, 1], [1, 1, 1]])
    assert found.n_empty == 3
    assert read(written("ham,egg\n1,0\n")).n_empty == 0


def test_a_column_to_skip_must_be_there(written):
    with pytest.raises(TableError, match="from 1 to 2, got 'day'; the columns are 'ham', 'egg'"):
        read(written("ham,egg\n1,0\n"), skip=["day"])
    with pytest.raises(TableError, match="at least two arms, got 'egg'"):
        read(written("ham,egg\n1,0\n"), skip=["ham"])


def test_a_table_of_many_arms_is_read(tmp_path):
    """Its line of names is longer than the longest cell that Python reads."""
    names = [f"item number {number}" for number in range(12_000)]
    path = tmp_path / "wide.csv"
    path.write_text(";".join(names) + "\n" + ";".join(["1", "0,5", "0"] * 4_000) + "\n", "utf-8")
    found = read(path)
    assert found.names == tuple(names)
    assert found.cells[0, :3].tolist() == [1.0, 0.5, 0.0]
