"""Tables of text: made once, shown in a terminal, in Markdown and in HTML."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable

__all__ = ["Table", "as_csv", "as_markdown", "as_rich", "compact", "fill", "print_table"]


@dataclass(frozen=True)
class Table:
    """A table whose cells are ready to be shown.

    Attributes
    ----------
    heading, rows
        The names of the columns, and the cells row by row.
    title, caption
        Above and below the table in a terminal. A caption says which values are better.
    n_texts
        So many columns from the left hold text; numbers follow, and are aligned to the right.
    long
        Whether cells are sentences: then a terminal separates the rows by lines.
    """

    heading: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    caption: str = ""
    n_texts: int = 1
    long: bool = False

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, str]], **shown: Any) -> Table:
        """A table of rows that name their cells, so that a cell stands beside its column's name."""
        return cls(list(rows[0]), [list(row.values()) for row in rows], **shown)


def as_markdown(table: Table) -> str:
    """The table in Markdown, without title and caption.

    Examples
    --------
    >>> print(as_markdown(Table(["policy", "regret"], [["CTS", "12"]])))
    | policy | regret |
    |---|---:|
    | CTS | 12 |
    """
    rule = ["---"] * table.n_texts + ["---:"] * (len(table.heading) - table.n_texts)
    heading, *rows = ("| " + " | ".join(row) + " |" for row in (table.heading, *table.rows))
    return "\n".join([heading, "|" + "|".join(rule) + "|", *rows])


def compact(text: str) -> str:
    """A Markdown page whose tables have no spaces beside the bars.

    Examples
    --------
    >>> print(compact("| CTS | 12 |"))
    |CTS|12|
    """
    lines = text.split("\n")
    return "\n".join(
        re.sub(r" *(?<!\\)\| *", "|", line) if line.startswith("|") else line for line in lines
    )


def fill(text: str, program: str, parts: Mapping[str, Callable[[], str]]) -> str:
    """A Markdown page whose marked parts are as the program makes them now.

    Examples
    --------
    >>> page = "<!-- sums.py: total -->old<!-- until here -->"
    >>> print(fill(page, "sums.py", {"total": lambda: "new"}))
    <!-- sums.py: total -->
    <BLANKLINE>
    new
    <BLANKLINE>
    <!-- until here -->
    """
    for name, make in parts.items():
        start, end = f"<!-- {program}: {name} -->", "<!-- until here -->"
        if (n := text.count(start)) != 1:
            raise ValueError(f"the page must have one part {name!r} of {program}, has {n}")
        before, _, rest = text.partition(start)
        text = f"{before}{start}\n\n{compact(make())}\n\n{end}{rest.partition(end)[2]}"
    return text


def as_rich(table: Table) -> RichTable:
    """The table for a terminal."""
    from rich.markup import escape
    from rich.table import Table as RichTable

    shown = RichTable(title=escape(table.title), title_justify="left", show_lines=table.long)
    shown.caption = escape(table.caption) or None
    for place, name in enumerate(table.heading):
        text = place < table.n_texts
        shown.add_column(name, justify="left" if text else "right", no_wrap=text and not table.long)
    for row in table.rows:
        shown.add_row(*map(escape, row))
    return shown


def print_table(console: Console, table: RichTable) -> None:
    """Print a table, or lines with the same cells if the terminal is too narrow for a table.

    rich cuts what does not fit, and numbers that are cut are other numbers.
    """
    from rich.text import Text

    def plain(cell: Any) -> str:
        return Text.from_markup(cell).plain if isinstance(cell, str) else str(cell)

    columns = [[plain(column.header), *map(plain, column.cells)] for column in table.columns]
    lines = console.render_lines(table, pad=False)
    text = "\n".join("".join(segment.text for segment in line) for line in lines)
    words = Counter(word for column in columns for cell in column for word in _words(cell))
    if words <= Counter(_words(text)):
        console.print(table)
        return
    heads, *rows = zip(*columns, strict=True)
    told = [plain(table.title), ""] if table.title else []
    for name, *cells in rows:
        told += [f"{heads[0]} {name}".strip() if heads[0] else name]
        told += [f"  {head}: {cell}" for head, cell in zip(heads[1:], cells, strict=True) if cell]
        told += [""]
    for line in [*told, *([plain(table.caption)] if table.caption else [])]:
        # The terminal wraps long lines, and nothing is left out.
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _words(text: str) -> list[str]:
    """The words of a text, without the lines of a box."""
    return re.sub(r"[|│┃]", " ", text).split()


def as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as CSV, with a first line of their keys."""
    # The first row need not have all keys, and columns keep the order of their first row.
    columns = list(dict.fromkeys(key for row in rows for key in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
