"""Pages from Jinja2 templates. Needs ``superarm[plots]``.

HTML templates are autoescaped: a name from a user's file can't become markup. They extend
``base.html``, which has the colours for light and dark screens and fits a phone.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from superarm.reporting.tables import as_markdown

__all__ = ["render"]

_SHARED = Path(__file__).parent / "templates"


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
