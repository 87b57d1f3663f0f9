"""Terminals that are narrow, and streams that cannot write every character: nothing is lost."""

import io
import os
import re
import subprocess
import sys

import pytest
from rich.console import Console
from rich.table import Table as RichTable

from superarm.cli import app
from superarm.cli.common import as_rich, print_table
from superarm.reporting.jobs import bar
from superarm.reporting.tables import Table

ROWS = [
    ["Thompson sampling", "1234567.25", "12 (-279 to 366)"],
    ["[best] fixed set", "1,234", "0.9833"],
]
TABLE = Table(["policy", "regret", "points behind"], ROWS, title="Regret", caption="less is better")


def printed(table, width, encoding="utf-8"):
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    print_table(Console(file=file, width=width), as_rich(table))
    file.seek(0)
    return file.read()


@pytest.mark.parametrize("width", [10, 20, 30, 40, 60, 80])
def test_a_table_keeps_every_word_of_every_cell(width):
    words = re.split(r"[\s│┃]+", printed(TABLE, width))
    wanted = [word for row in [TABLE.heading, *ROWS] for cell in row for word in cell.split()]
    assert {word.rstrip(":") for word in wanted} <= {word.rstrip(":") for word in words}


def test_a_table_that_fits_is_a_table_and_one_that_does_not_is_lines():
    assert "┃ policy" in printed(TABLE, 80)
    lines = printed(TABLE, 20).splitlines()
    assert lines[:5] == [
        "Regret",
        "",
        "policy Thompson sampling",
        "  regret: 1234567.25",
        "  points behind: 12 (-279 to 366)",
    ]
    assert lines[-1] == "less is better"


def test_a_number_that_is_cut_in_one_column_only_is_not_overlooked():
    """The same number stands in another column, which is wide enough."""
    table = RichTable("a", "b")
    table.columns[0].no_wrap = True
    table.columns[1].width = 3
    table.add_row("123456", "123456")
    file = io.StringIO()
    print_table(Console(file=file, width=40), table)
    assert file.getvalue().splitlines()[:2] == ["a 123456", "  b: 123456"]


@pytest.mark.parametrize("width", [20, 40, 80])
def test_the_progress_bar_does_not_cut_its_count(width):
    file = io.StringIO()
    with bar(Console(file=file, width=width), "runs", n_steps=12) as step:
        for _ in range(12):
            step("a policy of a long name")
    assert "12/12 runs" in file.getvalue()


def test_characters_that_a_stream_cannot_write_are_written_otherwise(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    with pytest.raises(SystemExit):
        app(["--version"])
    print("12 µs, 3 ± 1, 2 × 4, 1–2: Äpfel")
    stream.flush()
    assert (
        stream.buffer.getvalue().decode().splitlines()[1] == "12 us, 3 +- 1, 2 x 4, 1-2: \\xc4pfel"
    )


@pytest.mark.parametrize("columns", ["20", "80"])
def test_plan_in_ascii(columns):
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "COLUMNS": columns}
    command = ["plan", "--m", "4", "--k", "2", "--cost", "0.001", "--horizon", "10"]
    found = subprocess.run(
        [sys.executable, "-m", "superarm", *command], env=environment, capture_output=True
    )
    assert (found.returncode, found.stderr) == (0, b"")
    assert " us" in found.stdout.decode("ascii")
