"""Serves the files of the page at ``/``, with headers that restrict what they may do.

The addresses of scripts and styles contain a digest of all files. So a browser may keep them for
ever, and still loads the new files after an upgrade. A digest of another version is answered, too,
but not kept: two servers behind one address may differ for a while. The addresses are relative, so
the page may be under a prefix.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from superarm.service.problems import Problem

_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
# A file, or a file in one folder, after the digest.
_PATH = re.compile(
    r"/static/(?:([0-9a-f]{16})/)?((?:[a-z]+/)?[a-z0-9][a-z0-9_.-]*\.(?:css|js|svg))"
)
_A_YEAR_S = 31_536_000

# Only files of this service, nothing inline, no markup made from text, no frames, and no forms.
POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ]
)

HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


@dataclass(frozen=True)
class Answer:
    """A response: ``status`` is 200, or 304 with no ``body`` if the client already has it."""

    status: int
    headers: dict[str, str]
    body: bytes


def answer(path: str, if_none_match: str | None = None) -> Answer | None:
    """The page for ``/``, one of its files for ``/static/...``, None if there is no such file.

    Examples
    --------
    >>> page = answer("/")
    >>> page.status, page.headers["Content-Type"], page.headers["Cache-Control"]
    (200, 'text/html; charset=utf-8', 'no-cache')
    >>> answer("/", page.headers["ETag"]).status
    304
    >>> answer("/static/../files.py") is None
    True
    """
    files, digest = _files()
    name, is_lasting = "index.html", False
    if path != "/":
        found = _PATH.fullmatch(path)
        if found is None or found[2] not in files:
            return None
        name, is_lasting = found[2], found[1] == digest
    # The name is one of the files that were read at the start, so no path leads elsewhere.
    body = files[name]
    tag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
    headers = {
        **HEADERS,
        "Content-Type": _TYPES[name.rpartition(".")[2]],
        "Cache-Control": f"public, max-age={_A_YEAR_S}, immutable" if is_lasting else "no-cache",
        "ETag": tag,
    }
    # The header may have several tags, and W/ before them.
    if if_none_match is not None and tag in re.findall(r'"[^"]*"', if_none_match):
        return Answer(304, headers, b"")
    return Answer(200, headers, body)


def page_routes() -> list[Route]:
    """The routes of the page. It needs no API key; its requests for data send the visitor's key."""
    return [
        Route(path, _respond, methods=["GET"], include_in_schema=False)
        for path in ("/", "/static/{path:path}")
    ]


async def _respond(request: Request) -> Response:
    found = answer(request.url.path, request.headers.get("if-none-match"))
    if found is None:
        raise Problem(404, "nothing is at this path", fix="the page is at /")
    return Response(found.body, found.status, found.headers)


@functools.cache
def _files() -> tuple[dict[str, bytes], str]:
    """The files by name, and their digest, which is in the addresses that the page has."""
    files = dict(sorted(_named(resources.files("superarm.service.page") / "static")))
    every = b"".join(name.encode() + body for name, body in files.items())
    digest = hashlib.sha256(every).hexdigest()[:16]
    files["index.html"] = files["index.html"].replace(b'"static/', f'"static/{digest}/'.encode())
    return files, digest


def _named(folder: Traversable, prefix: str = "") -> Iterator[tuple[str, bytes]]:
    for file in folder.iterdir():
        if file.is_dir():
            yield from _named(file, f"{prefix}{file.name}/")
        else:
            yield f"{prefix}{file.name}", file.read_bytes()
