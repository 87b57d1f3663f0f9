"""Features of the arms from a CSV file with one line per arm, and contexts from the table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from superarm.core.arguments import FloatArray
from superarm.features import Encoder
from superarm.studies.own_table import csv_file, known_columns
from superarm.studies.own_table.csv_file import TableError, short, some
from superarm.studies.own_table.table_file import OwnTable


def read_features(path: Path, names: Sequence[str]) -> tuple[FloatArray, list[str]]:
    """The features of the arms with these names, shape (len(names), d), and what is doubtful.

    The first column has the names of the arms. A column of numbers is a number, a column of dates
    such as 2024-05-31 is a date, and all other columns are categories. Lines of other arms are
    left out.
    """
    by_arm, separator = _rows(path)
    if missing := [name for name in names if name not in by_arm]:
        raise TableError(
            f"{path.name}: expected a line for every arm, got none for {short(missing[0])}; the "
            f"first column must have the names of the arms, and has {some(list(by_arm))}"
        )
    columns = {
        column: [by_arm[name][column] for name in names] for column in next(iter(by_arm.values()))
    }
    where = f"{path.name}: "
    encoder, cells = known_columns.fit(columns, decimal_comma=separator != ",", where=where)
    features = encoder.transform(cells)
    if not features.shape[1]:
        raise TableError(f"{path.name}: expected features that differ between arms, got none")
    return features, known_columns.doubts(cells, encoder)


def read_contexts(table: OwnTable) -> tuple[Encoder, FloatArray, list[str]]:
    """How columns become numbers, the contexts, shape (n_rows, c), and what is doubtful."""
    encoder, cells = known_columns.fit(table.contexts, decimal_comma=table.decimal_comma)
    if not encoder.names:
        raise TableError(
            f"--context must be columns that differ between rows, got "
            f"{some(list(table.contexts))} with the same value in all rows; leave them out with "
            f"--skip"
        )
    return encoder, encoder.transform(cells), known_columns.doubts(cells, encoder)


def _rows(path: Path) -> tuple[dict[str, dict[str, str]], str]:
    """The cells of each arm by the names of the columns, and what separates them in the file."""
    with csv_file.opened(path, f"{path.name}, ") as lines:
        head = lines.head
        if len(head) < 2 or len(set(head)) < len(head):
            raise TableError(
                f"{path.name}: expected a line with different names of columns, the first for the "
                f"names of the arms, got {some(head)}"
            )
        found: dict[str, dict[str, str]] = {}
        for row in lines:
            if row[0].strip() in found:
                raise TableError(
                    f"{path.name}, line {lines.number}: expected {len(head)} cells and an arm "
                    f"that no line above has, got {some(row)}"
                )
            found[row[0].strip()] = dict(zip(head[1:], row[1:], strict=True))
    return found, lines.separator
