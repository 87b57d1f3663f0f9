"""Tables of text: made once, shown in a terminal, in Markdown and in HTML."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Table", "as_markdown", "compact", "fill"]


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
        How many columns on the left hold text. The others hold numbers, aligned to the right.
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
    r"""The table in Markdown, without title and caption.

    Examples
    --------
    >>> print(as_markdown(Table(["policy", "P(a | b)"], [["CTS", "12"]])))
    | policy | P(a \| b) |
    |---|---:|
    | CTS | 12 |
    """
    rule = ["---"] * table.n_texts + ["---:"] * (len(table.heading) - table.n_texts)
    # A bar would end its cell.
    cells = [[cell.replace("|", "\\|") for cell in row] for row in (table.heading, *table.rows)]
    heading, *rows = ("| " + " | ".join(row) + " |" for row in cells)
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
