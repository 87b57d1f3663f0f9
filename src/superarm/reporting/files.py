"""The files of a study: what they need, pages and CSV, and how they are written.

Pages need ``superarm[plots]``. HTML templates are autoescaped: a name from a user's file can't
become markup. They extend ``base.html``, which has the colours for light and dark screens and fits
a phone. Every file is written whole or not at all.
"""

from __future__ import annotations

import csv
import io
import os
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from superarm.reporting import RequestError
from superarm.reporting.tables import as_markdown
from superarm.version import how_to_install

__all__ = ["as_csv", "lacks", "need", "refuse_inputs", "render", "write"]

_SHARED = Path(__file__).parent / "templates"


def need(module: str, extra: str, why: str) -> None:
    """Refuse a request whose optional dependency is not installed.

    Parameters
    ----------
    module
        The module that must be importable.
    extra
        The extra of superarm that installs it.
    why
        What needs the module, as the beginning of a sentence.
    """
    if find_spec(module) is None:
        raise RequestError(f"{why} and needs {module}: {how_to_install(extra)}")


def lacks(*modules: str) -> list[str]:
    """Which of some modules are not installed."""
    # Looked for, not imported: that would take long.
    return [module for module in modules if find_spec(module) is None]


def render(template: Path, **data: Any) -> str:
    """The page that a template makes of data.

    Parameters
    ----------
    template
        The path of the template. It may extend and import the templates of this package.
    **data
        The names that the template uses. A missing name is an error.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

    environment = Environment(
        loader=FileSystemLoader([template.parent, _SHARED]),
        autoescape=select_autoescape(["html"]),
        # A misspelt name fails in the tests instead of leaving a gap in a page.
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    filters: dict[str, Callable[..., Any]] = environment.filters
    filters["markdown"] = as_markdown
    return environment.get_template(template.name).render(**data)


def as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as CSV, with a first line of their keys."""
    # The first row need not have all keys, and columns keep the order of their first row.
    columns = list(dict.fromkeys(key for row in rows for key in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def refuse_inputs(folder: Path, names: Collection[str], given: Sequence[Path | None]) -> None:
    """Refuse to write files with these names into a folder if one of them is given as input."""
    written = {(folder / name).resolve() for name in names}
    for path in filter(None, given):
        if path.resolve() in written:
            raise RequestError(
                f"--out must be another folder, got {folder}: its file {path.name} is read, and "
                f"would be overwritten"
            )


def write(path: Path, content: str | bytes) -> Path:
    """Write a file atomically: into a temporary file first, which then replaces ``path``.

    A reader, and a run that continues after a crash, see the old file or the new one.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # In the same folder: a rename is atomic only within one file system.
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            # Before the rename, so that a crash cannot leave the new name with old or no content.
            os.fsync(file.fileno())
        Path(temporary).chmod(0o644)  # mkstemp makes files that only their owner can read
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return path
