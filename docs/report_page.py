"""A hook of mkdocs: writes report.md once more as one self-contained page, report-print.html."""

from __future__ import annotations

import base64
import mimetypes
import re
from pathlib import Path
from typing import Any

from jinja2 import Template

_NAME = "report"
_HERE = Path(__file__).parent
_PAGE = Template((_HERE / "report_page.html").read_text(encoding="utf-8"))
_found: dict[str, str] = {}


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Keep the rendered report until everything is built."""
    if page.file.src_uri == f"{_NAME}.md":
        _found[page.title] = html
    return html


def on_post_build(config: Any, **_: Any) -> None:
    """Write the page with every picture inside it."""
    for title, html in _found.items():
        content = _PAGE.render(title=title, body=_inlined(html))
        Path(config.site_dir, f"{_NAME}-print.html").write_text(content, encoding="utf-8")


def _inlined(html: str) -> str:
    html = re.sub(rf'<a href="{_NAME}-print.html">.*?</a>', "", html)
    # Links into the site lead nowhere from a page that was sent to somebody, so their text stays.
    html = re.sub(r'<a class="headerlink".*?</a>', "", html)
    html = re.sub(r'<a href="(?!https?:)[^"]*">(.*?)</a>', r"\1", html, flags=re.DOTALL)
    return re.sub(r'src="([^":]+)"', lambda found: f'src="{_as_data(found.group(1))}"', html)


def _as_data(name: str) -> str:
    kind = mimetypes.guess_type(name)[0]
    return f"data:{kind};base64,{base64.b64encode((_HERE / name).read_bytes()).decode()}"
