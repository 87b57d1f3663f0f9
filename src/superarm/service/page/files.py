"""The files of the page at ``/``: read once, sent with headers that let them do nothing but what they are for.

The addresses of the parts hold a digest of all of them, so a browser keeps them for good and still has the new ones
after an upgrade. A digest of another version is answered too, without keeping: two servers behind one address may
differ for a while. They are relative, so that the page may lie under a prefix.
"""

from __future__ import annotations

import functools
import hashlib
import re
from dataclasses import dataclass
from importlib import resources

from fastapi import FastAPI, Request
from starlette.responses import Response

from superarm.service.problems import Problem

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}

# Own files only, nothing inline, nothing made into markup, no frames, no forms that leave the page.
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
    """What is sent: ``status`` 200, or 304 without a ``body`` for who has it already."""

    status: int
    headers: dict[str, str]
    body: bytes


def answer(path: str, if_none_match: str | None = None) -> Answer | None:
    """The page for ``/``, one of its parts for ``/static/...``, None for what is not there.

    Examples
    --------
    >>> page = answer("/")
    >>> page.status, page.headers["Content-Type"], page.headers["Cache-Control"]
    (200, 'text/html; charset=utf-8', 'no-cache')
    >>> answer("/", page.headers["ETag"]).status
    304
    >>> answer("/static/../static.py") is None
    True
    """
    files, digest = _files()
    if path == "/":
        name, is_lasting = "index.html", False
    else:
        found = re.fullmatch(r"/static/(?:([0-9a-f]{16})/)?([a-z]+\.(?:css|js|svg))", path)
        if found is None or found[2] not in files:
            return None
        name, is_lasting = found[2], found[1] == digest
    body = files[name]
    tag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
    headers = {
        **HEADERS,
        "Content-Type": _TYPES[name[name.rindex(".") :]],
        "Cache-Control": "public, max-age=31536000, immutable" if is_lasting else "no-cache",
        "ETag": tag,
    }
    if if_none_match is not None and tag in re.findall(r'"[^"]*"', if_none_match):
        return Answer(304, headers, b"")
    return Answer(200, headers, body)


def add_page(app: FastAPI) -> None:
    """Let an application answer with the page, to anybody: what it shows, it asks for with the visitor's key."""

    @app.api_route("/", methods=["GET", "HEAD"], include_in_schema=False)
    @app.api_route("/static/{path:path}", methods=["GET", "HEAD"], include_in_schema=False)
    async def page(request: Request) -> Response:
        found = answer(request.url.path, request.headers.get("if-none-match"))
        if found is None:
            raise Problem(404, "nothing is at this path", fix="the page is at /")
        return Response(found.body, found.status, found.headers)


@functools.cache
def _files() -> tuple[dict[str, bytes], str]:
    """The files by name, the page with the lasting addresses of its parts; and the digest in these addresses."""
    folder = resources.files("superarm.service.page") / "static"
    files = {
        file.name: file.read_bytes()
        for file in sorted(folder.iterdir(), key=lambda file: file.name)
    }
    digest = hashlib.sha256(
        b"".join(name.encode() + body for name, body in files.items())
    ).hexdigest()[:16]
    files["index.html"] = files["index.html"].replace(b'"static/', f'"static/{digest}/'.encode())
    return files, digest
